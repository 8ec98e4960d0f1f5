//! Beside a gateway: whether there is a session, and what OpenClaw itself sent to it.

use super::*;
use crate::echo::{OwnText, OwnTextId, Recent};
use crate::openclaw::sessions::{Run, Unavailable};

impl World {
    /// A world beside a gateway, its link read once.
    pub(super) fn beside() -> Self {
        let mut world = Self::adopted();
        world.sessions = Some(MadeUp::session());
        world.cycle();
        world
    }

    /// OpenClaw sends a text.
    fn send(&mut self, text: &str) {
        let at = self.tick();
        let sessions = self.sessions.as_mut().unwrap();
        let texts = &mut sessions.texts.as_mut().unwrap().texts;
        let id = OwnTextId::Stored(format!("s/{}", texts.len()));
        let hash = self.key.text(&normalise(text));
        texts.insert(0, OwnText { id, hash, at, used: false });
    }

    fn write(&mut self, rows: &[&str]) {
        for text in rows {
            let row = self.unmarked(text);
            self.disk.append(PATH, row.as_bytes());
        }
    }

    fn gateway(&mut self) -> &mut MadeUp {
        self.sessions.as_mut().unwrap()
    }

    /// OpenClaw begins a turn in the session, or ends it.
    fn run(&mut self, runs: bool) {
        let entry = self.gateway().entry.as_mut().unwrap().as_mut().unwrap();
        entry.run = runs.then_some(Run { id: None });
    }

    /// A gateway says that it lives until then.
    fn live(&mut self, until: i64) {
        self.log.execute(&format!(
            "CREATE TABLE IF NOT EXISTS state_leases (scope TEXT, payload_json TEXT,
                 created_at INTEGER, expires_at INTEGER);
             DELETE FROM state_leases;
             INSERT INTO state_leases VALUES ('gateway-owner', '{{}}', 0, {until})"
        ));
    }
}

#[test]
fn what_the_gateway_says_of_a_turn_goes_before_how_the_session_is_marked() {
    for (says, is_marked, waits) in [
        (Some(true), false, true),
        (Some(false), true, false),
        (None, true, true),
        (None, false, false),
    ] {
        let mut world = World::beside();
        world.live(i64::MAX);
        world.runs = Some(Said(says));
        world.run(is_marked);
        world.write(&["mend the tests"]);
        let outcome = world.outcome();
        assert_eq!(outcome == Outcome::Held, waits, "{says:?} {is_marked}");
        // Its end is seen, and what waited is counted.
        world.runs = Some(Said(Some(false)));
        world.cycle();
        assert_eq!(world.turns(), 1, "{says:?} {is_marked}");
    }
}

#[test]
fn rows_of_a_link_without_a_session_wait_for_it() {
    let made = MadeUp::session().entry.unwrap().unwrap();
    let path = "/state/agents/main/agent/openclaw-agent.sqlite".into();
    for (entry, outcome) in [
        (Ok(None), Outcome::NoSession),
        (
            Ok(Some(crate::openclaw::sessions::Entry { initializing: true, ..made })),
            Outcome::Initializing,
        ),
        (Err(Unavailable::UnknownVersion { path, found: 24 }), Outcome::SessionUnknown),
    ] {
        let mut world = World::beside();
        let sound = std::mem::replace(&mut world.gateway().entry, entry);
        let row = world.typed();
        world.disk.append(PATH, row.as_bytes());
        let marker = world.link().unwrap().marker();
        let report = world.cycle();
        assert_eq!((report.links[0].outcome, world.turns()), (outcome, 0));
        assert_eq!(report.links[0].error.is_some(), outcome == Outcome::SessionUnknown);
        assert_eq!(report.links[0].marker_after, marker);
        assert_eq!(world.link().unwrap().marker(), marker);
        world.gateway().entry = sound;
        assert_eq!((world.outcome(), world.turns()), (Outcome::Read, 1));
    }
}

#[test]
fn a_missing_file_of_a_link_without_a_session_is_not_counted() {
    let mut world = World::beside();
    world.gateway().entry = Ok(None);
    world.disk.remove(PATH);
    for _ in 0..4 {
        assert_eq!(world.outcome(), Outcome::NoSession);
    }
    assert!(world.link().is_some());
}

#[test]
fn what_openclaw_sent_excuses_one_row_also_in_another_life() {
    let mut world = World::beside();
    world.send("go on");
    world.write(&["go  on"]);
    let report = world.cycle();
    assert_eq!((report.links[0].echoes, world.turns()), (1, 0));
    // Nothing but the databases is left of this life.
    world.again = ReadingAgain::default();
    world.write(&["go on"]);
    assert_eq!((world.cycle().links[0].echoes, world.turns()), (0, 1));
    world.send("go on");
    world.write(&["go on", "go on"]);
    assert_eq!((world.cycle().links[0].echoes, world.turns()), (1, 2));
}

#[test]
fn a_text_excuses_one_row_whatever_is_killed() {
    for point in [KillPoint::IntentCommitted, KillPoint::EventCommitted, KillPoint::IntentApplied] {
        let mut world = World::beside();
        world.send("go on");
        world.write(&["go on"]);
        assert!(world.cycle_until(Some(point)).is_none());
        world.write(&["go on"]);
        world.cycle();
        assert_eq!(world.turns(), 1, "{point:?}");
    }
}

#[test]
fn told_texts_and_sent_ones_both_excuse_rows() {
    let mut world = World::beside();
    let hash = world.key.text("told");
    let now = world.tick();
    world.journal.add_own_text(&World::session(), &hash, now).unwrap();
    world.send("sent");
    world.write(&["sent", "told", "typed"]);
    assert_eq!((world.cycle().links[0].echoes, world.turns()), (2, 1));
}

#[test]
fn texts_are_read_after_the_rows_that_may_be_theirs() {
    let mut world = World::beside();
    world.rules.at_once = false;
    // One row at a time.
    world.rules.scan_window = 200;
    world.write(&["one", "two"]);
    world.send("one");
    world.cycle();
    world.send("two");
    world.cycle();
    world.cycle();
    assert_eq!(world.turns(), 0);
}

#[test]
fn without_the_texts_a_row_is_judged_by_what_it_says() {
    let mut world = World::beside();
    world.gateway().texts = Err(Unavailable::Cold);
    let row = world.typed() + &world.machine();
    world.disk.append(PATH, row.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn in_compat_mode_a_text_that_was_sent_excuses_every_equal_row() {
    let mut world = World::beside();
    world.rules.echo = echo::Mode::Compat;
    world.send("mend the tests");
    let rows = world.typed() + &world.typed() + &world.unmarked("other");
    world.disk.append(PATH, rows.as_bytes());
    assert_eq!((world.cycle().links[0].echoes, world.turns()), (2, 1));
    for n in 0..10 {
        world.send(&n.to_string());
    }
    let row = world.typed();
    world.disk.append(PATH, row.as_bytes());
    assert_eq!((world.cycle().links[0].echoes, world.turns()), (0, 2));
}

#[test]
fn a_session_that_sent_nothing_excuses_nothing() {
    let mut world = World::beside();
    world.gateway().texts = Ok(Recent::default());
    world.write(&["go on"]);
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn while_openclaw_runs_a_turn_rows_wait_that_do_not_say_who_wrote_them() {
    let mut world = World::beside();
    world.live(i64::MAX);
    world.run(true);
    let rows = world.typed() + &world.machine() + &world.typed();
    world.disk.append(PATH, rows.as_bytes());
    assert_eq!((world.outcome(), world.turns()), (Outcome::Read, 2));
    let before = world.typed();
    world.disk.append(PATH, before.as_bytes());
    let marker = world.disk.read(PATH).len() as u64;
    world.write(&["go on"]);
    let behind = world.typed();
    world.disk.append(PATH, behind.as_bytes());
    // What stands before the row is recorded, and the marker stops in front of it.
    for _ in 0..3 {
        assert_eq!((world.outcome(), world.turns()), (Outcome::Held, 3));
        assert_eq!(world.link().unwrap().marker(), Some(marker));
    }
    // Its text gets into the transcript only now.
    world.send("go on");
    world.run(false);
    assert_eq!((world.cycle().links[0].echoes, world.turns()), (1, 4));
}

#[test]
fn a_mark_of_a_turn_holds_nothing_when_no_gateway_lives() {
    let mut world = World::beside();
    world.run(true);
    world.write(&["go on"]);
    assert_eq!((world.outcome(), world.turns()), (Outcome::Read, 1));
    world.live(0);
    world.write(&["go on"]);
    assert_eq!((world.outcome(), world.turns()), (Outcome::Read, 2));
}

#[test]
fn all_rows_that_count_wait_where_that_is_wanted() {
    let mut world = World::beside();
    world.rules.holds_all = true;
    world.live(i64::MAX);
    world.run(true);
    let rows = world.machine() + &world.typed();
    world.disk.append(PATH, rows.as_bytes());
    assert_eq!((world.outcome(), world.turns()), (Outcome::Held, 0));
    world.run(false);
    assert_eq!((world.outcome(), world.turns()), (Outcome::Read, 1));
}

#[test]
fn a_file_that_is_read_again_waits_as_a_whole() {
    let mut world = World::beside();
    world.live(i64::MAX);
    world.run(true);
    world.cycle();
    let content = world.disk.read(PATH);
    let rows = world.typed() + &world.unmarked("go on");
    world.disk.replace(PATH, &[b"\n".to_vec(), content, rows.into_bytes()].concat());
    assert_eq!((world.outcome(), world.turns()), (Outcome::Held, 0));
    world.run(false);
    assert_eq!(world.turns(), 0);
    world.cycle();
    assert_eq!(world.turns(), 2);
}
