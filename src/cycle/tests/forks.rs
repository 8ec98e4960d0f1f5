//! Forks that OpenClaw makes of a session.

use super::*;
use crate::ids::ThreadId;

const FORK: &str = "9a1b0a52-0000-4000-8000-000000000009";
const FORK_PATH: &str = "/claude/projects/-p/9a1b0a52-0000-4000-8000-000000000009.jsonl";

impl World {
    /// OpenClaw goes on in this session.
    fn bind(&mut self, thread: &str) {
        let entry = self.sessions.as_mut().unwrap().entry.as_mut().unwrap().as_mut().unwrap();
        entry.claude_session = Some(ThreadId::new(thread));
    }

    /// A prompt of OpenClaw's.
    fn prompt(&mut self) -> String {
        self.row(
            r#""promptSource":"sdk","turnOrigin":"sdk","entrypoint":"sdk-cli","message":{"role":"user","content":"go on"}"#,
        )
    }

    /// What Claude Code copies into a fork.
    fn copied(&self) -> String {
        let content = String::from_utf8(self.disk.read(PATH)).unwrap();
        content.replace(
            r#""promptSource":"typed""#,
            r#""entrypoint":"sdk-cli","promptSource":"typed""#,
        )
    }
}

#[test]
fn a_person_who_goes_on_in_a_fork_is_counted_there_and_copies_are_not() {
    let mut world = World::beside();
    let row = world.typed();
    world.disk.append(PATH, row.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 1);
    let fork = world.prompt() + &world.copied() + &world.typed();
    world.disk.append(FORK_PATH, fork.as_bytes());
    world.bind(FORK);
    let report = world.cycle();
    assert_eq!((world.turns(), report.links[0].turns, report.links[0].forks[0].turns), (2, 0, 1));
    // Both go on.
    let (here, there) = (world.typed(), world.prompt() + &world.typed() + &world.typed());
    world.disk.append(PATH, here.as_bytes());
    world.disk.append(FORK_PATH, there.as_bytes());
    assert_eq!(world.cycle().events.len(), 2);
    assert_eq!(world.turns(), 5);
    // The link's marker is that of its own file.
    assert_eq!(world.link().unwrap().marker(), Some(world.disk.read(PATH).len() as u64));
    assert!(world.cycle().events.is_empty());
}

#[test]
fn rows_that_stand_in_the_linked_file_and_were_not_read_yet_count_once() {
    let mut world = World::beside();
    world.bind(FORK);
    let rows = world.typed() + &world.typed();
    world.disk.append(PATH, rows.as_bytes());
    let fork = world.copied() + &world.typed();
    world.disk.append(FORK_PATH, fork.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 3);
}

#[test]
fn a_fork_that_was_there_at_first_sight_is_followed_from_its_end() {
    let mut world = World::adopted();
    world.sessions = Some(MadeUp::session());
    world.bind(FORK);
    let fork = world.copied() + &world.typed();
    world.disk.append(FORK_PATH, fork.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 0);
    let row = world.typed();
    world.disk.append(FORK_PATH, row.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_binding_that_changes_again_is_followed_and_the_old_fork_still_is() {
    const OTHER: &str = "8b1b0a52-0000-4000-8000-000000000008";
    const OTHER_PATH: &str = "/claude/projects/-p/8b1b0a52-0000-4000-8000-000000000008.jsonl";
    let mut world = World::beside();
    // Named before its file is there.
    world.bind(FORK);
    assert!(world.cycle().links[0].forks.is_empty());
    let row = world.typed();
    world.disk.append(FORK_PATH, row.as_bytes());
    world.cycle();
    world.bind(OTHER);
    let other = row + &world.typed();
    world.disk.append(OTHER_PATH, other.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 2);
    let (old, new) = (world.typed(), world.typed());
    world.disk.append(FORK_PATH, old.as_bytes());
    world.disk.append(OTHER_PATH, new.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 4);
    // One that goes says nothing of the session.
    world.disk.remove(FORK_PATH);
    for _ in 0..4 {
        let report = world.cycle();
        let outcomes: Vec<_> = report.links[0].each().map(|source| source.outcome).collect();
        assert!(outcomes.contains(&Outcome::Missing), "{outcomes:?}");
    }
    assert!(world.link().is_some());
}

#[test]
fn a_turn_in_a_fork_counts_once_whatever_is_killed() {
    for point in [
        KillPoint::IntentCommitted,
        KillPoint::EventWritten,
        KillPoint::EventCommitted,
        KillPoint::IntentApplied,
    ] {
        let mut world = World::beside();
        world.bind(FORK);
        let row = world.typed();
        world.disk.append(FORK_PATH, row.as_bytes());
        assert!(world.cycle_until(Some(point)).is_none(), "{point:?}");
        let row = world.typed();
        world.disk.append(FORK_PATH, row.as_bytes());
        world.cycle();
        assert_eq!(world.turns(), 2, "{point:?}");
    }
}

#[test]
fn a_fork_that_is_rewritten_counts_what_is_new() {
    let mut world = World::beside();
    world.bind(FORK);
    let rows = world.typed() + &world.typed();
    world.disk.append(FORK_PATH, rows.as_bytes());
    world.cycle();
    let rows = rows + &world.typed();
    world.disk.replace(FORK_PATH, &[b"\n", rows.as_bytes()].concat());
    world.cycle();
    assert_eq!(world.turns(), 3);
}

#[test]
fn a_session_that_openclaw_goes_on_with_in_place_has_no_fork() {
    let mut world = World::beside();
    let thread = world.link().unwrap().thread_id;
    world.bind(thread.as_str());
    let rows = world.prompt() + &world.typed();
    world.disk.append(PATH, rows.as_bytes());
    let report = world.cycle();
    assert_eq!((world.turns(), report.links[0].forks.len()), (1, 0));
    // A name that leads out of the folder is none.
    world.bind("../-p/9a1b0a52-0000-4000-8000-000000000009");
    let row = world.typed();
    world.disk.append(FORK_PATH, row.as_bytes());
    assert!(world.cycle().links[0].forks.is_empty());
}

#[test]
fn forks_of_a_session_that_is_gone_wait_with_it() {
    let mut world = World::beside();
    world.bind(FORK);
    let row = world.typed();
    world.disk.append(FORK_PATH, row.as_bytes());
    world.cycle();
    let entry = std::mem::replace(&mut world.sessions.as_mut().unwrap().entry, Ok(None));
    let row = world.typed();
    world.disk.append(FORK_PATH, row.as_bytes());
    assert_eq!((world.outcome(), world.turns()), (Outcome::NoSession, 1));
    world.sessions.as_mut().unwrap().entry = entry;
    world.cycle();
    assert_eq!(world.turns(), 2);
}

#[test]
fn a_fork_that_was_there_is_history_also_where_its_link_is_far_behind() {
    let mut world = World::adopted();
    let rows: String = (0..4).map(|_| world.typed()).collect();
    world.disk.append(PATH, rows.as_bytes());
    world.sessions = Some(MadeUp::session());
    world.rules.scan_window = 400;
    world.bind(FORK);
    let fork = world.copied() + &world.typed();
    world.disk.append(FORK_PATH, fork.as_bytes());
    while world.look().behind {}
    world.look();
    assert_eq!(world.turns(), 4);
}
