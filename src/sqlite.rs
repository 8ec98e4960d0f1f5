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

/// Opens somebody else's database for reading and writing; `None` where there is none. It is never
/// made, and nothing but SQLite opens it: to close any other descriptor of it would drop SQLite's
/// locks. When we close it, nothing is checkpointed and no file is taken away.
pub fn open_foreign(path: &Path) -> Result<Option<Connection>> {
    if !exists(path)? {
        return Ok(None);
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, path)?;
    leave_alone(&connection).map_err(|e| Error::database("cannot open the database", path, e))?;
    Ok(Some(connection))
}

/// Sees to it that a connection checkpoints nothing, neither in a commit nor when it is closed.
pub fn leave_alone(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)
}

/// Opens a database for reading; `None` where there is none. Makes no file: while nobody has the
/// database open (no `-wal`) an ordinary reader would make `-wal` and `-shm`, so it is opened as
/// one that nobody changes.
pub fn open_read_only(path: &Path) -> Result<Option<Reading>> {
    if !exists(path)? {
        return Ok(None);
    }
    if is_open_somewhere(path)? {
        return open_alive(path).map(Some);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = connect(Path::new(&uri(path, "immutable=1")), flags, path)?;
    Ok(Some(Reading { connection, frozen: true }))
}

/// Opens for reading a database that somebody has open.
pub fn open_alive(path: &Path) -> Result<Reading> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, path)?;
    Ok(Reading { connection, frozen: false })
}

/// The URI that opens a database for reading as [`open_read_only`] does.
pub fn read_only_uri(path: &Path) -> Result<String> {
    let how = if is_open_somewhere(path)? { "mode=ro" } else { "mode=ro&immutable=1" };
    Ok(uri(path, how))
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

/// The URI that opens a file in this way.
fn uri(path: &Path, how: &str) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push('%');
            uri.push_str(&hex(&[*byte]));
        }
    }
    uri.push('?');
    uri.push_str(how);
    uri
}

/// The path of a database's write-ahead log.
fn wal_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push("-wal");
    PathBuf::from(name)
}

/// Whether there is something of this name; not to know it is an error.
pub fn exists(path: &Path) -> Result<bool> {
    match fs_err::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}
