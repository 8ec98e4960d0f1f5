//! A link's marker: how far the gateway need not read.
//!
//! Answers: where a marker goes when a window is done. Always holds: it moves back only where
//! somebody has looked at the file and found that it does not belong to it; with every move
//! `updated_at` changes. Deliberately elsewhere: what is recorded with it (`window`), what a marker
//! looks like (`link`).

use super::SignalLog;
use super::links::link;
use crate::error::Result;
use crate::ids::{SourceKey, Timestamp};
use crate::journal::NodeWindow;
use crate::link::{Link, LinkId, RowMarker, marker_json, marker_row_json};
use rusqlite::{Connection, named_params};

/// What the caller knows about a marker that stands further on than the window ends: the gateway
/// was faster, or the file was rewritten and is shorter now. Only a look at the file can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// The caller has not looked.
    Unseen,
    /// A marker at this offset stands at a row's end: it stays.
    Keep(u64),
    /// A marker at this offset does not belong to the file as it is: it is replaced.
    Replace(u64),
}

/// What came of moving a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerOutcome {
    /// It stands at the window's end.
    Moved,
    /// It stood there already, or is kept further on; nothing was written.
    Stands,
    /// The link is gone or names another source; nothing was written.
    LinkGone,
    /// As in [`super::WindowOutcome::MarkerAhead`].
    MarkerAhead(u64),
}

impl SignalLog {
    /// Moves the marker over a window without countable rows.
    pub fn move_marker(
        &mut self,
        id: &LinkId,
        source: &SourceKey,
        to: u64,
        ahead: Ahead,
        now: Timestamp,
    ) -> Result<MarkerOutcome> {
        self.write("cannot move a marker", |connection| {
            let Some(link) = link_to(connection, id, source)? else {
                return Ok(MarkerOutcome::LinkGone);
            };
            match next_marker(&link, to, ahead) {
                Marker::Ahead(offset) => Ok(MarkerOutcome::MarkerAhead(offset)),
                Marker::Set if link.marker() != Some(to) => {
                    write_marker(connection, id, Some(&marker_json(to)), now)?;
                    Ok(MarkerOutcome::Moved)
                }
                Marker::Set | Marker::Keep => Ok(MarkerOutcome::Stands),
            }
        })
    }

    /// Moves the marker of a node's transcript over a window without countable rows.
    pub fn move_node_marker(
        &mut self,
        id: &LinkId,
        source: &SourceKey,
        window: &NodeWindow,
        now: Timestamp,
    ) -> Result<MarkerOutcome> {
        self.write("cannot move a marker", |connection| {
            let Some(link) = link_to(connection, id, source)? else {
                return Ok(MarkerOutcome::LinkGone);
            };
            if link.row_marker() == RowMarker::Row(window.newest.clone()) {
                return Ok(MarkerOutcome::Stands);
            }
            let Some(marker) = next_node_marker(&link, window) else {
                return Ok(MarkerOutcome::Stands);
            };
            write_marker(connection, id, Some(&marker), now)?;
            Ok(MarkerOutcome::Moved)
        })
    }
}

/// The link, if it is there and still names this source.
pub(super) fn link_to(
    connection: &Connection,
    id: &LinkId,
    source: &SourceKey,
) -> rusqlite::Result<Option<Link>> {
    Ok(link(connection, id)?.filter(|link| link.source_key() == *source))
}

/// What becomes of a link's marker.
pub(super) enum Marker {
    /// It moves to the window's end.
    Set,
    /// It stays.
    Keep,
    /// Somebody has to look at it first.
    Ahead(u64),
}

/// Decides where the marker goes.
pub(super) fn next_marker(link: &Link, to: u64, ahead: Ahead) -> Marker {
    match link.marker().filter(|stored| *stored > to) {
        None => Marker::Set,
        Some(stored) if ahead == Ahead::Keep(stored) => Marker::Keep,
        Some(stored) if ahead == Ahead::Replace(stored) => Marker::Set,
        Some(stored) => Marker::Ahead(stored),
    }
}

/// The marker that a node's link gets; `None` where it stays, since the gateway read on meanwhile.
pub(super) fn next_node_marker(link: &Link, window: &NodeWindow) -> Option<String> {
    let is_passed = || match link.row_marker() {
        RowMarker::Row(stored) => window.end_of(&stored).is_some(),
        RowMarker::Start | RowMarker::Unknown => true,
    };
    (link.updated_at == window.read_at || is_passed()).then(|| marker_row_json(&window.newest))
}

/// Notes that a link was scanned; `None` leaves its marker where it is.
pub(super) fn write_marker(
    connection: &Connection,
    id: &LinkId,
    marker: Option<&str>,
    now: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE session_upstream_links
             SET last_marker_json = coalesce(:marker, last_marker_json), last_scanned_at = :now,
                 updated_at = max(:now, updated_at + 1)
             WHERE session_key = :session_key AND agent_id = :agent_id",
        )?
        .execute(named_params! {
            ":marker": marker,
            ":now": now.0,
            ":session_key": id.session_key.as_str(),
            ":agent_id": id.agent_id.as_str(),
        })?;
    Ok(())
}
