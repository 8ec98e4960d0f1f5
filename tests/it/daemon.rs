//! The daemon as a process: readiness, cycles, signals, the lock.

use crate::world::World;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

struct Daemon {
    process: Child,
    notify: UnixDatagram,
}

impl Daemon {
    fn start(world: &World, n: u32) -> Self {
        let socket = world.path().join(format!("notify-{n}"));
        let notify = UnixDatagram::bind(&socket).unwrap();
        notify.set_read_timeout(Some(PATIENCE)).unwrap();
        let process = world
            .command(&["run"])
            .env("NOTIFY_SOCKET", &socket)
            .env("UPSTREAMD_CYCLE", "100ms")
            .env("UPSTREAMD_FIRST_CYCLE", "50ms")
            .env("WATCHDOG_USEC", "200000")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { process, notify }
    }

    /// Waits for a message to the service manager that holds these words.
    fn wait_for(&self, words: &str) -> String {
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
    fn wait_for_turns(&self, world: &World, turns: u64) {
        while world.turns() < turns {
            self.wait_for("STATUS=");
        }
        assert_eq!(world.turns(), turns);
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let sent = std::process::Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    fn end(self) -> (std::process::ExitStatus, String) {
        let output = self.process.wait_with_output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn the_daemon_records_turns_survives_kill_9_and_ends_on_sigterm_with_0() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    world.append(1, &world.typed());
    let daemon = Daemon::start(&world, 1);
    daemon.wait_for("READY=1");
    assert_eq!(world.turns(), 1);
    world.append(1, &world.typed());
    daemon.wait_for_turns(&world, 2);
    daemon.wait_for("WATCHDOG=1");

    let running = world.json(&["status"])["running"].as_str().unwrap().to_owned();
    assert!(running.ends_with(&daemon.process.id().to_string()), "{running}");
    let (code, err) = world.fail(&["once"]);
    assert_eq!(code, 75, "{err}");
    assert!(err.contains(&daemon.process.id().to_string()), "{err}");

    world.append(1, &world.typed());
    daemon.signal("-KILL");
    assert!(!daemon.end().0.success());
    assert!(world.json(&["status"])["running"].is_null());
    world.append(1, &world.typed());
    let daemon = Daemon::start(&world, 2);
    daemon.wait_for_turns(&world, 4);

    // A session adopted beside it is followed from the next cycle on.
    world.append(2, &world.machine());
    world.adopt(2);
    world.append(2, &world.typed());
    daemon.wait_for_turns(&world, 5);

    daemon.signal("-USR1");
    daemon.signal("-HUP");
    daemon.wait_for("STATUS=");
    daemon.signal("-TERM");
    let (status, log) = daemon.end();
    assert_eq!(status.code(), Some(0), "{log}");
    for line in
        ["Ready.", "Recorded a person's turns.", "Read the configuration again.", "Stopped."]
    {
        assert!(log.contains(line), "{line}\n{log}");
    }
    assert!(!log.contains(crate::world::SECRET));
}

#[test]
fn a_standby_waits_for_the_lock() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let first = Daemon::start(&world, 1);
    first.wait_for("READY=1");
    let socket = world.path().join("notify-standby");
    let notify = UnixDatagram::bind(&socket).unwrap();
    notify.set_read_timeout(Some(PATIENCE)).unwrap();
    let process = world
        .command(&["run", "--standby"])
        .env("NOTIFY_SOCKET", &socket)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let standby = Daemon { process, notify };
    let mut impatient =
        world.command(&["run", "--standby"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(impatient.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("Standing by.")));
    let id = impatient.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(impatient.wait().unwrap().code(), Some(0));
    first.signal("-INT");
    assert_eq!(first.end().0.code(), Some(0));
    standby.wait_for("READY=1");
    standby.signal("-TERM");
    assert_eq!(standby.end().0.code(), Some(0));
}

#[test]
fn two_state_folders_with_one_signal_log_exclude_each_other() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let daemon = Daemon::start(&world, 1);
    daemon.wait_for("READY=1");
    let other = world.path().join("other");
    std::fs::DirBuilder::new().mode(0o700).create(&other).unwrap();
    std::fs::hard_link(world.state().join("signal.sqlite"), other.join("signal.sqlite")).unwrap();
    let (code, err) = world.fail(&["once", "--state-dir", other.to_str().unwrap()]);
    assert_eq!(code, 75, "{err}");
    daemon.signal("-TERM");
    assert_eq!(daemon.end().0.code(), Some(0));
}

#[test]
fn a_daemon_whose_database_was_replaced_ends_instead_of_writing_to_what_is_left() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let daemon = Daemon::start(&world, 1);
    daemon.wait_for("READY=1");
    let log = world.state().join("signal.sqlite");
    std::fs::copy(&log, world.path().join("other")).unwrap();
    std::fs::rename(world.path().join("other"), &log).unwrap();
    let (status, said) = daemon.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("removed or replaced"), "{said}");
}
