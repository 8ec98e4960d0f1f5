//! A home with a Claude folder, and the binary run in it.

use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// The words that no output, log or database may ever hold.
pub(crate) const SECRET: &str = "zanzibar pomegranate";

pub(crate) struct World {
    home: TempDir,
    rows: AtomicU32,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = TempDir::new().unwrap();
        std::fs::create_dir_all(home.path().join(".claude/projects/-home-me-proj")).unwrap();
        Self { home, rows: AtomicU32::new(0) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join(".local/state/upstreamd")
    }

    /// The id of the n-th session.
    pub(crate) fn thread(n: u32) -> String {
        format!("3f6b0a52-7c1d-4e8e-9a51-{n:012}")
    }

    /// The file of the n-th session.
    pub(crate) fn file(&self, n: u32) -> PathBuf {
        self.path().join(format!(".claude/projects/-home-me-proj/{}.jsonl", Self::thread(n)))
    }

    fn row(&self, more: &str) -> String {
        let n = self.rows.fetch_add(1, Ordering::Relaxed);
        let now = humantime::format_rfc3339_millis(std::time::SystemTime::now());
        format!(
            "{{\"type\":\"user\",\"uuid\":\"00000000-0000-4000-8000-{n:012}\",\"timestamp\":\"{now}\",\"version\":\"2.1.332\",{more}}}\n"
        )
    }

    /// A row that a person typed.
    pub(crate) fn typed(&self) -> String {
        self.row(&format!(
            r#""origin":{{"kind":"human"}},"promptSource":"typed","message":{{"role":"user","content":"{SECRET}"}}"#
        ))
    }

    /// A row that a program wrote.
    pub(crate) fn machine(&self) -> String {
        self.row(&format!(
            r#""isMeta":true,"message":{{"role":"user","content":"<system-reminder>{SECRET}</system-reminder>"}}"#
        ))
    }

    /// A row without any mark.
    pub(crate) fn unmarked(&self, text: &str) -> String {
        self.row(&format!(r#""message":{{"role":"user","content":"{text}"}}"#))
    }

    pub(crate) fn append(&self, n: u32, rows: &str) {
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(self.file(n)).unwrap();
        file.write_all(rows.as_bytes()).unwrap();
    }

    /// The binary, in this home and no other environment.
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

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command that must end well, and gives its standard output.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{args:?}: {}\n{out}\n{err}", output.status);
        assert!(
            !out.contains(SECRET) && !err.contains(SECRET),
            "{args:?} shows text:\n{out}\n{err}"
        );
        out
    }

    /// Runs a command with `--json` and reads its one line.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?}: {e}\n{out}"))
    }

    /// Runs a command that must fail, and gives its exit code and standard error.
    #[track_caller]
    pub(crate) fn fail(&self, args: &[&str]) -> (i32, String) {
        let output = self.output(args);
        let err = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap_or_else(|| panic!("{args:?}: {}", output.status)), err)
    }

    /// Adopts the n-th session and gives its key.
    #[track_caller]
    pub(crate) fn adopt(&self, n: u32) -> String {
        let adopted = self.json(&["adopt", &Self::thread(n)]);
        adopted["adopted"][0]["sessionKey"].as_str().unwrap().to_owned()
    }

    /// The signal log, through another connection.
    pub(crate) fn signal_log(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.state().join("signal.sqlite")).unwrap()
    }

    /// The turns of all events.
    pub(crate) fn turns(&self) -> u64 {
        self.run(&["events", "--json", "--kind", "human_direct_message"])
            .lines()
            .map(|line| {
                let event: Value = serde_json::from_str(line).unwrap();
                event["payload"].get("turns").map_or(1, |turns| turns.as_u64().unwrap())
            })
            .sum()
    }
}
