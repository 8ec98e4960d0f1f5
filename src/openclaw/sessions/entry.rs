//! Session entries, as `session_nodes` has them (OpenClaw 2026.9.6).

use super::Unavailable;
use super::database::Failure;
use crate::ids::{HostId, SessionKey, ThreadId};
use rusqlite::{OptionalExtension as _, Transaction};
use serde_json::Value;
use std::path::Path;

/// What OpenClaw knows of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its transcript now.
    pub session_id: String,
    /// Whether it was archived.
    pub archived: bool,
    /// Whether OpenClaw is just making it.
    pub initializing: bool,
    /// The run that it is marked with. The mark outlives a crash: where no gateway lives, nothing
    /// runs.
    pub run: Option<Run>,
    /// The Claude session that OpenClaw continues in: the linked one, or a fork of it.
    pub claude_session: Option<ThreadId>,
    /// The Claude session that it was adopted from, and where that is, if not with the gateway.
    pub source_thread: Option<ThreadId>,
    /// The machine of that session.
    pub source_host: Option<HostId>,
    /// The plugin that it belongs to, `anthropic` for an adopted one.
    pub plugin_owner: Option<String>,
}

/// A run that a session is marked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its name, if the entry has it.
    pub id: Option<String>,
}

/// The keys that begin so.
pub(super) fn keys(tx: &Transaction<'_>, prefix: &str) -> Result<Vec<SessionKey>, Failure> {
    let keys = tx
        .prepare_cached(
            "SELECT session_key FROM session_nodes
             WHERE substr(session_key, 1, length(?1)) = ?1 ORDER BY session_key",
        )?
        .query_map([prefix], |row| row.get(0).map(|key: String| SessionKey::new(key)))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(keys)
}

/// The entry of a session.
pub(super) fn read(
    tx: &Transaction<'_>,
    path: &Path,
    session: &SessionKey,
) -> Result<Option<Entry>, Failure> {
    let row: Option<(String, String, Option<i64>)> = tx
        .prepare_cached(
            "SELECT current_session_id, entry_json, archived_at FROM session_nodes
             WHERE session_key = ?",
        )?
        .query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((current, json, archived_at)) = row else { return Ok(None) };
    // So OpenClaw writes a session that has a transcript and no entry.
    if json == "{}" {
        return Ok(None);
    }
    let broken = || Unavailable::BrokenEntry { path: path.to_owned() };
    let json: Value = serde_json::from_str(&json).map_err(|_| broken())?;
    let entry = parse(&json, archived_at.is_some()).ok_or_else(broken)?;
    // The column is what is looked for by id, the entry what the gateway goes by.
    if entry.session_id != current {
        return Err(broken().into());
    }
    Ok(Some(entry))
}

fn parse(json: &Value, archived: bool) -> Option<Entry> {
    let text = |pointer: &str| {
        json.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let catalog = "/pluginExtensions/anthropic/sessionCatalog";
    let is_running = json.get("status").and_then(Value::as_str) == Some("running");
    Some(Entry {
        session_id: text("/sessionId")?,
        archived: archived || json.get("archivedAt").is_some_and(Value::is_number),
        initializing: json.get("initializationPending") == Some(&Value::Bool(true)),
        run: is_running.then(|| Run { id: text("/lifecycleRunId") }),
        claude_session: text("/cliSessionBindings/claude-cli/sessionId").map(ThreadId::new),
        source_thread: text(&format!("{catalog}/sourceThreadId")).map(ThreadId::new),
        source_host: text(&format!("{catalog}/sourceHostId")).map(HostId::new),
        plugin_owner: text("/pluginOwnerId"),
    })
}
