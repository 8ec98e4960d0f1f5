//! How long the log is kept, and how it forgets a session.
//!
//! Answers: what is removed when. Always holds: what was removed is known (`pruned_max_sequence`,
//! only ever upward), so that a reader who missed it is told. For the embedded store only: a
//! gateway prunes its own log, by the same rules (OpenClaw 2026.9.6). Deliberately elsewhere: when
//! it runs.

use super::SignalLog;
use crate::error::Result;
use crate::ids::Timestamp;
use crate::link::LinkId;
use rusqlite::{Connection, OptionalExtension as _};

/// Limits of what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Events that happened longer ago are removed, in milliseconds.
    pub events_ms: i64,
    /// So many of the newest events are kept, in all sessions together.
    pub events: u64,
    /// Cursors that did not change for longer are removed, in milliseconds.
    pub cursors_ms: i64,
}

impl Default for Retention {
    /// The gateway's: 30 days, 50,000 events, 30 days.
    fn default() -> Self {
        const MONTH_MS: i64 = 30 * 24 * 60 * 60 * 1000;
        Self { events_ms: MONTH_MS, events: 50_000, cursors_ms: MONTH_MS }
    }
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// So many events.
    pub events: usize,
    /// So many cursors.
    pub cursors: usize,
}

impl SignalLog {
    /// Removes what is beyond the limits, in one transaction. Heads and links stay. A gateway's log
    /// is left to the gateway.
    pub fn prune(&mut self, keep: Retention, now: Timestamp) -> Result<Pruned> {
        if self.is_gateways() {
            return Ok(Pruned::default());
        }
        self.write("cannot prune the log", |connection| {
            let old = now.plus_ms(keep.events_ms.saturating_neg());
            let mut events = remove(connection, "occurred_at < ?1", old.0, now)?;
            let offset = i64::try_from(keep.events).unwrap_or(i64::MAX);
            let cut: Option<i64> = connection
                .query_row(
                    "SELECT sequence FROM session_state_events
                     ORDER BY sequence DESC LIMIT 1 OFFSET ?1",
                    [offset],
                    |row| row.get(0),
                )
                .optional()?;
            if let Some(cut) = cut {
                events += remove(connection, "sequence <= ?1", cut, now)?;
            }
            let cursors = connection.execute(
                "DELETE FROM session_watch_cursors WHERE updated_at < ?1",
                [now.plus_ms(keep.cursors_ms.saturating_neg()).0],
            )?;
            Ok(Pruned { events, cursors })
        })
    }

    /// Removes what the log has about a session, as a gateway does when the session is deleted: the
    /// agent's events, head and link, and every cursor of the key, as watcher and as target.
    pub fn forget(&mut self, id: &LinkId) -> Result<()> {
        self.require_ours("a session's end")?;
        self.write("cannot forget a session", |connection| {
            let key = (id.session_key.as_str(), id.agent_id.as_str());
            for table in ["session_state_events", "session_state_heads", "session_upstream_links"] {
                connection.execute(
                    &format!("DELETE FROM {table} WHERE session_key = ?1 AND agent_id = ?2"),
                    key,
                )?;
            }
            connection.execute(
                "DELETE FROM session_watch_cursors
                 WHERE watcher_session_key = ?1 OR target_session_key = ?1",
                [key.0],
            )?;
            Ok(())
        })
    }
}

/// Removes the events for which the condition holds, and notes in their heads how far that went.
fn remove(
    connection: &Connection,
    condition: &'static str,
    limit: i64,
    now: Timestamp,
) -> rusqlite::Result<usize> {
    connection.execute(
        &format!(
            "UPDATE session_state_heads AS head
             SET pruned_max_sequence = gone.newest, updated_at = ?2
             FROM (SELECT session_key, agent_id, max(sequence) AS newest
                   FROM session_state_events WHERE {condition} GROUP BY session_key, agent_id) gone
             WHERE head.session_key = gone.session_key AND head.agent_id = gone.agent_id
                 AND gone.newest > head.pruned_max_sequence"
        ),
        (limit, now.0),
    )?;
    connection.execute(&format!("DELETE FROM session_state_events WHERE {condition}"), [limit])
}

#[cfg(test)]
mod tests;
