//! Agents' databases made up for tests, and sessions that need none.

use super::{Entry, SessionStores, Sessions, Unavailable};
use crate::echo::{OwnTexts, Recent};
use crate::ids::{AgentId, HashKey, SessionKey};
use crate::link::LinkId;
use rusqlite::{Connection, params};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(crate) const SESSION: &str = "s1";
const KEY: &str = "agent:main:a";

pub(crate) fn link() -> LinkId {
    LinkId { session_key: SessionKey::new(KEY), agent_id: AgentId::new("main") }
}

/// An agent's database, as a gateway that runs has it open.
pub(crate) struct Store {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    next: i64,
}

impl Store {
    /// A database beneath a state folder, with one session and its empty transcript.
    pub(crate) fn new(state: &Path) -> Self {
        let path = super::usual_place(state, &AgentId::new("main"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut store = Self { conn: Connection::open(&path).unwrap(), path, next: 0 };
        store.conn.execute_batch(include_str!("../../../fixtures/openclaw/agent.sql")).unwrap();
        store.set_entry(&json!({"sessionId": SESSION}));
        store.push(&json!({"type": "session", "version": 4, "id": SESSION}));
        store
    }

    pub(crate) fn set_entry(&self, entry: &Value) {
        self.conn
            .execute(
                "INSERT OR REPLACE INTO session_nodes
                     (session_key, current_session_id, entry_json, updated_at)
                 VALUES (?, ?, ?, 1)",
                params![KEY, entry["sessionId"].as_str().unwrap_or(SESSION), entry.to_string()],
            )
            .unwrap();
    }

    /// Adds an event as it is; a long one compressed, as the gateway does.
    pub(crate) fn push(&mut self, event: &Value) -> i64 {
        let seq = self.next;
        self.next += 1;
        let json = event.to_string();
        let insert = "INSERT INTO transcript_events
            (session_id, seq, created_at, event_json, event_zstd, event_utf8_bytes, navigation_json)
            VALUES (?, ?, ?, ?, ?, ?, ?)";
        let (session, length) = (SESSION, i64::try_from(json.len()).unwrap());
        if json.len() < 1_024 {
            let none = None::<String>;
            let values = params![session, seq, 1_000 + seq, json, none, length, none];
            self.conn.execute(insert, values).unwrap();
        } else {
            let frame = compress_to_vec(json.as_bytes(), CompressionLevel::Fastest);
            let values = params![
                session,
                seq,
                1_000 + seq,
                None::<String>,
                frame,
                length,
                navigation(event).to_string()
            ];
            self.conn.execute(insert, values).unwrap();
        }
        if let Some(id) = event["id"].as_str().filter(|_| event["type"] != "session") {
            self.conn
                .execute(
                    "INSERT OR REPLACE INTO transcript_event_identities
                         (session_id, event_id, seq, event_type, parent_id, created_at)
                     VALUES (?, ?, ?, ?, ?, 1)",
                    params![SESSION, id, seq, event["type"].as_str(), event["parentId"].as_str()],
                )
                .unwrap();
        }
        seq
    }

    /// Makes this the gateway's index of the active branch.
    pub(crate) fn index(&self, path: &[i64]) {
        self.conn.execute("DELETE FROM session_transcript_active_events", []).unwrap();
        for (position, seq) in (0_i64..).zip(path) {
            self.conn
                .execute(
                    "INSERT INTO session_transcript_active_events VALUES (?, ?, ?, NULL, 1)",
                    params![SESSION, position, seq],
                )
                .unwrap();
        }
        self.set_indexed(self.next - 1, false);
    }

    pub(crate) fn set_indexed(&self, seq: i64, needs_rebuild: bool) {
        self.conn
            .execute(
                "INSERT OR REPLACE INTO session_transcript_index_state
                     (session_id, indexed_seq, needs_rebuild, updated_at) VALUES (?, ?, ?, 1)",
                params![SESSION, seq, needs_rebuild],
            )
            .unwrap();
    }

    /// Adds events that each follow the one before, and indexes them all.
    pub(crate) fn chain(&mut self, events: &[Value]) {
        let mut parent = Value::Null;
        let mut path = Vec::new();
        for (n, event) in events.iter().enumerate() {
            let mut event = event.clone();
            let id = event.get("id").cloned().unwrap_or_else(|| json!(format!("e{n}")));
            event["id"] = id.clone();
            event["parentId"] = std::mem::replace(&mut parent, id);
            path.push(self.push(&event));
        }
        self.index(&path);
    }
}

/// What the gateway keeps beside a compressed event.
fn navigation(event: &Value) -> Value {
    const PLACE: [&str; 6] = ["type", "id", "parentId", "targetId", "appendParentId", "appendMode"];
    let picked = |keys: &[&str]| {
        let members =
            keys.iter().filter_map(|key| Some(((*key).to_owned(), event.get(key)?.clone())));
        Value::Object(members.collect())
    };
    let mut reset = picked(&PLACE);
    reset["message"] = json!({"role": event["message"]["role"]});
    json!({"version": 1, "navigation": picked(&PLACE), "reset": reset})
}

/// A user's message.
pub(crate) fn user(content: &Value) -> Value {
    json!({"type": "message", "message": {"role": "user", "content": content, "timestamp": 5}})
}

pub(crate) fn key() -> HashKey {
    HashKey::new([3; 32])
}

pub(crate) fn stores(state: &Path) -> SessionStores {
    SessionStores::beneath(state, key())
}

/// Sessions that answer what a test says.
pub(crate) struct MadeUp {
    pub(crate) entry: Result<Option<Entry>, Unavailable>,
    pub(crate) texts: Result<Recent, Unavailable>,
}

impl MadeUp {
    /// A session that has sent nothing.
    pub(crate) fn session() -> Self {
        let entry = Entry {
            session_id: SESSION.to_owned(),
            archived: false,
            initializing: false,
            run: None,
            claude_session: None,
            source_thread: None,
            source_host: None,
            plugin_owner: None,
        };
        Self { entry: Ok(Some(entry)), texts: Ok(Recent::default()) }
    }
}

impl Sessions for MadeUp {
    fn entry(&self, _: &LinkId) -> Result<Option<Entry>, Unavailable> {
        self.entry.clone()
    }
}

impl OwnTexts for MadeUp {
    type Error = Unavailable;

    fn recent(&self, _: &LinkId, limit: usize) -> Result<Recent, Unavailable> {
        let mut recent = self.texts.clone()?;
        recent.texts.truncate(limit);
        Ok(recent)
    }
}
