//! The daemon as a process: readiness, cycles, signals, the lock.

use crate::process::Daemon;
use crate::world::World;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::DirBuilderExt as _;
use std::process::Stdio;

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
    let standby = Daemon::of(&world, "notify-standby", world.command(&["run", "--standby"]));
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
