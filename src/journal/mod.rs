//! Our own database, `upstreamd.sqlite`: everything the signal log does not know.
//!
//! Answers: how far was each source read, which rows were passed, what were we about to record,
//! which texts are our own. Always holds: no text of a row stands here, only ids and keyed hashes;
//! but for own
//! texts, what is lost here can be found out again from the links' markers. Deliberately elsewhere: the signal log
//! (`record`); the key of the hashes, which lies beside this file and never in it.

mod cursor;
mod fork;
mod identity;
mod intent;
mod own_text;
mod parked;
mod schema;
mod source;
#[cfg(test)]
mod tests;
mod tombstone;

use crate::error::{Error, Result};
use crate::ids::HashKey;
use crate::sqlite;
pub use cursor::{ContentMark, RowInPart, SourceCursor};
pub use intent::{CountableRow, Intent, NodeWindow, OpenIntent, PassedRow};
use rusqlite::Connection;
pub use source::{LinkRow, SourceRow};
use std::path::{Path, PathBuf};

/// The journal.
#[derive(Debug)]
pub struct Journal {
    conn: Connection,
    path: PathBuf,
}

impl Journal {
    /// Opens the journal, made where it is missing, and brings its schema up to date.
    pub fn open(path: &Path, key: &HashKey) -> Result<Self> {
        Self::prepared(sqlite::open(path)?, path, key)
    }

    /// A copy in memory, for a run that must not write; empty where there is no journal.
    pub fn copy_in_memory(path: &Path, key: &HashKey) -> Result<Self> {
        Self::prepared(sqlite::copy_in_memory(path)?, path, key)
    }

    /// An empty journal in memory.
    #[cfg(test)]
    pub(crate) fn in_memory(key: &HashKey) -> Self {
        Self::prepared(sqlite::in_memory().unwrap(), Path::new(":memory:"), key).unwrap()
    }

    /// Opens the journal for reading beside whoever writes it; `None` where there is none.
    pub fn open_read_only(path: &Path) -> Result<Option<Self>> {
        let Some(reading) = sqlite::open_read_only(path)? else {
            return Ok(None);
        };
        let journal = Self { conn: reading.connection, path: path.to_owned() };
        if schema::version(&journal)? == 0 {
            // Somebody is just making it.
            return Ok(None);
        }
        schema::check(&journal)?;
        Ok(Some(journal))
    }

    fn prepared(conn: Connection, path: &Path, key: &HashKey) -> Result<Self> {
        let mut journal = Self { conn, path: path.to_owned() };
        schema::migrate(&mut journal)?;
        schema::check_key(&journal, key)?;
        Ok(journal)
    }

    /// Moves what was written from the write-ahead log to the database. For idle moments: commits do
    /// none of it.
    pub fn checkpoint(&self) -> Result<()> {
        self.conn
            .prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")
            .and_then(|mut statement| statement.query_row([], |_| Ok(())))
            .map_err(|e| self.error("cannot checkpoint", e))
    }

    fn error(&self, what: &'static str, source: rusqlite::Error) -> Error {
        Error::database(what, &self.path, source)
    }
}
