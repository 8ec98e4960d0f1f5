//! What the tables of a signal log look like, and whether that is known well enough to write.
//!
//! Answers: may we write to this file; which of the columns that came late does it have. Always
//! holds: what is not known is not written to, and the refusal names what it is; columns that
//! somebody added are no hindrance as long as a row can be made without them. Deliberately
//! elsewhere: how the file is opened (`embedded`, `gateway`), what stands in the tables.

use crate::error::{Error, Result};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::Path;

/// The four tables, exactly as OpenClaw 2026.9.6 has them.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// Their names.
pub(super) const TABLES: [&str; 4] = [
    "session_state_events",
    "session_state_heads",
    "session_watch_cursors",
    "session_upstream_links",
];

/// The state schema of OpenClaw 2026.9.6, the newest that we know.
const NEWEST: i64 = 18;

/// The first state schema in which a cursor says where it comes from.
const PROVENANCE_SINCE: i64 = 4;

/// Which columns of the cursors there are, of those that older gateways do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CursorColumns {
    provenance: bool,
    store_path: bool,
}

impl CursorColumns {
    /// As of OpenClaw 2026.9.6.
    pub(super) const ALL: Self = Self { provenance: true, store_path: true };

    /// What to read as a cursor's store path.
    pub(super) const fn store_path(self) -> &'static str {
        if self.store_path { "watcher_store_path" } else { "NULL" }
    }

    /// What to read as a cursor's provenance.
    pub(super) const fn provenance(self) -> &'static str {
        if self.provenance { "provenance" } else { "'explicit'" }
    }

    /// The columns that a new cursor is given, and the values under their names.
    pub(super) fn insert(self) -> (String, String) {
        let (mut names, mut values) = (
            "watcher_session_key, target_session_key, last_seen_sequence, notified_sequence, \
             material_sequence, updated_at"
                .to_owned(),
            ":watcher, :target, :last_seen, :sequence, :sequence, :now".to_owned(),
        );
        // The parameter is bound in any case; a value that nobody stores does no harm.
        if self.store_path {
            names.push_str(", watcher_store_path");
            values.push_str(", :store_path");
        }
        if self.provenance {
            names.push_str(", provenance");
            values.push_str(", 'explicit'");
        }
        (names, values)
    }
}

/// A connection, and what its tables have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables<'a> {
    pub(super) connection: &'a Connection,
    pub(super) cursors: CursorColumns,
}

impl Deref for Tables<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

/// The shape of a gateway's tables at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    /// The schema's version: of the file or of its content, whichever is newer.
    pub(super) version: i64,
    /// SQLite's own count of schema changes.
    cookie: i64,
    /// Whether there is a place where the version of the content stands.
    has_content_version: bool,
    pub(super) cursors: CursorColumns,
    /// Why nothing may be written.
    pub(super) obstacle: Option<String>,
}

impl Shape {
    /// That of a store which we made ourselves.
    pub(super) const fn of_ours() -> Self {
        Self {
            version: super::embedded::VERSION,
            cookie: 0,
            has_content_version: false,
            cursors: CursorColumns::ALL,
            obstacle: None,
        }
    }

    /// Looks at everything. `accept` is a version that is not known and taken for known all the
    /// same.
    pub(super) fn examine(connection: &Connection, accept: Option<i64>) -> Result<Self> {
        let path = connection.path().unwrap_or(":memory:").to_owned();
        let failed = |source| Error::database("cannot read the schema", Path::new(&path), source);
        let known = known_columns()?;
        (|| {
            let has_content_version = has_table(connection, "config_machine_state")?;
            let version = version(connection, has_content_version)?;
            let found = columns(connection)?;
            let has = |column: &str| found.iter().any(|found| found.starts_with(column));
            let cursors = CursorColumns {
                provenance: has("session_watch_cursors.provenance "),
                store_path: has("session_watch_cursors.watcher_store_path "),
            };
            let obstacle = match of_version(version, accept) {
                Some(obstacle) => Some(obstacle),
                None => of_columns(connection, version, &known, &found)?,
            };
            let cookie = cookie(connection)?;
            Ok(Self { version, cookie, has_content_version, cursors, obstacle })
        })()
        .map_err(failed)
    }

    /// Looks again at whatever may have changed, and refuses where nothing may be written.
    pub(super) fn check(
        &mut self,
        connection: &Connection,
        path: &Path,
        accept: Option<i64>,
    ) -> Result<()> {
        let failed = |source| Error::database("cannot read the schema", path, source);
        let same = cookie(connection).map_err(failed)? == self.cookie
            && version(connection, self.has_content_version).map_err(failed)? == self.version;
        if !same {
            *self = Self::examine(connection, accept)?;
        }
        match &self.obstacle {
            None => Ok(()),
            Some(obstacle) => {
                Err(Error::Refused(format!("{} {obstacle}; nothing was written", path.display())))
            }
        }
    }
}

/// What the version says against writing.
fn of_version(version: i64, accept: Option<i64>) -> Option<String> {
    if version < 1 {
        return Some(format!("has schema version {version}, which no OpenClaw has"));
    }
    (version > NEWEST && accept != Some(version)).then(|| {
        format!(
            "has schema version {version}, newer than this program knows ({NEWEST}): use a version \
             of upstreamd that knows it, or set accept_schema = \"{version}\" to write to it all \
             the same as long as its columns are the known ones"
        )
    })
}

/// What the columns say against writing.
fn of_columns(
    connection: &Connection,
    version: i64,
    known: &BTreeSet<String>,
    found: &BTreeSet<String>,
) -> rusqlite::Result<Option<String>> {
    for table in TABLES {
        if !has_table(connection, table)? {
            return Ok(Some(format!("lacks the table {table}")));
        }
    }
    let may_lack = |column: &str| {
        // The gateway adds this one itself before it writes its first cursor.
        column.starts_with("session_watch_cursors.watcher_store_path ")
            || version < PROVENANCE_SINCE && column.starts_with("session_watch_cursors.provenance ")
    };
    if let Some(column) = known.difference(found).find(|column| !may_lack(column)) {
        return Ok(Some(format!("lacks the column {column}")));
    }
    let wanting: Option<String> = connection
        .prepare(&format!(
            "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND t.name IN ({}) AND c.\"notnull\" AND c.dflt_value IS NULL
             ORDER BY 1",
            quoted(&TABLES)
        ))?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?
        .into_iter()
        .find(|column| !known.iter().any(|known| known.starts_with(&format!("{column} "))));
    Ok(wanting
        .map(|column| format!("has the column {column}, which wants a value that is not known")))
}

/// All columns of the four tables, each as `table.column type`, with `NOT NULL` and `KEY` where it
/// is so.
pub(super) fn columns(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    connection
        .prepare(&format!(
            "SELECT t.name || '.' || c.name || ' ' || c.type
                 || iif(c.\"notnull\", ' NOT NULL', '') || iif(c.pk, ' KEY', '')
             FROM sqlite_schema t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND t.name IN ({})",
            quoted(&TABLES)
        ))?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// The columns that we know.
pub(super) fn known_columns() -> Result<BTreeSet<String>> {
    let connection = crate::sqlite::in_memory()?;
    connection.execute_batch(SCHEMA).and_then(|()| columns(&connection)).map_err(|source| {
        Error::database("cannot read the known schema", Path::new(":memory:"), source)
    })
}

/// The version of the schema that the file says it has.
pub(super) fn user_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))
}

/// The version that counts for a gateway: its content can be newer than the file.
fn version(connection: &Connection, has_content_version: bool) -> rusqlite::Result<i64> {
    let of_file = user_version(connection)?;
    if !has_content_version {
        return Ok(of_file);
    }
    let of_content: Option<String> = connection
        .prepare_cached(
            "SELECT value_json FROM config_machine_state
             WHERE state_key = 'state.schema.contentVersion'",
        )?
        .query_row([], |row| row.get(0))
        .optional()?;
    // What is there and is no number is no version that we know.
    let of_content = of_content.map(|text| text.trim().parse().unwrap_or(i64::MAX));
    Ok(of_content.map_or(of_file, |of_content| of_file.max(of_content)))
}

/// A number that changes with every change of the schema.
fn cookie(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
}

/// Whether there is a table of this name.
pub(super) fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)",
        )?
        .query_row([name], |row| row.get(0))
}

/// Names as SQL has them in a list.
pub(super) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}
