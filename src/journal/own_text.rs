//! Texts that a program said it would send to a session.

use super::Journal;
use crate::echo::{OwnText, OwnTexts};
use crate::error::{Error, Result};
use crate::ids::{SessionKey, TextHash, Timestamp};
use rusqlite::params;

/// Own texts kept for each session; more than any setting of `own_texts` needs at once.
const KEPT: u32 = 1_000;

impl Journal {
    /// Takes note of a text that is about to be sent.
    pub fn add_own_text(
        &mut self,
        session: &SessionKey,
        hash: &TextHash,
        at: Timestamp,
    ) -> Result<()> {
        let path = self.path.clone();
        let error = |e| Error::database("cannot keep an own text", &path, e);
        let tx = self.conn.transaction().map_err(error)?;
        tx.execute(
            "INSERT INTO own_texts (session_key, hash, at) VALUES (?, ?, ?)",
            params![session.as_str(), hash.as_str(), at.0],
        )
        .map_err(error)?;
        tx.execute(
            "DELETE FROM own_texts WHERE session_key = ?1 AND own_text_id <= coalesce(
                (SELECT own_text_id FROM own_texts WHERE session_key = ?1
                 ORDER BY own_text_id DESC LIMIT 1 OFFSET ?2), -1)",
            params![session.as_str(), KEPT],
        )
        .map_err(error)?;
        tx.commit().map_err(error)
    }
}

impl OwnTexts for Journal {
    fn recent(&self, session: &SessionKey, limit: usize) -> Result<Vec<OwnText>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.conn
            .prepare_cached(
                "SELECT own_text_id, hash, at, used FROM own_texts WHERE session_key = ?
                 ORDER BY own_text_id DESC LIMIT ?",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(params![session.as_str(), limit], |row| {
                        Ok(OwnText {
                            id: row.get(0)?,
                            hash: TextHash::from_stored(row.get(1)?),
                            at: Timestamp(row.get(2)?),
                            used: row.get(3)?,
                        })
                    })?
                    .collect()
            })
            .map_err(|e| self.error("cannot read the own texts", e))
    }
}
