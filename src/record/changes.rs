//! What is in the log, for those who ask.
//!
//! Answers: a session's state version, what changed since another one, the log as a stream. Always
//! holds: what the reader has missed for ever is said (`historyGap`, `gap`), never passed over.
//! Deliberately elsewhere: how it is shown (`cli`).

use super::SignalLog;
use super::event::{EVENT_COLUMNS, Event};
use crate::error::Result;
use crate::ids::{AgentId, Sequence, SessionKey, Timestamp};
use crate::link::LinkId;
use rusqlite::{Connection, OptionalExtension as _, named_params};
use serde::Serialize;
use std::collections::BTreeMap;

/// At most so many changes are told at once (OpenClaw 2026.9.6).
const MOST_CHANGES: usize = 200;

/// What changed in a session; serialises to the `stateChanges` of OpenClaw's `session_status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateChanges {
    /// The oldest changes after the asked version, oldest first, at most 200.
    pub events: Vec<StateChange>,
    /// Whether there are more.
    pub truncated: bool,
    /// The oldest change that is still there; where there is none, the next one's number at the
    /// earliest; 0 for an unknown session.
    pub earliest_available_sequence: Sequence,
    /// Whether changes after the asked version are not there any more.
    pub history_gap: bool,
}

/// One change, without what only the log's owner sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateChange {
    /// The event's number.
    pub sequence: Sequence,
    /// What happened.
    pub kind: String,
    /// What kind of actor did it.
    pub actor_type: String,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// What happened, in a few fixed words.
    pub summary: String,
}

/// Which events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Those after this one.
    pub since: Sequence,
    /// Of this kind only.
    pub kind: Option<String>,
    /// Of this session only, under whichever agent.
    pub session_key: Option<SessionKey>,
}

/// A piece of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// Where to go on: the last of them, or where the reader was.
    pub next: Sequence,
    /// Whether there are more right now.
    pub more: bool,
    /// Set where events after `since` are not there any more: the newest of them that is known.
    pub gap: Option<Sequence>,
}

impl SignalLog {
    /// The number of a session's newest event, 0 where it has none: what OpenClaw calls its state
    /// version.
    pub fn state_version(&self, key: &SessionKey, agent: &AgentId) -> Result<Sequence> {
        self.read("cannot read a state version", |connection| {
            Ok(head(connection, key, agent)?.map_or(Sequence(0), |head| head.last))
        })
    }

    /// What changed in a session since a state version (OpenClaw 2026.9.6: `changesSince`).
    pub fn changes_since(
        &self,
        key: &SessionKey,
        agent: &AgentId,
        since: Sequence,
    ) -> Result<StateChanges> {
        self.read_at_once("cannot read what changed", |connection| {
            let mut events: Vec<StateChange> = connection
                .prepare_cached(
                    "SELECT sequence, kind, actor_type, actor_id, occurred_at, summary
                     FROM session_state_events
                     WHERE session_key = ?1 AND sequence > ?2 AND agent_id = ?3
                     ORDER BY sequence LIMIT ?4",
                )?
                .query_map(
                    (key.as_str(), since.0, agent.as_str(), limit(MOST_CHANGES + 1)),
                    |row| {
                        Ok(StateChange {
                            sequence: Sequence(row.get(0)?),
                            kind: row.get(1)?,
                            actor_type: row.get(2)?,
                            actor_id: row.get(3)?,
                            occurred_at: Timestamp(row.get(4)?),
                            summary: row.get(5)?,
                        })
                    },
                )?
                .collect::<rusqlite::Result<_>>()?;
            let truncated = events.len() > MOST_CHANGES;
            events.truncate(MOST_CHANGES);
            let head = head(connection, key, agent)?;
            let earliest = earliest(connection, key, agent)?
                .or_else(|| head.as_ref().map(|head| Sequence(head.last.0.saturating_add(1))))
                .unwrap_or_default();
            Ok(StateChanges {
                events,
                truncated,
                earliest_available_sequence: earliest,
                history_gap: head.is_some_and(|head| since < head.pruned),
            })
        })
    }

    /// A piece of the log, at most `limit` events of it.
    pub fn events(&self, filter: &EventFilter, limit: usize) -> Result<EventPage> {
        self.read_at_once("cannot read the events", |connection| {
            let mut events: Vec<Event> = connection
                .prepare_cached(&format!(
                    "SELECT {EVENT_COLUMNS} FROM session_state_events
                     WHERE sequence > :since AND (:kind IS NULL OR kind = :kind)
                         AND (:session_key IS NULL OR session_key = :session_key)
                     ORDER BY sequence LIMIT :limit"
                ))?
                .query_map(
                    named_params! {
                        ":since": filter.since.0,
                        ":kind": filter.kind,
                        ":session_key": filter.session_key.as_ref().map(SessionKey::as_str),
                        ":limit": self::limit(limit.saturating_add(1)),
                    },
                    Event::from_row,
                )?
                .collect::<rusqlite::Result<_>>()?;
            let more = events.len() > limit;
            events.truncate(limit);
            let next = events.last().map_or(filter.since, |event| event.sequence);
            let pruned = pruned(connection, filter.session_key.as_ref())?;
            Ok(EventPage {
                events,
                next,
                more,
                gap: pruned.filter(|pruned| *pruned > filter.since),
            })
        })
    }

    /// The newest event's number, 0 in an empty log.
    pub fn newest_sequence(&self) -> Result<Sequence> {
        self.read("cannot read the newest event", |connection| {
            connection
                .prepare_cached("SELECT coalesce(max(sequence), 0) FROM session_state_events")?
                .query_row([], |row| row.get(0).map(Sequence))
        })
    }

    /// The last number that was ever given to an event, pruned ones included; 0 in a new log.
    pub fn last_sequence_ever(&self) -> Result<Sequence> {
        self.read("cannot read the last event's number", |connection| {
            connection
                .prepare_cached(
                    "SELECT coalesce(max(seq), 0) FROM sqlite_sequence
                     WHERE name = 'session_state_events'",
                )?
                .query_row([], |row| row.get(0).map(Sequence))
        })
    }

    /// Whether the log once had this event of a session and has it no more, though retention did not
    /// take it: then the log was restored from an older copy, or is a new one.
    pub fn has_lost(&self, id: &LinkId, event: Sequence) -> Result<bool> {
        self.read("cannot look up an event", |connection| {
            connection
                .prepare_cached(
                    "SELECT NOT EXISTS (SELECT 1 FROM session_state_events WHERE sequence = ?3
                         AND session_key = ?1 AND agent_id = ?2 AND kind = 'human_direct_message')
                     AND NOT EXISTS (SELECT 1 FROM session_state_heads WHERE session_key = ?1
                         AND agent_id = ?2 AND pruned_max_sequence >= ?3)",
                )?
                .query_row((id.session_key.as_str(), id.agent_id.as_str(), event.0), |row| {
                    row.get(0)
                })
        })
    }

    /// When a person last typed into each session, as far as the log reaches back.
    pub fn last_human_at(&self) -> Result<BTreeMap<LinkId, Timestamp>> {
        self.read("cannot read when people last typed", |connection| {
            connection
                .prepare_cached(
                    "SELECT session_key, agent_id, max(occurred_at) FROM session_state_events
                     WHERE kind = 'human_direct_message' GROUP BY session_key, agent_id",
                )?
                .query_map([], |row| {
                    let id = LinkId {
                        session_key: SessionKey::new(row.get::<_, String>(0)?),
                        agent_id: AgentId::new(row.get::<_, String>(1)?),
                    };
                    Ok((id, Timestamp(row.get(2)?)))
                })?
                .collect()
        })
    }
}

/// A session's head.
struct Head {
    last: Sequence,
    pruned: Sequence,
}

fn head(
    connection: &Connection,
    key: &SessionKey,
    agent: &AgentId,
) -> rusqlite::Result<Option<Head>> {
    connection
        .prepare_cached(
            "SELECT last_sequence, pruned_max_sequence FROM session_state_heads
             WHERE session_key = ?1 AND agent_id = ?2",
        )?
        .query_row((key.as_str(), agent.as_str()), |row| {
            Ok(Head { last: Sequence(row.get(0)?), pruned: Sequence(row.get(1)?) })
        })
        .optional()
}

/// The oldest event of a session that is still there.
fn earliest(
    connection: &Connection,
    key: &SessionKey,
    agent: &AgentId,
) -> rusqlite::Result<Option<Sequence>> {
    connection
        .prepare_cached(
            "SELECT sequence FROM session_state_events WHERE session_key = ?1 AND agent_id = ?2
             ORDER BY sequence LIMIT 1",
        )?
        .query_row((key.as_str(), agent.as_str()), |row| row.get(0).map(Sequence))
        .optional()
}

/// The newest event that retention has taken, of one session or of all.
fn pruned(connection: &Connection, key: Option<&SessionKey>) -> rusqlite::Result<Option<Sequence>> {
    connection
        .prepare_cached(
            "SELECT max(pruned_max_sequence) FROM session_state_heads
             WHERE ?1 IS NULL OR session_key = ?1",
        )?
        .query_row([key.map(SessionKey::as_str)], |row| {
            Ok(row.get::<_, Option<i64>>(0)?.map(Sequence))
        })
}

/// A number of rows for SQLite.
fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
