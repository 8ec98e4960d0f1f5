use super::*;
use crate::ids::{AgentId, Sequence};
use crate::record::testing::{KEY, NOW, WATCHER, all_events, followed, id, key, new_link};
use crate::record::{Actor, Kind, LinkFilter, NewEvent};

const DAY: i64 = 86_400_000;

/// Appends an event that happened at this time, as somebody wrote it then.
fn event(log: &mut SignalLog, session: &str, at: Timestamp) {
    let event = NewEvent {
        dedupe_key: None,
        session_key: key(session),
        agent_id: AgentId::new("main"),
        session_id: None,
        kind: Kind::RunCompleted,
        actor: Actor::System,
        actor_id: None,
        run_id: None,
        occurred_at: at,
        summary: "run completed".to_owned(),
        payload_json: None,
        watchers: Vec::new(),
    };
    log.append(&event, at).unwrap();
}

fn sequences(log: &SignalLog) -> Vec<i64> {
    all_events(log).iter().map(|event| event.sequence.0).collect()
}

/// How far a session's history was pruned, and when its head last changed.
fn pruned(log: &SignalLog, session: &str) -> (i64, i64) {
    log.connection
        .query_row(
            "SELECT pruned_max_sequence, updated_at FROM session_state_heads
             WHERE session_key = ?1 AND agent_id = 'main'",
            [session],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap()
}

#[test]
fn what_happened_more_than_thirty_days_ago_goes() {
    let mut log = followed();
    let limit = NOW.plus_ms(-30 * DAY);
    for at in [limit.plus_ms(-1), limit, limit.plus_ms(1), NOW] {
        event(&mut log, "agent:main:x", at);
    }
    let gone = log.prune(Retention::default(), NOW).unwrap();
    assert_eq!(gone, Pruned { events: 1, cursors: 0 });
    assert_eq!(sequences(&log), [1, 3, 4, 5]);
    assert_eq!(pruned(&log, "agent:main:x"), (2, NOW.0));
    assert_eq!(pruned(&log, KEY), (0, NOW.0));
    assert_eq!(log.prune(Retention::default(), NOW).unwrap(), Pruned::default());
}

#[test]
fn the_newest_events_stay_and_no_more_than_the_limit() {
    for (keep, left) in
        [(6, vec![1, 2, 3, 4, 5]), (5, vec![1, 2, 3, 4, 5]), (2, vec![4, 5]), (0, vec![])]
    {
        let mut log = followed();
        for session in ["agent:main:x", KEY, "agent:main:x", KEY] {
            event(&mut log, session, NOW);
        }
        let gone = log.prune(Retention { events: keep, ..Retention::default() }, NOW).unwrap();
        assert_eq!((sequences(&log), gone.events), (left.clone(), 5 - left.len()), "{keep}");
        if keep == 2 {
            assert_eq!((pruned(&log, "agent:main:x").0, pruned(&log, KEY).0), (2, 3));
        }
    }
}

#[test]
fn the_mark_of_what_was_pruned_only_rises() {
    let mut log = followed();
    // Event 3 goes first; event 2 is younger and goes later, and is no news.
    event(&mut log, "agent:main:x", NOW.plus_ms(-20 * DAY));
    event(&mut log, "agent:main:x", NOW.plus_ms(-40 * DAY));
    log.prune(Retention::default(), NOW).unwrap();
    assert_eq!((sequences(&log), pruned(&log, "agent:main:x")), (vec![1, 2], (3, NOW.0)));
    log.prune(Retention::default(), NOW.plus_ms(15 * DAY)).unwrap();
    assert_eq!((sequences(&log), pruned(&log, "agent:main:x")), (vec![1], (3, NOW.0)));
}

#[test]
fn cursors_that_stand_still_go_and_links_and_heads_stay() {
    let mut log = followed();
    let later = NOW.plus_ms(30 * DAY);
    assert_eq!(log.prune(Retention::default(), later).unwrap(), Pruned::default());
    let gone = log.prune(Retention::default(), later.plus_ms(1)).unwrap();
    assert_eq!(gone, Pruned { events: 1, cursors: 1 });
    assert_eq!(log.watches(None).unwrap(), []);
    assert_eq!(log.links(LinkFilter::All).unwrap().len(), 1);
    let changes = log.changes_since(&key(KEY), &id().agent_id, Sequence(0)).unwrap();
    assert!(changes.history_gap);
    assert_eq!(changes.earliest_available_sequence, Sequence(2));
    assert_eq!(log.state_version(&key(KEY), &id().agent_id).unwrap(), Sequence(1));
}

#[test]
fn numbers_are_never_used_again() {
    let mut log = followed();
    log.prune(Retention { events: 0, ..Retention::default() }, NOW).unwrap();
    event(&mut log, KEY, NOW);
    assert_eq!(sequences(&log), [2]);
}

#[test]
fn forgetting_leaves_nothing_and_the_numbers_go_on() {
    let mut log = followed();
    log.watch(&key(KEY), &key("agent:main:y"), None, NOW).unwrap();
    log.watch(&key(WATCHER), &key("agent:main:y"), None, NOW).unwrap();
    log.forget(&id()).unwrap();
    assert_eq!((all_events(&log), log.links(LinkFilter::All).unwrap()), (vec![], vec![]));
    assert_eq!(log.state_version(&key(KEY), &id().agent_id).unwrap(), Sequence(0));
    assert_eq!(log.watches(None).unwrap().len(), 1);
    log.adopt(&new_link(id()), NOW).unwrap();
    assert_eq!(log.state_version(&key(KEY), &id().agent_id).unwrap(), Sequence(2));
}
