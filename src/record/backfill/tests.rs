use super::*;
use crate::ids::{CatalogId, SourceKey};
use crate::record::Ahead;
use crate::record::testing::{KEY, NOW, all_events, followed, id, id_under, new_link};
use crate::record::{Event, Kind};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What an `adopted` event must say, as OpenClaw 2026.9.6 writes it.
#[track_caller]
fn assert_is_the_gateways(event: &Event, dedupe_key: &str) {
    assert_eq!(event.dedupe_key.as_deref(), Some(dedupe_key));
    assert_eq!(event.session_key.as_str(), KEY);
    assert_eq!(
        (event.kind.as_str(), event.actor_type.as_str(), event.summary.as_str()),
        (Kind::Adopted.as_str(), "human", "adopted from claude")
    );
    assert_eq!((&event.actor_id, &event.session_id, &event.run_id), (&None, &None, &None));
    assert_eq!(
        event.payload_json.as_deref(),
        Some(r#"{"catalogId":"claude","hostId":"gateway:local"}"#)
    );
}

/// A log with a link and without its event.
fn without_event() -> SignalLog {
    let log = followed();
    log.execute("DELETE FROM session_state_events; DELETE FROM session_state_heads");
    log
}

#[test]
fn a_link_that_is_missing_is_made_with_its_event() {
    let mut log = SignalLog::in_memory().unwrap();
    let new = new_link(id());
    let done = log.backfill(&new, NOW).unwrap();
    assert_eq!(done, Backfilled { linked: true, recorded: true });
    assert_eq!(log.link(&id()).unwrap(), Some(new.made_at(NOW)));
    let [event] = &all_events(&log)[..] else { panic!() };
    assert_is_the_gateways(event, &format!("adopted:{KEY}"));
    assert_eq!(event.occurred_at, NOW);
    assert_eq!(log.state_version(&event.session_key, &event.agent_id).unwrap(), event.sequence);
}

#[test]
fn a_link_that_is_there_is_not_touched() {
    let mut log = without_event();
    let source =
        SourceKey::of(&new_link(id()).host_id, &new_link(id()).thread_id, &new_link(id()).ref_json);
    log.move_marker(&id(), &source, 400, Ahead::Unseen, NOW).unwrap();
    let before = log.link(&id()).unwrap();
    let other =
        NewLink { ref_json: r#"{"filePath":"/q"}"#.to_owned(), offset: 7, ..new_link(id()) };
    for new in [new_link(id()), other] {
        let done = log.backfill(&new, NOW.plus_ms(50)).unwrap();
        assert_eq!(done, Backfilled { linked: false, recorded: false });
        assert_eq!(log.link(&id()).unwrap(), before);
    }
    assert_eq!(all_events(&log), []);
}

#[test]
fn an_event_that_outlived_its_link_is_not_recorded_again() {
    let mut log = followed();
    log.unlink(&id()).unwrap();
    let before = all_events(&log);
    let done = log.backfill(&new_link(id()), NOW.plus_ms(1)).unwrap();
    assert_eq!(done, Backfilled { linked: true, recorded: false });
    assert_eq!(all_events(&log), before);
}

#[test]
fn a_link_without_its_event_gets_it_once_and_stays_as_it_is() {
    let mut log = without_event();
    let before = log.link(&id()).unwrap().unwrap();
    let later = NOW.plus_ms(DAY_MS / 2);
    assert_eq!(log.adopted_event(&before, later).unwrap(), AdoptedEvent::Lacking);
    assert!(log.record_adopted(&id(), later).unwrap());
    let [event] = &all_events(&log)[..] else { panic!() };
    assert_is_the_gateways(event, &format!("adopted:{KEY}"));
    assert_eq!(event.occurred_at, NOW, "when it was adopted");
    assert_eq!(log.adopted_event(&before, later).unwrap(), AdoptedEvent::There);
    assert!(!log.record_adopted(&id(), later).unwrap());
    assert_eq!(log.link(&id()).unwrap(), Some(before));
    assert_eq!(all_events(&log).len(), 1);
}

#[test]
fn the_event_of_one_agent_is_not_that_of_another() {
    let mut log = followed();
    log.adopt(&new_link(id_under("b")), NOW).unwrap();
    log.execute("DELETE FROM session_state_events WHERE agent_id = 'b'");
    let link = log.link(&id_under("b")).unwrap().unwrap();
    assert_eq!(log.adopted_event(&link, NOW).unwrap(), AdoptedEvent::Lacking);
    assert!(log.record_adopted(&id_under("b"), NOW).unwrap());
    assert_is_the_gateways(&all_events(&log)[1], &format!("adopted:{KEY}:agent:b"));
    assert_eq!(log.adopted_event(&link, NOW).unwrap(), AdoptedEvent::There);
}

#[test]
fn an_event_that_retention_may_have_taken_is_not_recorded() {
    let link = new_link(id()).made_at(NOW);
    for (what, change, now, expected) in [
        ("young", "", NOW.plus_ms(30 * DAY_MS), AdoptedEvent::Lacking),
        ("old", "", NOW.plus_ms(30 * DAY_MS + 1), AdoptedEvent::TooOld),
        (
            "of a session with pruned events",
            "INSERT INTO session_state_heads VALUES
                 ('agent:main:plugin:anthropic:catalog-adopt:claude:cf41', 'main', 9, 3, 1)",
            NOW,
            AdoptedEvent::TooOld,
        ),
        (
            "of a session with unpruned events",
            "INSERT INTO session_state_heads VALUES
                 ('agent:main:plugin:anthropic:catalog-adopt:claude:cf41', 'main', 9, 0, 1)",
            NOW,
            AdoptedEvent::Lacking,
        ),
    ] {
        let mut log = without_event();
        log.execute(change);
        assert_eq!(log.adopted_event(&link, now).unwrap(), expected, "{what}");
        let recorded = log.record_adopted(&id(), now).unwrap();
        assert_eq!(recorded, expected == AdoptedEvent::Lacking, "{what}");
        assert_eq!(all_events(&log).len(), usize::from(recorded), "{what}");
    }
}

#[test]
fn the_event_of_a_link_says_what_the_link_says() {
    let mut log = SignalLog::in_memory().unwrap();
    let new = NewLink {
        host_id: crate::ids::HostId::new("node:n"),
        catalog_id: CatalogId::new("claude"),
        ..new_link(id())
    };
    log.adopt(&new, NOW).unwrap();
    log.execute("DELETE FROM session_state_events; DELETE FROM session_state_heads");
    assert!(log.record_adopted(&id(), NOW).unwrap());
    assert_eq!(
        all_events(&log)[0].payload_json.as_deref(),
        Some(r#"{"catalogId":"claude","hostId":"node:n"}"#)
    );
    log.unlink(&id()).unwrap();
    assert!(!log.record_adopted(&id(), NOW).unwrap(), "no link, no event");
}
