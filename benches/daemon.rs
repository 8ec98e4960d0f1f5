//! The daemon as a process, what it says when, and `tail -F` beside it.

use crate::home::Home;
use crate::process::signal;
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader, ErrorKind, Read};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than anything takes; who waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A line that a process wrote, and when we had it.
pub(crate) type Said = (Instant, String);

/// Reads the lines of a pipe as they come. The thread blocks in between and takes no core.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<Said> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let now = Instant::now();
            if to.send((now, String::from_utf8_lossy(&line).into_owned())).is_err() {
                break;
            }
            line.clear();
        }
    });
    from
}

pub(crate) struct Daemon {
    pub(crate) process: Child,
    notify: UnixDatagram,
    log: Receiver<Said>,
}

/// What becomes of rows that were written.
pub(crate) enum Fate {
    /// An event of so many turns was committed.
    Recorded(Instant, u64),
    /// A row is too big to be read.
    Waits,
    /// Nothing was said in time.
    Silence,
}

impl Daemon {
    /// A daemon with these settings, and no counted cycle unless they say so.
    pub(crate) fn start(home: &Home, settings: &[(&str, &str)]) -> Self {
        let socket = home.path().join("notify");
        drop(std::fs::remove_file(&socket));
        let notify = UnixDatagram::bind(&socket).unwrap();
        notify.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut process = home
            .command(&["run"])
            .env("NOTIFY_SOCKET", &socket)
            .env("UPSTREAMD_CYCLE", "24h")
            .env("UPSTREAMD_FIRST_CYCLE", "24h")
            .envs(settings.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = lines(process.stderr.take().unwrap());
        Self { process, notify, log }
    }

    /// Waits for a message to the service manager that holds these words.
    #[track_caller]
    pub(crate) fn wait_for(&self, words: &str) -> String {
        let mut buffer = [0; 512];
        loop {
            let length = match self.notify.recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => panic!("no message with {words}: {error}"),
            };
            let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if message.contains(words) {
                return message;
            }
        }
    }

    /// Forgets the messages that came meanwhile.
    pub(crate) fn forget_messages(&self) {
        let mut buffer = [0; 512];
        self.notify.set_nonblocking(true).unwrap();
        while self.notify.recv(&mut buffer).is_ok() {}
        self.notify.set_nonblocking(false).unwrap();
    }

    /// Waits until the log says what became of rows.
    pub(crate) fn fate(&self, patience: Duration) -> Fate {
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok((at, line)) = self.log.recv_timeout(left) else { return Fate::Silence };
            if line.contains("Recorded a person's turns.") {
                let turns = line.split("turns=").nth(1).unwrap();
                return Fate::Recorded(at, turns.trim().parse().unwrap());
            }
            if line.contains("A row is too big to be read yet") {
                return Fate::Waits;
            }
        }
    }

    /// Ends it well.
    pub(crate) fn stop(mut self) {
        signal(&self.process, Signal::TERM);
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Not left running after a failure; one that has ended already is no matter.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// `tail -F` on files, from their ends on.
pub(crate) struct Tail {
    pub(crate) process: Child,
    lines: Receiver<Said>,
}

impl Tail {
    /// Starts it in a folder; the names stay short there, so that ten thousand fit.
    pub(crate) fn start(folder: &std::path::Path, files: &[PathBuf]) -> Self {
        let names = files.iter().map(|file| file.strip_prefix(folder).unwrap());
        let mut process = Command::new("tail")
            .args(["-q", "-n0", "-F", "--"])
            .args(names)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = lines(process.stdout.take().unwrap());
        Self { process, lines }
    }

    /// Its next line, if it comes in time.
    pub(crate) fn next(&self, patience: Duration) -> Option<Instant> {
        self.lines.recv_timeout(patience).ok().map(|(at, _)| at)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
