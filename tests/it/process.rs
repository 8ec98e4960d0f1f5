//! The daemon as a process, and its words to the service manager.

use crate::world::World;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything takes; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Daemon {
    pub(crate) process: Child,
    notify: UnixDatagram,
}

impl Daemon {
    /// A daemon with short cycles.
    pub(crate) fn start(world: &World, n: u32) -> Self {
        Self::start_with(world, n, |command| {
            command
                .env("UPSTREAMD_CYCLE", "100ms")
                .env("UPSTREAMD_FIRST_CYCLE", "50ms")
                .env("WATCHDOG_USEC", "200000");
        })
    }

    /// A daemon whose next cycle no test lives to see: what it notices, events tell it.
    pub(crate) fn start_without_cycles(world: &World, n: u32, watch: &str) -> Self {
        Self::start_with(world, n, |command| {
            command
                .env("UPSTREAMD_CYCLE", "24h")
                .env("UPSTREAMD_FIRST_CYCLE", "24h")
                .env("UPSTREAMD_WATCH", watch);
        })
    }

    pub(crate) fn start_with(world: &World, n: u32, set: impl FnOnce(&mut Command)) -> Self {
        let mut command = world.command(&["run"]);
        set(&mut command);
        Self::of(world, &format!("notify-{n}"), command)
    }

    /// Starts what the command says, and listens to it.
    pub(crate) fn of(world: &World, socket: &str, mut command: Command) -> Self {
        let socket = world.path().join(socket);
        let notify = UnixDatagram::bind(&socket).unwrap();
        notify.set_read_timeout(Some(PATIENCE)).unwrap();
        let process = command
            .env("NOTIFY_SOCKET", &socket)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { process, notify }
    }

    /// Waits for a message to the service manager that holds these words.
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

    /// Waits, cycle by cycle, until so many turns are recorded.
    pub(crate) fn wait_for_turns(&self, world: &World, turns: u64) {
        while world.turns() < turns {
            self.wait_for("STATUS=");
        }
        assert_eq!(world.turns(), turns);
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn end(self) -> (ExitStatus, String) {
        let output = self.process.wait_with_output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }

    /// Ends it well, and gives its log.
    pub(crate) fn stop(self) -> String {
        self.signal("-TERM");
        let (status, log) = self.end();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }
}

/// Asks again and again until it is so.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::yield_now();
    }
}
