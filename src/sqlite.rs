//! How a database file is opened: shared by the signal log and the journal.
//!
//! Always holds: a file is made so that only its owner can read it, reading makes no file, and a
//! lock is waited for as long as OpenClaw waits.

use crate::error::{Error, Result};
use crate::ids::hex;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a lock is waited for; the gateway waits as long.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// More than there are different statements on any connection.
const PREPARED_STATEMENTS: usize = 64;

/// A database that was opened for reading.
#[derive(Debug)]
pub struct Reading {
    /// The connection.
    pub connection: Connection,
    /// Whether the file stood still when it was opened, so that what is written later shows only
    /// after opening it again.
    pub frozen: bool,
}

/// Opens a database for reading and writing; makes it where it is missing.
pub fn open(path: &Path) -> Result<Connection> {
    crate::state::create_private(path)?;
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, path)
}

/// Opens a database for reading; `None` where there is none. Makes no file: while nobody has the
/// database open (no `-wal`) an ordinary reader would make `-wal` and `-shm`, so it is opened as
/// one that nobody changes.
pub fn open_read_only(path: &Path) -> Result<Option<Reading>> {
    if !exists(path)? {
        return Ok(None);
    }
    let frozen = !is_open_somewhere(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = if frozen {
        let uri = immutable_uri(path);
        connect(Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI, path)?
    } else {
        connect(path, flags, path)?
    };
    Ok(Some(Reading { connection, frozen }))
}

/// Whether somebody seems to have a database open; its last user takes the `-wal` away.
pub fn is_open_somewhere(path: &Path) -> Result<bool> {
    exists(&wal_of(path))
}

/// Copies a database into memory; an empty one where there is none. Nothing on disk changes.
pub fn copy_in_memory(path: &Path) -> Result<Connection> {
    let mut copy = in_memory()?;
    let Some(source) = open_read_only(path)? else {
        return Ok(copy);
    };
    let step = Backup::new(&source.connection, &mut copy)
        .and_then(|backup| backup.step(-1))
        .map_err(|e| Error::database("cannot copy the database", path, e))?;
    if step == StepResult::Done {
        return Ok(copy);
    }
    Err(Error::Busy(format!(
        "cannot copy {}: another program holds its lock; try again",
        path.display()
    )))
}

/// An empty database in memory.
pub fn in_memory() -> Result<Connection> {
    let path = Path::new(":memory:");
    let connection = Connection::open_in_memory()
        .map_err(|e| Error::database("cannot make a database", path, e))?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(connection)
}

/// Opens a connection; `shown` is the path for messages.
fn connect(name: &Path, flags: OpenFlags, shown: &Path) -> Result<Connection> {
    Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            // Else each value that is bound has its statement planned anew: a sixth of a turn's time.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
            Ok(connection)
        })
        .map_err(|e| Error::database("cannot open the database", shown, e))
}

/// The URI that opens a file as one that nobody changes.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push('%');
            uri.push_str(&hex(&[*byte]));
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
