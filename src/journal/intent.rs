//! Intents: what the journal says we are about to record.

use super::identity::learn;
use super::own_text::use_up;
use super::source::to_json;
use super::{Journal, LinkRow, SourceCursor, SourceRow};
use crate::echo::OwnTextId;
use crate::error::{Error, Result};
use crate::ids::{
    AgentId, CatalogId, Generation, Identity, Sequence, SessionKey, SourceKey, Timestamp,
};
use rusqlite::params;
use serde::{Deserialize, Serialize};

/// One window's turns, written down before they are recorded, so that they can be recorded from the
/// journal alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The session that the event will name.
    pub session_key: SessionKey,
    /// Its agent.
    pub agent_id: AgentId,
    /// The catalog, for summary and payload.
    pub catalog_id: CatalogId,
    /// The source whose window this is.
    pub source_key: SourceKey,
    /// Whether that is a fork of what the link names: no marker is kept of it.
    #[serde(default)]
    pub is_fork: bool,
    /// How the window is named where the source is a node's transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeWindow>,
    /// The life of the file's content that the offsets belong to.
    pub generation: Generation,
    /// Where the window begins.
    pub from: u64,
    /// Where it ends, just after a line end.
    pub to: u64,
    /// Events of this source up to this sequence are accounted for.
    pub seen: Sequence,
    /// The rows of the window that count by our rule or by the gateway's and were not known before.
    pub rows: Vec<CountableRow>,
    /// Own texts that the window's echoes use up.
    pub excused: Vec<OwnTextId>,
    /// The cursor once the window is recorded; its `seen` is set then.
    pub after: SourceCursor,
}

/// How the gateway names a window of a node's transcript: by rows, and not by offsets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeWindow {
    /// The uuid of the last row in it.
    pub newest: String,
    /// The rows up to that one at which the link's marker may stand, for it to move on from there;
    /// one at any other row is further on.
    pub passed: Vec<PassedRow>,
    /// The link's `updated_at` when it was read: as long as it is the same, its marker is not
    /// further on.
    pub read_at: Timestamp,
}

/// A row of a node's transcript that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedRow {
    /// Its name.
    pub uuid: String,
    /// Offset just after it.
    pub end: u64,
}

impl NodeWindow {
    /// Where the row of this name ends, if it was read.
    #[must_use]
    pub fn end_of(&self, uuid: &str) -> Option<u64> {
        self.passed.iter().find(|row| row.uuid == uuid).map(|row| row.end)
    }
}

/// A row that counts by our rule or by the gateway's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountableRow {
    /// What it is known by.
    pub identity: Identity,
    /// What a copy of it under another uuid is known by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<Identity>,
    /// Where the row begins that proves it (the row itself, but for queued messages).
    pub start: u64,
    /// Just after the line end of the row that proves it.
    pub end: u64,
    /// Its time: its own, else the file's.
    pub at: Timestamp,
    /// Whether our rule counts it.
    pub ours: bool,
    /// Whether the gateway's rule counts it.
    pub gateway: bool,
}

/// An intent that was not applied yet.
#[derive(Debug)]
pub struct OpenIntent {
    /// The source that it belongs to.
    pub source: SourceRow,
    /// What was to be recorded.
    pub intent: Intent,
}

impl Journal {
    /// Commit 1 of Record: writes down what is about to be recorded.
    pub fn intend(&self, source: SourceRow, intent: &Intent) -> Result<()> {
        let body = to_json(intent)?;
        self.conn
            .prepare_cached("INSERT INTO intents (source_id, body) VALUES (?, ?)")
            .and_then(|mut statement| statement.execute(params![source.id, body]))
            .map(drop)
            .map_err(|e| self.error("cannot write an intent", e))
    }

    /// The intents that were not applied.
    pub fn open_intents(&self) -> Result<Vec<OpenIntent>> {
        let rows: Vec<(i64, i64, String)> = self
            .conn
            .prepare_cached(
                // In this order: there are few intents, mostly none, and as many sources as links.
                "SELECT s.link_id, i.source_id, i.body
                 FROM intents i CROSS JOIN sources s USING (source_id)",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                    .collect()
            })
            .map_err(|e| self.error("cannot read the open intents", e))?;
        rows.into_iter()
            .map(|(link, id, body)| {
                let intent = self.parse(&body, "an intent")?;
                Ok(OpenIntent { source: SourceRow { link: LinkRow(link), id }, intent })
            })
            .collect()
    }

    /// Gives an intent up: its link is gone.
    pub fn drop_intent(&self, source: SourceRow) -> Result<()> {
        self.conn
            .execute("DELETE FROM intents WHERE source_id = ?", [source.id])
            .map(drop)
            .map_err(|e| self.error("cannot drop an intent", e))
    }

    /// Commit 3 of Record: position, identities and used own texts, and the intent is done. `event`
    /// is the one that was recorded, if any.
    pub fn apply(
        &mut self,
        source: SourceRow,
        intent: &Intent,
        seen: Sequence,
        event: Option<Sequence>,
    ) -> Result<SourceCursor> {
        let last_event = event.unwrap_or(intent.after.last_event);
        let after = SourceCursor { last_event, seen, ..intent.after.clone() };
        let cursor = to_json(&after)?;
        let path = self.path.clone();
        let error = |e| Error::database("cannot apply an intent", &path, e);
        let tx = self.conn.transaction().map_err(error)?;
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            tx.prepare_cached(sql)
                .and_then(|mut statement| statement.execute(values))
                .map_err(error)
        };
        run("UPDATE sources SET cursor = ? WHERE source_id = ?", &[&cursor, &source.id])?;
        let names = intent.rows.iter().flat_map(|row| row.aliases.iter().chain([&row.identity]));
        learn(&tx, source.link, names).map_err(error)?;
        let now = intent.after.sighted_at.unwrap_or_default();
        use_up(&tx, source.link, &intent.excused, now).map_err(error)?;
        run("DELETE FROM intents WHERE source_id = ?", &[&source.id])?;
        tx.commit().map_err(error)?;
        Ok(after)
    }
}
