//! One transaction: the signal log.
//!
//! Answers: what changed in a session, in which order, who was told; and takes what the daemon and
//! the commands have to add. Always holds: an event, its head, its cursors and its link's marker
//! are one transaction or nothing. Deliberately elsewhere: what is to be recorded (`journal` keeps
//! the intents), how a watcher is reached (`notice`). All SQL of the signal log stands in this
//! folder.
//!
//! # Ownership
//!
//! The four tables `session_state_events`, `session_state_heads`, `session_watch_cursors` and
//! `session_upstream_links` are OpenClaw's, in name and shape (state schema of OpenClaw 2026.9.6).
//! The embedded store has them to itself, in a file of its own. The same tables in a gateway's
//! database belong to the gateway: there we are a guest who adds rows by the gateway's own rules.
//! So everything here is written as if another program had the tables open and wrote to them
//! between any two of our transactions. Events are immutable, whoever wrote them.
//!
//! # Locking
//!
//! Every write is one `BEGIN IMMEDIATE`, and what it decides on is read inside it. A lock is waited
//! for at most five seconds, as the gateway does; then the caller is told to try again. A read ends
//! with its statement, or with one short read transaction where two answers have to agree: an open
//! one would hold up everybody's checkpoints. Nothing here waits for anything but the database.
//!
//! # Compatibility
//!
//! The version of the schema is compared inside every write transaction, since another program may
//! migrate the file at any time; the columns are compared when the file is opened. What is not
//! known is not written to. Columns, summaries, payloads, dedupe keys and the clamp of times are
//! the gateway's to the byte; our events carry `from` and `generation` beside, which a gateway
//! passes through.
//!
//! # What we never do
//!
//! No VACUUM, no change of a schema that is there, no checkpoint inside a commit, no open read
//! transaction, no touch of the `-wal` or `-shm` file, no opening of the database but through
//! SQLite once it exists. No text that anybody wrote: an event holds who, which, when and how many.
//!
//! # Failure
//!
//! A transaction that fails leaves nothing behind, and doing it again is always right: an event
//! that is there already is found by its dedupe key, and then nothing is touched. With `synchronous
//! = NORMAL` a power cut may take the newest commits, an event and its marker together, so that its
//! rows are simply read again. An unknown schema is refused (exit 4), a lock that is not given up
//! is "try again" (exit 75), everything else names the file and what SQLite said.

mod append;
mod backfill;
mod changes;
mod embedded;
mod event;
mod gateway;
mod links;
mod marker;
mod missing;
mod plan;
mod retention;
mod shape;
mod source_event;
mod store;
#[cfg(test)]
mod testing;
mod watch;
mod window;

use crate::error::{Error, Result};
use crate::ids::Timestamp;
pub use append::{Appended, NewEvent, NewWatcher};
pub use backfill::{AdoptedEvent, Backfilled};
pub use changes::{EventFilter, EventPage, StateChange, StateChanges};
pub use event::{Actor, Event, Kind};
pub use gateway::{AgentDatabase, Owner};
pub use links::{Adopted, LinkFilter};
pub use marker::{Ahead, MarkerOutcome};
pub use missing::MissingCause;
pub use plan::{Plan, plan};
pub use retention::{Pruned, Retention};
use rusqlite::{Connection, TransactionBehavior};
use shape::{Shape, Tables, user_version};
pub use source_event::{Extent, SourceEvent};
use std::path::{Path, PathBuf};
pub use store::{GatewayStore, Store};
pub use watch::{Acknowledged, Watch};
pub use window::{WindowOutcome, WindowRecord};

/// The signal log, opened.
#[derive(Debug)]
pub struct SignalLog {
    /// The only connection; statements are kept prepared on it.
    connection: Connection,
    /// The file, for messages; `:memory:` where there is none.
    path: PathBuf,
    /// Whose it is.
    keeper: Keeper,
    /// What the tables look like; every write transaction must find them so, or as good.
    shape: Shape,
    /// Whether the file was opened without watching for other writers.
    frozen: bool,
}

/// Whose a signal log is.
#[derive(Debug)]
enum Keeper {
    /// Ours alone.
    Us,
    /// A gateway's.
    Gateway {
        /// OpenClaw's state folder.
        folder: PathBuf,
        /// A schema version that is written to though it is not known.
        accept: Option<i64>,
    },
}

impl SignalLog {
    /// Opens the embedded store for reading and writing; creates it, readable by its owner only,
    /// where it is missing.
    ///
    /// A file with an unknown schema is refused and left as it is.
    pub fn open(path: &Path) -> Result<Self> {
        embedded::open(path)
    }

    /// Opens the embedded store for reading; `None` where there is none. Creates no file.
    ///
    /// While nobody else has the store open this reads the file as it is then: see
    /// [`Self::is_frozen`].
    pub fn open_read_only(path: &Path) -> Result<Option<Self>> {
        embedded::open_read_only(path)
    }

    /// Copies the embedded store into memory, for a dry run: it can be written to, and nothing on
    /// disk changes. A missing file gives an empty store.
    pub fn copy_in_memory(path: &Path) -> Result<Self> {
        embedded::copy_in_memory(path)
    }

    /// An empty store in memory.
    pub fn in_memory() -> Result<Self> {
        embedded::in_memory()
    }

    /// The file, or `:memory:`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this is a look at the file as it was when it was opened: it then stood still, and
    /// what is written later shows only after opening it again.
    #[must_use]
    pub const fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// A number that changes when another connection has written (SQLite's `data_version`); says
    /// nothing of our own writes.
    pub fn data_version(&self) -> Result<i64> {
        self.read("cannot look for changes", |connection| {
            connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
        })
    }

    /// Whether the log is a gateway's, where we are a guest.
    #[must_use]
    pub const fn is_gateways(&self) -> bool {
        matches!(self.keeper, Keeper::Gateway { .. })
    }

    /// The version of the schema.
    #[must_use]
    pub const fn schema_version(&self) -> i64 {
        self.shape.version
    }

    /// Why this log is only read, in words that go on after its path; `None` where it can be
    /// written to.
    #[must_use]
    pub fn obstacle(&self) -> Option<&str> {
        self.shape.obstacle.as_deref()
    }

    /// Moves what was written from the write-ahead log to the database, as far as nobody is in the
    /// way. For idle moments: commits do none of it. A gateway that lives does this itself.
    pub fn checkpoint(&self, now: Timestamp) -> Result<()> {
        if self.owner()?.is_some_and(|owner| owner.is_live(now)) {
            return Ok(());
        }
        self.read("cannot checkpoint", |connection| {
            connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?.query_row([], |_| Ok(()))
        })
    }

    /// Runs a read, and gives its failure the name of the file.
    fn read<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Tables<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let tables = Tables { connection: &self.connection, cursors: self.shape.cursors };
        work(&tables).map_err(|source| Error::database(what, &self.path, source))
    }

    /// Runs reads that have to agree with each other, in one read transaction.
    fn read_at_once<T>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.read(what, |tables| {
            let transaction = tables.unchecked_transaction()?;
            let answer = work(&Tables { connection: &transaction, cursors: tables.cursors })?;
            transaction.finish()?;
            Ok(answer)
        })
    }

    /// Does to the tables what somebody else might.
    #[cfg(test)]
    pub(crate) fn execute(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap();
    }

    /// Refuses what a gateway does by itself.
    fn require_ours(&self, what: &str) -> Result<()> {
        if self.is_gateways() {
            return Err(Error::Failed(format!(
                "{what} is the gateway's own business: {} is left as it is",
                self.path.display()
            )));
        }
        Ok(())
    }

    /// Runs one write transaction: all of it or nothing, and only on a schema that we know.
    fn write<T>(
        &mut self,
        what: &'static str,
        work: impl FnOnce(&Tables<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let Self { connection, path, keeper, shape, .. } = self;
        let failed = |source| Error::database(what, path, source);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        match keeper {
            Keeper::Us => {
                let found = user_version(&transaction).map_err(failed)?;
                if found != shape.version {
                    return Err(unknown_version(path, found, shape.version));
                }
            }
            Keeper::Gateway { accept, .. } => shape.check(&transaction, path, *accept)?,
        }
        let tables = Tables { connection: &transaction, cursors: shape.cursors };
        let answer = work(&tables).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(answer)
    }
}

/// The refusal to touch a schema that we do not know.
fn unknown_version(path: &Path, found: i64, known: i64) -> Error {
    Error::Refused(format!(
        "{} has schema version {found}, this program knows {known}; \
         nothing was written. Use a version of upstreamd that knows it.",
        path.display()
    ))
}
