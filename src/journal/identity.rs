//! Rows that were passed, as long as their link lives.

use super::{Journal, LinkRow};
use crate::error::{Error, Result};
use crate::ids::Identity;
use rusqlite::{Transaction, params};

impl Journal {
    /// Whether a countable row of this identity was passed before.
    pub fn knows(&self, link: LinkRow, identity: &Identity) -> Result<bool> {
        self.conn
            .prepare_cached("SELECT 1 FROM identities WHERE link_id = ? AND identity = ?")
            .and_then(|mut statement| statement.exists(params![link.0, identity.as_str()]))
            .map_err(|e| self.error("cannot look up a row", e))
    }

    /// Whether another session had a countable row of this identity: a fork copies rows as they are.
    pub fn knows_elsewhere(&self, link: LinkRow, identity: &Identity) -> Result<bool> {
        self.conn
            .prepare_cached(
                // The same file under another agent is no other session.
                "SELECT 1 FROM identities JOIN sources USING (link_id) WHERE identity = ?2
                 AND source_key NOT IN (SELECT source_key FROM sources WHERE link_id = ?1)",
            )
            .and_then(|mut statement| statement.exists(params![link.0, identity.as_str()]))
            .map_err(|e| self.error("cannot look up a row elsewhere", e))
    }

    /// Takes note of rows that were passed.
    pub fn learn(&mut self, link: LinkRow, identities: &[Identity]) -> Result<()> {
        let path = self.path.clone();
        let error = |e| Error::database("cannot keep rows", &path, e);
        let tx = self.conn.transaction().map_err(error)?;
        learn(&tx, link, identities.iter()).map_err(error)?;
        tx.commit().map_err(error)
    }
}

pub(super) fn learn<'a>(
    tx: &Transaction<'_>,
    link: LinkRow,
    identities: impl Iterator<Item = &'a Identity>,
) -> rusqlite::Result<()> {
    let mut insert =
        tx.prepare_cached("INSERT OR IGNORE INTO identities (link_id, identity) VALUES (?, ?)")?;
    for identity in identities {
        insert.execute(params![link.0, identity.as_str()])?;
    }
    Ok(())
}
