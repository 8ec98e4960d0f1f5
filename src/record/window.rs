//! A window's turns into the log, and its end into the link's marker.
//!
//! Answers: what an intent becomes in the signal log (the second of the three commits that a window
//! with turns goes through; the first and the third are the journal's). Always holds: carrying an
//! intent out again gives the same answer and no second event; a marker moves back only where the
//! file ends before it, and `updated_at` always changes, so that a gateway's outcome that is under way drops itself.
//! Deliberately elsewhere: which rows are covered (`plan`), how an event gets in (`append`), where
//! the marker goes (`marker`).
//!
//! The dedupe id of an event is the gateway's, the offset at which the window ends (of a node's
//! transcript, the uuid of its last row), so that the two cannot both record one window. Where that
//! id is taken by another window (a rewritten file ends at the same offset again) it goes on with
//! `.<generation>.<from>`. A session key that is linked under
//! two agents gets one event for each, and dedupe keys are unique: there, and where the other
//! agent's event has the key, it ends in `:agent:<id>`. That costs nothing: OpenClaw 2026.9.6 does
//! not scan a key with two links, so that there is no key of its own to collide with.

use super::SignalLog;
use super::append::{Appended, NewEvent, append};
use super::event::{Actor, Kind};
use super::links::{has_other_agent, link};
use super::marker::{Ahead, Marker, link_to, next_marker, next_node_marker, write_marker};
use super::plan::plan;
use super::shape::Tables;
use super::source_event::SourceEvent;
use super::watch::pending_of_target;
use crate::error::Result;
use crate::ids::{Sequence, Timestamp};
use crate::journal::{CountableRow, Intent};
use crate::killpoint::{self, KillPoint};
use crate::link::{LinkId, marker_json};
use crate::notice::PendingNotice;
use rusqlite::{Connection, OptionalExtension as _, named_params};
use serde_json::Value;

/// What came of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowOutcome {
    /// It is in the log.
    Recorded(WindowRecord),
    /// The link is gone or names another source; nothing was written.
    LinkGone,
    /// The marker stands at this offset, beyond the window, and the caller has not looked there
    /// yet; nothing was written.
    MarkerAhead(u64),
    /// An event of the source has rows outside of the window, and which ones depends on the rows of
    /// the linked file, which were not given; nothing was written.
    LinkedNeeded,
}

/// What stands in the log about a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowRecord {
    /// The window's event, if it has one.
    pub sequence: Option<Sequence>,
    /// The turns that the event counts.
    pub turns: usize,
    /// With this window, events of the source up to here are accounted for.
    pub newest_seen: Sequence,
    /// Who has to be told of the event.
    pub notices: Vec<PendingNotice>,
    /// Rows of the window that earlier events had counted.
    pub covered: usize,
    /// Rows that an event of the gateway covers and our rule does not count: its false turns.
    pub false_turns: usize,
    /// Earlier events that found none of their rows.
    pub unplaced: usize,
}

impl SignalLog {
    /// Records what an intent's rows come to, and moves the marker to the window's end, in one
    /// transaction.
    ///
    /// `linked` are the countable rows of the linked file as it is now (see [`plan`]): `None` until
    /// they are asked for by [`WindowOutcome::LinkedNeeded`], empty where the file cannot be read.
    pub fn record_window(
        &mut self,
        intent: &Intent,
        linked: Option<&[CountableRow]>,
        ahead: Ahead,
        now: Timestamp,
    ) -> Result<WindowOutcome> {
        self.write("cannot record a window", |connection| {
            let id = LinkId {
                session_key: intent.session_key.clone(),
                agent_id: intent.agent_id.clone(),
            };
            if intent.is_fork {
                if link(connection, &id)?.is_none() {
                    return Ok(WindowOutcome::LinkGone);
                }
                let record = record(connection, intent, linked, now)?;
                killpoint::pass(KillPoint::EventWritten);
                return Ok(record.map_or(WindowOutcome::LinkedNeeded, WindowOutcome::Recorded));
            }
            let Some(link) = link_to(connection, &id, &intent.source_key)? else {
                return Ok(WindowOutcome::LinkGone);
            };
            let marker = match (&intent.node, next_marker(&link, intent.to, ahead)) {
                (Some(window), _) => next_node_marker(&link, window),
                (None, Marker::Ahead(offset)) => return Ok(WindowOutcome::MarkerAhead(offset)),
                (None, Marker::Set) => Some(marker_json(intent.to)),
                (None, Marker::Keep) => None,
            };
            let Some(record) = record(connection, intent, linked, now)? else {
                return Ok(WindowOutcome::LinkedNeeded);
            };
            write_marker(connection, &id, marker.as_deref(), now)?;
            killpoint::pass(KillPoint::EventWritten);
            Ok(WindowOutcome::Recorded(record))
        })
    }
}

/// Records the turns that remain; finds the window's event where it is there already. `None`, and
/// nothing written, where rows of the linked file are needed for that.
fn record(
    connection: &Tables<'_>,
    intent: &Intent,
    linked: Option<&[CountableRow]>,
    now: Timestamp,
) -> rusqlite::Result<Option<WindowRecord>> {
    let mut events = events_of(connection, intent)?;
    // An event of exactly this window is this intent's, from before a crash. What it was decided
    // upon, and so the answer, is what stood before it.
    let done = events.iter().position(|event| is_of_window(event, intent));
    let done = done.and_then(|index| events.drain(index..).next());
    let plan = plan(intent, &events, linked, now);
    if plan.needs_linked {
        return Ok(None);
    }
    let (turns, sequence, notices) = match (done, plan.occurred_at) {
        (Some(done), _) => {
            let notices = pending_of_target(connection, &intent.session_key, done.sequence)?;
            (done.turns, Some(done.sequence), notices)
        }
        (None, Some(occurred_at)) => {
            let appended = append_turns(connection, intent, plan.turns, occurred_at, now)?;
            (plan.turns, Some(appended.sequence), appended.notices)
        }
        (None, None) => (0, None, Vec::new()),
    };
    // An event that is kept for the next window keeps all later ones, ours too: it is found again
    // there, and covers nothing of it.
    let newest_seen = match sequence {
        Some(sequence) if !plan.keeps_events => plan.newest_seen.max(sequence),
        _ => plan.newest_seen,
    };
    Ok(Some(WindowRecord {
        sequence,
        turns,
        newest_seen,
        notices,
        covered: plan.covered.len(),
        false_turns: plan.false_turns,
        unplaced: plan.unplaced.len(),
    }))
}

/// What the dedupe keys of a source's turns begin with.
fn prefix(intent: &Intent) -> String {
    format!("upstream:{}:{}:", intent.session_key, intent.source_key)
}

/// The events about the intent's source that are not accounted for yet, oldest first.
fn events_of(connection: &Connection, intent: &Intent) -> rusqlite::Result<Vec<SourceEvent>> {
    let prefix = prefix(intent);
    connection
        .prepare_cached(
            "SELECT sequence, occurred_at, substr(dedupe_key, length(:prefix) + 1), payload_json
             FROM session_state_events
             WHERE session_key = :session_key AND sequence > :seen AND agent_id = :agent_id
                 AND kind = 'human_direct_message'
                 AND substr(dedupe_key, 1, length(:prefix)) = :prefix
             ORDER BY sequence",
        )?
        .query_map(
            named_params! {
                ":prefix": prefix,
                ":session_key": intent.session_key.as_str(),
                ":seen": intent.seen.0,
                ":agent_id": intent.agent_id.as_str(),
            },
            |row| {
                let (id, payload): (String, Option<String>) = (row.get(2)?, row.get(3)?);
                let (sequence, at) = (Sequence(row.get(0)?), Timestamp(row.get(1)?));
                let mut event = SourceEvent::read(sequence, at, &id, payload.as_deref());
                if let Some(window) = &intent.node {
                    event.offset = window.end_of(&id);
                }
                Ok(event)
            },
        )?
        .collect()
}

/// Whether an event is ours, about exactly this window.
fn is_of_window(event: &SourceEvent, intent: &Intent) -> bool {
    event.ours.as_ref().is_some_and(|extent| {
        extent.generation == intent.generation
            && extent.from == intent.from
            && extent.to == intent.to
    })
}

/// Appends the window's event under the first dedupe key that is free.
fn append_turns(
    connection: &Tables<'_>,
    intent: &Intent,
    turns: usize,
    occurred_at: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<Appended> {
    let Intent { from, to, generation, .. } = intent;
    let mut payload = serde_json::Map::new();
    if turns > 1 {
        payload.insert("turns".to_owned(), turns.into());
    }
    payload.insert("from".to_owned(), (*from).into());
    if intent.node.is_some() {
        // The dedupe id does not tell.
        payload.insert("to".to_owned(), (*to).into());
    }
    payload.insert("generation".to_owned(), generation.as_str().into());
    let mut event = NewEvent {
        dedupe_key: None,
        session_key: intent.session_key.clone(),
        agent_id: intent.agent_id.clone(),
        session_id: None,
        kind: Kind::HumanDirectMessage,
        actor: Actor::Human,
        actor_id: None,
        run_id: None,
        occurred_at,
        summary: format!("human message via {}", intent.catalog_id),
        payload_json: Some(Value::Object(payload).to_string()),
        watchers: Vec::new(),
    };
    let id = intent.node.as_ref().map_or_else(|| to.to_string(), |window| window.newest.clone());
    let plain = format!("{}{id}", prefix(intent));
    let full = format!("{plain}.{generation}.{from}");
    let agent = format!(":agent:{}", intent.agent_id);
    // Of a fork there are no events of the gateway's with which they could collide; where it is a
    // session of its own, there may be.
    let keys = if intent.is_fork {
        [full.clone(), format!("{full}{agent}")].to_vec()
    } else if has_other_agent(connection, &intent.session_key, &intent.agent_id)? {
        [format!("{plain}{agent}"), format!("{full}{agent}")].to_vec()
    } else {
        [plain, full.clone(), format!("{full}{agent}")].to_vec()
    };
    for key in keys {
        if !is_taken(connection, &key, intent)? {
            event.dedupe_key = Some(key);
            break;
        }
    }
    // All taken: the last one names agent, generation and window, so that it is this very event.
    if event.dedupe_key.is_none() {
        event.dedupe_key = Some(format!("{full}{agent}"));
    }
    append(connection, &event, now)
}

/// Whether another window has this dedupe key. This window's own event is no hindrance: appending
/// finds it.
fn is_taken(connection: &Connection, key: &str, intent: &Intent) -> rusqlite::Result<bool> {
    let holder = connection
        .prepare_cached(
            "SELECT agent_id, occurred_at, payload_json FROM session_state_events
             WHERE dedupe_key = ?1",
        )?
        .query_row([key], |row| {
            let agent: String = row.get(0)?;
            let payload: Option<String> = row.get(2)?;
            let id = key.get(prefix(intent).len()..).unwrap_or_default();
            let at = Timestamp(row.get(1)?);
            let event = SourceEvent::read(Sequence(0), at, id, payload.as_deref());
            Ok(agent == intent.agent_id.as_str() && is_of_window(&event, intent))
        })
        .optional()?;
    Ok(holder == Some(false))
}

#[cfg(test)]
mod tests;
