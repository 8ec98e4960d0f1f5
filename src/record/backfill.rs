//! What a gateway did before it kept links and events of it.
//!
//! Answers: whether the log tells that a link's session was adopted; makes the link, and records the
//! event, that a gateway of today would have made. Always holds: a link that is there is not
//! touched; an event that retention may have taken is not recorded again. Deliberately elsewhere:
//! which sessions they are (`link::backfill`).

use super::links::{adopted_key, adopted_key_of_agent, append_adopted, insert_if_absent, link};
use super::{Retention, SignalLog};
use crate::error::Result;
use crate::ids::Timestamp;
use crate::link::{Link, LinkId, NewLink};
use rusqlite::{Connection, OptionalExtension as _};

/// How the log stands to the adoption of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdoptedEvent {
    /// Its event is there.
    There,
    /// Its event is not there, and never was.
    Lacking,
    /// Its event is not there, and may have been: it would be too old now.
    TooOld,
}

/// What was made of a session that had no link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backfilled {
    /// Whether the link is new; where not, somebody made it meanwhile, and nothing was written.
    pub linked: bool,
    /// Whether its event is new.
    pub recorded: bool,
}

impl SignalLog {
    /// Whether the log tells of the adoption of a link's session.
    pub fn adopted_event(&self, link: &Link, now: Timestamp) -> Result<AdoptedEvent> {
        self.read("cannot look for an adoption", |connection| adopted_event(connection, link, now))
    }

    /// Makes a link where there is none, and the `adopted` event where that is not there, in one
    /// transaction.
    pub fn backfill(&mut self, new: &NewLink, now: Timestamp) -> Result<Backfilled> {
        self.write("cannot link an adopted session", |connection| {
            let linked = insert_if_absent(connection, new, now)?;
            let recorded = linked && append_adopted(connection, &new.made_at(now), now)?;
            Ok(Backfilled { linked, recorded })
        })
    }

    /// Records the `adopted` event of a link that lacks it; false, and nothing written, where it does
    /// not, or where the link is gone.
    pub fn record_adopted(&mut self, id: &LinkId, now: Timestamp) -> Result<bool> {
        self.write("cannot record an adoption", |connection| {
            let Some(link) = link(connection, id)? else { return Ok(false) };
            if adopted_event(connection, &link, now)? != AdoptedEvent::Lacking {
                return Ok(false);
            }
            append_adopted(connection, &link, now)
        })
    }
}

fn adopted_event(
    connection: &Connection,
    link: &Link,
    now: Timestamp,
) -> rusqlite::Result<AdoptedEvent> {
    let (key, agent) = (link.id.session_key.as_str(), link.id.agent_id.as_str());
    let is_there: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM session_state_events
                 WHERE dedupe_key IN (?1, ?2) AND agent_id = ?3)",
        )?
        .query_row((adopted_key(&link.id), adopted_key_of_agent(&link.id), agent), |row| {
            row.get(0)
        })?;
    if is_there {
        return Ok(AdoptedEvent::There);
    }
    // An adoption is among the first events of its session, and the oldest ones go first.
    let pruned: Option<i64> = connection
        .prepare_cached(
            "SELECT pruned_max_sequence FROM session_state_heads
             WHERE session_key = ?1 AND agent_id = ?2",
        )?
        .query_row((key, agent), |row| row.get(0))
        .optional()?;
    let is_old = now.ms_since(link.created_at) > Retention::default().events_ms;
    let may_have_been = is_old || pruned.is_some_and(|pruned| pruned > 0);
    Ok(if may_have_been { AdoptedEvent::TooOld } else { AdoptedEvent::Lacking })
}

#[cfg(test)]
mod tests;
