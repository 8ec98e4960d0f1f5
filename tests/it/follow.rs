//! `events --follow`: a stream of the log as it grows.

use crate::world::World;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

struct Follower {
    process: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut process = world
            .command(&[&["events", "--follow", "--json"], args].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let reader = BufReader::new(process.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in reader.lines() {
                if send.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { process, lines }
    }

    #[track_caller]
    fn next(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(PATIENCE).unwrap()).unwrap()
    }

    #[track_caller]
    fn expect(&self, sequence: i64, kind: &str) {
        let event = self.next();
        assert_eq!((&event["sequence"], &event["kind"]), (&sequence.into(), &kind.into()));
    }

    fn end(self, signal: &str) -> (Option<i32>, String, Vec<String>) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let output = self.process.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said, self.lines.iter().collect())
    }
}

const HUMAN: &str = "human_direct_message";

#[test]
fn new_events_follow_those_there_are_whether_or_not_anybody_has_the_log_open() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let follower = Follower::start(&world, &[]);
    follower.expect(1, "adopted");
    // Each `once` opens the log and closes it again.
    for sequence in 2..5 {
        world.append(1, &world.typed());
        world.json(&["once"]);
        follower.expect(sequence, HUMAN);
    }
    // Somebody keeps it open.
    let open = world.signal_log();
    let count = "SELECT count(*) FROM session_state_events";
    assert_eq!(open.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 4);
    world.append(1, &world.typed());
    world.json(&["once"]);
    follower.expect(5, HUMAN);
    let (code, said, rest) = follower.end("-TERM");
    assert_eq!((code, said.as_str(), rest.len()), (Some(0), "", 0));
}

#[test]
fn a_log_that_is_not_there_yet_is_waited_for_and_only_what_is_asked_for_comes() {
    let world = World::new();
    let thread = World::thread(1);
    let follower = Follower::start(&world, &["--session", &thread, "--kind", HUMAN]);
    world.append(2, &world.machine());
    world.adopt(2);
    world.append(1, &world.machine());
    world.adopt(1);
    for n in [2, 1] {
        world.append(n, &world.typed());
        world.json(&["once"]);
    }
    follower.expect(4, HUMAN);
    let (code, _, rest) = follower.end("-INT");
    assert_eq!((code, rest.len()), (Some(0), 0));
}

#[test]
fn a_session_that_nobody_knows_yet_is_waited_for_and_that_is_said() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let mut follower = Follower::start(&world, &["--session", &World::thread(2)]);
    let mut said = String::new();
    BufReader::new(follower.process.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("waiting for it"), "{said}");
    world.append(2, &world.machine());
    world.adopt(2);
    follower.expect(2, "adopted");
    assert_eq!(follower.end("-TERM").0, Some(0));
    assert_eq!(world.fail(&["events", "--session", &World::thread(3)]).0, 1);
}

#[test]
fn a_reader_who_leaves_ends_it_at_once() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let mut process =
        world.command(&["events", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("adopted"), "{line}");
    // The pipe is closed now, and no event comes.
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn what_retention_took_unseen_is_a_gap_and_what_was_seen_is_none() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    for _ in 0..3 {
        world.append(1, &world.typed());
        world.json(&["once"]);
    }
    let follower = Follower::start(&world, &["--kind", "adopted"]);
    follower.expect(1, "adopted");
    let prune = |keep: &str| {
        let output =
            world.command(&["once", "--json"]).env("UPSTREAMD_RETENTION_EVENTS", keep).output();
        assert!(output.unwrap().status.success());
    };
    prune("1");
    let late = Follower::start(&world, &["--since", "1"]);
    let gap = late.next()["gap"].clone();
    assert_eq!((&gap["since"], &gap["prunedUpTo"]), (&1.into(), &3.into()));
    late.expect(4, HUMAN);
    late.end("-TERM");
    let (_, _, rest) = follower.end("-TERM");
    assert_eq!(rest.len(), 0, "{rest:?}");
}

#[test]
fn a_log_that_was_replaced_by_an_older_one_is_read_on_from_its_end() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let (log, backup) = (world.state().join("signal.sqlite"), world.path().join("backup"));
    std::fs::copy(&log, &backup).unwrap();
    let mut follower = Follower::start(&world, &[]);
    follower.expect(1, "adopted");
    world.append(1, &world.typed());
    world.json(&["once"]);
    follower.expect(2, HUMAN);
    std::fs::rename(&backup, &log).unwrap();
    let mut said = String::new();
    BufReader::new(follower.process.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("The signal log is older than it was."), "{said}");
    // It gets again what it lost, and a number that was given before.
    world.output(&["once"]);
    follower.expect(2, HUMAN);
    follower.end("-TERM");
}
