use super::*;
use crate::record::Ahead;
use crate::record::testing::{
    KEY, NOW, WATCHER, all_events, followed, id, id_under, key, new_link, source,
};

fn moved() -> NewLink {
    NewLink {
        ref_json: r#"{"filePath":"/home/me/.claude/projects/q/3f6b.jsonl"}"#.to_owned(),
        offset: 7,
        ..new_link(id())
    }
}

#[test]
fn an_adoption_is_a_link_and_an_event() {
    let mut log = SignalLog::in_memory().unwrap();
    let adopted = log.adopt(&new_link(id()), NOW).unwrap();
    assert_eq!(adopted, Adopted { created: true, replaced: false });
    let link = log.link(&id()).unwrap().unwrap();
    assert_eq!(
        link,
        Link {
            id: id(),
            catalog_id: CatalogId::new("claude"),
            host_id: HostId::new("gateway:local"),
            thread_id: new_link(id()).thread_id,
            upstream_kind: "claude-cli".to_owned(),
            ref_json: Some(new_link(id()).ref_json),
            marker_json: Some("{\"offset\":100}".to_owned()),
            last_scanned_at: None,
            created_at: NOW,
            updated_at: NOW,
        }
    );
    let event = &all_events(&log)[0];
    assert_eq!(event.dedupe_key.as_deref(), Some(format!("adopted:{KEY}").as_str()));
    assert_eq!((event.kind.as_str(), event.actor_type.as_str()), ("adopted", "human"));
    assert_eq!(event.summary, "adopted from claude");
    assert_eq!(
        event.payload_json.as_deref(),
        Some("{\"catalogId\":\"claude\",\"hostId\":\"gateway:local\"}")
    );
}

#[test]
fn adopting_again_keeps_the_marker_unless_the_source_is_another() {
    let mut log = followed();
    log.move_marker(&id(), &source(), 400, Ahead::Unseen, NOW).unwrap();
    let again = log.adopt(&new_link(id()), NOW).unwrap();
    assert_eq!(again, Adopted { created: false, replaced: false });
    let link = log.link(&id()).unwrap().unwrap();
    assert_eq!((link.marker(), link.last_scanned_at), (Some(400), Some(NOW)));
    assert_eq!(link.updated_at, NOW.plus_ms(2), "each change within one millisecond shows");
    let again = log.adopt(&moved(), NOW.plus_ms(50)).unwrap();
    assert_eq!(again, Adopted { created: false, replaced: true });
    let link = log.link(&id()).unwrap().unwrap();
    assert_eq!((link.marker(), link.last_scanned_at), (Some(7), None));
    assert_eq!((link.created_at, link.updated_at), (NOW, NOW.plus_ms(50)));
    assert_eq!(all_events(&log).len(), 1, "adopted once");
}

#[test]
fn the_same_ref_written_otherwise_is_the_same_source() {
    let mut log = followed();
    let spaced =
        NewLink { ref_json: new_link(id()).ref_json.replace(':', " : "), ..new_link(id()) };
    assert!(!log.adopt(&spaced, NOW).unwrap().replaced);
}

#[test]
fn each_agent_is_told_once_that_it_adopted() {
    let mut log = followed();
    for _ in 0..2 {
        for agent in ["main", "b"] {
            log.adopt(&new_link(id_under(agent)), NOW).unwrap();
        }
    }
    let keys: Vec<_> = all_events(&log).into_iter().filter_map(|event| event.dedupe_key).collect();
    assert_eq!(keys, [format!("adopted:{KEY}"), format!("adopted:{KEY}:agent:b")]);
    let agents: Vec<_> = log
        .links_of(&key(KEY))
        .unwrap()
        .into_iter()
        .map(|link| link.id.agent_id.as_str().to_owned())
        .collect();
    assert_eq!(agents, ["b", "main"]);
    assert_eq!(log.links_of(&key("agent:main:x")).unwrap(), []);
}

#[test]
fn watched_links_are_those_with_a_cursor_on_the_target() {
    let mut log = followed();
    let unwatched = LinkId { session_key: key("agent:main:a"), agent_id: id().agent_id };
    log.adopt(&new_link(unwatched.clone()), NOW).unwrap();
    let ids = |links: Vec<Link>| links.into_iter().map(|link| link.id).collect::<Vec<_>>();
    assert_eq!(ids(log.links(LinkFilter::All).unwrap()), [unwatched, id()]);
    assert_eq!(ids(log.links(LinkFilter::Watched).unwrap()), [id()]);
    log.unwatch(&key(WATCHER), None).unwrap();
    assert_eq!(log.links(LinkFilter::Watched).unwrap(), []);
}

#[test]
fn unlinking_leaves_the_log_as_it_is() {
    let mut log = followed();
    assert!(log.unlink(&id()).unwrap());
    assert!(!log.unlink(&id()).unwrap());
    assert_eq!((all_events(&log).len(), log.watches(None).unwrap().len()), (1, 1));
}

#[test]
fn a_moved_file_is_followed_from_where_reading_was() {
    let mut log = followed();
    assert!(log.repoint(&id(), &source(), &moved().ref_json, NOW).unwrap());
    let link = log.link(&id()).unwrap().unwrap();
    assert_eq!(link.ref_json.as_deref(), Some(moved().ref_json.as_str()));
    assert_eq!((link.marker(), link.updated_at), (Some(100), NOW.plus_ms(1)));
    assert!(!log.repoint(&id(), &source(), "{}", NOW).unwrap(), "it is another source by now");
    assert!(!log.repoint(&id_under("b"), &source(), "{}", NOW).unwrap());
    assert_eq!(log.link(&id()).unwrap().unwrap(), link);
}
