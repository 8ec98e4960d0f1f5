//! Session stores as a gateway writes them, and as it must not be taken to have written them.

use super::testing::{SESSION, Store, key, link, stores, user};
use super::*;
use crate::classify::text::normalise;
use crate::echo::OwnTextId;
use crate::ids::{HostId, SessionKey, TextHash, ThreadId, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

fn hashes(texts: &[&str]) -> Vec<TextHash> {
    texts.iter().map(|text| key().text(&normalise(text))).collect()
}

fn found(sessions: &SessionStores, limit: usize) -> Vec<TextHash> {
    let recent = sessions.recent(&link(), limit).unwrap();
    recent.texts.into_iter().map(|text| text.hash).collect()
}

#[test]
fn an_entry_says_what_the_gateway_knows_of_a_session() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    let sessions = stores(state.path());
    let plain = sessions.entry(&link()).unwrap().unwrap();
    assert_eq!(plain, testing::MadeUp::session().entry.unwrap().unwrap());
    for (entry, expected) in [
        (json!({"sessionId": SESSION, "initializationPending": false}), plain.clone()),
        (
            json!({"sessionId": SESSION, "initializationPending": true, "archivedAt": 7}),
            Entry { initializing: true, archived: true, ..plain.clone() },
        ),
        (
            json!({"sessionId": SESSION, "status": "running", "lifecycleRunId": "r"}),
            Entry { run: Some(Run { id: Some("r".to_owned()) }), ..plain.clone() },
        ),
        (
            json!({"sessionId": SESSION, "status": "running"}),
            Entry { run: Some(Run { id: None }), ..plain.clone() },
        ),
        (json!({"sessionId": SESSION, "status": "done", "lifecycleRunId": "r"}), plain.clone()),
        (
            json!({
                "sessionId": SESSION,
                "pluginOwnerId": "anthropic",
                "cliSessionBindings": {"claude-cli": {"sessionId": "fork", "forceReuse": true}},
                "pluginExtensions": {"anthropic": {"sessionCatalog":
                    {"sourceThreadId": "thread", "sourceHostId": "node:n"}}},
            }),
            Entry {
                claude_session: Some(ThreadId::new("fork")),
                source_thread: Some(ThreadId::new("thread")),
                source_host: Some(HostId::new("node:n")),
                plugin_owner: Some("anthropic".to_owned()),
                ..plain
            },
        ),
    ] {
        store.set_entry(&entry);
        assert_eq!(sessions.entry(&link()).unwrap(), Some(expected), "{entry}");
    }
    store.conn.execute("UPDATE session_nodes SET archived_at = 3", []).unwrap();
    assert!(sessions.entry(&link()).unwrap().unwrap().archived);
    let other = LinkId { session_key: SessionKey::new("agent:main:b"), ..link() };
    assert_eq!(sessions.entry(&other), Ok(None));
    assert_eq!(sessions.recent(&other, 10), Ok(Recent::default()));
}

#[test]
fn what_cannot_be_read_has_a_name() {
    for (change, expected) in [
        ("PRAGMA user_version = 24", "unknown_version"),
        ("PRAGMA user_version = 22", "unknown_version"),
        ("ALTER TABLE transcript_events RENAME COLUMN navigation_json TO other", "missing_column"),
        ("DROP TABLE session_transcript_cold_archives", "missing_column"),
        ("UPDATE schema_meta SET role = 'global'", "not_of_an_agent"),
        ("DELETE FROM schema_meta", "not_of_an_agent"),
        ("UPDATE session_nodes SET entry_json = '{\"sessionId\":'", "broken_entry"),
        ("UPDATE session_nodes SET entry_json = '{\"other\":1}'", "broken_entry"),
        ("UPDATE session_nodes SET current_session_id = 'other'", "broken_entry"),
    ] {
        let state = tempfile::tempdir().unwrap();
        let store = Store::new(state.path());
        store.conn.execute_batch(change).unwrap();
        let sessions = stores(state.path());
        for _ in 0..2 {
            let why = sessions.entry(&link()).unwrap_err();
            assert_eq!(why.as_str(), expected, "{change}");
            let texts = sessions.recent(&link(), 10).unwrap_err();
            assert_eq!(texts, why, "{change}");
        }
    }
}

#[test]
fn a_change_of_the_schema_is_noticed_while_the_database_is_open() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    let sessions = stores(state.path());
    sessions.entry(&link()).unwrap().unwrap();
    store.conn.execute_batch("ALTER TABLE session_nodes ADD COLUMN later TEXT").unwrap();
    sessions.entry(&link()).unwrap().unwrap();
    store.conn.execute_batch("ALTER TABLE session_nodes RENAME COLUMN entry_json TO e").unwrap();
    let why = sessions.entry(&link()).unwrap_err();
    assert!(matches!(why, Unavailable::MissingColumn { column: "entry_json", .. }), "{why}");
    store.conn.execute_batch("PRAGMA user_version = 24").unwrap();
    let why = sessions.entry(&link()).unwrap_err();
    assert!(matches!(why, Unavailable::UnknownVersion { found: 24, .. }), "{why}");
}

#[test]
fn a_session_without_a_written_entry_is_none() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    store.set_entry(&json!({}));
    assert_eq!(stores(state.path()).entry(&link()), Ok(None));
}

#[test]
fn a_database_that_is_not_there_is_not_made() {
    let state = tempfile::tempdir().unwrap();
    let sessions = stores(state.path());
    let agent = |name: &str| LinkId { agent_id: AgentId::new(name), ..link() };
    for name in ["main", "../main", "a/b", ""] {
        let why = sessions.entry(&agent(name)).unwrap_err();
        assert_eq!(why.as_str(), "no_database", "{name}");
    }
    assert_eq!(fs_err::read_dir(state.path()).unwrap().count(), 0);
    let store = Store::new(state.path());
    assert!(sessions.entry(&link()).unwrap().is_some());
    // One that its gateway has closed is read without a trace.
    drop(sessions);
    drop(store.conn);
    let files = || fs_err::read_dir(store.path.parent().unwrap()).unwrap().count();
    let sessions = stores(state.path());
    assert_eq!(files(), 1);
    assert!(sessions.entry(&link()).unwrap().is_some());
    assert_eq!(files(), 1);
    fs_err::remove_file(&store.path).unwrap();
    assert_eq!(sessions.entry(&link()).unwrap_err().as_str(), "no_database");
    assert_eq!(files(), 0);
}

#[test]
fn a_closed_database_that_is_written_again_shows_what_is_new() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    let path = store.path.clone();
    drop(store.conn);
    let sessions = stores(state.path());
    assert!(!sessions.entry(&link()).unwrap().unwrap().archived);
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute("UPDATE session_nodes SET archived_at = 3", []).unwrap();
    assert!(sessions.entry(&link()).unwrap().unwrap().archived);
    drop(conn);
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute("UPDATE session_nodes SET archived_at = NULL", []).unwrap();
    assert!(!sessions.entry(&link()).unwrap().unwrap().archived);
}

#[test]
fn a_database_that_took_anothers_place_is_read() {
    let state = tempfile::tempdir().unwrap();
    let sessions = stores(state.path());
    let mut store = Store::new(state.path());
    store.chain(&[user(&json!("old"))]);
    assert_eq!(found(&sessions, 10), hashes(&["old"]));

    let other = tempfile::tempdir().unwrap();
    let mut restored = Store::new(other.path());
    restored.chain(&[user(&json!("restored"))]);
    drop(restored.conn);
    drop(store.conn);
    fs_err::rename(&restored.path, &store.path).unwrap();
    for end in ["-wal", "-shm"] {
        let mut beside = store.path.clone().into_os_string();
        beside.push(end);
        fs_err::remove_file(beside).ok();
    }
    assert_eq!(found(&sessions, 10), hashes(&["restored"]));
}

#[test]
fn a_look_keeps_nothing_open() {
    let state = tempfile::tempdir().unwrap();
    let mut store = Store::new(state.path());
    store.chain(&[user(&json!("a"))]);
    let sessions = stores(state.path());
    assert_eq!(found(&sessions, 10).len(), 1);
    // A reader in the middle of a transaction would keep some of it back.
    let checkpoint = |store: &Store| -> (i64, i64, i64) {
        store
            .conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap()
    };
    assert_eq!(checkpoint(&store), (0, 0, 0));
    store.chain(&[json!({"type": "message", "id": "z", "message": {}})]);
    assert_eq!(checkpoint(&store), (0, 0, 0));
}

#[test]
fn own_texts_are_the_last_user_messages_newest_first() {
    let state = tempfile::tempdir().unwrap();
    let mut store = Store::new(state.path());
    let of = |role: &str, content: &str| json!({"type": "message", "message": {"role": role, "content": content}});
    let long = "a long text \u{a0} with white space ".repeat(100);
    let mirrored = json!({"type": "message", "message": {"role": "user", "content": "imported",
        "__openclaw": {"mirrorOrigin": "claude-catalog-import"}}});
    store.chain(&[
        user(&json!("first")),
        of("assistant", &"first".repeat(400)),
        user(&json!(long)),
        user(
            &json!([{"type": "text", "text": "Echo me   please."}, {"type": "text", "text": "x"}]),
        ),
        mirrored,
        user(&json!(" \n ")),
        json!({"type": "custom_message", "customType": "run-failed-before-reply"}),
        json!({"type": "message", "message": {"role": "user", "content": "heartbeat",
            "provenance": {"kind": "internal_system"}}}),
        of("assistant", "done"),
    ]);
    let sessions = stores(state.path());
    let all = hashes(&["heartbeat", "Echo me please.", &long, "first"]);
    assert_eq!(found(&sessions, 10), all);
    assert_eq!(found(&sessions, 2), all[..2]);
    assert!(found(&sessions, 0).is_empty());
    let recent = sessions.recent(&link(), 10).unwrap();
    let ids: Vec<&OwnTextId> = recent.texts.iter().map(|text| &text.id).collect();
    let id = |id: &str| OwnTextId::Stored(format!("{SESSION}/{id}"));
    assert_eq!(ids, [&id("e7"), &id("e3"), &id("e2"), &id("e0")]);
    // Without a time of its own, a message has that of its place in the store.
    let times: Vec<Timestamp> = recent.texts.iter().map(|text| text.at).collect();
    assert_eq!(times, [1_008, 5, 5, 5].map(Timestamp));
    assert_eq!(recent.skipped, 0);
}

#[test]
fn ids_that_could_be_text_are_hashed() {
    let state = tempfile::tempdir().unwrap();
    let mut store = Store::new(state.path());
    let mut message = user(&json!("a"));
    message["id"] = json!("what a person said");
    store.chain(&[message]);
    let recent = stores(state.path()).recent(&link(), 10).unwrap();
    assert!(!format!("{recent:?}").contains("person"));
}

#[test]
fn events_that_cannot_be_read_are_skipped_and_counted() {
    let state = tempfile::tempdir().unwrap();
    let mut store = Store::new(state.path());
    let long = "word ".repeat(1_000);
    store.chain(&[
        user(&json!("first")),
        user(&json!(long.clone() + "1")),
        user(&json!(long.clone() + "2")),
        user(&json!("cut")),
        json!({"type": "message", "message": {"role": "assistant", "content": long}}),
        user(&json!("last")),
    ]);
    let change = |sql: &str| assert_eq!(store.conn.execute(sql, []).unwrap(), 1, "{sql}");
    change("UPDATE transcript_events SET event_utf8_bytes = event_utf8_bytes + 1 WHERE seq = 2");
    change("UPDATE transcript_events SET event_zstd = x'28b52ffd00' WHERE seq = 3");
    change("UPDATE transcript_events SET event_json = '{\"message\":' WHERE seq = 4");
    // Not a user's: nobody misses it.
    change("UPDATE transcript_events SET event_zstd = x'00' WHERE seq = 5");
    let recent = stores(state.path()).recent(&link(), 10).unwrap();
    assert_eq!(recent.skipped, 3);
    assert_eq!(found(&stores(state.path()), 10), hashes(&["last", "first"]));
}

#[test]
fn a_reset_ends_the_history_but_for_what_it_kept() {
    let reset = |kept: Option<&str>| match kept {
        None => json!({"type": "reset", "reason": "reset"}),
        Some(id) => json!({"type": "reset", "firstKeptEntryId": id}),
    };
    let text = |text: &str| user(&json!(text));
    let note = json!({"type": "custom", "message": {"role": "user", "content": "note"}});
    for (events, limit, expected) in [
        (vec![text("a"), reset(None)], 10, vec![]),
        (vec![text("a"), reset(None), text("b")], 10, vec!["b"]),
        (vec![text("a"), text("b"), reset(Some("e1")), text("c")], 10, vec!["c", "b"]),
        (vec![text("a"), text("b"), reset(Some("e0"))], 10, vec!["b", "a"]),
        (vec![text("a"), text("b"), reset(Some("e0"))], 1, vec!["b"]),
        (vec![text("a"), text("b"), reset(Some("elsewhere")), text("c")], 10, vec!["c"]),
        (vec![text("a"), text("b"), reset(Some("elsewhere")), text("c")], 1, vec!["c"]),
        // The reset itself, or something after it, was not kept by it.
        (vec![text("a"), reset(Some("e1")), text("c")], 10, vec!["c"]),
        (vec![text("a"), reset(Some("e2")), text("c")], 10, vec!["c"]),
        // The latest one counts; what it kept may lead back over an earlier one.
        (vec![text("a"), reset(None), text("b"), reset(None), text("c")], 10, vec!["c"]),
        (vec![text("a"), reset(None), text("b"), reset(Some("e0"))], 10, vec!["b", "a"]),
        (vec![text("a"), reset(Some("e0")), text("b"), reset(None), text("c")], 10, vec!["c"]),
        // Of what was kept only messages; of what follows, whatever has one.
        (vec![text("a"), note.clone(), reset(Some("e0")), note.clone()], 10, vec!["note", "a"]),
        // A compaction ends nothing.
        (vec![text("a"), json!({"type": "compaction", "firstKeptEntryId": "x"})], 10, vec!["a"]),
    ] {
        let state = tempfile::tempdir().unwrap();
        let mut store = Store::new(state.path());
        store.chain(&events);
        let sessions = stores(state.path());
        assert_eq!(found(&sessions, limit), hashes(&expected), "{events:?}");
        store.set_indexed(0, true);
        assert_eq!(found(&sessions, limit), hashes(&expected), "stale: {events:?}");
    }
}

#[test]
fn a_transcript_in_cold_storage_is_named() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    let sql = "INSERT INTO session_transcript_cold_archives VALUES (?, 'g')";
    store.conn.execute(sql, [SESSION]).unwrap();
    let sessions = stores(state.path());
    assert_eq!(sessions.recent(&link(), 10), Err(Unavailable::Cold));
    assert!(sessions.entry(&link()).unwrap().is_some());
}

#[test]
fn a_stale_index_is_not_believed() {
    let state = tempfile::tempdir().unwrap();
    let mut store = Store::new(state.path());
    let sessions = stores(state.path());
    let event = |id: &str, parent: Value| {
        let mut event = user(&json!(format!("text {id}")));
        event["id"] = json!(id);
        event["parentId"] = parent;
        event
    };
    let first = store.push(&event("a", Value::Null));
    store.index(&[first]);
    // One more that is not indexed yet.
    store.push(&event("b", json!("a")));
    assert_eq!(found(&sessions, 10), hashes(&["text b", "text a"]));
    // Another branch.
    store.push(&event("c", json!("a")));
    assert_eq!(found(&sessions, 10), hashes(&["text c", "text a"]));
    // An index that says so of itself.
    store.index(&[first]);
    assert_eq!(found(&sessions, 10), hashes(&["text a"]));
    store.set_indexed(3, true);
    assert_eq!(found(&sessions, 10), hashes(&["text c", "text a"]));
    // None at all.
    store.conn.execute("DELETE FROM session_transcript_index_state", []).unwrap();
    assert_eq!(found(&sessions, 10), hashes(&["text c", "text a"]));
}

#[test]
fn control_rows_choose_the_branch() {
    let event = |id: &str, parent: Value| {
        let mut event = user(&json!(id));
        event["id"] = json!(id);
        event["parentId"] = parent;
        event
    };
    let leaf = |id: &str, target: Value| json!({"type": "leaf", "id": id, "parentId": null, "targetId": target});
    let with = |mut event: Value, name: &str, value: &str| {
        event[name] = json!(value);
        event
    };
    let (a, b) = (event("a", Value::Null), event("b", json!("a")));
    for (events, expected) in [
        (vec![a.clone(), b.clone(), leaf("l", json!("a"))], vec!["a"]),
        (vec![a.clone(), b.clone(), leaf("l", Value::Null)], vec![]),
        // What goes on from the control row goes on from what it chose.
        (vec![a.clone(), b.clone(), leaf("l", json!("a")), event("c", json!("l"))], vec!["c", "a"]),
        // One that chooses what is not there chooses nothing.
        (vec![a.clone(), b.clone(), leaf("l", json!("x"))], vec!["b", "a"]),
        // Beside the branch.
        (vec![a.clone(), with(b.clone(), "appendMode", "side")], vec!["a"]),
        // A parent that is not there stands for the leaf.
        (vec![a.clone(), event("c", json!("x"))], vec!["c", "a"]),
        // Without any parents all counts.
        (
            vec![
                json!({"message": {"role": "user", "content": "a"}}),
                json!({"message": {"role": "user", "content": "b"}}),
            ],
            vec!["b", "a"],
        ),
        // A circle leads nowhere.
        (vec![event("a", json!("b")), b.clone()], vec!["b", "a"]),
        // A branch from before a reset goes on behind it.
        (
            vec![a.clone(), with(event("r", json!("a")), "type", "reset"), event("c", json!("a"))],
            vec!["c"],
        ),
    ] {
        let state = tempfile::tempdir().unwrap();
        let mut store = Store::new(state.path());
        for event in &events {
            store.push(event);
        }
        assert_eq!(found(&stores(state.path()), 10), hashes(&expected), "{events:?}");
    }
}

/// One event of a made-up transcript: what it is, which earlier one it follows, what a reset keeps.
type Made = (u8, prop::sample::Index, prop::sample::Index);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn without_an_index_the_parents_lead_to_the_same_texts(
        made in prop::collection::vec(any::<Made>(), 1..40),
        limit in 0_usize..12,
    ) {
        let state = tempfile::tempdir().unwrap();
        let mut store = Store::new(state.path());
        let mut events: Vec<Value> = Vec::new();
        let mut parents: Vec<Option<usize>> = Vec::new();
        // Behind a reset only what is behind it goes on.
        let mut open: Vec<usize> = Vec::new();
        for (n, (kind, from, kept)) in made.iter().enumerate() {
            let parent = match kind % 3 {
                0 if !open.is_empty() => Some(*from.get(&open)),
                _ => open.last().copied(),
            };
            let mut event = match kind % 8 {
                0 => json!({"type": "reset", "firstKeptEntryId": format!("e{}", kept.index(n + 1))}),
                1 => json!({"type": "custom"}),
                2 | 3 => json!({"type": "message", "message": {"role": "assistant"}}),
                4 => user(&json!(format!("{n} ").repeat(600))),
                _ => user(&json!(n.to_string())),
            };
            event["id"] = json!(format!("e{n}"));
            event["parentId"] = parent.map_or(Value::Null, |parent| json!(format!("e{parent}")));
            if event["type"] == "reset" {
                open.clear();
            }
            open.push(n);
            store.push(&event);
            events.push(event);
            parents.push(parent);
        }
        let mut path = Vec::new();
        let mut at = Some(events.len() - 1);
        while let Some(n) = at {
            path.push(n);
            at = parents[n];
        }
        path.reverse();

        // The rule, said plainly.
        let texts = |path: &[usize]| {
            path.iter()
                .filter(|n| events[**n]["message"]["role"] == "user")
                .map(|n| events[*n]["message"]["content"].as_str().unwrap())
                .collect::<Vec<_>>()
        };
        let reset = path.iter().rposition(|n| events[*n]["type"] == "reset");
        let mut expected = Vec::new();
        if let Some(reset) = reset {
            let first = &events[path[reset]]["firstKeptEntryId"];
            let first = path[..reset].iter().position(|n| events[*n]["id"] == *first);
            expected.extend(first.map(|first| texts(&path[first..reset])).unwrap_or_default());
        }
        expected.extend(texts(&path[reset.map_or(0, |reset| reset + 1)..]));
        expected.reverse();
        expected.truncate(limit);
        let expected = hashes(&expected);

        let sessions = stores(state.path());
        prop_assert_eq!(&found(&sessions, limit), &expected, "walked");
        let path: Vec<i64> = path.iter().map(|n| i64::try_from(*n).unwrap() + 1).collect();
        store.index(&path);
        prop_assert_eq!(&found(&sessions, limit), &expected, "indexed");
    }
}

#[test]
fn agents_are_those_with_a_database_or_a_known_place() {
    let state = tempfile::tempdir().unwrap();
    let mut sessions = stores(state.path());
    let names = |sessions: &SessionStores| -> Vec<String> {
        sessions.agents().unwrap().iter().map(ToString::to_string).collect()
    };
    assert!(names(&sessions).is_empty());
    let _store = Store::new(state.path());
    fs_err::create_dir_all(state.path().join("agents/empty/agent")).unwrap();
    fs_err::write(state.path().join("agents/file"), "").unwrap();
    assert_eq!(names(&sessions), ["main"]);
    sessions.set_places([(AgentId::new("ops"), "/elsewhere.sqlite".into())]);
    assert_eq!(names(&sessions), ["main", "ops"]);
}

#[test]
fn keys_are_listed_by_how_they_begin() {
    let state = tempfile::tempdir().unwrap();
    let store = Store::new(state.path());
    for key in ["agent:main:x:2", "agent:main:x:1", "agent:main:X:1", "agent:main:x", "x:"] {
        let insert = "INSERT INTO session_nodes VALUES (?, 's', '{}', 1, 1, NULL, NULL)";
        store.conn.execute(insert, [key]).unwrap();
    }
    let main = AgentId::new("main");
    let keys = stores(state.path()).keys(&main, "agent:main:x:").unwrap();
    assert_eq!(keys, ["agent:main:x:1", "agent:main:x:2"].map(SessionKey::new));
    let why = stores(state.path()).keys(&AgentId::new("../main"), "").unwrap_err();
    assert_eq!(why.as_str(), "no_database");
}
