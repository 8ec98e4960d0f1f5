//! One event into the log, with its head and its cursors.
//!
//! Answers: how an event is recorded, and who has to be told. Always holds: this is the recording
//! algorithm of OpenClaw 2026.9.6, step for step, so that a gateway and we can take turns on the
//! same rows; an event that is there already changes nothing. Deliberately elsewhere: what the
//! event says, and the transaction around it.

use super::SignalLog;
use super::event::{Actor, Kind};
use super::shape::Tables;
use super::watch::{pending_columns, pending_notice};
use crate::error::Result;
use crate::ids::{AgentId, Sequence, SessionKey, Timestamp};
use crate::notice::PendingNotice;
use rusqlite::{Connection, OptionalExtension as _, named_params};

/// How far back an event may be dated; what is older is moved up to here (OpenClaw 2026.9.6).
pub(super) const BACKDATING_MS: i64 = 24 * 60 * 60 * 1000;

/// An event to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What the event is recognised by when it comes again; none: it is always new.
    pub dedupe_key: Option<String>,
    /// The session.
    pub session_key: SessionKey,
    /// Its agent.
    pub agent_id: AgentId,
    /// OpenClaw's id of the session's history, where it is known.
    pub session_id: Option<String>,
    /// What happened.
    pub kind: Kind,
    /// What kind of actor did it.
    pub actor: Actor,
    /// Who did it; a watcher of this key is not told of its own doing.
    pub actor_id: Option<String>,
    /// The run in which it happened.
    pub run_id: Option<String>,
    /// When it happened; not earlier than a day before it is recorded, and not later.
    pub occurred_at: Timestamp,
    /// What happened, in a few fixed words.
    pub summary: String,
    /// More of it, compact JSON.
    pub payload_json: Option<String>,
    /// Watchers that are told whether or not they have a cursor.
    pub watchers: Vec<NewWatcher>,
}

/// A watcher that the caller of [`SignalLog::append`] names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWatcher {
    /// The watching session.
    pub key: SessionKey,
    /// Its agent's database; a cursor that names another one is left alone.
    pub store_path: Option<String>,
}

/// What came of recording an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The event's number: a new one, or that of the event that was there.
    pub sequence: Sequence,
    /// Whether it is new.
    pub fresh: bool,
    /// Who has to be told; empty unless fresh.
    pub notices: Vec<PendingNotice>,
}

impl SignalLog {
    /// Records one event, by the gateway's rules.
    pub fn append(&mut self, event: &NewEvent, now: Timestamp) -> Result<Appended> {
        self.write("cannot record an event", |connection| append(connection, event, now))
    }
}

/// Records one event within the transaction at hand.
pub(super) fn append(
    connection: &Tables<'_>,
    event: &NewEvent,
    now: Timestamp,
) -> rusqlite::Result<Appended> {
    let occurred_at = event.occurred_at.clamp(now.plus_ms(-BACKDATING_MS), now);
    let inserted = connection
        .prepare_cached(
            "INSERT INTO session_state_events (dedupe_key, session_key, session_id, agent_id, kind,
                 actor_type, actor_id, run_id, occurred_at, summary, payload_json)
             VALUES (:dedupe_key, :session_key, :session_id, :agent_id, :kind,
                 :actor_type, :actor_id, :run_id, :occurred_at, :summary, :payload_json)
             ON CONFLICT (dedupe_key) DO NOTHING
             RETURNING sequence",
        )?
        .query_row(
            named_params! {
                ":dedupe_key": event.dedupe_key,
                ":session_key": event.session_key.as_str(),
                ":session_id": event.session_id,
                ":agent_id": event.agent_id.as_str(),
                ":kind": event.kind.as_str(),
                ":actor_type": event.actor.as_str(),
                ":actor_id": event.actor_id,
                ":run_id": event.run_id,
                ":occurred_at": occurred_at.0,
                ":summary": event.summary,
                ":payload_json": event.payload_json,
            },
            |row| row.get(0).map(Sequence),
        )
        .optional()?;
    let Some(sequence) = inserted else {
        let sequence = connection
            .prepare_cached("SELECT sequence FROM session_state_events WHERE dedupe_key = ?1")?
            .query_row([&event.dedupe_key], |row| row.get(0).map(Sequence))?;
        return Ok(Appended { sequence, fresh: false, notices: Vec::new() });
    };
    move_head(connection, event, sequence, now)?;
    let mut notices = Vec::new();
    if event.kind.notifies() {
        for watcher in watchers(connection, event)? {
            notices.extend(move_cursor(connection, &event.session_key, &watcher, sequence, now)?);
        }
    }
    Ok(Appended { sequence, fresh: true, notices })
}

/// Makes the event the newest one of its session.
fn move_head(
    connection: &Connection,
    event: &NewEvent,
    sequence: Sequence,
    now: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO session_state_heads (session_key, agent_id, last_sequence, updated_at)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session_key, agent_id) DO UPDATE
             SET last_sequence = excluded.last_sequence, updated_at = excluded.updated_at",
        )?
        .execute((event.session_key.as_str(), event.agent_id.as_str(), sequence.0, now.0))?;
    Ok(())
}

/// Who is to be told: the named ones, then those with a cursor, each once; nobody of its own doing,
/// and only full keys (`agent:<id>:<rest>`): a session of global scope has no prompt of its own.
fn watchers(connection: &Connection, event: &NewEvent) -> rusqlite::Result<Vec<NewWatcher>> {
    let mut watchers = event.watchers.clone();
    let mut statement = connection.prepare_cached(
        "SELECT watcher_session_key FROM session_watch_cursors WHERE target_session_key = ?1
         ORDER BY watcher_session_key",
    )?;
    let with_cursor =
        statement.query_map([event.session_key.as_str()], |row| row.get::<_, String>(0))?;
    for key in with_cursor {
        let key = SessionKey::new(key?);
        if !watchers.iter().any(|watcher| watcher.key == key) {
            watchers.push(NewWatcher { key, store_path: None });
        }
    }
    watchers.retain(|watcher| {
        watcher.key.agent().is_some() && Some(watcher.key.as_str()) != event.actor_id.as_deref()
    });
    Ok(watchers)
}

/// Moves one watcher's cursor to the event. The notified mark stays where it is while a notice is
/// under way: it is what that notice's acknowledgement will be compared with.
fn move_cursor(
    connection: &Tables<'_>,
    target: &SessionKey,
    watcher: &NewWatcher,
    sequence: Sequence,
    now: Timestamp,
) -> rusqlite::Result<Option<PendingNotice>> {
    let (names, values) = connection.cursors.insert();
    let stored = connection.cursors.store_path();
    let pending = pending_columns(connection);
    connection
        .prepare_cached(&format!(
            "INSERT INTO session_watch_cursors ({names})
             VALUES ({values})
             ON CONFLICT (watcher_session_key, target_session_key) DO UPDATE
             SET notified_sequence = iif(notified_sequence = last_seen_sequence,
                     excluded.notified_sequence, notified_sequence),
                 material_sequence = excluded.material_sequence,
                 updated_at = excluded.updated_at
             WHERE :store_path IS NULL OR {stored} IS :store_path
             RETURNING {pending}"
        ))?
        .query_row(
            named_params! {
                ":watcher": watcher.key.as_str(),
                ":store_path": watcher.store_path,
                ":target": target.as_str(),
                ":last_seen": 0,
                ":sequence": sequence.0,
                ":now": now.0,
            },
            pending_notice,
        )
        .optional()
}

#[cfg(test)]
mod tests;
