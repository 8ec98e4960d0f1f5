use super::*;
use crate::disk::memory::MemoryDisk;
use crate::ids::SessionKey;
use crate::link::adopt::{session_key, session_key_on};
use crate::openclaw::sessions::testing::{Store, stores};
use crate::record::{Event, EventFilter};
use rusqlite::params;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_796_000_000_000);
const THREAD: &str = "3f6b0a52-7c1d-4e8e-9a51-0d2f6c1b7a01";
const ROW: &[u8] = b"{\"type\":\"user\"}\n";

/// A gateway's session store, its log, and a Claude folder.
struct Place {
    _folder: tempfile::TempDir,
    store: Store,
    sessions: SessionStores,
    log: SignalLog,
    disk: MemoryDisk,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let sessions = stores(folder.path());
        let log = SignalLog::in_memory().unwrap();
        Self { _folder: folder, store, sessions, log, disk: MemoryDisk::default() }
    }

    /// Writes an entry that says this beside the session's id.
    fn enter(&self, key: &SessionKey, mut entry: Value) {
        entry["sessionId"] = json!("s");
        self.store
            .conn
            .execute(
                "INSERT OR REPLACE INTO session_nodes
                     (session_key, current_session_id, entry_json, updated_at)
                 VALUES (?, 's', ?, 1)",
                params![key.as_str(), entry.to_string()],
            )
            .unwrap();
    }

    fn backfill(&mut self) -> BackfillReport {
        let Self { sessions, log, disk, .. } = self;
        Backfill { log, sessions, disk, now: NOW }.run().unwrap()
    }

    /// State, event and thread of the only session.
    #[track_caller]
    fn one(&mut self) -> (LinkState, Option<EventState>, Option<String>) {
        let report = self.backfill();
        assert!(report.unavailable.is_empty(), "{report:?}");
        let [one] = &report.sessions[..] else { panic!("{report:?}") };
        (one.state, one.event, one.thread_id.as_ref().map(ToString::to_string))
    }

    fn links(&self) -> Vec<Link> {
        self.log.links(LinkFilter::All).unwrap()
    }

    fn events(&self) -> Vec<Event> {
        self.log.events(&EventFilter::default(), 100).unwrap().events
    }
}

fn key(thread: &str) -> SessionKey {
    session_key(&AgentId::new("main"), &ThreadId::new(thread))
}

fn names(thread: &str, host: &str) -> Value {
    json!({"pluginExtensions": {"anthropic": {"sessionCatalog":
        {"sourceThreadId": thread, "sourceHostId": host}}}})
}

#[test]
fn an_old_adoption_is_linked_after_the_last_whole_row_of_its_file() {
    let mut place = Place::new();
    let path = format!("/c/projects/p/{THREAD}.jsonl");
    place.disk.append(&path, &[ROW, ROW, b"{\"half"].concat());
    place.disk.append("/c/projects/p/other.jsonl", ROW);
    place.enter(&key(THREAD), json!({}));
    let linked = (LinkState::Linked, Some(EventState::Recorded), Some(THREAD.to_owned()));
    assert_eq!(place.one(), linked);
    let id = LinkId { session_key: key(THREAD), agent_id: AgentId::new("main") };
    let [link] = &place.links()[..] else { panic!() };
    assert_eq!((&link.id, link.path()), (&id, Some(PathBuf::from(path))));
    let marker = format!("{{\"offset\":{}}}", 2 * ROW.len());
    assert_eq!(link.marker_json.as_deref(), Some(marker.as_str()));
    assert_eq!((link.last_scanned_at, link.created_at), (None, NOW));
    assert_eq!(
        (link.catalog_id.as_str(), link.host_id.as_str(), link.upstream_kind.as_str()),
        ("claude", "gateway:local", "claude-cli")
    );
    assert_eq!(place.events().len(), 1);

    let before = (place.links(), place.events());
    let report = place.backfill();
    assert!(report.sessions.iter().all(AdoptedSession::is_complete), "{report:?}");
    assert_eq!((place.links(), place.events()), before, "again changes nothing");
}

#[test]
fn what_is_not_certain_is_reported_and_left_alone() {
    let node = |id: &str| {
        session_key_on(&AgentId::new("main"), &HostId::new("node:n"), &ThreadId::new(id))
    };
    for (what, key, entry, state, thread) in [
        (
            "a hash of nothing here",
            key("gone"),
            names("a", "gateway:local"),
            LinkState::NoFile,
            None,
        ),
        ("a file that is gone", key("gone"), names("gone", ""), LinkState::NoFile, Some("gone")),
        ("two files", key("twin"), json!({}), LinkState::SeveralFiles, Some("twin")),
        ("a node's", node("a"), names("a", "node:n"), LinkState::OfANode, Some("a")),
        ("a node's, they say", key("a"), names("a", "node:n"), LinkState::OfANode, None),
        ("an archived one", key("a"), json!({"archivedAt": 1}), LinkState::Archived, None),
        (
            "one that is just made",
            key("a"),
            json!({"initializationPending": true}),
            LinkState::Initializing,
            None,
        ),
    ] {
        let mut place = Place::new();
        for name in ["p/a", "p/twin", "q/twin"] {
            place.disk.append(&format!("/c/projects/{name}.jsonl"), ROW);
        }
        place.enter(&key, entry);
        assert_eq!(place.one(), (state, None, thread.map(str::to_owned)), "{what}");
        assert_eq!((place.links(), place.events()), (Vec::new(), Vec::new()), "{what}");
    }
}

#[test]
fn an_entry_that_cannot_be_read_holds_up_no_other() {
    let mut place = Place::new();
    for thread in ["a", "b"] {
        place.disk.append(&format!("/c/projects/p/{thread}.jsonl"), ROW);
        place.enter(&key(thread), json!({}));
    }
    let broken = "UPDATE session_nodes SET entry_json = '{' WHERE session_key = ?";
    place.store.conn.execute(broken, [key("a").as_str()]).unwrap();
    let mut found: Vec<_> = place.backfill().sessions.into_iter().collect();
    found.sort_by_key(|found| found.thread_id.clone());
    assert_eq!(found[0].state, LinkState::Unreadable);
    assert!(found[0].error.as_deref().unwrap().contains("openclaw doctor"), "{found:?}");
    assert_eq!(found[1].state, LinkState::Linked);
    assert_eq!(place.links().len(), 1);
}

#[test]
fn a_row_without_an_entry_and_other_keys_are_no_adoptions() {
    let mut place = Place::new();
    place.disk.append("/c/projects/p/a.jsonl", ROW);
    let empty = "INSERT INTO session_nodes VALUES (?, 's', '{}', 1, 1, NULL, NULL)";
    place.store.conn.execute(empty, [key("a").as_str()]).unwrap();
    place.enter(&SessionKey::new(format!("{}0", key("a"))), json!({}));
    place.enter(&session_key(&AgentId::new("b"), &ThreadId::new("a")), json!({}));
    assert!(place.backfill().sessions.is_empty());
    assert_eq!(place.links(), []);
}

#[test]
fn a_link_that_is_there_stays_and_gets_the_event_that_it_lacks() {
    let mut place = Place::new();
    let path = format!("/c/projects/p/{THREAD}.jsonl");
    place.disk.append(&path, &[ROW, ROW].concat());
    place.disk.append("/c/projects/p/b.jsonl", ROW);
    place.enter(&key(THREAD), json!({}));
    place.one();
    // As it was: read up to the first row, and no event of it.
    place.log.execute(
        "UPDATE session_upstream_links SET last_marker_json = '{\"offset\":16}', updated_at = 7;
         DELETE FROM session_state_events; DELETE FROM session_state_heads",
    );
    let before = place.links();
    let recorded = (LinkState::HasLink, Some(EventState::Recorded), Some(THREAD.to_owned()));
    assert_eq!(place.one(), recorded);
    assert_eq!(place.links(), before);
    let [event] = &place.events()[..] else { panic!() };
    assert_eq!((event.kind.as_str(), event.session_key.clone()), ("adopted", key(THREAD)));
    assert_eq!(place.one().1, Some(EventState::There));

    // Without its session nothing is recorded: nobody would ever remove it.
    place.log.execute("DELETE FROM session_state_events; DELETE FROM session_state_heads");
    place.store.conn.execute("DELETE FROM session_nodes", []).unwrap();
    assert_eq!(place.one().1, Some(EventState::Lacking));
    assert_eq!(place.events(), []);
}

#[test]
fn agents_are_found_by_their_databases_and_one_that_cannot_be_read_is_named() {
    let mut place = Place::new();
    place.disk.append("/c/projects/p/a.jsonl", ROW);
    place.enter(&key("a"), json!({}));
    place.sessions.set_places([(AgentId::new("ops"), PathBuf::from("/nowhere/ops.sqlite"))]);
    let report = place.backfill();
    let names: Vec<_> = report.unavailable.iter().map(Unavailable::as_str).collect();
    assert_eq!(names, ["no_database"]);
    assert_eq!(report.sessions[0].state, LinkState::Linked);
    place.disk.set_incomplete(true);
    assert!(place.backfill().incomplete);
}
