use super::*;
use crate::ids::AgentId;
use crate::record::testing::{KEY, NOW, followed, id, id_under, intent, key, new_link, row};
use crate::record::{Actor, Ahead, Kind, NewEvent, Retention};

fn event(session: &str, agent: &str, kind: Kind) -> NewEvent {
    NewEvent {
        dedupe_key: None,
        session_key: key(session),
        agent_id: AgentId::new(agent),
        session_id: Some("never shown".to_owned()),
        kind,
        actor: Actor::Agent,
        actor_id: Some("agent:x:y".to_owned()),
        run_id: None,
        occurred_at: NOW,
        summary: "run completed".to_owned(),
        payload_json: Some("{\"never\":\"shown\"}".to_owned()),
        watchers: Vec::new(),
    }
}

fn changes(log: &SignalLog, since: i64) -> StateChanges {
    log.changes_since(&key(KEY), &id().agent_id, Sequence(since)).unwrap()
}

#[test]
fn changes_are_what_session_status_says() {
    let mut log = followed();
    let window = intent(100, 400, vec![row(100, 200, 10)]);
    log.record_window(&window, None, Ahead::Unseen, NOW).unwrap();
    log.append(&event(KEY, "main", Kind::RunCompleted), NOW).unwrap();
    assert_eq!(
        serde_json::to_string(&changes(&log, 1)).unwrap(),
        format!(
            "{{\"events\":[{{\"sequence\":2,\"kind\":\"human_direct_message\",\
             \"actorType\":\"human\",\"occurredAt\":{},\"summary\":\"human message via claude\"}},\
             {{\"sequence\":3,\"kind\":\"run_completed\",\"actorType\":\"agent\",\
             \"actorId\":\"agent:x:y\",\"occurredAt\":{},\"summary\":\"run completed\"}}],\
             \"truncated\":false,\"earliestAvailableSequence\":1,\"historyGap\":false}}",
            NOW.0 - 10_000,
            NOW.0
        )
    );
    assert_eq!(log.state_version(&key(KEY), &id().agent_id).unwrap(), Sequence(3));
}

#[test]
fn two_hundred_changes_are_told_and_that_there_are_more() {
    let mut log = followed();
    for (added, told, truncated) in [(199, 200, false), (1, 200, true), (50, 200, true)] {
        for _ in 0..added {
            log.append(&event(KEY, "main", Kind::RunCompleted), NOW).unwrap();
        }
        let changes = changes(&log, 0);
        assert_eq!((changes.events.len(), changes.truncated), (told, truncated));
        assert_eq!(changes.events[0].sequence, Sequence(1), "the oldest first");
    }
}

#[test]
fn an_agent_sees_its_own_changes() {
    let mut log = followed();
    log.append(&event(KEY, "b", Kind::RunCompleted), NOW).unwrap();
    log.append(&event("agent:main:x", "main", Kind::RunCompleted), NOW).unwrap();
    assert_eq!(changes(&log, 1).events, []);
    let others = log.changes_since(&key(KEY), &AgentId::new("b"), Sequence(0)).unwrap();
    assert_eq!(others.events.len(), 1);
    assert_eq!(others.earliest_available_sequence, Sequence(2));
}

#[test]
fn a_gap_in_the_history_is_said_exactly() {
    let mut log = followed();
    for _ in 0..4 {
        log.append(&event(KEY, "main", Kind::RunCompleted), NOW).unwrap();
    }
    log.prune(Retention { events: 2, ..Retention::default() }, NOW).unwrap();
    for (since, gap) in [(0, true), (2, true), (3, false), (4, false), (99, false)] {
        let changes = changes(&log, since);
        assert_eq!(changes.history_gap, gap, "{since}");
        assert_eq!(changes.earliest_available_sequence, Sequence(4), "{since}");
        let page = log.events(&EventFilter { since: Sequence(since), ..EventFilter::default() }, 9);
        assert_eq!(page.unwrap().gap, gap.then_some(Sequence(3)), "{since}");
    }
    log.prune(Retention { events: 0, ..Retention::default() }, NOW).unwrap();
    assert_eq!(changes(&log, 4).earliest_available_sequence, Sequence(6), "the next one");
    assert!(changes(&log, 4).history_gap && !changes(&log, 5).history_gap);
}

#[test]
fn an_unknown_session_is_at_the_beginning() {
    let log = followed();
    let unknown = log.changes_since(&key("agent:main:x"), &id().agent_id, Sequence(7)).unwrap();
    assert_eq!(
        serde_json::to_string(&unknown).unwrap(),
        "{\"events\":[],\"truncated\":false,\"earliestAvailableSequence\":0,\"historyGap\":false}"
    );
    assert_eq!(log.state_version(&key("agent:main:x"), &id().agent_id).unwrap(), Sequence(0));
}

#[test]
fn the_log_is_read_in_pages_by_kind_and_session() {
    let mut log = followed();
    for _ in 0..3 {
        log.append(&event(KEY, "main", Kind::RunCompleted), NOW).unwrap();
        log.append(&event("agent:main:x", "main", Kind::RunFailed), NOW).unwrap();
    }
    let read = |since, kind: Option<&str>, session: Option<&str>, limit| {
        let filter = EventFilter {
            since: Sequence(since),
            kind: kind.map(str::to_owned),
            session_key: session.map(key),
        };
        let page = log.events(&filter, limit).unwrap();
        let sequences: Vec<i64> = page.events.iter().map(|event| event.sequence.0).collect();
        assert_eq!(page.gap, None);
        (sequences, page.next.0, page.more)
    };
    assert_eq!(read(0, None, None, 3), (vec![1, 2, 3], 3, true));
    assert_eq!(read(3, None, None, 4), (vec![4, 5, 6, 7], 7, false));
    assert_eq!(read(7, None, None, 4), (vec![], 7, false));
    assert_eq!(read(0, Some("run_failed"), None, 9), (vec![3, 5, 7], 7, false));
    assert_eq!(read(0, None, Some(KEY), 2), (vec![1, 2], 2, true));
    assert_eq!(read(2, Some("adopted"), Some(KEY), 2), (vec![], 2, false));
    assert_eq!(log.newest_sequence().unwrap(), Sequence(7));
}

#[test]
fn the_last_time_that_a_person_typed_is_told_for_each_session() {
    let mut log = followed();
    log.adopt(&new_link(id_under("b")), NOW).unwrap();
    for (from, to, seconds_ago) in [(100, 400, 20), (400, 500, 30)] {
        let window = intent(from, to, vec![row(from, to, seconds_ago)]);
        log.record_window(&window, None, Ahead::Unseen, NOW).unwrap();
    }
    log.append(&event("agent:main:x", "main", Kind::RunFailed), NOW).unwrap();
    let times: Vec<_> = log.last_human_at().unwrap().into_iter().collect();
    assert_eq!(times, [(id(), NOW.plus_ms(-20_000))]);
}
