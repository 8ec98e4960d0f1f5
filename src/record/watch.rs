//! Watchers: who wants to know of what, and what they have seen.
//!
//! Answers: the cursors of watchers, the notices that are due. Always holds: the arithmetic of
//! OpenClaw 2026.9.6. A cursor has three marks: `last_seen` (what the watcher knows), `notified`
//! (what the notice under way says) and `material` (the newest event that matters). At rest they
//! are equal; an event moves `notified` only from rest, so that one notice is under way at a time;
//! acknowledging it makes `notified` seen and, where more has happened meanwhile, opens the next
//! one. Deliberately elsewhere: the move of cursors by an event (`append`), how a watcher is
//! reached (`notice`).

use super::SignalLog;
use super::shape::Tables;
use crate::error::{Error, Result};
use crate::ids::{Sequence, SessionKey, Timestamp};
use crate::notice::PendingNotice;
use rusqlite::{OptionalExtension as _, Row, named_params};
use serde::Serialize;

/// A watcher's cursor on a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Watch {
    /// The watching session.
    pub watcher: SessionKey,
    /// The session that it watches.
    pub target: SessionKey,
    /// What the watcher has seen.
    pub last_seen: Sequence,
    /// What the notice under way says.
    pub notified: Sequence,
    /// The newest event that matters.
    pub material: Sequence,
    /// `explicit`, or `ambient-group` for OpenClaw's group sessions.
    pub provenance: String,
    /// When the row last changed.
    pub updated_at: Timestamp,
    /// The watcher's agent's database, as OpenClaw needs it; internal, not printed.
    #[serde(skip)]
    pub store_path: Option<String>,
}

/// What came of acknowledging a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acknowledged {
    /// The watcher has seen everything.
    Settled,
    /// More has happened meanwhile: this notice is due next.
    Reopened(PendingNotice),
    /// The cursor is gone or stands elsewhere by now; nothing was written.
    Stale,
}

impl SignalLog {
    /// Registers a watcher at the target's newest event, so that what was before never notifies.
    /// False, and nothing written, where it watches already.
    ///
    /// `store_path` is the real path of the watcher's agent's database, for a session of OpenClaw:
    /// without it OpenClaw drops the notice.
    pub fn watch(
        &mut self,
        watcher: &SessionKey,
        target: &SessionKey,
        store_path: Option<&str>,
        now: Timestamp,
    ) -> Result<bool> {
        if watcher.agent().is_none() {
            return Err(Error::Usage(format!(
                "{watcher} cannot watch: a watcher's key is agent:<id>:<rest>"
            )));
        }
        if watcher == target {
            return Err(Error::Usage(format!("{watcher} cannot watch itself")));
        }
        self.write("cannot add a watch", |connection| {
            let head: i64 = connection
                .prepare_cached(
                    "SELECT coalesce(max(last_sequence), 0) FROM session_state_heads
                     WHERE session_key = ?1",
                )?
                .query_row([target.as_str()], |row| row.get(0))?;
            let (names, values) = connection.cursors.insert();
            // Without the condition, `ON` would be read as that of a join; it names the path, since
            // a parameter must stand somewhere.
            let inserted = connection
                .prepare_cached(&format!(
                    "INSERT INTO session_watch_cursors ({names}) SELECT {values}
                     WHERE :store_path IS NULL OR true
                     ON CONFLICT (watcher_session_key, target_session_key) DO NOTHING"
                ))?
                .execute(named_params! {
                    ":watcher": watcher.as_str(),
                    ":store_path": store_path,
                    ":target": target.as_str(),
                    ":last_seen": head,
                    ":sequence": head,
                    ":now": now.0,
                })?;
            Ok(inserted > 0)
        })
    }

    /// Removes a watcher's cursors: on one target, or all. How many there were.
    pub fn unwatch(&mut self, watcher: &SessionKey, target: Option<&SessionKey>) -> Result<usize> {
        self.write("cannot remove a watch", |connection| {
            connection
                .prepare_cached(
                    "DELETE FROM session_watch_cursors WHERE watcher_session_key = ?1
                         AND (?2 IS NULL OR target_session_key = ?2)
                         AND watcher_session_key NOT GLOB 'ambient-group-watch:*'",
                )?
                .execute((watcher.as_str(), target.map(SessionKey::as_str)))
        })
    }

    /// The watches, of one watcher or of all, by watcher and target.
    pub fn watches(&self, watcher: Option<&SessionKey>) -> Result<Vec<Watch>> {
        self.read("cannot read the watches", |connection| {
            let cursors = connection.cursors;
            let (provenance, store_path) = (cursors.provenance(), cursors.store_path());
            // OpenClaw's old marks of group sessions stand in the same table.
            connection
                .prepare_cached(&format!(
                    "SELECT watcher_session_key, target_session_key, last_seen_sequence,
                         notified_sequence, material_sequence, {provenance}, updated_at,
                         {store_path}
                     FROM session_watch_cursors
                     WHERE (?1 IS NULL OR watcher_session_key = ?1)
                         AND watcher_session_key NOT GLOB 'ambient-group-watch:*'
                     ORDER BY watcher_session_key, target_session_key"
                ))?
                .query_map([watcher.map(SessionKey::as_str)], |row| {
                    Ok(Watch {
                        watcher: SessionKey::new(row.get::<_, String>(0)?),
                        target: SessionKey::new(row.get::<_, String>(1)?),
                        last_seen: Sequence(row.get(2)?),
                        notified: Sequence(row.get(3)?),
                        material: Sequence(row.get(4)?),
                        provenance: row.get(5)?,
                        updated_at: Timestamp(row.get(6)?),
                        store_path: row.get(7)?,
                    })
                })?
                .collect()
        })
    }

    /// The notices that are due: to one watcher, or to all.
    pub fn pending(&self, watcher: Option<&SessionKey>) -> Result<Vec<PendingNotice>> {
        self.read("cannot read the notices", |connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {} FROM session_watch_cursors
                     WHERE material_sequence > last_seen_sequence
                         AND (?1 IS NULL OR watcher_session_key = ?1)
                         AND watcher_session_key NOT GLOB 'ambient-group-watch:*'
                     ORDER BY watcher_session_key, target_session_key",
                    pending_columns(connection)
                ))?
                .query_map([watcher.map(SessionKey::as_str)], pending_notice)?
                .collect()
        })
    }

    /// Notes that a watcher has had a notice: one UPDATE, which changes nothing unless the cursor
    /// still stands where the notice was made.
    pub fn acknowledge(&mut self, notice: &PendingNotice, now: Timestamp) -> Result<Acknowledged> {
        self.write("cannot acknowledge a notice", |connection| {
            let after = connection
                .prepare_cached(&format!(
                    "UPDATE session_watch_cursors
                     SET last_seen_sequence = notified_sequence,
                         notified_sequence = max(notified_sequence, material_sequence),
                         updated_at = :now
                     WHERE watcher_session_key = :watcher AND target_session_key = :target
                         AND last_seen_sequence = :last_seen AND notified_sequence = :notified
                     RETURNING {}",
                    pending_columns(connection)
                ))?
                .query_row(
                    named_params! {
                        ":now": now.0,
                        ":watcher": notice.watcher.as_str(),
                        ":target": notice.target.as_str(),
                        ":last_seen": notice.last_seen.0,
                        ":notified": notice.notified.0,
                    },
                    pending_notice,
                )
                .optional()?;
            Ok(match after {
                None => Acknowledged::Stale,
                Some(next) if next.material > next.last_seen => Acknowledged::Reopened(next),
                Some(_) => Acknowledged::Settled,
            })
        })
    }
}

/// The notices that are due of an event and what came after it, to the watchers of its session.
pub(super) fn pending_of_target(
    connection: &Tables<'_>,
    target: &SessionKey,
    event: Sequence,
) -> rusqlite::Result<Vec<PendingNotice>> {
    let mut notices: Vec<PendingNotice> = connection
        .prepare_cached(&format!(
            "SELECT {} FROM session_watch_cursors
             WHERE target_session_key = ?1 AND material_sequence >= ?2
                 AND last_seen_sequence < ?2
             ORDER BY watcher_session_key",
            pending_columns(connection)
        ))?
        .query_map((target.as_str(), event.0), pending_notice)?
        .collect::<rusqlite::Result<_>>()?;
    notices.retain(|notice| notice.watcher.agent().is_some());
    Ok(notices)
}

/// The columns that [`pending_notice`] reads.
pub(super) fn pending_columns(tables: &Tables<'_>) -> String {
    format!(
        "watcher_session_key, target_session_key, {}, last_seen_sequence, notified_sequence, \
         material_sequence",
        tables.cursors.store_path()
    )
}

/// Reads watcher, target, store path, last seen, notified, material.
pub(super) fn pending_notice(row: &Row<'_>) -> rusqlite::Result<PendingNotice> {
    Ok(PendingNotice {
        watcher: SessionKey::new(row.get::<_, String>(0)?),
        target: SessionKey::new(row.get::<_, String>(1)?),
        store_path: row.get(2)?,
        last_seen: Sequence(row.get(3)?),
        notified: Sequence(row.get(4)?),
        material: Sequence(row.get(5)?),
    })
}

#[cfg(test)]
mod tests;
