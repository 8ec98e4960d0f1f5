use super::*;
use crate::record::Acknowledged;
use crate::record::testing::{GENERATION, KEY, NOW, WATCHER, all_events, followed, id, key, marks};

fn event(dedupe: Option<&str>) -> NewEvent {
    NewEvent {
        dedupe_key: dedupe.map(str::to_owned),
        session_key: key(KEY),
        agent_id: id().agent_id,
        session_id: None,
        kind: Kind::HumanDirectMessage,
        actor: Actor::Human,
        actor_id: None,
        run_id: None,
        occurred_at: NOW,
        summary: "human message via claude".to_owned(),
        payload_json: None,
        watchers: Vec::new(),
    }
}

/// Everything in the tables, to see whether anything changed.
fn everything(log: &SignalLog) -> String {
    let head = log.state_version(&key(KEY), &id().agent_id).unwrap();
    format!("{:?}{:?}{head}", all_events(log), log.watches(None).unwrap())
}

#[test]
fn a_time_is_held_within_the_last_day() {
    const DAY: i64 = 86_400_000;
    for (at, stored) in [
        (NOW.0, NOW.0),
        (NOW.0 - 1, NOW.0 - 1),
        (NOW.0 + 1, NOW.0),
        (i64::MAX, NOW.0),
        (NOW.0 - DAY, NOW.0 - DAY),
        (NOW.0 - DAY - 1, NOW.0 - DAY),
        (-5, NOW.0 - DAY),
        (i64::MIN, NOW.0 - DAY),
    ] {
        let mut log = followed();
        log.append(&NewEvent { occurred_at: Timestamp(at), ..event(None) }, NOW).unwrap();
        assert_eq!(all_events(&log)[1].occurred_at, Timestamp(stored), "{at}");
    }
}

#[test]
fn an_event_that_is_there_already_changes_nothing() {
    let mut log = followed();
    let first = log.append(&event(Some("k")), NOW).unwrap();
    assert!(first.fresh);
    let before = everything(&log);
    let again =
        NewEvent { summary: "other".to_owned(), agent_id: AgentId::new("b"), ..event(Some("k")) };
    let second = log.append(&again, NOW.plus_ms(5)).unwrap();
    assert_eq!(second, Appended { sequence: first.sequence, fresh: false, notices: Vec::new() });
    assert_eq!(everything(&log), before);
}

#[test]
fn events_without_a_dedupe_key_are_always_new() {
    let mut log = followed();
    assert!(log.append(&event(None), NOW).unwrap().fresh);
    assert!(log.append(&event(None), NOW).unwrap().fresh);
}

#[test]
fn the_notified_mark_is_frozen_until_it_is_acknowledged_and_then_moves_on() {
    let mut log = followed();
    assert_eq!(marks(&log, WATCHER), (1, 1, 1));
    let first = log.append(&event(None), NOW).unwrap();
    assert_eq!(marks(&log, WATCHER), (1, 2, 2));
    log.append(&event(None), NOW).unwrap();
    let third = log.append(&event(None), NOW).unwrap();
    assert_eq!(marks(&log, WATCHER), (1, 2, 4), "frozen while a notice is under way");
    assert_eq!(third.notices[0].text().unwrap(), first.notices[0].text().unwrap());
    let Acknowledged::Reopened(next) = log.acknowledge(&first.notices[0], NOW).unwrap() else {
        panic!("more has happened");
    };
    assert_eq!(marks(&log, WATCHER), (2, 4, 4));
    assert_eq!((next.last_seen.0, next.notified.0, next.material.0), (2, 4, 4));
    assert_eq!(log.acknowledge(&first.notices[0], NOW).unwrap(), Acknowledged::Stale);
    assert_eq!(log.acknowledge(&next, NOW).unwrap(), Acknowledged::Settled);
    assert_eq!(marks(&log, WATCHER), (4, 4, 4));
    log.append(&event(None), NOW).unwrap();
    assert_eq!(marks(&log, WATCHER), (4, 5, 5), "from rest it moves again");
}

#[test]
fn a_watcher_is_not_told_of_its_own_doing() {
    let mut log = followed();
    log.watch(&key("agent:b:other"), &key(KEY), None, NOW).unwrap();
    let own = NewEvent { actor: Actor::Agent, actor_id: Some(WATCHER.to_owned()), ..event(None) };
    let appended = log.append(&own, NOW).unwrap();
    let told: Vec<_> = appended.notices.iter().map(|notice| notice.watcher.as_str()).collect();
    assert_eq!(told, ["agent:b:other"]);
    assert_eq!(marks(&log, WATCHER), (1, 1, 1));
    assert_eq!(marks(&log, "agent:b:other"), (1, 2, 2));
}

#[test]
fn only_full_keys_are_told() {
    let mut log = followed();
    for watcher in ["global", "agent:main", "agent::x", "agent:main:", "ambient-group-watch:6d"] {
        log.connection
            .execute(
                "INSERT INTO session_watch_cursors (watcher_session_key, target_session_key,
                     updated_at) VALUES (?1, ?2, 0)",
                (watcher, KEY),
            )
            .unwrap();
    }
    let appended = log.append(&event(None), NOW).unwrap();
    let told: Vec<_> = appended.notices.iter().map(|notice| notice.watcher.as_str()).collect();
    assert_eq!(told, [WATCHER]);
    assert_eq!(marks(&log, "global"), (0, 0, 0));
}

#[test]
fn only_some_kinds_are_told() {
    for kind in Kind::ALL {
        let mut log = followed();
        let appended = log.append(&NewEvent { kind, ..event(None) }, NOW).unwrap();
        let told = ["human_direct_message", "upstream_missing", "goal_changed"];
        assert_eq!(!appended.notices.is_empty(), told.contains(&kind.as_str()), "{kind:?}");
        assert_eq!(marks(&log, WATCHER) == (1, 2, 2), told.contains(&kind.as_str()), "{kind:?}");
        assert_eq!(log.state_version(&key(KEY), &id().agent_id).unwrap(), Sequence(2));
        assert_eq!(Kind::named(kind.as_str()), Some(kind));
    }
    assert_eq!(Kind::named("other"), None);
}

#[test]
fn a_named_watcher_gets_a_cursor_unless_it_has_one_with_another_database() {
    for (store_path, had, marked, told) in [
        (Some("/new"), "agent:c:x", (0, 2, 2), true),
        (None, "agent:c:x", (0, 2, 2), true),
        (Some("/db"), WATCHER, (1, 2, 2), true),
        (None, WATCHER, (1, 2, 2), true),
        (Some("/other"), WATCHER, (1, 1, 1), false),
    ] {
        let mut log = followed();
        let named = NewWatcher { key: key(had), store_path: store_path.map(str::to_owned) };
        let appended = log.append(&NewEvent { watchers: vec![named], ..event(None) }, NOW).unwrap();
        assert_eq!(marks(&log, had), marked, "{store_path:?} {had}");
        let is_told = appended.notices.iter().filter(|notice| notice.watcher == key(had)).count();
        assert_eq!(is_told, usize::from(told), "{store_path:?} {had}");
    }
}

#[test]
fn an_agents_head_is_its_own_and_sequences_are_everybodys() {
    let mut log = followed();
    let other = NewEvent { agent_id: AgentId::new("b"), ..event(None) };
    assert_eq!(log.append(&other, NOW).unwrap().sequence, Sequence(2));
    assert_eq!(log.state_version(&key(KEY), &id().agent_id).unwrap(), Sequence(1));
    assert_eq!(log.state_version(&key(KEY), &AgentId::new("b")).unwrap(), Sequence(2));
    assert_eq!(marks(&log, WATCHER), (1, 2, 2), "one cursor serves both");
}

#[test]
fn all_columns_are_read_back_as_they_were_written() {
    let mut log = followed();
    let full = NewEvent {
        dedupe_key: Some("k".to_owned()),
        session_id: Some("s".to_owned()),
        actor: Actor::System,
        actor_id: Some("a".to_owned()),
        run_id: Some("r".to_owned()),
        payload_json: Some(format!("{{\"from\":1,\"generation\":\"{GENERATION}\"}}")),
        ..event(None)
    };
    log.append(&full, NOW).unwrap();
    let events = all_events(&log);
    assert_eq!(events[1].dedupe_key.as_deref(), Some("k"));
    assert_eq!(
        serde_json::to_string(&events[1]).unwrap(),
        format!(
            "{{\"sequence\":2,\"sessionKey\":\"{KEY}\",\"agentId\":\"main\",\"sessionId\":\"s\",\
             \"kind\":\"human_direct_message\",\"actorType\":\"system\",\"actorId\":\"a\",\
             \"runId\":\"r\",\"occurredAt\":{NOW},\"summary\":\"human message via claude\",\
             \"payload\":{{\"from\":1,\"generation\":\"{GENERATION}\"}}}}",
            NOW = NOW.0
        )
    );
}
