//! Whole cycles without files, clock or gateway: a life of a transcript, told as steps.

mod beside;
mod forks;
mod laws;
mod long;
mod nodes;

use super::{Cycle, CycleReport, LinkReport, Outcome, ReadingAgain, Rules};
use crate::classify::text::normalise;
use crate::classify::{Class, Settings};
use crate::clock::Clock;
use crate::disk::Disk as _;
use crate::disk::memory::MemoryDisk;
use crate::echo;
use crate::ids::{AgentId, HashKey, SessionKey, Timestamp};
use crate::journal::Journal;
use crate::killpoint::{KillPoint, armed};
use crate::link::{Link, adopt};
use crate::observe::{Fact, Observer};
use crate::openclaw::nodes::Nodes;
use crate::openclaw::sessions::Sessions;
use crate::openclaw::sessions::testing::MadeUp;
use crate::openclaw::socket::ActiveRuns;
use crate::record::{EventFilter, LinkFilter, SignalLog};
use std::cell::Cell;
use std::fmt::Write as _;

const PATH: &str = "/claude/projects/-p/3f6b0a52-0000-4000-8000-000000000001.jsonl";
const MOVED: &str = "/claude/projects/-q/3f6b0a52-0000-4000-8000-000000000001.jsonl";
const START: i64 = 1_790_000_000_000;

struct TestClock(Cell<i64>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.get())
    }
}

struct Nobody;

impl Observer for Nobody {
    fn observe(&self, _: &Fact<'_>) {}
}

/// What a gateway answers who asks whether a turn runs.
struct Said(Option<bool>);

impl ActiveRuns for Said {
    fn is_running(&self, _: &crate::link::LinkId) -> Option<bool> {
        self.0
    }
}

struct World {
    disk: MemoryDisk,
    log: SignalLog,
    journal: Journal,
    again: ReadingAgain,
    key: HashKey,
    clock: TestClock,
    rules: Rules,
    sessions: Option<MadeUp>,
    runs: Option<Said>,
    nodes: Option<nodes::MadeUp>,
    rows: u32,
}

impl World {
    fn new() -> Self {
        let key = HashKey::new([3; 32]);
        let rules = Rules {
            scan_window: 1 << 20,
            at_once: true,
            misses: 3,
            miss_interval_ms: 0,
            echo: echo::Mode::Provenance,
            own_texts: 10,
            classify: Settings::default(),
            unwatched: true,
            holds_all: false,
            explain: false,
        };
        Self {
            disk: MemoryDisk::default(),
            log: SignalLog::in_memory().unwrap(),
            journal: Journal::in_memory(&key),
            again: ReadingAgain::default(),
            key,
            clock: TestClock(Cell::new(START)),
            rules,
            sessions: None,
            runs: None,
            nodes: None,
            rows: 0,
        }
    }

    /// A world with an adopted transcript of some rows of history.
    fn adopted() -> Self {
        let mut world = Self::new();
        let history = world.typed() + &world.machine() + &world.typed();
        world.disk.append(PATH, history.as_bytes());
        world.adopt(false);
        world
    }

    fn adopt(&mut self, from_start: bool) {
        let session = self.disk.sessions().files.pop().unwrap();
        let now = self.tick();
        let link =
            adopt::link(&self.disk, &session, &AgentId::new("main"), from_start.then_some(0))
                .unwrap();
        self.log.adopt(&link, now).unwrap();
    }

    fn tick(&self) -> Timestamp {
        self.clock.0.set(self.clock.0.get() + 1_000);
        self.clock.now()
    }

    fn uuid(&mut self) -> String {
        self.rows += 1;
        format!("00000000-0000-4000-8000-{:012}", self.rows)
    }

    fn row(&mut self, more: &str) -> String {
        let at = humantime::format_rfc3339_millis(
            std::time::UNIX_EPOCH
                + std::time::Duration::from_millis(u64::try_from(self.tick().0).unwrap()),
        );
        let uuid = self.uuid();
        format!(
            r#"{{"type":"user","uuid":"{uuid}","timestamp":"{at}","version":"2.1.332",{more}}}"#
        ) + "\n"
    }

    /// A row that a person typed.
    fn typed(&mut self) -> String {
        self.row(
            r#""origin":{"kind":"human"},"promptSource":"typed","message":{"role":"user","content":"mend the tests"}"#,
        )
    }

    /// A row that looks typed, without any mark.
    fn unmarked(&mut self, text: &str) -> String {
        self.row(&format!(r#""message":{{"role":"user","content":"{text}"}}"#))
    }

    /// A row that a program wrote.
    fn machine(&mut self) -> String {
        self.row(
            r#""isMeta":true,"message":{"role":"user","content":"<local-command-caveat>not typed</local-command-caveat>"}"#,
        )
    }

    fn cycle(&mut self) -> CycleReport {
        self.cycle_until(None).unwrap()
    }

    fn cycle_until(&mut self, point: Option<KillPoint>) -> Option<CycleReport> {
        let report = armed::until(point, || self.means().run().unwrap());
        if report.is_none() {
            // The next life remembers nothing.
            self.again = ReadingAgain::default();
        }
        report
    }

    /// One pass, as an event wakes it.
    fn look(&mut self) -> LinkReport {
        let id = self.link().unwrap().id;
        self.means().look(&id).unwrap().unwrap()
    }

    /// One pass while somebody waits for its end.
    fn look_awaited(&mut self) -> LinkReport {
        let id = self.link().unwrap().id;
        Cycle { is_awaited: &|| true, ..self.means() }.look(&id).unwrap().unwrap()
    }

    fn means(&mut self) -> Cycle<'_> {
        Cycle {
            log: &mut self.log,
            journal: &mut self.journal,
            again: &mut self.again,
            disk: &self.disk,
            clock: &self.clock,
            observer: &Nobody,
            key: &self.key,
            rules: &self.rules,
            sessions: self.sessions.as_ref().map(|sessions| sessions as &dyn Sessions),
            runs: self.runs.as_ref().map(|runs| runs as &dyn ActiveRuns),
            nodes: self.nodes.as_ref().map(|nodes| nodes as &dyn Nodes),
            is_awaited: &|| false,
        }
    }

    fn link(&self) -> Option<Link> {
        self.log.links(LinkFilter::All).unwrap().pop()
    }

    fn session() -> SessionKey {
        adopt::session_key(
            &AgentId::new("main"),
            &crate::ids::ThreadId::new("3f6b0a52-0000-4000-8000-000000000001"),
        )
    }

    /// The turns of all our events.
    fn turns(&self) -> u64 {
        self.log
            .events(&EventFilter::default(), 100_000)
            .unwrap()
            .events
            .iter()
            .filter(|event| event.kind == "human_direct_message")
            .map(|event| {
                let payload: serde_json::Value =
                    serde_json::from_str(event.payload_json.as_deref().unwrap()).unwrap();
                payload.get("turns").map_or(1, |turns| turns.as_u64().unwrap())
            })
            .sum()
    }

    fn outcome(&mut self) -> Outcome {
        self.cycle().links[0].outcome
    }
}

#[test]
fn typed_rows_are_recorded_once_and_history_never() {
    let mut world = World::adopted();
    world.cycle();
    assert_eq!(world.turns(), 0);
    let rows = world.machine() + &world.typed() + &world.machine() + &world.typed();
    world.disk.append(PATH, rows.as_bytes());
    let report = world.cycle();
    assert_eq!((report.links[0].turns, report.events.len(), world.turns()), (2, 1, 2));
    let link = world.link().unwrap();
    assert_eq!(link.marker(), Some(world.disk.read(PATH).len() as u64));
    assert_eq!(report.links[0].marker_after, link.marker());
    assert_eq!(world.outcome(), Outcome::Unchanged);
    assert_eq!(world.turns(), 2);
}

#[test]
fn a_row_counts_when_its_line_end_comes() {
    let mut world = World::adopted();
    let row = world.typed();
    let (half, rest) = row.split_at(row.len() / 2);
    world.disk.append(PATH, half.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 0);
    world.disk.append(PATH, rest.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_session_adopted_in_mid_write_counts_the_row_that_was_being_written() {
    let mut world = World::new();
    let row = world.typed();
    let (half, rest) = row.split_at(row.len() / 2);
    let history = world.typed() + half;
    world.disk.append(PATH, history.as_bytes());
    world.adopt(false);
    world.cycle();
    world.disk.append(PATH, rest.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_session_adopted_from_its_start_counts_everything() {
    let mut world = World::new();
    world.rules.scan_window = 64;
    for _ in 0..5 {
        let rows = world.typed() + &world.machine();
        world.disk.append(PATH, rows.as_bytes());
    }
    world.adopt(true);
    world.cycle();
    assert_eq!(world.turns(), 5);
}

#[test]
fn with_next_cycle_a_cycle_reads_one_window() {
    let mut world = World::new();
    let row = world.typed();
    world.rules.scan_window = row.len() as u64;
    world.rules.at_once = false;
    let rows = row + &world.typed() + &world.typed();
    world.disk.append(PATH, rows.as_bytes());
    world.adopt(true);
    for turns in [1, 2, 3, 3] {
        world.cycle();
        assert_eq!(world.turns(), turns);
    }
}

#[test]
fn a_rewritten_file_counts_only_what_is_new_in_it() {
    type Rewrite = fn(&MemoryDisk, &str);
    let rewrites: [(&str, Rewrite); 2] = [
        ("in place", |disk, rows| disk.rewrite(PATH, rows.as_bytes())),
        ("by another file", |disk, rows| disk.replace(PATH, rows.as_bytes())),
    ];
    for (how, rewrite) in rewrites {
        let mut world = World::adopted();
        world.cycle();
        let counted = world.typed();
        world.disk.append(PATH, counted.as_bytes());
        world.cycle();
        let before = String::from_utf8(world.disk.read(PATH)).unwrap();
        // A pruner drops the first rows; meanwhile a person has typed on.
        let kept: String = before.split_inclusive('\n').skip(1).collect();
        let rows = kept + &world.typed();
        rewrite(&world.disk, &rows);
        assert_eq!(world.outcome(), Outcome::Rewritten, "{how}");
        assert_eq!(world.turns(), 2, "{how}");
        assert_eq!(world.link().unwrap().marker(), Some(rows.len() as u64), "{how}");
        let row = world.typed();
        world.disk.append(PATH, row.as_bytes());
        world.cycle();
        assert_eq!(world.turns(), 3, "{how}");
    }
}

#[test]
fn a_file_that_shrinks_and_grows_to_the_same_length_is_seen() {
    let mut world = World::adopted();
    let row = world.typed();
    world.disk.append(PATH, row.as_bytes());
    world.cycle();
    let length = world.disk.read(PATH).len();
    let mut rows = String::new();
    while rows.len() + row.len() <= length {
        rows += &world.typed();
    }
    let padding = length - rows.len();
    writeln!(rows, "{}", " ".repeat(padding - 1)).unwrap();
    assert_eq!(rows.len(), length);
    let new = rows.lines().filter(|line| !line.trim().is_empty()).count() as u64;
    world.disk.rewrite(PATH, rows.as_bytes());
    world.cycle();
    // The same end offset as the first event: its dedupe key is taken, and nothing is lost.
    assert_eq!(world.turns(), 1 + new);
}

#[test]
fn a_clock_that_ran_ahead_does_not_make_new_rows_history() {
    let mut world = World::new();
    world.clock.0.set(START + 3_600_000);
    let ahead = world.typed();
    world.clock.0.set(START);
    world.disk.append(PATH, ahead.as_bytes());
    world.adopt(false);
    world.cycle();
    let rows = "\n".to_owned() + &ahead + &world.typed() + &world.typed();
    world.disk.replace(PATH, rows.as_bytes());
    assert_eq!(world.outcome(), Outcome::Rewritten);
    assert_eq!(world.turns(), 2);
}

#[test]
fn history_that_was_not_read_back_stays_history() {
    let mut world = World::new();
    let mut history = String::new();
    while history.len() < 17 << 20 {
        history += &world.typed();
        history += &world.unmarked(&"x".repeat(100_000));
    }
    // A last row of a bogus time would put the floor before everything.
    world.clock.0.set(0);
    history += &world.typed();
    world.clock.0.set(START + 10_000_000);
    world.disk.append(PATH, history.as_bytes());
    world.adopt(false);
    world.cycle();
    let kept: String = history.split_inclusive('\n').skip(1).collect();
    let rows = kept + &world.typed();
    world.disk.replace(PATH, rows.as_bytes());
    assert_eq!(world.outcome(), Outcome::Rewritten);
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_rewrite_that_is_seen_in_two_steps_brings_back_no_history() {
    for (at_first, point) in [(0, None), (20, None), (20, Some(KillPoint::GenerationCommitted))] {
        let mut world = World::new();
        let mut history = Vec::new();
        for _ in 0..40 {
            world.clock.0.set(world.clock.0.get() + 100_000);
            history.push(world.typed());
        }
        world.disk.append(PATH, history.concat().as_bytes());
        world.adopt(false);
        world.cycle();
        world.disk.rewrite(PATH, history[..at_first].concat().as_bytes());
        world.cycle_until(point);
        let rows = history.concat() + &world.typed();
        world.disk.rewrite(PATH, rows.as_bytes());
        world.cycle();
        world.cycle();
        assert_eq!(world.turns(), 1, "{at_first} {point:?}");
    }
}

#[test]
fn a_rewritten_file_is_read_again_a_window_a_pass_and_recorded_as_one() {
    for rewritten_meanwhile in [false, true] {
        let mut world = World::adopted();
        world.rules.scan_window = 1000;
        world.cycle();
        let mut rows: String = (0..20).map(|_| world.machine() + &world.typed()).collect();
        world.disk.rewrite(PATH, rows.as_bytes());
        let mut passes = 0;
        while world.look().behind {
            assert_eq!(world.turns(), 0);
            passes += 1;
            if passes == 3 && rewritten_meanwhile {
                rows.insert_str(0, &world.typed());
                world.disk.rewrite(PATH, rows.as_bytes());
            }
            if passes == 5 {
                // Another life begins again.
                world.again = ReadingAgain::default();
            }
        }
        while world.look().behind {}
        assert!(passes > 5 || rewritten_meanwhile);
        assert_eq!(world.turns(), 20 + u64::from(rewritten_meanwhile));
        let events = world.log.events(&EventFilter::default(), 100).unwrap().events;
        let turns = events.iter().filter(|event| event.kind == "human_direct_message");
        // What is behind the end that it had when it was found rewritten is a window of its own.
        assert_eq!(turns.count(), 1 + usize::from(rewritten_meanwhile));
    }
}

#[test]
fn history_in_no_order_of_time_stays_history() {
    let mut world = World::new();
    let mut history = Vec::new();
    for n in 0..60_i64 {
        // Jumps about within a day; a step of 37 comes by every hour of it.
        world.clock.0.set(START + (n * 37 % 60) * 1_440_000);
        history.push(world.unmarked(&"x".repeat(60_000)));
    }
    world.clock.0.set(START + 90_000_000);
    world.disk.append(PATH, history.concat().as_bytes());
    world.adopt(false);
    world.cycle();
    let rows = history[5..].concat() + &world.typed();
    world.disk.replace(PATH, rows.as_bytes());
    assert_eq!(world.outcome(), Outcome::Rewritten);
    assert_eq!(world.turns(), 1);
}

#[test]
fn an_event_from_before_an_adoption_takes_no_row_from_after_it() {
    let mut world = World::adopted();
    let history = world.disk.read(PATH);
    let row = world.typed();
    world.disk.append(PATH, row.as_bytes());
    world.cycle();
    let id = world.link().unwrap().id;
    assert!(world.log.unlink(&id).unwrap());
    world.disk.rewrite(PATH, &history);
    world.adopt(false);
    // A clock that runs ahead: the old event's clamped time could be taken for this row's.
    let now = world.clock.0.get();
    world.clock.0.set(now + 3_600_000);
    let ahead = world.typed();
    world.clock.0.set(now);
    world.disk.append(PATH, ahead.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 2);
}

#[test]
fn a_file_of_which_nothing_was_read_is_found_by_its_name() {
    for from_start in [true, false] {
        let mut world = World::new();
        let rows = if from_start { world.typed() } else { String::new() };
        world.disk.append(PATH, rows.as_bytes());
        world.adopt(from_start);
        world.disk.rename(PATH, MOVED);
        let row = world.typed();
        world.disk.append(MOVED, row.as_bytes());
        for _ in 0..4 {
            world.cycle();
        }
        assert_eq!(world.turns(), 1 + u64::from(from_start));
    }
}

#[test]
fn a_file_that_may_be_where_nobody_can_look_is_not_called_deleted() {
    let mut world = World::adopted();
    world.cycle();
    let content = world.disk.read(PATH);
    world.disk.remove(PATH);
    world.disk.set_incomplete(true);
    for _ in 0..5 {
        assert_eq!(world.outcome(), Outcome::Missing);
    }
    world.disk.set_incomplete(false);
    world.disk.append(MOVED, &content);
    world.cycle();
    assert_eq!(world.link().unwrap().path().unwrap().to_str(), Some(MOVED));
}

#[test]
fn the_same_content_in_another_file_goes_on() {
    let mut world = World::adopted();
    world.cycle();
    let content = world.disk.read(PATH);
    let row = world.typed();
    world.disk.replace(PATH, &[content, row.into_bytes()].concat());
    assert_eq!(world.outcome(), Outcome::Read);
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_row_that_is_written_again_is_a_copy() {
    let mut world = World::adopted();
    let row = world.typed();
    world.disk.append(PATH, format!("{row}{row}").as_bytes());
    world.cycle();
    world.disk.append(PATH, row.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_message_that_only_queue_rows_hold_is_a_copy_also_in_other_bytes() {
    let mut world = World::adopted();
    let typed = world.unmarked("start the mill").replace("2.1.332", "2.1.90");
    let at = world.tick();
    let at = humantime::format_rfc3339_millis(
        std::time::UNIX_EPOCH + std::time::Duration::from_millis(u64::try_from(at.0).unwrap()),
    );
    let queued = [
        format!(
            r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"{at}","content":"oil it"}}"#
        ),
        format!(
            r#"{{"operation":"enqueue","content":"oil\u0020it","sessionId":"b","timestamp":"{at}","type":"queue-operation"}}"#
        ),
    ];
    let removed = r#"{"type":"queue-operation","operation":"remove"}"#;
    world.disk.append(PATH, typed.as_bytes());
    for row in &queued {
        world.disk.append(PATH, format!("{row}\n{removed}\n").as_bytes());
        world.cycle();
        assert_eq!(world.turns(), 2);
    }
}

#[test]
fn two_images_queued_in_the_same_millisecond_are_two_messages() {
    let mut world = World::adopted();
    let typed = world.unmarked("start the mill").replace("2.1.332", "2.1.90");
    let at = world.tick();
    let at = humantime::format_rfc3339_millis(
        std::time::UNIX_EPOCH + std::time::Duration::from_millis(u64::try_from(at.0).unwrap()),
    );
    world.disk.append(PATH, typed.as_bytes());
    for (data, turns) in [("AAAA", 2), ("BBBB", 3), ("BBBB", 3)] {
        let queued = format!(
            r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"{at}","content":[{{"type":"image","source":{{"type":"base64","data":"{data}"}}}}]}}"#
        );
        let removed = r#"{"type":"queue-operation","operation":"remove"}"#;
        world.disk.append(PATH, format!("{queued}\n{removed}\n").as_bytes());
        world.cycle();
        assert_eq!(world.turns(), turns);
    }
}

#[test]
fn what_a_resumed_session_writes_again_under_new_uuids_is_a_copy() {
    let mut world = World::adopted();
    let text = r#"{"type":"text","text":"what is it?"}"#;
    let image = r#"{"type":"image"}"#;
    let typed = world.row(&format!(r#""message":{{"role":"user","content":[{image},{text}]}}"#));
    let typed = typed.replace("2.1.332", "2.0.42");
    let at = typed.split(r#""timestamp":""#).nth(1).unwrap().split('"').next().unwrap().to_owned();
    world.disk.append(PATH, typed.as_bytes());
    world.cycle();
    for block in [image, text] {
        let uuid = world.uuid();
        let copy = format!(
            r#"{{"type":"user","uuid":"{uuid}","timestamp":"{at}","version":"2.0.42","message":{{"role":"user","content":[{block}]}}}}"#
        );
        world.disk.append(PATH, (copy + "\n").as_bytes());
    }
    let report = world.cycle();
    assert_eq!(report.links[0].rows.get(&Class::Copy), Some(&2));
    assert_eq!(world.turns(), 1);
}

#[test]
fn an_own_text_excuses_its_echo_also_when_the_file_is_read_again() {
    let mut world = World::adopted();
    world.cycle();
    let hash = world.key.text(&normalise("go on"));
    let session = World::session();
    let now = world.tick();
    world.journal.add_own_text(&session, &hash, now).unwrap();
    let rows = world.unmarked("go  on") + &world.unmarked("go on");
    world.disk.append(PATH, rows.as_bytes());
    let report = world.cycle();
    assert_eq!((report.links[0].echoes, world.turns()), (1, 1));
    let content = world.disk.read(PATH);
    world.disk.replace(PATH, &[b"\n".to_vec(), content].concat());
    assert_eq!(world.outcome(), Outcome::Rewritten);
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_missing_file_is_reported_after_three_sights_in_a_row() {
    let mut world = World::adopted();
    world.cycle();
    world.disk.remove(PATH);
    assert_eq!(world.outcome(), Outcome::Missing);
    assert_eq!(world.outcome(), Outcome::Missing);
    let report = world.cycle();
    assert_eq!(report.links[0].outcome, Outcome::Deleted);
    let event = world.log.events(&EventFilter::default(), 9).unwrap().events.pop().unwrap();
    assert_eq!(event.kind, "upstream_missing");
    assert_eq!(event.payload_json.as_deref(), Some(r#"{"channel":"claude","cause":"deleted"}"#));
    assert!(world.link().is_none() && world.cycle().links.is_empty());
    assert!(world.journal.links().unwrap().is_empty());
}

#[test]
fn a_file_that_comes_back_resets_the_count_and_a_gone_store_never_counts() {
    let mut world = World::adopted();
    world.cycle();
    let content = world.disk.read(PATH);
    for _ in 0..2 {
        world.disk.remove(PATH);
        world.cycle();
        world.cycle();
        world.disk.append(PATH, &content);
        assert_ne!(world.outcome(), Outcome::Missing);
    }
    world.disk.set_store_gone(true);
    for outcome in [Outcome::Missing, Outcome::Missing, Outcome::StoreGone, Outcome::StoreGone] {
        assert_eq!(world.outcome(), outcome);
    }
    world.disk.set_store_gone(false);
    let row = world.typed();
    world.disk.append(PATH, row.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn sights_too_close_together_count_as_one() {
    let mut world = World::adopted();
    world.cycle();
    world.rules.miss_interval_ms = 30_000;
    world.disk.remove(PATH);
    for _ in 0..5 {
        assert_eq!(world.outcome(), Outcome::Missing);
    }
    for outcome in [Outcome::Missing, Outcome::Deleted] {
        world.clock.0.set(world.clock.0.get() + 30_000);
        assert_eq!(world.outcome(), outcome);
    }
}

#[test]
fn a_moved_file_is_followed_and_no_event_tells_of_it() {
    let mut world = World::adopted();
    world.cycle();
    let row = world.typed();
    world.disk.append(PATH, row.as_bytes());
    world.cycle();
    world.disk.rename(PATH, MOVED);
    world.cycle();
    world.cycle();
    let row = world.typed();
    world.disk.append(MOVED, row.as_bytes());
    world.cycle();
    assert_eq!(world.link().unwrap().path().unwrap().to_str(), Some(MOVED));
    assert_eq!(world.turns(), 2);
}
