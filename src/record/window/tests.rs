use super::*;
use crate::ids::{AgentId, Generation};
use crate::link::NewLink;
use crate::record::MarkerOutcome;
use crate::record::testing::{
    GENERATION, KEY, NOW, WATCHER, followed, id, id_under, intent, key, marks, new_link, row,
    source, turn_events,
};
use crate::record::{Acknowledged, Event, LinkFilter};
use proptest::prelude::*;
use std::collections::BTreeSet;

const OTHER: &str = "ffffffff";

fn window(log: &mut SignalLog, intent: &Intent) -> WindowRecord {
    match log.record_window(intent, None, Ahead::Unseen, NOW).unwrap() {
        WindowOutcome::Recorded(record) => record,
        other => panic!("{other:?}"),
    }
}

fn marker(log: &SignalLog) -> Option<u64> {
    log.link(&id()).unwrap().unwrap().marker()
}

fn dedupe_id(event: &Event) -> String {
    let key = event.dedupe_key.clone().unwrap();
    key.strip_prefix(&format!("upstream:{KEY}:{}:", source())).unwrap().to_owned()
}

/// The gateway's event of a window that ends here.
fn gateways(log: &mut SignalLog, to: u64, turns: usize, at: Timestamp) -> Sequence {
    let event = NewEvent {
        dedupe_key: Some(format!("upstream:{KEY}:{}:{to}", source())),
        session_key: key(KEY),
        agent_id: id().agent_id,
        session_id: None,
        kind: Kind::HumanDirectMessage,
        actor: Actor::Human,
        actor_id: None,
        run_id: None,
        occurred_at: at,
        summary: "human message via claude".to_owned(),
        payload_json: (turns > 1).then(|| format!("{{\"turns\":{turns}}}")),
        watchers: Vec::new(),
    };
    log.append(&event, NOW).unwrap().sequence
}

#[test]
fn one_turn_becomes_the_gateways_event_and_says_what_it_covers() {
    let mut log = followed();
    let record = window(&mut log, &intent(100, 400, vec![row(100, 300, 10)]));
    assert_eq!(record.turns, 1);
    assert_eq!(record.sequence, Some(Sequence(2)));
    assert_eq!(record.newest_seen, Sequence(2));
    assert_eq!(record.notices.len(), 1);
    let event = &turn_events(&log)[0];
    assert_eq!(
        serde_json::to_value(event).unwrap(),
        serde_json::json!({
            "sequence": 2, "sessionKey": KEY, "agentId": "main", "sessionId": null,
            "kind": "human_direct_message", "actorType": "human", "actorId": null, "runId": null,
            "occurredAt": NOW.0 - 10_000, "summary": "human message via claude",
            "payload": { "from": 100, "generation": GENERATION },
        })
    );
    assert_eq!(dedupe_id(event), "400");
    assert_eq!(event.payload_json.as_deref(), Some("{\"from\":100,\"generation\":\"0a1b2c3d\"}"));
    let link = log.link(&id()).unwrap().unwrap();
    assert_eq!(link.marker_json.as_deref(), Some("{\"offset\":400}"));
    assert_eq!(link.last_scanned_at, Some(NOW));
    assert_eq!(link.updated_at, NOW.plus_ms(1), "also within the millisecond of the adoption");
    assert_eq!(marks(&log, WATCHER), (1, 2, 2));
}

#[test]
fn several_turns_become_one_event_at_the_greatest_time() {
    let mut log = followed();
    let rows = vec![row(100, 200, 20), row(200, 300, 5), row(300, 400, 9)];
    assert_eq!(window(&mut log, &intent(100, 400, rows)).turns, 3);
    let event = &turn_events(&log)[0];
    assert_eq!(event.occurred_at, NOW.plus_ms(-5000));
    assert_eq!(
        event.payload_json.as_deref(),
        Some("{\"turns\":3,\"from\":100,\"generation\":\"0a1b2c3d\"}")
    );
}

#[test]
fn an_intent_that_is_carried_out_again_gives_the_same_and_no_second_event() {
    let mut log = followed();
    gateways(&mut log, 200, 1, NOW.plus_ms(-30_000));
    let intent = intent(100, 400, vec![row(100, 200, 30), row(200, 300, 20), row(300, 400, 10)]);
    let first = window(&mut log, &intent);
    assert_eq!((first.turns, first.covered), (2, 1));
    // The gateway goes on meanwhile.
    gateways(&mut log, 500, 1, NOW.plus_ms(-1000));
    let again = window(&mut log, &intent);
    assert_eq!(
        WindowRecord { notices: Vec::new(), ..again },
        WindowRecord { notices: Vec::new(), ..first.clone() }
    );
    assert_eq!(turn_events(&log).len(), 3);
    assert_eq!(marker(&log), Some(400));
}

#[test]
fn the_notices_of_an_intent_carried_out_again_are_those_still_due() {
    let mut log = followed();
    let intent = intent(100, 400, vec![row(100, 200, 30)]);
    let first = window(&mut log, &intent);
    assert_eq!(window(&mut log, &intent), first);
    let settled = log.acknowledge(&first.notices[0], NOW).unwrap();
    assert_eq!(settled, Acknowledged::Settled);
    assert_eq!(window(&mut log, &intent).notices, []);
}

#[test]
fn an_event_that_is_said_to_be_accounted_for_is_still_not_written_twice() {
    let mut log = followed();
    let mut intent = intent(100, 400, vec![row(100, 200, 30)]);
    let first = window(&mut log, &intent);
    intent.seen = Sequence(1000);
    let again = window(&mut log, &intent);
    assert_eq!((again.sequence, turn_events(&log).len()), (first.sequence, 1));
}

#[test]
fn a_window_that_the_gateway_had_is_no_event() {
    let mut log = followed();
    let theirs = gateways(&mut log, 400, 2, NOW.plus_ms(-10_000));
    let false_turn = CountableRow { ours: false, ..row(100, 200, 30) };
    let record = window(&mut log, &intent(100, 400, vec![false_turn, row(200, 300, 10)]));
    assert_eq!((record.turns, record.sequence, record.newest_seen), (0, None, theirs));
    assert_eq!((record.covered, record.false_turns, record.unplaced), (2, 1, 0));
    assert_eq!(marker(&log), Some(400));
}

#[test]
fn what_the_gateway_cannot_see_is_recorded_where_it_was_first() {
    let mut log = followed();
    gateways(&mut log, 400, 1, NOW.plus_ms(-10_000));
    let unseen = CountableRow { gateway: false, ..row(100, 200, 30) };
    let record = window(&mut log, &intent(100, 400, vec![unseen, row(200, 300, 10)]));
    assert_eq!(record.turns, 1);
    assert_eq!(dedupe_id(&turn_events(&log)[1]), "400.0a1b2c3d.100", "400 is taken");
}

#[test]
fn a_rewritten_file_that_ends_at_the_same_offset_gets_an_event_of_its_own() {
    let mut log = followed();
    window(&mut log, &intent(100, 400, vec![row(100, 200, 30)]));
    let mut rewritten = intent(0, 400, vec![row(200, 300, 20)]);
    rewritten.generation = Generation::new(OTHER);
    rewritten.seen = Sequence(2);
    assert_eq!(window(&mut log, &rewritten).turns, 1);
    assert_eq!(window(&mut log, &rewritten).turns, 1);
    let ids: Vec<_> = turn_events(&log).iter().map(dedupe_id).collect();
    assert_eq!(ids, ["400", "400.ffffffff.0"]);
}

#[test]
fn events_of_other_sources_agents_and_sessions_cover_nothing() {
    for change in [
        |event: &mut NewEvent| event.agent_id = AgentId::new("b"),
        |event: &mut NewEvent| event.session_key = key("agent:main:x"),
        |event: &mut NewEvent| event.kind = Kind::GoalChanged,
        |event: &mut NewEvent| event.dedupe_key = Some(format!("upstream:{KEY}:{:0>16}:400", 0)),
        |event: &mut NewEvent| event.dedupe_key = None,
    ] {
        let mut log = followed();
        let mut event = NewEvent {
            dedupe_key: Some(format!("upstream:{KEY}:{}:400", source())),
            session_key: key(KEY),
            agent_id: id().agent_id,
            session_id: None,
            kind: Kind::HumanDirectMessage,
            actor: Actor::Human,
            actor_id: None,
            run_id: None,
            occurred_at: NOW.plus_ms(-10_000),
            summary: String::new(),
            payload_json: None,
            watchers: Vec::new(),
        };
        change(&mut event);
        log.append(&event, NOW).unwrap();
        let record = window(&mut log, &intent(100, 400, vec![row(200, 300, 10)]));
        assert_eq!((record.turns, record.covered), (1, 0), "{event:?}");
    }
}

#[test]
fn two_agents_get_an_event_each() {
    let mut log = followed();
    log.adopt(&new_link(id_under("b")), NOW).unwrap();
    for agent in ["main", "b"] {
        let mut intent = intent(100, 400, vec![row(200, 300, 10)]);
        intent.agent_id = AgentId::new(agent);
        let first = window(&mut log, &intent);
        assert_eq!(first.turns, 1, "{agent}");
        assert_eq!(window(&mut log, &intent).sequence, first.sequence, "{agent}");
        let mut next = intent.clone();
        next.generation = Generation::new(OTHER);
        next.rows = vec![row(300, 400, 5)];
        next.seen = first.newest_seen;
        assert_eq!(window(&mut log, &next).turns, 1, "{agent}");
    }
    let ids: Vec<_> = turn_events(&log).iter().map(dedupe_id).collect();
    assert_eq!(
        ids,
        [
            "400:agent:main",
            "400.ffffffff.100:agent:main",
            "400:agent:b",
            "400.ffffffff.100:agent:b"
        ]
    );
}

#[test]
fn a_second_agent_that_follows_the_first_finds_its_own_key() {
    let mut log = followed();
    let mut intent = intent(100, 400, vec![row(200, 300, 10)]);
    window(&mut log, &intent);
    let mut later = intent.clone();
    later.generation = Generation::new(OTHER);
    later.rows = vec![row(300, 400, 5)];
    later.seen = Sequence(2);
    window(&mut log, &later);
    log.unlink(&id()).unwrap();
    log.adopt(&new_link(id_under("b")), NOW).unwrap();
    intent.agent_id = AgentId::new("b");
    intent.generation = Generation::new(OTHER);
    assert_eq!(window(&mut log, &intent).turns, 1);
    assert_eq!(window(&mut log, &intent).turns, 1);
    let ids: Vec<_> = turn_events(&log).iter().map(dedupe_id).collect();
    assert_eq!(ids, ["400", "400.ffffffff.100", "400.ffffffff.100:agent:b"]);
}

#[test]
fn nothing_is_written_for_a_link_that_is_gone_or_another() {
    type Change = fn(&mut SignalLog);
    let changes: [Change; 3] = [
        |log| assert!(log.unlink(&id()).unwrap()),
        |log| {
            let ref_json = r#"{"filePath":"/elsewhere.jsonl"}"#.to_owned();
            let other = NewLink { ref_json, ..new_link(id()) };
            assert!(log.adopt(&other, NOW).unwrap().replaced);
        },
        |log| {
            log.unlink(&id()).unwrap();
            log.adopt(&new_link(id_under("b")), NOW).unwrap();
        },
    ];
    for change in changes {
        let mut log = followed();
        change(&mut log);
        let before = log.links(LinkFilter::All).unwrap();
        let outcome = log
            .record_window(&intent(100, 400, vec![row(100, 200, 1)]), None, Ahead::Unseen, NOW)
            .unwrap();
        assert_eq!(outcome, WindowOutcome::LinkGone);
        let moved = log.move_marker(&id(), &source(), 400, Ahead::Unseen, NOW).unwrap();
        assert_eq!(moved, MarkerOutcome::LinkGone);
        assert_eq!(turn_events(&log), []);
        assert_eq!(log.links(LinkFilter::All).unwrap(), before);
    }
}

#[test]
fn a_marker_beyond_the_window_is_looked_at_first() {
    let mut log = followed();
    log.move_marker(&id(), &source(), 900, Ahead::Unseen, NOW).unwrap();
    let before = log.link(&id()).unwrap().unwrap();
    let intent = intent(100, 400, vec![row(100, 200, 1)]);
    for ahead in [Ahead::Unseen, Ahead::Keep(800), Ahead::Replace(901), Ahead::Keep(400)] {
        let outcome = log.record_window(&intent, None, ahead, NOW).unwrap();
        assert_eq!(outcome, WindowOutcome::MarkerAhead(900), "{ahead:?}");
        let moved = log.move_marker(&id(), &source(), 400, ahead, NOW).unwrap();
        assert_eq!(moved, MarkerOutcome::MarkerAhead(900), "{ahead:?}");
    }
    assert_eq!((log.link(&id()).unwrap().unwrap(), turn_events(&log)), (before, vec![]));
    for (ahead, stands) in [(Ahead::Keep(900), 900), (Ahead::Replace(900), 400)] {
        let before = log.link(&id()).unwrap().unwrap();
        let outcome = log.record_window(&intent, None, ahead, NOW).unwrap();
        assert!(matches!(outcome, WindowOutcome::Recorded(_)), "{ahead:?}");
        let after = log.link(&id()).unwrap().unwrap();
        assert_eq!(after.marker(), Some(stands), "{ahead:?}");
        assert!(after.updated_at > before.updated_at, "{ahead:?}");
    }
}

#[test]
fn a_marker_is_moved_over_rows_of_no_account_only_where_it_has_to() {
    let mut log = followed();
    let mut step = |to, ahead, now| {
        let moved = log.move_marker(&id(), &source(), to, ahead, now).unwrap();
        let link = log.link(&id()).unwrap().unwrap();
        (moved, link.marker().unwrap(), link.updated_at.0 - NOW.0)
    };
    assert_eq!(step(100, Ahead::Unseen, NOW), (MarkerOutcome::Stands, 100, 0));
    assert_eq!(step(400, Ahead::Unseen, NOW), (MarkerOutcome::Moved, 400, 1));
    assert_eq!(step(300, Ahead::Keep(400), NOW), (MarkerOutcome::Stands, 400, 1));
    assert_eq!(step(300, Ahead::Replace(400), NOW.plus_ms(9)), (MarkerOutcome::Moved, 300, 9));
}

#[test]
fn a_marker_in_an_older_form_or_none_is_replaced() {
    for stored in [Some("{\"size\":200}"), Some("{}"), Some("no json"), None] {
        let mut log = followed();
        log.connection
            .execute("UPDATE session_upstream_links SET last_marker_json = ?1", [stored])
            .unwrap();
        window(&mut log, &intent(100, 400, vec![row(100, 200, 1)]));
        assert_eq!(marker(&log), Some(400), "{stored:?}");
    }
}

#[test]
fn updated_at_grows_also_under_a_clock_that_steps_back() {
    let mut log = followed();
    for (step, grown) in [(0, 1), (-5000, 2), (10, 10)] {
        let now = NOW.plus_ms(step);
        let rows = vec![];
        log.record_window(&intent(100, 400, rows), None, Ahead::Unseen, now).unwrap();
        let link = log.link(&id()).unwrap().unwrap();
        assert_eq!(link.updated_at, NOW.plus_ms(grown));
        assert_eq!(link.last_scanned_at, Some(now));
    }
}

#[test]
fn two_that_carry_out_one_intent_at_once_record_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    SignalLog::open(&path).unwrap().adopt(&new_link(id()), NOW).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut log = SignalLog::open(&path).unwrap();
                for step in 1..20 {
                    let (from, to) = (step * 100, step * 100 + 100);
                    let intent = intent(from, to, vec![row(from, to, 1)]);
                    // The others may be further on already; their marker stands at a row's end.
                    let mut ahead = Ahead::Unseen;
                    loop {
                        match log.record_window(&intent, None, ahead, NOW).unwrap() {
                            WindowOutcome::MarkerAhead(offset) => ahead = Ahead::Keep(offset),
                            WindowOutcome::Recorded(record) => break assert_eq!(record.turns, 1),
                            other => panic!("{other:?}"),
                        }
                    }
                }
            });
        }
    });
    let log = SignalLog::open(&path).unwrap();
    let ids: Vec<_> = turn_events(&log).iter().map(dedupe_id).collect();
    let expected: Vec<_> = (2..21).map(|step| (step * 100).to_string()).collect();
    assert_eq!((ids, marker(&log)), (expected, Some(2000)));
}

/// What happens to a file with a row per 100 bytes, one second apart.
#[derive(Debug, Clone)]
enum Step {
    /// We read so many rows more and record them; killed before the journal hears of it, or not.
    Ours { rows: usize, killed: bool },
    /// The gateway reads so many rows from the marker and records them; killed before it moves the
    /// marker, or not.
    Gateway { rows: usize, killed: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<bool>(), 1_usize..6, any::<bool>()).prop_map(|(ours, rows, killed)| {
        if ours { Step::Ours { rows, killed } } else { Step::Gateway { rows, killed } }
    });
    prop::collection::vec(step, 0..14)
}

proptest! {
    #[test]
    fn in_any_interleaving_we_count_what_a_gateway_has_not_and_only_that(
        steps in steps(),
        seen_by_gateway in prop::collection::vec(any::<bool>(), 20),
    ) {
        let offset_of = |index: usize| 100 + 100 * u64::try_from(index).unwrap();
        let rows: Vec<_> = seen_by_gateway.iter().enumerate().map(|(index, gateway)| {
            let age = 100 - i64::try_from(index).unwrap();
            let row = row(offset_of(index), offset_of(index + 1), age);
            CountableRow { gateway: *gateway, ..row }
        }).collect();
        let mut log = followed();
        let mut gateway_had = BTreeSet::new();
        // The journal: position and seen. A window that was begun is carried out again.
        let (mut position, mut seen, mut open) = (0, Sequence(0), None::<(usize, Intent)>);
        let mut all = steps;
        all.push(Step::Ours { rows: 20, killed: false });
        all.push(Step::Ours { rows: 20, killed: false });
        for step in all {
            match step {
                Step::Ours { rows: count, killed } => {
                    let (to, window) = open.take().unwrap_or_else(|| {
                        let to = rows.len().min(position + count);
                        let mut window =
                            intent(offset_of(position), offset_of(to), rows[position..to].to_vec());
                        window.seen = seen;
                        (to, window)
                    });
                    let (mut linked, mut ahead) = (None, Ahead::Unseen);
                    let record = loop {
                        match log.record_window(&window, linked, ahead, NOW).unwrap() {
                            WindowOutcome::Recorded(record) => break record,
                            WindowOutcome::MarkerAhead(offset) => ahead = Ahead::Keep(offset),
                            WindowOutcome::LinkedNeeded => linked = Some(rows.as_slice()),
                            WindowOutcome::LinkGone => panic!("nobody removes it"),
                        }
                    };
                    if killed {
                        open = Some((to, window));
                    } else {
                        (position, seen) = (to, record.newest_seen);
                    }
                }
                Step::Gateway { rows: count, killed } => {
                    let begin = usize::try_from(marker(&log).unwrap() / 100 - 1).unwrap();
                    let end = rows.len().min(begin + count);
                    let counted: Vec<_> =
                        rows[begin..end].iter().filter(|row| row.gateway).collect();
                    gateway_had.extend(counted.iter().map(|row| row.start));
                    if let Some(last) = counted.last() {
                        gateways(&mut log, offset_of(end), counted.len(), last.at);
                    }
                    if !killed {
                        let to = offset_of(end);
                        log.move_marker(&id(), &source(), to, Ahead::Unseen, NOW).unwrap();
                    }
                }
            }
        }
        let ours: usize = turn_events(&log)
            .iter()
            .map(|event| {
                let payload = event.payload_json.as_deref();
                SourceEvent::read(Sequence(0), NOW, &dedupe_id(event), payload)
            })
            .filter(|event| event.ours.is_some())
            .map(|event| event.turns)
            .sum();
        prop_assert_eq!(ours + gateway_had.len(), rows.len());
    }
}
