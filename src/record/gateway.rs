//! The gateway's store: the signal log in the state database of a running OpenClaw.
//!
//! Answers: how that file is opened, whether a gateway lives, where its agents keep their sessions.
//! Always holds: we are a guest. The file is never made, its schema and the pragmas that live in it
//! are never changed, it is opened and closed through SQLite alone (closing any other descriptor
//! would drop SQLite's locks), and nothing is checkpointed while a gateway lives or when we leave.
//! Deliberately elsewhere: which schemas may be written to (`shape`), everything that reads or
//! writes rows of the log.

use super::shape::{SCHEMA, Shape, TABLES, has_table, quoted, user_version};
use super::store::GatewayStore;
use super::{Keeper, SignalLog};
use crate::error::{Error, Result};
use crate::ids::{AgentId, Timestamp};
use crate::sqlite;
use rusqlite::{Connection, OptionalExtension as _};
use std::path::{Path, PathBuf};

/// What else is read of the database.
const BESIDE: [&str; 3] = ["state_leases", "agent_databases", "config_machine_state"];

/// A process that said that it is the gateway of this database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its process id, on its own host.
    pub pid: Option<i64>,
    /// The name of its host.
    pub host: Option<String>,
    /// Since when it owns the database.
    pub since: Timestamp,
    /// The port on which it listens.
    pub port: Option<u16>,
    /// Until when that holds unless it says so again.
    pub expires_at: Timestamp,
}

impl Owner {
    /// Whether it still holds. A gateway that stops takes its word back; one that crashed is taken
    /// for alive for some minutes.
    #[must_use]
    pub const fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.0 > now.0
    }

    /// Whether it is known to run on another host than this one.
    #[must_use]
    pub fn is_elsewhere(&self, this_host: &str) -> bool {
        self.host.as_deref().is_some_and(|host| host != this_host)
    }
}

/// Where an agent keeps its sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDatabase {
    /// The agent.
    pub agent_id: AgentId,
    /// Its database, as an absolute path.
    pub path: PathBuf,
}

/// Opens the database for reading and writing.
pub(super) fn open(store: &GatewayStore) -> Result<SignalLog> {
    let path = &store.database;
    let absent = || {
        Error::Busy(format!(
            "there is no signal log in {} yet: start the gateway once, or name its state folder with \
             --openclaw-dir",
            path.display()
        ))
    };
    let connection = sqlite::open_foreign(path)?.ok_or_else(absent)?;
    let failed = |source| Error::database("cannot open the signal log", path, source);
    if is_empty(&connection).map_err(failed)? {
        return Err(absent());
    }
    connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
    let mut log = of(connection, store, false)?;
    // What must not be written to is not even kept open for it.
    log.shape.check(&log.connection, path, store.accept)?;
    Ok(log)
}

/// Opens the database for reading, if there is one.
pub(super) fn open_read_only(store: &GatewayStore) -> Result<Option<SignalLog>> {
    let path = &store.database;
    let Some(mut reading) = sqlite::open_read_only(path)? else { return Ok(None) };
    let failed = |source| Error::database("cannot read the schema", path, source);
    if is_empty(&reading.connection).map_err(failed)? {
        // The gateway is just making it.
        return Ok(None);
    }
    if reading.frozen && owner(&reading.connection).map_err(failed)?.is_some() {
        // Somebody owns it, though there is no write-ahead log: on network disks OpenClaw does
        // without one, and then its locks are needed.
        drop(reading);
        reading = sqlite::open_alive(path)?;
    }
    sqlite::leave_alone(&reading.connection).map_err(failed)?;
    of(reading.connection, store, reading.frozen).map(Some)
}

/// Copies what we use of the database into memory.
pub(super) fn copy_in_memory(store: &GatewayStore) -> Result<SignalLog> {
    let path = &store.database;
    let mut copy = sqlite::in_memory()?;
    let failed = |source| Error::database("cannot copy the signal log", path, source);
    sqlite::leave_alone(&copy).map_err(failed)?;
    if sqlite::exists(path)? {
        let uri = sqlite::read_only_uri(path)?;
        copy.execute("ATTACH ?1 AS theirs", [&uri]).map_err(failed)?;
        copy_tables(&mut copy).map_err(failed)?;
        copy.execute("DETACH theirs", []).map_err(failed)?;
    } else {
        copy.execute_batch(SCHEMA).map_err(failed)?;
        copy.pragma_update(None, "user_version", 1).map_err(failed)?;
    }
    let mut log = of(copy, store, true)?;
    log.shape.check(&log.connection, path, store.accept)?;
    Ok(log)
}

/// Copies the tables that we use, in one short read transaction; a state database as a whole can be
/// big.
fn copy_tables(copy: &mut Connection) -> rusqlite::Result<()> {
    let transaction = copy.transaction()?;
    let names: Vec<&str> = TABLES.into_iter().chain(BESIDE).collect();
    let made: Vec<(String, String, String)> = transaction
        .prepare(&format!(
            "SELECT type, name, sql FROM theirs.sqlite_schema
             WHERE tbl_name IN ({}) AND type IN ('table', 'index') AND sql IS NOT NULL
             ORDER BY type DESC",
            quoted(&names)
        ))?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (kind, name, sql) in &made {
        transaction.execute_batch(sql)?;
        if kind == "table" {
            let name = name.replace('"', "\"\"");
            transaction.execute_batch(&format!(
                "INSERT INTO main.\"{name}\" SELECT * FROM theirs.\"{name}\""
            ))?;
        }
    }
    if has_table(&transaction, "session_state_events")? {
        // The numbers go on where theirs do.
        transaction.execute_batch(
            "DELETE FROM main.sqlite_sequence;
             INSERT INTO main.sqlite_sequence SELECT * FROM theirs.sqlite_sequence
             WHERE name = 'session_state_events'",
        )?;
    }
    let version: i64 = transaction.query_row("PRAGMA theirs.user_version", [], |row| row.get(0))?;
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

fn of(connection: Connection, store: &GatewayStore, frozen: bool) -> Result<SignalLog> {
    let shape = Shape::examine(&connection, store.accept)?;
    let keeper = Keeper::Gateway { folder: store.folder.clone(), accept: store.accept };
    Ok(SignalLog { connection, path: store.database.clone(), keeper, shape, frozen })
}

/// Whether nobody has made any table yet.
fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && user_version(connection)? == 0)
}

impl SignalLog {
    /// Who says that it is the gateway of this database, live or not; nobody does in an embedded log.
    pub fn owner(&self) -> Result<Option<Owner>> {
        self.read("cannot read who owns the database", |connection| owner(connection))
    }

    /// Where the gateway's agents keep their sessions, the ones that were seen last first; nowhere
    /// in an embedded log.
    pub fn agent_databases(&self) -> Result<Vec<AgentDatabase>> {
        let Keeper::Gateway { folder, .. } = &self.keeper else { return Ok(Vec::new()) };
        self.read("cannot read the agents' databases", |connection| {
            if !has_table(connection, "agent_databases")? {
                return Ok(Vec::new());
            }
            connection
                .prepare_cached(
                    "SELECT agent_id, path FROM agent_databases
                     ORDER BY last_seen_at DESC, agent_id, path",
                )?
                .query_map([], |row| {
                    // Relative to the state folder, unless the sessions are kept elsewhere.
                    let path: String = row.get(1)?;
                    let agent_id = AgentId::new(row.get::<_, String>(0)?);
                    Ok(AgentDatabase { agent_id, path: folder.join(Path::new(&path)) })
                })?
                .collect()
        })
    }
}

/// The lease of the gateway.
fn owner(connection: &Connection) -> rusqlite::Result<Option<Owner>> {
    if !has_table(connection, "state_leases")? {
        return Ok(None);
    }
    connection
        .prepare_cached(
            "SELECT payload_json, created_at, expires_at FROM state_leases
             WHERE scope = 'gateway-owner'
             ORDER BY coalesce(expires_at, 9223372036854775807) DESC LIMIT 1",
        )?
        .query_row([], |row| {
            let payload: Option<String> = row.get(0)?;
            let payload: serde_json::Value = payload
                .and_then(|text| serde_json::from_str(&text).ok())
                .unwrap_or(serde_json::Value::Null);
            let text = |at: &str| payload.pointer(at).and_then(|value| value.as_str());
            let number = |at: &str| payload.pointer(at).and_then(serde_json::Value::as_i64);
            Ok(Owner {
                pid: number("/owner/pid"),
                host: text("/owner/host").map(str::to_owned),
                since: Timestamp(row.get(1)?),
                port: number("/port").and_then(|port| u16::try_from(port).ok()),
                // One without an end holds.
                expires_at: Timestamp(row.get::<_, Option<i64>>(2)?.unwrap_or(i64::MAX)),
            })
        })
        .optional()
}

#[cfg(test)]
mod tests;
