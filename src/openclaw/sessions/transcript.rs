//! The own texts of a session: its user messages, newest first.
//!
//! What counts is the active branch after its latest reset, and what that reset kept. Which text of a
//! message it is, `event` says.

use super::Unavailable;
use super::database::Failure;
use super::event::{self, Payload};
use super::tree::{Active, Tree};
use crate::classify::text::normalise;
use crate::echo::{OwnText, OwnTextId, Recent};
use crate::ids::{HashKey, Identity, Timestamp};
use rusqlite::{CachedStatement, OptionalExtension as _, Transaction, params};
use serde_json::Value;

/// The last own texts of a transcript.
pub(super) fn recent(
    tx: &Transaction<'_>,
    session: &str,
    limit: usize,
    key: &HashKey,
) -> Result<Recent, Failure> {
    let is_cold = tx
        .prepare_cached("SELECT 1 FROM session_transcript_cold_archives WHERE session_id = ?")?
        .exists([session])?;
    if is_cold {
        return Err(Unavailable::Cold.into());
    }
    let mut events = Events::new(tx, session)?;
    let mut gather = Gather::new(session, limit, key);
    if is_indexed(tx, session)? {
        let mut path = tx.prepare_cached(
            "SELECT event_seq FROM session_transcript_active_events WHERE session_id = ?
             ORDER BY active_position DESC",
        )?;
        let mut path = path.query([session])?;
        while let Some(row) = path.next()? {
            if gather.take(events.get(row.get(0)?)?) == Next::Enough {
                break;
            }
        }
    } else {
        for seq in walk(tx, session)?.into_iter().rev() {
            if gather.take(events.get(seq)?) == Next::Enough {
                break;
            }
        }
    }
    Ok(gather.finish())
}

/// Whether the gateway's index holds all events.
fn is_indexed(tx: &Transaction<'_>, session: &str) -> rusqlite::Result<bool> {
    let state: Option<bool> = tx
        .prepare_cached(
            "SELECT needs_rebuild = 0 AND indexed_seq =
                 (SELECT max(seq) FROM transcript_events e WHERE e.session_id = s.session_id)
             FROM session_transcript_index_state s WHERE session_id = ?",
        )?
        .query_row([session], |row| Ok(row.get::<_, Option<bool>>(0)?.unwrap_or(false)))
        .optional()?;
    Ok(state.unwrap_or(false))
}

/// The active branch as the gateway would find it if it made its index anew.
fn walk(tx: &Transaction<'_>, session: &str) -> Result<Vec<i64>, Failure> {
    let mut tree = Tree::default();
    let mut all = Vec::new();
    let mut statement = tx.prepare_cached(&format!(
        "SELECT seq, json_extract(navigation_json, '$.navigation'), {}
         FROM transcript_events WHERE session_id = ? ORDER BY seq",
        event::COLUMNS
    ))?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let seq = row.get(0)?;
        // Compressed events have what is needed of them beside.
        let beside: Option<String> = row.get(1)?;
        let event = match beside {
            Some(json) => serde_json::from_str(&json).ok(),
            None => Payload::read(row, 2)?.event(),
        };
        let Some(event): Option<Value> = event else { continue };
        tree.push(seq, &event);
        if event.get("type").is_none_or(|kind| kind != "session") {
            all.push(seq);
        }
    }
    Ok(match tree.active() {
        Active::Path(path) => path,
        Active::Everything => all,
    })
}

/// Reads single events.
struct Events<'c> {
    statement: CachedStatement<'c>,
    session: &'c str,
}

/// An event, read as far as is needed.
struct Event {
    seq: i64,
    /// Id and type as the gateway indexed them, which it does for all but some of old imports.
    indexed: Option<(String, Option<String>)>,
    /// The role of a compressed message, which is beside it.
    role: Option<String>,
    payload: Payload,
    created_at: Timestamp,
}

impl<'c> Events<'c> {
    fn new(tx: &'c Transaction<'_>, session: &'c str) -> rusqlite::Result<Self> {
        let statement = tx.prepare_cached(&format!(
            "SELECT i.event_id, i.event_type, e.created_at,
                 CASE WHEN event_zstd IS NOT NULL
                     THEN json_extract(navigation_json, '$.reset.message.role') END, {}
             FROM transcript_events e LEFT JOIN transcript_event_identities i
                 ON i.session_id = e.session_id AND i.seq = e.seq
             WHERE e.session_id = ? AND e.seq = ?",
            event::COLUMNS
        ))?;
        Ok(Self { statement, session })
    }

    fn get(&mut self, seq: i64) -> rusqlite::Result<Option<Event>> {
        self.statement
            .query_row(params![self.session, seq], |row| {
                let id: Option<String> = row.get(0)?;
                let kind = row.get(1)?;
                Ok(Event {
                    seq,
                    indexed: id.map(|id| (id, kind)),
                    created_at: Timestamp(row.get(2)?),
                    role: row.get(3)?,
                    payload: Payload::read(row, 4)?,
                })
            })
            .optional()
    }
}

impl Event {
    fn kind(&self) -> Option<&str> {
        self.indexed.as_ref().and_then(|(_, kind)| kind.as_deref())
    }

    fn is_reset(&self) -> bool {
        self.kind() == Some("reset")
    }

    /// Whether the event may be a reset or a user's message.
    fn may_matter(&self) -> bool {
        self.kind().is_none()
            || self.is_reset()
            || self.role.as_ref().is_none_or(|role| role == "user")
    }
}

/// Whether there may be more to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Enough,
}

/// Takes the events of a branch, newest first.
struct Gather<'a> {
    session: &'a str,
    limit: usize,
    key: &'a HashKey,
    found: Recent,
    /// What the latest reset kept of what is before it, once that was met.
    kept: Option<Kept>,
}

/// What a reset kept: all from this event on, if it is there.
struct Kept {
    first: String,
    texts: Vec<OwnText>,
}

impl<'a> Gather<'a> {
    fn new(session: &'a str, limit: usize, key: &'a HashKey) -> Self {
        Self { session, limit, key, found: Recent::default(), kept: None }
    }

    fn take(&mut self, event: Option<Event>) -> Next {
        let Some(event) = event else { return Next::More };
        let id = event.indexed.as_ref().map(|(id, _)| id.clone());
        let is_full = self.is_full();
        // Once there are texts enough, only where the kept part begins is still to be found.
        if id.is_some() && (is_full || !event.may_matter()) {
            return self.end_of(id.as_deref());
        }
        let Some(json) = event.payload.event() else {
            self.found.skipped += 1;
            // Whatever it kept, what is before a reset is over.
            let is_end = event.is_reset() && self.kept.is_none();
            return if is_end { Next::Enough } else { self.end_of(id.as_deref()) };
        };
        let id = id.or_else(|| json.get("id")?.as_str().map(str::to_owned));
        let kind = json.get("type").and_then(Value::as_str);
        if kind == Some("reset") && self.kept.is_none() {
            let Some(first) = json.get("firstKeptEntryId").and_then(Value::as_str) else {
                return Next::Enough;
            };
            self.kept = Some(Kept { first: first.to_owned(), texts: Vec::new() });
            return Next::More;
        }
        // Of what was kept, only messages count.
        if event::is_of_user(&json)
            && !is_full
            && (self.kept.is_none() || kind == Some("message"))
            && let Some(text) = self.text_of(&event, id.as_deref(), &json)
        {
            match &mut self.kept {
                Some(kept) => kept.texts.push(text),
                None => self.found.texts.push(text),
            }
        }
        self.end_of(id.as_deref())
    }

    fn is_full(&self) -> bool {
        let kept = self.kept.as_ref().map_or(0, |kept| kept.texts.len());
        self.found.texts.len() + kept >= self.limit
    }

    /// Whether an event is the last to be looked at.
    fn end_of(&mut self, id: Option<&str>) -> Next {
        match &mut self.kept {
            None if self.found.texts.len() < self.limit => Next::More,
            None => Next::Enough,
            Some(kept) if id == Some(kept.first.as_str()) => {
                self.found.texts.append(&mut kept.texts);
                Next::Enough
            }
            Some(_) => Next::More,
        }
    }

    fn text_of(&self, event: &Event, id: Option<&str>, json: &Value) -> Option<OwnText> {
        let normalised = normalise(event::own_text(json)?);
        if normalised.is_empty() {
            return None;
        }
        let session = Identity::of_uuid(self.key, self.session);
        let id = id.map_or_else(
            || format!("{}/{}", session.as_str(), event.seq),
            |id| format!("{}/{}", session.as_str(), Identity::of_uuid(self.key, id).as_str()),
        );
        Some(OwnText {
            id: OwnTextId::Stored(id),
            hash: self.key.text(&normalised),
            at: event::time(json).unwrap_or(event.created_at),
            used: false,
        })
    }

    fn finish(self) -> Recent {
        self.found
    }
}
