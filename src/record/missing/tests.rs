use super::*;
use crate::record::testing::{KEY, NOW, WATCHER, all_events, followed, id, id_under, key, marks};
use crate::record::testing::{new_link, source};

#[test]
fn the_event_and_the_end_of_the_link_are_one() {
    for (cause, said) in
        [(MissingCause::Deleted, "deleted"), (MissingCause::Retention, "retention")]
    {
        let mut log = followed();
        let appended = log.record_missing(&id(), &source(), cause, NOW.plus_ms(5)).unwrap();
        assert_eq!(appended.unwrap().notices.len(), 1);
        let event = all_events(&log).pop().unwrap();
        assert_eq!(
            event.dedupe_key,
            Some(format!("upstream-missing:{KEY}:{}:{}", source(), NOW.0))
        );
        assert_eq!(
            (event.kind.as_str(), event.actor_type.as_str()),
            ("upstream_missing", "system")
        );
        assert_eq!(event.summary, "upstream missing via claude");
        assert_eq!(
            event.payload_json,
            Some(format!("{{\"channel\":\"claude\",\"cause\":\"{said}\"}}"))
        );
        assert_eq!(event.occurred_at, NOW.plus_ms(5));
        assert!(log.link(&id()).unwrap().is_none());
        assert_eq!(marks(&log, WATCHER), (1, 2, 2));
        let again = log.record_missing(&id(), &source(), cause, NOW).unwrap();
        assert_eq!((again, all_events(&log).len()), (None, 2));
    }
}

#[test]
fn a_link_that_names_another_source_by_now_stays() {
    let mut log = followed();
    log.repoint(&id(), &source(), "{\"filePath\":\"/moved\"}", NOW).unwrap();
    let none = log.record_missing(&id(), &source(), MissingCause::Deleted, NOW).unwrap();
    assert_eq!(none, None);
    assert!(log.link(&id()).unwrap().is_some());
    assert_eq!(all_events(&log).len(), 1);
}

#[test]
fn two_agents_lose_it_each() {
    let mut log = followed();
    log.adopt(&new_link(id_under("b")), NOW).unwrap();
    for id in [id(), id_under("b")] {
        let appended = log.record_missing(&id, &source(), MissingCause::Deleted, NOW).unwrap();
        assert!(appended.unwrap().fresh, "{id:?}");
    }
    assert_eq!(log.links_of(&key(KEY)).unwrap(), []);
}
