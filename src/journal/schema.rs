//! The journal's tables, and how older ones become them.

use super::Journal;
use crate::error::{Error, Result};
use crate::ids::HashKey;
use rusqlite::{OptionalExtension as _, TransactionBehavior};

/// The schema's version now.
const VERSION: u32 = 4;

/// Each entry brings `user_version` from its index to the next number. Entries are never edited.
const MIGRATIONS: [&str; VERSION as usize] = [
    "
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    -- A link that is or was followed; goes with its link.
    CREATE TABLE links (
        link_id INTEGER PRIMARY KEY,
        session_key TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        UNIQUE (session_key, agent_id)
    ) STRICT;
    -- What a link's rows are read from, and how far; the cursor is JSON.
    CREATE TABLE sources (
        source_id INTEGER PRIMARY KEY,
        link_id INTEGER NOT NULL REFERENCES links ON DELETE CASCADE,
        source_key TEXT NOT NULL,
        cursor TEXT NOT NULL,
        UNIQUE (link_id, source_key)
    ) STRICT;
    -- Countable rows that were passed, as long as the link lives.
    CREATE TABLE identities (
        link_id INTEGER NOT NULL REFERENCES links ON DELETE CASCADE,
        identity TEXT NOT NULL,
        PRIMARY KEY (link_id, identity)
    ) STRICT, WITHOUT ROWID;
    -- What we are about to record: at most one for each source; the body is JSON.
    CREATE TABLE intents (
        source_id INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
        body TEXT NOT NULL
    ) STRICT;
    -- Texts that a program said it would send, as keyed hashes.
    CREATE TABLE own_texts (
        own_text_id INTEGER PRIMARY KEY,
        session_key TEXT NOT NULL,
        hash TEXT NOT NULL,
        at INTEGER NOT NULL,
        used INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX own_texts_session ON own_texts (session_key, own_text_id DESC);
",
    "
    -- Sessions that a person unlinked, so that they are not adopted again by themselves.
    CREATE TABLE tombstones (
        session_key TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        PRIMARY KEY (session_key, agent_id)
    ) STRICT, WITHOUT ROWID;
    -- Whether a row of a new session is a copy of another's.
    CREATE INDEX identities_identity ON identities (identity);
    -- Files and folders that the daemon leaves alone, since their disk does not answer.
    CREATE TABLE parked (path TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID;
",
    "
    -- Texts of OpenClaw's transcripts that have excused a row, for about a day.
    CREATE TABLE used_texts (
        link_id INTEGER NOT NULL REFERENCES links ON DELETE CASCADE,
        text_id TEXT NOT NULL,
        used_at INTEGER NOT NULL,
        PRIMARY KEY (link_id, text_id)
    ) STRICT, WITHOUT ROWID;
",
    "
    -- The sources that are not the file that their link names, but forks of it.
    CREATE TABLE forks (
        source_id INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
        thread_id TEXT NOT NULL,
        ref_json TEXT NOT NULL
    ) STRICT;
",
];

/// Brings the schema up to date, each step in one transaction.
pub(super) fn migrate(journal: &mut Journal) -> Result<()> {
    let path = journal.path.clone();
    let error = |e| Error::database("cannot bring the journal up to date", &path, e);
    journal
        .conn
        .execute_batch(
            // A checkpoint in a commit would make every hundredth event fifty times slower.
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
             PRAGMA wal_autocheckpoint = 0;",
        )
        .map_err(error)?;
    if version(journal)? == VERSION {
        return Ok(());
    }
    let tx =
        journal.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(error)?;
    // Read again under the lock: another process may have been first.
    let from: u32 = tx.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(error)?;
    for step in MIGRATIONS.iter().skip(from as usize) {
        tx.execute_batch(step).map_err(error)?;
    }
    if from < VERSION {
        tx.pragma_update(None, "user_version", VERSION).map_err(error)?;
    }
    tx.commit().map_err(error)?;
    check(journal)
}

/// Refuses a journal of a newer program. One of an older program can be read as it is.
pub(super) fn check(journal: &Journal) -> Result<()> {
    let version = version(journal)?;
    if (1..=VERSION).contains(&version) {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{} has schema version {version}, this upstreamd knows {}: use the upstreamd that wrote it, or a newer one",
        journal.path.display(),
        VERSION,
    )))
}

/// The version of the schema that it has now.
pub(super) fn version(journal: &Journal) -> Result<u32> {
    journal
        .conn
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|e| journal.error("cannot read the schema version", e))
}

/// Refuses a journal whose hashes another key made: every text and row would look new.
pub(super) fn check_key(journal: &Journal, key: &HashKey) -> Result<()> {
    let ours = key.text("upstreamd");
    let stored: Option<String> = journal
        .conn
        .query_row("SELECT value FROM meta WHERE name = 'key_check'", [], |row| row.get(0))
        .optional()
        .map_err(|e| journal.error("cannot read the key's check", e))?;
    match stored {
        Some(stored) if stored == ours.as_str() => Ok(()),
        Some(_) => Err(Error::Refused(format!(
            "the hash key beside {} is not the one it was written with: put back `hash.key`, or remove both to start anew from the links' markers",
            journal.path.display(),
        ))),
        None => journal
            .conn
            .execute(
                "INSERT OR IGNORE INTO meta (name, value) VALUES ('key_check', ?)",
                [ours.as_str()],
            )
            .map(drop)
            .map_err(|e| journal.error("cannot write the key's check", e)),
    }
}
