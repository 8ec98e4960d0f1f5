//! The folder in which the demo plays, and the programs that play in it.
//!
//! Always holds: what is started here reads and writes in the temporary folder alone, and folder
//! and daemon end with the stage, however that comes about.

use super::rows::SESSION;
use crate::cli::output::note;
use crate::cli::wait::Stop;
use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::record::SignalLog;
use crate::state::StateFolder;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{ErrorKind, Write as _};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the daemon may take to end.
const FAREWELL: Duration = Duration::from_secs(3);
/// From one look to the next, where times are measured.
const TIGHT: Duration = Duration::from_micros(50);
/// From one look to the next, where none are.
const LOOSE: Duration = Duration::from_millis(10);

/// Short times, so that the demo is; and all that it relies on, whatever the machine's own file says.
const CONFIG: &str = r#"
cycle = "100ms"
first_cycle = "100ms"
misses = 3
record_unwatched = true
count_commands = "turns"
count_answers = false
"#;

/// A Claude folder, a state folder, and the daemon once it is started.
pub(super) struct Stage {
    // In this order: the daemon ends before its folder goes.
    daemon: Option<Daemon>,
    log: Option<SignalLog>,
    seen: Option<i64>,
    stop: Stop,
    folder: TempDir,
}

impl Stage {
    /// Makes the folder.
    pub(super) fn new(stop: Stop) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("upstreamd-demo-").tempdir()?;
        let stage = Self { daemon: None, log: None, seen: None, stop, folder };
        for made in [stage.project(), stage.path("run")] {
            fs_err::create_dir_all(made)?;
        }
        fs_err::write(stage.path("config.toml"), CONFIG)?;
        Ok(stage)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn project(&self) -> PathBuf {
        self.path("claude/projects/-made-up-project")
    }

    /// The session's file.
    pub(super) fn transcript(&self) -> PathBuf {
        self.project().join(format!("{SESSION}.jsonl"))
    }

    /// The folder of databases.
    pub(super) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// What the daemon logs.
    pub(super) fn daemon_log(&self) -> PathBuf {
        self.path("daemon.log")
    }

    /// Appends rows to the transcript; gives its size then.
    pub(super) fn append(&self, rows: &[u8]) -> Result<u64> {
        let mut file =
            fs_err::OpenOptions::new().create(true).append(true).open(self.transcript())?;
        file.write_all(rows)?;
        Ok(file.metadata()?.len())
    }

    /// This program, in an environment of its own.
    fn command(&self, args: &[&str]) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(args).env_clear().current_dir(self.folder.path());
        for (option, name) in
            [("--config", "config.toml"), ("--state-dir", "state"), ("--claude-dir", "claude")]
        {
            command.arg(option).arg(self.path(name));
        }
        command.env("HOME", self.folder.path());
        for (variable, name) in [
            ("CLAUDE_CONFIG_DIR", "claude"),
            ("OPENCLAW_STATE_DIR", "openclaw"),
            ("TMPDIR", "run"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_RUNTIME_DIR", "run"),
            ("XDG_STATE_HOME", "xdg-state"),
        ] {
            command.env(variable, self.path(name));
        }
        command.stdin(Stdio::null());
        Ok(command)
    }

    /// Runs a command of this program, and gives what it prints.
    pub(super) fn run(&self, args: &[&str]) -> Result<String> {
        let output = self.command(args)?.output()?;
        if !output.status.success() {
            return Err(Error::Failed(format!(
                "`upstreamd {}` ended with {}: {}",
                args.join(" "),
                output.status,
                String::from_utf8_lossy(&output.stderr).trim(),
            )));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts the daemon, and waits until it is ready.
    pub(super) fn start_daemon(&mut self) -> Result<()> {
        let socket = self.path("run/notify");
        let notify = UnixDatagram::bind(&socket)?;
        notify.set_nonblocking(true)?;
        let log = fs_err::File::create(self.daemon_log())?.into_file();
        let child = self
            .command(&["run"])?
            .env("NOTIFY_SOCKET", &socket)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        self.daemon = Some(Daemon(child));
        self.wait("the daemon did not get ready", LOOSE, |_| {
            let mut message = [0; 512];
            match notify.recv(&mut message) {
                Ok(_) => Ok(message.starts_with(b"READY=1").then_some(())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                Err(error) => Err(error.into()),
            }
        })?;
        self.open_log()
    }

    fn open_log(&mut self) -> Result<()> {
        let path = StateFolder::at(self.state()).signal_log();
        (self.log, self.seen) = (SignalLog::open_read_only(&path)?, None);
        Ok(())
    }

    /// Waits until the signal log holds what is looked for. Looks again as soon as it has changed.
    pub(super) fn wait_for<T>(
        &mut self,
        problem: &str,
        mut look: impl FnMut(&SignalLog) -> Result<Option<T>>,
    ) -> Result<T> {
        self.seen = None;
        self.wait(problem, TIGHT, |stage| {
            if stage.log()?.is_frozen() {
                stage.open_log()?;
            }
            let log = stage.log()?;
            let version = Some(log.data_version()?);
            if stage.seen == version {
                return Ok(None);
            }
            let found = look(log)?;
            stage.seen = version;
            Ok(found)
        })
    }

    /// The signal log, for reading.
    pub(super) fn log(&self) -> Result<&SignalLog> {
        self.log.as_ref().ok_or_else(|| Error::Failed("there is no signal log".to_owned()))
    }

    fn wait<T>(
        &mut self,
        problem: &str,
        every: Duration,
        mut look: impl FnMut(&mut Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let watch = Stopwatch::start();
        loop {
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            let ended = self.daemon.as_mut().map_or(Ok(None), Daemon::status)?;
            if self.stop.pause(every)? {
                return Err(Error::Failed("it was interrupted".to_owned()));
            }
            if let Some(status) = ended {
                return Err(Error::Failed(format!("the daemon ended by itself: {status}")));
            }
            if watch.elapsed() > PATIENCE {
                return Err(Error::Failed(format!("{problem} within {} s", PATIENCE.as_secs())));
            }
        }
    }

    /// Shows a person what the daemon logged.
    pub(super) fn show_daemon_log(&self) {
        if self.stop.is_asked() || self.daemon.is_none() {
            return;
        }
        note("the daemon's log:");
        let log = fs_err::read(self.daemon_log()).unwrap_or_default();
        for line in String::from_utf8_lossy(&log).lines() {
            note(line);
        }
    }

    /// Whether a word stands in any of the files that upstreamd made.
    pub(super) fn holds(&self, word: &str) -> Result<Option<PathBuf>> {
        let mut files = vec![self.daemon_log()];
        for entry in fs_err::read_dir(self.state())? {
            files.push(entry?.path());
        }
        for file in files {
            if memchr::memmem::find(&fs_err::read(&file)?, word.as_bytes()).is_some() {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// Ends the daemon and removes the folder.
    pub(super) fn close(self) -> Result<()> {
        let Self { daemon, log, folder, .. } = self;
        drop(log);
        if let Some(mut daemon) = daemon {
            let status = daemon.end()?;
            if !status.success() {
                return Err(Error::Failed(format!("the daemon did not end well: {status}")));
            }
        }
        let path: &Path = folder.path();
        let shown = path.display().to_string();
        folder.close().map_err(|error| {
            Error::Failed(format!("{shown} cannot be removed: {error}; remove it by hand"))
        })
    }
}

/// The daemon; ends with this value.
struct Daemon(Child);

impl Daemon {
    /// How it ended; `None` while it runs.
    fn status(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.0.try_wait()?)
    }

    /// Asks it to end, and sees that it does.
    fn end(&mut self) -> Result<ExitStatus> {
        if let Some(status) = self.status()? {
            return Ok(status);
        }
        kill_process(Pid::from_child(&self.0), Signal::TERM).map_err(std::io::Error::from)?;
        let watch = Stopwatch::start();
        while watch.elapsed() < FAREWELL {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            crate::cli::wait::pause(LOOSE)?;
        }
        self.0.kill()?;
        Ok(self.0.wait()?)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Nobody is left to tell if this fails.
        drop(self.end());
    }
}
