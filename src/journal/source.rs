//! Links and sources in the journal.

use super::{Journal, SourceCursor};
use crate::error::{Error, Result};
use crate::ids::{AgentId, Sequence, SessionKey, SourceKey, ThreadId};
use crate::link::{Fork, LinkId};
use rusqlite::{OptionalExtension as _, params};

/// The journal's number of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkRow(pub(super) i64);

/// The journal's number of a source, with that of its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SourceRow {
    /// The link that it belongs to.
    pub link: LinkRow,
    pub(super) id: i64,
}

impl Journal {
    /// The source of a link and its cursor, if it is known.
    pub fn source(
        &self,
        link: &LinkId,
        key: &SourceKey,
    ) -> Result<Option<(SourceRow, SourceCursor)>> {
        let found = self
            .conn
            .prepare_cached(
                "SELECT l.link_id, s.source_id, s.cursor FROM links l JOIN sources s USING (link_id)
                 WHERE l.session_key = ? AND l.agent_id = ? AND s.source_key = ?",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(
                        params![link.session_key.as_str(), link.agent_id.as_str(), key.as_str()],
                        |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)),
                    )
                    .optional()
            })
            .map_err(|e| self.error("cannot read a source's cursor", e))?;
        found
            .map(|(link, id, cursor)| {
                let cursor = self.parse(&cursor, "a source's cursor")?;
                Ok((SourceRow { link: LinkRow(link), id }, cursor))
            })
            .transpose()
    }

    /// All sources with their links and cursors, one after the other; of forks with where they are.
    pub fn each_source(
        &self,
        mut take: impl FnMut(LinkId, SourceKey, SourceCursor, Option<Fork>) -> Result<()>,
    ) -> Result<()> {
        let failed = |e| self.error("cannot read the sources' cursors", e);
        let mut statement = self
            .conn
            .prepare(
                "SELECT l.session_key, l.agent_id, s.source_key, s.cursor, f.thread_id, f.ref_json
                 FROM sources s JOIN links l USING (link_id) LEFT JOIN forks f USING (source_id)",
            )
            .map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let text = |column| row.get::<_, String>(column).map_err(failed);
            let link =
                LinkId { session_key: SessionKey::new(text(0)?), agent_id: AgentId::new(text(1)?) };
            let cursor = self.parse(&text(3)?, "a source's cursor")?;
            let (thread, ref_json): (Option<String>, Option<String>) =
                (row.get(4).map_err(failed)?, row.get(5).map_err(failed)?);
            let fork = thread
                .zip(ref_json)
                .map(|(thread, ref_json)| Fork { thread_id: ThreadId::new(thread), ref_json });
            take(link, SourceKey::from_stored(text(2)?), cursor, fork)?;
        }
        Ok(())
    }

    /// Begins to follow the file that a link names, in place of any other that it named.
    pub fn add_source(
        &mut self,
        link: &LinkId,
        key: &SourceKey,
        cursor: &SourceCursor,
    ) -> Result<SourceRow> {
        let path = self.path.clone();
        let error = |e| Error::database("cannot add a source", &path, e);
        let cursor = to_json(cursor)?;
        let tx = self.conn.transaction().map_err(error)?;
        tx.execute(
            "INSERT OR IGNORE INTO links (session_key, agent_id) VALUES (?, ?)",
            params![link.session_key.as_str(), link.agent_id.as_str()],
        )
        .map_err(error)?;
        let link: i64 = tx
            .query_row(
                "SELECT link_id FROM links WHERE session_key = ? AND agent_id = ?",
                params![link.session_key.as_str(), link.agent_id.as_str()],
                |row| row.get(0),
            )
            .map_err(error)?;
        tx.execute(
            "DELETE FROM sources
             WHERE link_id = ? AND source_id NOT IN (SELECT source_id FROM forks)",
            [link],
        )
        .map_err(error)?;
        tx.execute(
            "INSERT INTO sources (link_id, source_key, cursor) VALUES (?, ?, ?)",
            params![link, key.as_str(), cursor],
        )
        .map_err(error)?;
        let id = tx.last_insert_rowid();
        tx.commit().map_err(error)?;
        Ok(SourceRow { link: LinkRow(link), id })
    }

    /// Writes a source's cursor.
    pub fn save_cursor(&self, source: SourceRow, cursor: &SourceCursor) -> Result<()> {
        let cursor = to_json(cursor)?;
        self.conn
            .prepare_cached("UPDATE sources SET cursor = ? WHERE source_id = ?")
            .and_then(|mut statement| statement.execute(params![cursor, source.id]))
            .map(drop)
            .map_err(|e| self.error("cannot write a source's cursor", e))
    }

    /// Gives the source that a link names another key: its file has moved. False where it has none.
    pub fn rename_source(&self, link: &LinkId, key: &SourceKey) -> Result<bool> {
        self.conn
            .execute(
                "UPDATE sources SET source_key = ?3 WHERE link_id =
                     (SELECT link_id FROM links WHERE session_key = ?1 AND agent_id = ?2)
                 AND source_id NOT IN (SELECT source_id FROM forks)",
                params![link.session_key.as_str(), link.agent_id.as_str(), key.as_str()],
            )
            .map(|renamed| renamed > 0)
            .map_err(|e| self.error("cannot rename a source", e))
    }

    /// The links that the journal knows.
    pub fn links(&self) -> Result<Vec<(LinkRow, LinkId)>> {
        self.conn
            .prepare_cached("SELECT link_id, session_key, agent_id FROM links")
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| {
                        let session_key = SessionKey::new(row.get::<_, String>(1)?);
                        let agent_id = AgentId::new(row.get::<_, String>(2)?);
                        Ok((LinkRow(row.get(0)?), LinkId { session_key, agent_id }))
                    })?
                    .collect()
            })
            .map_err(|e| self.error("cannot read the links", e))
    }

    /// The last event that we recorded of a link.
    pub fn last_event(&self, link: LinkRow) -> Result<Sequence> {
        self.conn
            .prepare_cached(
                "SELECT coalesce(max(cursor ->> '$.last_event'), 0) FROM sources WHERE link_id = ?",
            )
            .and_then(|mut statement| statement.query_row([link.0], |row| row.get(0)))
            .map(Sequence)
            .map_err(|e| self.error("cannot read a link's last event", e))
    }

    /// Forgets a link that is gone, with all that belongs to it.
    pub fn forget_link(&self, link: LinkRow) -> Result<()> {
        self.conn
            .execute("DELETE FROM links WHERE link_id = ?", [link.0])
            .map(drop)
            .map_err(|e| self.error("cannot forget a link", e))
    }

    /// Reads a JSON column back; it is our own, so a failure is named by position, not by content.
    pub(super) fn parse<T: serde::de::DeserializeOwned>(
        &self,
        json: &str,
        what: &str,
    ) -> Result<T> {
        serde_json::from_str(json).map_err(|e| {
            Error::Failed(format!(
                "{what} in {} cannot be read ({:?} at column {}): restore the journal from a backup, or remove it to start anew from the links' markers",
                self.path.display(),
                e.classify(),
                e.column(),
            ))
        })
    }
}

/// A JSON column's text.
pub(super) fn to_json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|e| Error::Failed(format!("a journal entry has no JSON form: {e}")))
}
