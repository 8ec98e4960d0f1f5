//! The forks of a link that are followed beside its own file.

use super::source::to_json;
use super::{Journal, LinkRow, SourceCursor, schema};
use crate::error::{Error, Result};
use crate::ids::{SourceKey, ThreadId};
use crate::link::{Fork, LinkId};
use rusqlite::params;

impl Journal {
    /// The forks of a link, the first one that was followed first.
    pub fn forks(&self, link: &LinkId) -> Result<Vec<Fork>> {
        // Commands read the journal of an older daemon too.
        if schema::version(self)? < 4 {
            return Ok(Vec::new());
        }
        self.conn
            .prepare_cached(
                "SELECT f.thread_id, f.ref_json FROM links l JOIN sources s USING (link_id)
                     JOIN forks f USING (source_id)
                 WHERE l.session_key = ? AND l.agent_id = ? ORDER BY source_id",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([link.session_key.as_str(), link.agent_id.as_str()], |row| {
                        Ok(Fork {
                            thread_id: ThreadId::new(row.get::<_, String>(0)?),
                            ref_json: row.get(1)?,
                        })
                    })?
                    .collect()
            })
            .map_err(|e| self.error("cannot read the forks of a link", e))
    }

    /// Begins to follow a fork of a link.
    pub fn add_fork(
        &mut self,
        link: LinkRow,
        fork: &Fork,
        key: &SourceKey,
        cursor: &SourceCursor,
    ) -> Result<()> {
        let path = self.path.clone();
        let error = |e| Error::database("cannot add a fork", &path, e);
        let cursor = to_json(cursor)?;
        let tx = self.conn.transaction().map_err(error)?;
        tx.execute(
            "INSERT INTO sources (link_id, source_key, cursor) VALUES (?, ?, ?)",
            params![link.0, key.as_str(), cursor],
        )
        .map_err(error)?;
        let source = tx.last_insert_rowid();
        tx.execute(
            "INSERT INTO forks (source_id, thread_id, ref_json) VALUES (?, ?, ?)",
            params![source, fork.thread_id.as_str(), fork.ref_json],
        )
        .map_err(error)?;
        tx.commit().map_err(error)
    }
}
