//! A home with made-up sessions, and the program run in it. It vanishes when it is dropped.

use crate::data::Rows;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("upstreamd-bench-").tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".claude/projects")).unwrap();
        Self { folder }
    }

    /// A home with so many small sessions in so many folders.
    pub(crate) fn with_sessions(sessions: u32, folders: u32) -> Self {
        let home = Self::new();
        let mut rows = Rows::new(7);
        for n in 0..sessions {
            let file = home.session(n % folders, n);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let mut to = BufWriter::new(fs::File::create(file).unwrap());
            rows.write(2_000, &mut to).unwrap();
            to.write_all(rows.assistant().as_bytes()).unwrap();
            to.flush().unwrap();
        }
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The id of the n-th session.
    pub(crate) fn thread(n: u32) -> String {
        format!("3f6b0a52-7c1d-4e8e-9a51-{n:012}")
    }

    /// The file of the n-th session, in this project.
    pub(crate) fn session(&self, project: u32, n: u32) -> PathBuf {
        self.path().join(format!(".claude/projects/-home-p{project:03}/{}.jsonl", Self::thread(n)))
    }

    /// The program, in this home and no other environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_upstreamd"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .env("XDG_RUNTIME_DIR", self.path().join("run"))
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command that must end well, and gives its standard output.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {}: {error}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Every session file below a home, by listing its folders.
pub(crate) fn session_files(home: &Home) -> Vec<PathBuf> {
    let folders = fs::read_dir(home.path().join(".claude/projects")).unwrap();
    let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}
