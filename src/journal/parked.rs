//! Files and folders that the daemon leaves alone, since their disk does not answer: written down
//! for the commands, which would hang there too.

use super::{Journal, schema};
use crate::error::{Error, Result};
use crate::ids::Timestamp;
use rusqlite::params;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

impl Journal {
    /// Notes what is left alone from now on, in place of what was.
    pub fn set_parked(&mut self, paths: &BTreeSet<PathBuf>, now: Timestamp) -> Result<()> {
        let path = self.path.clone();
        let error = |e| Error::database("cannot note what does not answer", &path, e);
        let words: BTreeSet<String> =
            paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let tx = self.conn.transaction().map_err(error)?;
        for word in &words {
            tx.execute(
                "INSERT OR IGNORE INTO parked (path, since) VALUES (?, ?)",
                params![word, now.0],
            )
            .map_err(error)?;
        }
        let old: Vec<String> = tx
            .prepare("SELECT path FROM parked")
            .and_then(|mut all| all.query_map([], |row| row.get(0))?.collect())
            .map_err(error)?;
        for gone in old.iter().filter(|old| !words.contains(*old)) {
            tx.execute("DELETE FROM parked WHERE path = ?", [gone]).map_err(error)?;
        }
        tx.commit().map_err(error)
    }

    /// What is left alone, and since when.
    pub fn parked(&self) -> Result<BTreeMap<PathBuf, Timestamp>> {
        // Commands read the journal of an older daemon too.
        if schema::version(self)? < 2 {
            return Ok(BTreeMap::new());
        }
        self.conn
            .prepare_cached("SELECT path, since FROM parked")
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| {
                        Ok((PathBuf::from(row.get::<_, String>(0)?), Timestamp(row.get(1)?)))
                    })?
                    .collect()
            })
            .map_err(|e| self.error("cannot read what does not answer", e))
    }
}
