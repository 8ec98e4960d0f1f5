//! What the tests of this folder share: one session, its link, windows over its file.

use super::{EventFilter, SignalLog};
use crate::ids::{AgentId, CatalogId, Generation, HostId, Identity, SessionKey, SourceKey};
use crate::ids::{Sequence, ThreadId, Timestamp};
use crate::journal::{CountableRow, Intent, SourceCursor};
use crate::link::{LinkId, NewLink};
use crate::record::{Event, Watch};

/// The time at which the tests happen.
pub(super) const NOW: Timestamp = Timestamp(1_796_000_000_000);
/// The session that is followed.
pub(super) const KEY: &str = "agent:main:plugin:anthropic:catalog-adopt:claude:cf41";
/// A session that watches it.
pub(super) const WATCHER: &str = "agent:main:main";
/// The generation of windows.
pub(super) const GENERATION: &str = "0a1b2c3d";

pub(super) fn key(name: &str) -> SessionKey {
    SessionKey::new(name)
}

pub(super) fn id() -> LinkId {
    LinkId { session_key: key(KEY), agent_id: AgentId::new("main") }
}

pub(super) fn id_under(agent: &str) -> LinkId {
    LinkId { session_key: key(KEY), agent_id: AgentId::new(agent) }
}

pub(super) fn new_link(id: LinkId) -> NewLink {
    NewLink {
        id,
        catalog_id: CatalogId::new("claude"),
        host_id: HostId::new("gateway:local"),
        thread_id: ThreadId::new("3f6b0a52-7c1d-4e8e-9a51-0d2f6c1b7a01"),
        upstream_kind: "claude-cli".to_owned(),
        ref_json: r#"{"filePath":"/home/me/.claude/projects/p/3f6b.jsonl"}"#.to_owned(),
        offset: 100,
    }
}

pub(super) fn source() -> SourceKey {
    let new = new_link(id());
    SourceKey::of(&new.host_id, &new.thread_id, &new.ref_json)
}

/// A store with the session adopted (event 1) and watched.
pub(super) fn followed() -> SignalLog {
    let mut log = SignalLog::in_memory().unwrap();
    log.adopt(&new_link(id()), NOW).unwrap();
    assert!(log.watch(&key(WATCHER), &key(KEY), Some("/db"), NOW).unwrap());
    log
}

/// A row that both rules count; its name is its time in seconds before now.
pub(super) fn row(start: u64, end: u64, seconds_ago: i64) -> CountableRow {
    CountableRow {
        identity: Identity::from_stored(format!("row-{start}-{seconds_ago}")),
        aliases: Vec::new(),
        start,
        end,
        at: NOW.plus_ms(-seconds_ago * 1000),
        ours: true,
        gateway: true,
    }
}

/// A window over these rows.
pub(super) fn intent(from: u64, to: u64, rows: Vec<CountableRow>) -> Intent {
    let generation = Generation::new(GENERATION);
    Intent {
        session_key: key(KEY),
        agent_id: AgentId::new("main"),
        catalog_id: CatalogId::new("claude"),
        source_key: source(),
        is_fork: false,
        node: None,
        generation: generation.clone(),
        from,
        to,
        seen: Sequence(0),
        rows,
        excused: Vec::new(),
        after: SourceCursor { position: to, ..SourceCursor::unseen(generation, Timestamp(0)) },
    }
}

impl SignalLog {
    /// Sets a marker as the gateway does.
    pub(crate) fn set_marker(&self, id: &LinkId, json: &str, now: Timestamp) {
        let LinkId { session_key, agent_id } = id;
        self.execute(&format!(
            "UPDATE session_upstream_links SET last_marker_json = '{json}',
                 updated_at = {now} WHERE session_key = '{session_key}' AND agent_id = '{agent_id}'",
            now = now.0,
        ));
    }

    /// Records turns as the gateway's monitor does; `window` is what names them in the dedupe key.
    pub(crate) fn record_as_gateway(
        &self,
        id: &LinkId,
        window: &str,
        occurred_at: Timestamp,
        turns: usize,
    ) {
        let LinkId { session_key, agent_id } = id;
        let payload =
            if turns > 1 { format!("'{{\"turns\":{turns}}}'") } else { "NULL".to_owned() };
        self.execute(&format!(
            "INSERT INTO session_state_events
                 (session_key, agent_id, kind, actor_type, occurred_at, summary, dedupe_key,
                  payload_json)
             VALUES ('{session_key}', '{agent_id}', 'human_direct_message', 'human', {at},
                     'human message via claude', 'upstream:{session_key}:{window}', {payload})",
            at = occurred_at.0,
        ));
    }
}

pub(super) fn all_events(log: &SignalLog) -> Vec<Event> {
    log.events(&EventFilter::default(), 1_000_000).unwrap().events
}

/// The events about turns.
pub(super) fn turn_events(log: &SignalLog) -> Vec<Event> {
    let filter =
        EventFilter { kind: Some("human_direct_message".to_owned()), ..EventFilter::default() };
    log.events(&filter, 1_000_000).unwrap().events
}

/// The marks of a watcher's cursor on the session: last seen, notified, material.
pub(super) fn marks(log: &SignalLog, watcher: &str) -> (i64, i64, i64) {
    let all: Vec<Watch> = log.watches(Some(&key(watcher))).unwrap();
    let cursor = all.iter().find(|watch| watch.target == key(KEY)).unwrap();
    (cursor.last_seen.0, cursor.notified.0, cursor.material.0)
}
