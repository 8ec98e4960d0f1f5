//! Sessions that a person unlinked: they are not adopted again by themselves.

use super::Journal;
use crate::error::Result;
use crate::ids::Timestamp;
use crate::link::LinkId;
use rusqlite::OptionalExtension as _;

impl Journal {
    /// Notes that a person wants a session left alone.
    pub fn bury(&self, link: &LinkId) -> Result<()> {
        self.tombstone(
            "INSERT OR IGNORE INTO tombstones (session_key, agent_id) VALUES (?, ?)",
            link,
            "cannot note that a session is to be left alone",
        )
    }

    /// Notes that a person wants a session after all.
    pub fn unbury(&self, link: &LinkId) -> Result<()> {
        self.tombstone(
            "DELETE FROM tombstones WHERE session_key = ? AND agent_id = ?",
            link,
            "cannot note that a session is wanted again",
        )
    }

    fn tombstone(&self, sql: &str, link: &LinkId, what: &'static str) -> Result<()> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| {
                statement.execute([link.session_key.as_str(), link.agent_id.as_str()])
            })
            .map(drop)
            .map_err(|e| self.error(what, e))
    }

    /// Notes that sessions are adopted by themselves at this time; gives when that was last so,
    /// before.
    pub fn note_adopting(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        let failed = |e| self.error("cannot note that sessions are adopted by themselves", e);
        let before: Option<String> = self
            .conn
            .prepare_cached("SELECT value FROM meta WHERE name = 'adopting_at'")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)).optional())
            .map_err(failed)?;
        self.conn
            .prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES ('adopting_at', ?)")
            .and_then(|mut statement| statement.execute([now.0.to_string()]))
            .map_err(failed)?;
        Ok(before.and_then(|at| at.parse().ok()).map(Timestamp))
    }

    /// Whether a person wants a session left alone.
    pub fn is_buried(&self, link: &LinkId) -> Result<bool> {
        self.conn
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM tombstones WHERE session_key = ? AND agent_id = ?)",
            )
            .and_then(|mut statement| {
                statement.query_row([link.session_key.as_str(), link.agent_id.as_str()], |row| {
                    row.get(0)
                })
            })
            .map_err(|e| self.error("cannot read whether a session is to be left alone", e))
    }
}
