//! An agent's database, opened for reading beside its gateway.

use super::Unavailable;
use crate::sqlite::{self, Reading};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The schema that we know (OpenClaw 2026.9.6).
pub(super) const KNOWN_VERSION: i64 = 23;

/// What is read of it.
const COLUMNS: [(&str, &[&str]); 7] = [
    ("schema_meta", &["meta_key", "role"]),
    ("session_nodes", &["session_key", "current_session_id", "entry_json", "archived_at"]),
    (
        "transcript_events",
        &[
            "session_id",
            "seq",
            "event_json",
            "created_at",
            "event_zstd",
            "event_utf8_bytes",
            "navigation_json",
        ],
    ),
    ("transcript_event_identities", &["session_id", "event_id", "seq", "event_type"]),
    ("session_transcript_index_state", &["session_id", "indexed_seq", "needs_rebuild"]),
    ("session_transcript_active_events", &["session_id", "active_position", "event_seq"]),
    ("session_transcript_cold_archives", &["session_id"]),
];

/// Why a look failed.
#[derive(Debug)]
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Unavailable(Unavailable),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Unavailable> for Failure {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

/// An agent's database.
#[derive(Debug)]
pub(super) struct AgentDatabase {
    path: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    reading: Reading,
    /// Device and number of the file, to notice that another took its place.
    file: (u64, u64),
    /// SQLite's counter of changes of the schema when its columns were last looked at.
    checked: Option<i64>,
}

impl AgentDatabase {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), open: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads in one transaction that is over when this returns: one that stays open keeps the
    /// gateway from moving its write-ahead log into the database.
    pub(super) fn look<T>(
        &mut self,
        read: impl Fn(&Transaction<'_>, &Path) -> Result<T, Failure>,
    ) -> Result<T, Unavailable> {
        loop {
            let mut open = self.take_open()?;
            let found = open.look(&self.path, &read);
            if open.reading.frozen {
                // A file that was taken to stand still is opened anew for each look; one that
                // somebody began to write meanwhile may have been read half old, half new.
                if sqlite::is_open_somewhere(&self.path).map_err(|e| self.unreadable(&e))? {
                    continue;
                }
            } else if !matches!(found, Err(Failure::Sqlite(_))) {
                self.open = Some(open);
            }
            return found.map_err(|failure| match failure {
                Failure::Sqlite(error) => self.unreadable(&error),
                Failure::Unavailable(unavailable) => unavailable,
            });
        }
    }

    /// The connection to the file that is there now.
    fn take_open(&mut self) -> Result<Open, Unavailable> {
        // Before it is opened: a file that is swapped in between is noticed by the next look.
        let file = match fs_err::metadata(&self.path) {
            Ok(meta) => (meta.dev(), meta.ino()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.open = None;
                return Err(Unavailable::NoDatabase { path: self.path.clone() });
            }
            Err(error) => return Err(self.unreadable(&error)),
        };
        if let Some(open) = self.open.take().filter(|open| open.file == file) {
            return Ok(open);
        }
        let reading = sqlite::open_read_only(&self.path)
            .map_err(|e| self.unreadable(&e))?
            .ok_or_else(|| Unavailable::NoDatabase { path: self.path.clone() })?;
        Ok(Open { reading, file, checked: None })
    }

    fn unreadable(&self, error: &dyn std::error::Error) -> Unavailable {
        Unavailable::Unreadable { path: self.path.clone(), reason: error.to_string() }
    }
}

impl Open {
    fn look<T>(
        &mut self,
        path: &Path,
        read: impl Fn(&Transaction<'_>, &Path) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let tx =
            Transaction::new_unchecked(&self.reading.connection, TransactionBehavior::Deferred)?;
        let found = pragma(&tx, "PRAGMA user_version")?;
        if found != KNOWN_VERSION {
            return Err(Unavailable::UnknownVersion { path: path.to_owned(), found }.into());
        }
        let schema = pragma(&tx, "PRAGMA schema_version")?;
        if self.checked != Some(schema) {
            check(&tx, path)?;
            self.checked = Some(schema);
        }
        read(&tx, path)
    }
}

fn pragma(conn: &Connection, sql: &str) -> rusqlite::Result<i64> {
    conn.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// Whether all is there that is read, in a database of the right kind.
fn check(tx: &Transaction<'_>, path: &Path) -> Result<(), Failure> {
    let mut columns = tx.prepare_cached("SELECT name FROM pragma_table_info(?)")?;
    for (table, needed) in COLUMNS {
        let there: Vec<String> =
            columns.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        for column in needed {
            if !there.iter().any(|name| name == column) {
                let path = path.to_owned();
                return Err(Unavailable::MissingColumn { path, table, column }.into());
            }
        }
    }
    let role: Option<String> = tx
        .query_row("SELECT role FROM schema_meta WHERE meta_key = 'primary'", [], |row| row.get(0))
        .optional()?;
    if role.as_deref() == Some("agent") {
        return Ok(());
    }
    Err(Unavailable::NotOfAnAgent { path: path.to_owned() }.into())
}
