//! Texts that a program said it would send to a session, and which own texts were used up.

use super::{Journal, LinkRow};
use crate::echo::{OwnText, OwnTextId, OwnTexts, Recent};
use crate::error::{Error, Result};
use crate::ids::{SessionKey, TextHash, Timestamp};
use crate::link::LinkId;
use rusqlite::{Transaction, params};
use std::collections::HashSet;

/// Own texts kept for each session; more than any setting of `own_texts` needs at once.
const KEPT: u32 = 1_000;

/// How long it is remembered that a text of OpenClaw's transcript was used up: the row beside it may
/// be read hours later, when a disk or we come back.
const USED_FOR_MS: i64 = 86_400_000;

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

impl Journal {
    /// Which texts of OpenClaw's transcript have excused a row of a link.
    pub fn used_texts(&self, link: LinkRow) -> Result<HashSet<String>> {
        self.conn
            .prepare_cached("SELECT text_id FROM used_texts WHERE link_id = ?")
            .and_then(|mut statement| statement.query_map([link.0], |row| row.get(0))?.collect())
            .map_err(|e| self.error("cannot read which own texts were used", e))
    }
}

/// Notes that own texts have excused rows of a link.
pub(super) fn use_up(
    tx: &Transaction<'_>,
    link: LinkRow,
    texts: &[OwnTextId],
    now: Timestamp,
) -> rusqlite::Result<()> {
    for text in texts {
        match text {
            OwnTextId::Told(id) => {
                tx.prepare_cached("UPDATE own_texts SET used = 1 WHERE own_text_id = ?")?
                    .execute([id])?;
            }
            OwnTextId::Stored(id) => {
                tx.prepare_cached(
                    "INSERT OR IGNORE INTO used_texts (link_id, text_id, used_at) VALUES (?, ?, ?)",
                )?
                .execute(params![link.0, id, now.0])?;
                tx.prepare_cached("DELETE FROM used_texts WHERE used_at < ?")?
                    .execute([now.plus_ms(-USED_FOR_MS).0])?;
            }
        }
    }
    Ok(())
}

impl OwnTexts for Journal {
    type Error = Error;

    fn recent(&self, link: &LinkId, limit: usize) -> Result<Recent> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.conn
            .prepare_cached(
                "SELECT own_text_id, hash, at, used FROM own_texts WHERE session_key = ?
                 ORDER BY own_text_id DESC LIMIT ?",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(params![link.session_key.as_str(), limit], |row| {
                        Ok(OwnText {
                            id: OwnTextId::Told(row.get(0)?),
                            hash: TextHash::from_stored(row.get(1)?),
                            at: Timestamp(row.get(2)?),
                            used: row.get(3)?,
                        })
                    })?
                    .collect()
            })
            .map(|texts| Recent { texts, skipped: 0 })
            .map_err(|e| self.error("cannot read the own texts", e))
    }
}
