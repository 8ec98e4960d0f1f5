use super::*;
use crate::record::Ahead;
use crate::record::testing::{KEY, NOW, WATCHER, followed, id, intent, key, marks, row};

fn turn(log: &mut SignalLog, from: u64, to: u64) {
    let window = intent(from, to, vec![row(from, to, 1)]);
    log.record_window(&window, None, Ahead::Unseen, NOW).unwrap();
}

#[test]
fn what_was_before_the_registration_never_notifies() {
    let mut log = followed();
    turn(&mut log, 100, 200);
    turn(&mut log, 200, 300);
    assert!(log.watch(&key("agent:b:x"), &key(KEY), None, NOW).unwrap());
    assert_eq!(marks(&log, "agent:b:x"), (3, 3, 3));
    assert_eq!(log.pending(Some(&key("agent:b:x"))).unwrap(), []);
    assert!(log.watch(&key("agent:b:x"), &key("agent:main:new"), None, NOW).unwrap());
    let fresh = &log.watches(Some(&key("agent:b:x"))).unwrap()[0];
    assert_eq!(fresh.target, key("agent:main:new"));
    assert_eq!((fresh.last_seen, fresh.material), (Sequence(0), Sequence(0)), "no head yet");
}

#[test]
fn the_head_of_any_agent_is_where_a_watch_begins() {
    let mut log = followed();
    log.connection
        .execute("INSERT INTO session_state_heads VALUES (?1, 'b', 9, 0, 0)", [KEY])
        .unwrap();
    log.watch(&key("agent:b:x"), &key(KEY), None, NOW).unwrap();
    assert_eq!(marks(&log, "agent:b:x"), (9, 9, 9));
}

#[test]
fn registering_again_changes_nothing() {
    let mut log = followed();
    turn(&mut log, 100, 200);
    let before = log.watches(None).unwrap();
    assert!(!log.watch(&key(WATCHER), &key(KEY), Some("/other"), NOW.plus_ms(9)).unwrap());
    assert_eq!(log.watches(None).unwrap(), before);
}

#[test]
fn a_watcher_has_a_full_key_and_watches_another() {
    for (watcher, target) in
        [("global", KEY), ("agent:main", KEY), ("agent::x", KEY), ("", KEY), (KEY, KEY)]
    {
        let mut log = followed();
        let refused = log.watch(&key(watcher), &key(target), None, NOW).unwrap_err();
        assert_eq!(refused.exit_code(), 2, "{watcher}: {refused}");
        assert_eq!(log.watches(None).unwrap().len(), 1);
    }
}

#[test]
fn watches_are_removed_one_or_all() {
    let mut log = followed();
    log.watch(&key(WATCHER), &key("agent:main:a"), None, NOW).unwrap();
    log.watch(&key(WATCHER), &key("agent:main:b"), None, NOW).unwrap();
    log.watch(&key("agent:b:x"), &key(KEY), None, NOW).unwrap();
    assert_eq!(log.unwatch(&key(WATCHER), Some(&key(KEY))).unwrap(), 1);
    assert_eq!(log.unwatch(&key(WATCHER), Some(&key(KEY))).unwrap(), 0);
    assert_eq!(log.unwatch(&key(WATCHER), None).unwrap(), 2);
    assert_eq!(log.watches(None).unwrap().len(), 1);
}

#[test]
fn notices_are_due_until_they_are_acknowledged() {
    let mut log = followed();
    log.watch(&key("agent:b:x"), &key(KEY), None, NOW).unwrap();
    turn(&mut log, 100, 200);
    assert_eq!(log.pending(None).unwrap().len(), 2);
    let due = log.pending(Some(&key(WATCHER))).unwrap();
    assert_eq!(
        due,
        [PendingNotice {
            watcher: key(WATCHER),
            target: key(KEY),
            store_path: Some("/db".to_owned()),
            last_seen: Sequence(1),
            notified: Sequence(2),
            material: Sequence(2),
        }]
    );
    assert_eq!(log.acknowledge(&due[0], NOW.plus_ms(7)).unwrap(), Acknowledged::Settled);
    let watch = &log.watches(Some(&key(WATCHER))).unwrap()[0];
    assert_eq!((watch.last_seen.0, watch.updated_at), (2, NOW.plus_ms(7)));
    assert_eq!(log.pending(Some(&key(WATCHER))).unwrap(), []);
}

#[test]
fn an_acknowledgement_counts_only_for_the_cursor_as_it_was() {
    type Change = fn(&mut PendingNotice);
    let changes: [Change; 4] = [
        |notice| notice.last_seen = Sequence(0),
        |notice| notice.notified = Sequence(3),
        |notice| notice.watcher = key("agent:b:x"),
        |notice| notice.target = key("agent:main:x"),
    ];
    for change in changes {
        let mut log = followed();
        turn(&mut log, 100, 200);
        let mut notice = log.pending(None).unwrap().remove(0);
        change(&mut notice);
        assert_eq!(log.acknowledge(&notice, NOW).unwrap(), Acknowledged::Stale, "{notice:?}");
        assert_eq!(marks(&log, WATCHER), (1, 2, 2));
    }
}

#[test]
fn what_happened_under_a_notice_opens_the_next_one() {
    let mut log = followed();
    turn(&mut log, 100, 200);
    let first = log.pending(None).unwrap().remove(0);
    turn(&mut log, 200, 300);
    assert_eq!(log.pending(None).unwrap()[0].text(), first.text(), "still the same notice");
    let Acknowledged::Reopened(next) = log.acknowledge(&first, NOW).unwrap() else {
        panic!("more has happened");
    };
    assert_eq!(log.pending(None).unwrap(), std::slice::from_ref(&next));
    assert!(next.text().unwrap().ends_with("changesSince 2."));
}

#[test]
fn the_gateways_old_marks_are_no_watchers() {
    let log = followed();
    log.connection
        .execute_batch(
            "INSERT INTO session_watch_cursors (watcher_session_key, target_session_key,
                 material_sequence, updated_at) VALUES ('ambient-group-watch:6d61', 't', 5, 0)",
        )
        .unwrap();
    assert_eq!((log.watches(None).unwrap().len(), log.pending(None).unwrap().len()), (1, 0));
}

#[test]
fn a_watch_is_printed_by_its_marks() {
    let log = followed();
    assert_eq!(id().session_key, key(KEY));
    assert_eq!(
        serde_json::to_string(&log.watches(None).unwrap()).unwrap(),
        format!(
            "[{{\"watcher\":\"{WATCHER}\",\"target\":\"{KEY}\",\"lastSeen\":1,\"notified\":1,\
             \"material\":1,\"provenance\":\"explicit\",\"updatedAt\":{}}}]",
            NOW.0
        )
    );
}
