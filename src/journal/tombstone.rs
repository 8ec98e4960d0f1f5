//! Sessions that a person unlinked: they are not adopted again by themselves.

use super::Journal;
use crate::error::Result;
use crate::link::LinkId;

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
