//! The embedded store: the signal log in a file of our own.
//!
//! Answers: how that file is made, opened, and recognised. Always holds: what is not ours or of an
//! unknown version is refused before anything is written. Deliberately elsewhere: everything that
//! reads or writes rows.

use super::{SignalLog, failed, unknown_version, user_version};
use crate::error::{Error, Result};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Version of the embedded store's schema.
const VERSION: i64 = 1;

/// Marks the file as ours: `upst`.
const APPLICATION_ID: i64 = 0x7570_7374;

/// How long a lock is waited for; the gateway waits as long.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// More than there are different statements in this folder.
const PREPARED_STATEMENTS: usize = 64;

/// The four tables, exactly as OpenClaw 2026.9.6 has them.
const SCHEMA: &str = include_str!("schema.sql");

/// Opens, and where it is missing creates, the store for reading and writing.
pub(super) fn open(path: &Path) -> Result<SignalLog> {
    create_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(path, flags, path)?;
    (|| -> rusqlite::Result<()> {
        if is_empty(&connection)? {
            connection.pragma_update(None, "journal_mode", "wal")?;
            create(&mut connection)?;
        }
        Ok(())
    })()
    .map_err(|source| failed("cannot create the signal log", path, source))?;
    check(&connection, path)?;
    (|| -> rusqlite::Result<()> {
        connection.pragma_update(None, "synchronous", "normal")?;
        // A checkpoint in a commit makes every hundredth event fifty times slower.
        connection.pragma_update(None, "wal_autocheckpoint", 0)
    })()
    .map_err(|source| failed("cannot set up the signal log", path, source))?;
    Ok(SignalLog {
        connection,
        path: path.to_owned(),
        version: VERSION,
        frozen: false,
    })
}

/// Opens the store for reading, if there is one; creates nothing.
pub(super) fn open_read_only(path: &Path) -> Result<Option<SignalLog>> {
    if !exists(path)? {
        return Ok(None);
    }
    let frozen = !exists(&wal_of(path))?;
    let connection = connect_reading(path, frozen)?;
    check(&connection, path)?;
    Ok(Some(SignalLog {
        connection,
        path: path.to_owned(),
        version: VERSION,
        frozen,
    }))
}

/// Copies the store into memory; an empty one where there is none.
pub(super) fn copy_in_memory(path: &Path) -> Result<SignalLog> {
    let Some(source) = open_read_only(path)? else {
        return in_memory();
    };
    let failed = |source| failed("cannot copy the signal log", path, source);
    let mut connection = Connection::open_in_memory().map_err(failed)?;
    let step = Backup::new(&source.connection, &mut connection)
        .and_then(|copy| copy.step(-1))
        .map_err(failed)?;
    if step != StepResult::Done {
        return Err(Error::Busy(format!(
            "cannot copy {}: another program holds its lock; try again",
            path.display()
        )));
    }
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(SignalLog {
        connection,
        path: path.to_owned(),
        version: VERSION,
        frozen: true,
    })
}

/// An empty store in memory.
pub(super) fn in_memory() -> Result<SignalLog> {
    let path = PathBuf::from(":memory:");
    let connection = Connection::open_in_memory().and_then(|mut connection| {
        connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
        create(&mut connection)?;
        Ok(connection)
    });
    let connection = connection.map_err(|source| failed("cannot create a store", &path, source))?;
    Ok(SignalLog {
        connection,
        path,
        version: VERSION,
        frozen: false,
    })
}

/// Makes an empty file that only its owner can read; SQLite gives its side files the same mode.
///
/// The file is new, so that closing it again can drop no lock of this process.
fn create_private(path: &Path) -> Result<()> {
    let created = fs_err::os::unix::fs::OpenOptionsExt::mode(
        fs_err::OpenOptions::new().write(true).create_new(true),
        0o600,
    )
    .open(path);
    match created {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a connection; `shown` is the path for messages.
fn connect(name: &Path, flags: OpenFlags, shown: &Path) -> Result<Connection> {
    Connection::open_with_flags(name, flags)
        .and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
            Ok(connection)
        })
        .map_err(|source| failed("cannot open the signal log", shown, source))
}

/// Opens the file for reading. While nobody has it open (no `-wal`) an ordinary reader would create
/// `-wal` and `-shm`; `immutable` does not.
fn connect_reading(path: &Path, frozen: bool) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if frozen {
        let uri = immutable_uri(path);
        connect(Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI, path)
    } else {
        connect(path, flags, path)
    }
}

/// The URI that opens a file as one that nobody changes.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push('%');
            uri.push_str(&crate::ids::hex(&[*byte]));
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// The path of a database's write-ahead log.
fn wal_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push("-wal");
    PathBuf::from(name)
}

/// Whether there is something of this name; not to know it is an error.
fn exists(path: &Path) -> Result<bool> {
    match fs_err::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the file holds nothing at all yet.
fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && user_version(connection)? == 0 && application_id(connection)? == 0)
}

/// Whose file it says it is.
fn application_id(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

/// Creates the tables, unless somebody else has just done it.
fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if !is_empty(&transaction)? {
        return Ok(());
    }
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Refuses a file that is not ours, of another version, or without the columns that we use.
fn check(connection: &Connection, path: &Path) -> Result<()> {
    let failed = |source| failed("cannot read the schema", path, source);
    let owner = application_id(connection).map_err(failed)?;
    if owner != APPLICATION_ID {
        return Err(Error::Refused(format!(
            "{} is not a signal log of upstreamd (application id {owner}); nothing was written. \
             Move it away or choose another state folder.",
            path.display()
        )));
    }
    let found = user_version(connection).map_err(failed)?;
    if found != VERSION {
        return Err(unknown_version(path, found, VERSION));
    }
    let known = in_memory()?.read("cannot read the known schema", columns)?;
    let found = columns(connection).map_err(failed)?;
    match known.difference(&found).next() {
        None => Ok(()),
        Some(missing) => Err(Error::Refused(format!(
            "{} lacks the column {missing}; nothing was written. \
             Move it away or restore it from a copy.",
            path.display()
        ))),
    }
}

/// All columns, each as `table.column type`, with `NOT NULL` and `KEY` where it is so.
fn columns(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    connection
        .prepare(
            "SELECT t.name || '.' || c.name || ' ' || c.type
                 || iif(c.\"notnull\", ' NOT NULL', '') || iif(c.pk, ' KEY', '')
             FROM sqlite_schema t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND t.name LIKE 'session\\_%' ESCAPE '\\'",
        )?
        .query_map([], |row| row.get(0))?
        .collect()
}

#[cfg(test)]
mod tests;
