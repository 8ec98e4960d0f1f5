//! The table of links.
//!
//! Answers: which sessions are followed, from which file, read up to where; and makes, re-points
//! and removes links. Always holds: `updated_at` grows with every change of a row, also within one
//! millisecond, since a gateway drops what it found out when it sees another value. Deliberately
//! elsewhere: the move of a marker (`marker`), which files may be linked (`link`).

use super::SignalLog;
use super::append::{NewEvent, append};
use super::event::{Actor, Kind};
use super::shape::Tables;
use crate::error::Result;
use crate::ids::{AgentId, CatalogId, HostId, SessionKey, SourceKey, ThreadId, Timestamp};
use crate::link::{Link, LinkId, NewLink, marker_json};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params};

/// Which links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFilter {
    /// All of them.
    All,
    /// Those that somebody watches: at least one cursor has the session as its target.
    Watched,
}

impl LinkFilter {
    const fn condition(self) -> &'static str {
        match self {
            Self::All => "true",
            // OpenClaw's old marks of group sessions are nobody's watch.
            Self::Watched => {
                "EXISTS (SELECT 1 FROM session_watch_cursors
                     WHERE target_session_key = session_key
                         AND watcher_session_key NOT GLOB 'ambient-group-watch:*')"
            }
        }
    }
}

/// Links that are read at once.
const PAGE: usize = 256;

/// What came of an adoption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adopted {
    /// Whether the link is new.
    pub created: bool,
    /// Whether the link was there and named another source.
    pub replaced: bool,
}

/// The columns that [`from_row`] reads.
const COLUMNS: &str = "session_key, agent_id, catalog_id, host_id, thread_id, upstream_kind, \
    upstream_ref_json, last_marker_json, last_scanned_at, created_at, updated_at";

impl SignalLog {
    /// The links, by catalog, session key and agent.
    pub fn links(&self, filter: LinkFilter) -> Result<Vec<Link>> {
        self.read("cannot read the links", |connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM session_upstream_links WHERE {}
                     ORDER BY catalog_id, session_key, agent_id",
                    filter.condition()
                ))?
                .query_map([], from_row)?
                .collect()
        })
    }

    /// The links one after the other, in no order, a page at a time: ten thousand at once are ten
    /// megabytes. No statement is open while one is taken, so that whoever takes it may wait for a
    /// disk; a link that moves meanwhile may be missed or come twice.
    pub fn each_link(&self, filter: LinkFilter, mut take: impl FnMut(Link)) -> Result<()> {
        let mut after = i64::MIN;
        loop {
            let page = self.read("cannot read the links", |connection| {
                connection
                    .prepare_cached(&format!(
                        "SELECT {COLUMNS}, rowid FROM session_upstream_links
                         WHERE rowid > ?1 AND {} ORDER BY rowid LIMIT {PAGE}",
                        filter.condition()
                    ))?
                    .query_map([after], |row| Ok((from_row(row)?, row.get(11)?)))?
                    .collect::<rusqlite::Result<Vec<(Link, i64)>>>()
            })?;
            let is_last = page.len() < PAGE;
            for (link, rowid) in page {
                after = rowid;
                take(link);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// The links of a session key, under whichever agents.
    pub fn links_of(&self, key: &SessionKey) -> Result<Vec<Link>> {
        self.read("cannot read the links of a session", |connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM session_upstream_links WHERE session_key = ?1
                     ORDER BY agent_id"
                ))?
                .query_map([key.as_str()], from_row)?
                .collect()
        })
    }

    /// One link.
    pub fn link(&self, id: &LinkId) -> Result<Option<Link>> {
        self.read("cannot read a link", |connection| link(connection, id))
    }

    /// Makes a link, and the `adopted` event that belongs to it, in one transaction.
    ///
    /// Where the link is there and names the same source, it stays as it is but for `updated_at`;
    /// where it names another one, it is re-pointed and its marker replaced (OpenClaw 2026.9.6).
    pub fn adopt(&mut self, new: &NewLink, now: Timestamp) -> Result<Adopted> {
        self.require_ours("adoption")?;
        self.write("cannot adopt a session", |connection| {
            let source = SourceKey::of(&new.host_id, &new.thread_id, &new.ref_json);
            let old = link(connection, &new.id)?;
            let same = old.as_ref().is_some_and(|old| old.source_key() == source);
            if same {
                touch(connection, &new.id, now)?;
            } else {
                put(connection, new, now)?;
            }
            append_adopted(connection, &new.made_at(now), now)?;
            Ok(Adopted { created: old.is_none(), replaced: old.is_some() && !same })
        })
    }

    /// Removes a link; false where there is none. Events, head and cursors stay.
    pub fn unlink(&mut self, id: &LinkId) -> Result<bool> {
        self.require_ours("a link's end")?;
        self.write("cannot remove a link", |connection| remove(connection, id))
    }

    /// Points a link to where its file was moved; its marker stays. False, and nothing written,
    /// where the link is gone or names another source than the moved one.
    pub fn repoint(
        &mut self,
        id: &LinkId,
        moved: &SourceKey,
        ref_json: &str,
        now: Timestamp,
    ) -> Result<bool> {
        self.write("cannot re-point a link", |connection| {
            if link(connection, id)?.is_none_or(|link| link.source_key() != *moved) {
                return Ok(false);
            }
            connection
                .prepare_cached(
                    "UPDATE session_upstream_links
                     SET upstream_ref_json = :ref, updated_at = max(:now, updated_at + 1)
                     WHERE session_key = :session_key AND agent_id = :agent_id",
                )?
                .execute(named_params! {
                    ":ref": ref_json,
                    ":now": now.0,
                    ":session_key": id.session_key.as_str(),
                    ":agent_id": id.agent_id.as_str(),
                })?;
            Ok(true)
        })
    }
}

/// One link.
pub(super) fn link(connection: &Connection, id: &LinkId) -> rusqlite::Result<Option<Link>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM session_upstream_links
             WHERE session_key = ?1 AND agent_id = ?2"
        ))?
        .query_row((id.session_key.as_str(), id.agent_id.as_str()), from_row)
        .optional()
}

/// Removes a link.
pub(super) fn remove(connection: &Connection, id: &LinkId) -> rusqlite::Result<bool> {
    let removed = connection
        .prepare_cached(
            "DELETE FROM session_upstream_links WHERE session_key = ?1 AND agent_id = ?2",
        )?
        .execute((id.session_key.as_str(), id.agent_id.as_str()))?;
    Ok(removed > 0)
}

/// Whether the session key is linked under another agent too.
pub(super) fn has_other_agent(
    connection: &Connection,
    key: &SessionKey,
    agent: &AgentId,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM session_upstream_links
                 WHERE session_key = ?1 AND agent_id <> ?2)",
        )?
        .query_row((key.as_str(), agent.as_str()), |row| row.get(0))
}

/// Notes that a session was adopted again.
fn touch(connection: &Connection, id: &LinkId, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE session_upstream_links SET updated_at = max(?1, updated_at + 1)
             WHERE session_key = ?2 AND agent_id = ?3",
        )?
        .execute((now.0, id.session_key.as_str(), id.agent_id.as_str()))?;
    Ok(())
}

/// Makes a link, or points the one that is there to another source from scratch.
fn put(connection: &Connection, new: &NewLink, now: Timestamp) -> rusqlite::Result<()> {
    insert(
        connection,
        new,
        now,
        "UPDATE SET catalog_id = excluded.catalog_id, host_id = excluded.host_id,
             thread_id = excluded.thread_id, upstream_kind = excluded.upstream_kind,
             upstream_ref_json = excluded.upstream_ref_json,
             last_marker_json = excluded.last_marker_json, last_scanned_at = NULL,
             updated_at = max(excluded.updated_at, updated_at + 1)",
    )?;
    Ok(())
}

/// Makes a link; false, and nothing written, where there is one.
pub(super) fn insert_if_absent(
    connection: &Connection,
    new: &NewLink,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    insert(connection, new, now, "NOTHING")
}

/// Inserts a link; says whether a row changed.
fn insert(
    connection: &Connection,
    new: &NewLink,
    now: Timestamp,
    where_there_is_one: &'static str,
) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(&format!(
            "INSERT INTO session_upstream_links (session_key, agent_id, catalog_id, host_id,
                 thread_id, upstream_kind, upstream_ref_json, last_marker_json, last_scanned_at,
                 created_at, updated_at)
             VALUES (:session_key, :agent_id, :catalog_id, :host_id, :thread_id, :upstream_kind,
                 :ref, :marker, NULL, :now, :now)
             ON CONFLICT (session_key, agent_id) DO {where_there_is_one}"
        ))?
        .execute(named_params! {
            ":session_key": new.id.session_key.as_str(),
            ":agent_id": new.id.agent_id.as_str(),
            ":catalog_id": new.catalog_id.as_str(),
            ":host_id": new.host_id.as_str(),
            ":thread_id": new.thread_id.as_str(),
            ":upstream_kind": new.upstream_kind,
            ":ref": new.ref_json,
            ":marker": marker_json(new.offset),
            ":now": now.0,
        })?;
    Ok(changed > 0)
}

/// Records that a link's session was adopted when the link was made, once for each agent; says
/// whether that is new. Dedupe keys are unique over agents, so that a second agent's one is suffixed.
pub(super) fn append_adopted(
    connection: &Tables<'_>,
    link: &Link,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let LinkId { session_key, agent_id } = &link.id;
    let holder: Option<String> = connection
        .prepare_cached("SELECT agent_id FROM session_state_events WHERE dedupe_key = ?1")?
        .query_row([adopted_key(&link.id)], |row| row.get(0))
        .optional()?;
    let dedupe_key = match holder {
        Some(holder) if holder != agent_id.as_str() => adopted_key_of_agent(&link.id),
        _ => adopted_key(&link.id),
    };
    let payload = serde_json::json!({ "catalogId": link.catalog_id, "hostId": link.host_id });
    let event = NewEvent {
        dedupe_key: Some(dedupe_key),
        session_key: session_key.clone(),
        agent_id: agent_id.clone(),
        session_id: None,
        kind: Kind::Adopted,
        actor: Actor::Human,
        actor_id: None,
        run_id: None,
        occurred_at: link.created_at,
        summary: format!("adopted from {}", link.catalog_id),
        payload_json: Some(payload.to_string()),
        watchers: Vec::new(),
    };
    Ok(append(connection, &event, now)?.fresh)
}

/// The dedupe key of a session's adoption.
pub(super) fn adopted_key(id: &LinkId) -> String {
    format!("adopted:{}", id.session_key)
}

/// That of its adoption by a second agent.
pub(super) fn adopted_key_of_agent(id: &LinkId) -> String {
    format!("adopted:{}:agent:{}", id.session_key, id.agent_id)
}

/// Reads the columns of [`COLUMNS`].
fn from_row(row: &Row<'_>) -> rusqlite::Result<Link> {
    Ok(Link {
        id: LinkId {
            session_key: SessionKey::new(row.get::<_, String>(0)?),
            agent_id: AgentId::new(row.get::<_, String>(1)?),
        },
        catalog_id: CatalogId::new(row.get::<_, String>(2)?),
        host_id: HostId::new(row.get::<_, String>(3)?),
        thread_id: ThreadId::new(row.get::<_, String>(4)?),
        upstream_kind: row.get(5)?,
        ref_json: row.get(6)?,
        marker_json: row.get(7)?,
        last_scanned_at: row.get::<_, Option<i64>>(8)?.map(Timestamp),
        created_at: Timestamp(row.get(9)?),
        updated_at: Timestamp(row.get(10)?),
    })
}

#[cfg(test)]
mod tests;
