//! The embedded store: the signal log in a file of our own.
//!
//! Answers: how that file is made, opened, and recognised. Always holds: what is not ours or of an
//! unknown version is refused before anything is written. Deliberately elsewhere: everything that
//! reads or writes rows.

use super::shape::{SCHEMA, Shape, columns, known_columns, user_version};
use super::{Keeper, SignalLog, unknown_version};
use crate::error::{Error, Result};
use crate::sqlite;
use rusqlite::Connection;
use std::path::Path;

/// Version of the embedded store's schema.
pub(super) const VERSION: i64 = 1;

/// Marks the file as ours: `upst`.
const APPLICATION_ID: i64 = 0x7570_7374;

/// Opens, and where it is missing creates, the store for reading and writing.
pub(super) fn open(path: &Path) -> Result<SignalLog> {
    let mut connection = sqlite::open(path)?;
    (|| -> rusqlite::Result<()> {
        if is_empty(&connection)? {
            connection.pragma_update(None, "journal_mode", "wal")?;
            create(&mut connection)?;
        }
        Ok(())
    })()
    .map_err(|source| Error::database("cannot create the signal log", path, source))?;
    check(&connection, path)?;
    (|| -> rusqlite::Result<()> {
        connection.pragma_update(None, "synchronous", "normal")?;
        // A checkpoint in a commit makes every hundredth event fifty times slower.
        connection.pragma_update(None, "wal_autocheckpoint", 0)
    })()
    .map_err(|source| Error::database("cannot set up the signal log", path, source))?;
    Ok(of(connection, path, false))
}

/// Opens the store for reading, if there is one; creates nothing.
pub(super) fn open_read_only(path: &Path) -> Result<Option<SignalLog>> {
    let Some(reading) = sqlite::open_read_only(path)? else {
        return Ok(None);
    };
    let failed = |source| Error::database("cannot read the schema", path, source);
    if is_empty(&reading.connection).map_err(failed)? {
        // Somebody is just making it.
        return Ok(None);
    }
    check(&reading.connection, path)?;
    Ok(Some(of(reading.connection, path, reading.frozen)))
}

/// Copies the store into memory; an empty one where there is none.
pub(super) fn copy_in_memory(path: &Path) -> Result<SignalLog> {
    let mut connection = sqlite::copy_in_memory(path)?;
    if is_empty(&connection)
        .map_err(|source| Error::database("cannot read the copy", path, source))?
    {
        create(&mut connection)
            .map_err(|source| Error::database("cannot create the signal log", path, source))?;
    }
    check(&connection, path)?;
    Ok(of(connection, path, true))
}

/// An empty store in memory.
pub(super) fn in_memory() -> Result<SignalLog> {
    let path = Path::new(":memory:");
    let mut connection = sqlite::in_memory()?;
    create(&mut connection)
        .map_err(|source| Error::database("cannot create a store", path, source))?;
    Ok(of(connection, path, false))
}

fn of(connection: Connection, path: &Path, frozen: bool) -> SignalLog {
    let (path, shape) = (path.to_owned(), Shape::of_ours());
    SignalLog { connection, path, keeper: Keeper::Us, shape, frozen }
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
    let failed = |source| Error::database("cannot read the schema", path, source);
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
    let known = known_columns()?;
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

#[cfg(test)]
mod tests;
