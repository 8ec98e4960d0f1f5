//! The end of a link whose upstream is gone.
//!
//! Answers: what is recorded then. Always holds: the event and the removal of the link are one
//! transaction, and only for the link that was looked at. Deliberately elsewhere: how an upstream
//! is found missing, and why (`probe`).

use super::SignalLog;
use super::append::{Appended, NewEvent, append};
use super::event::{Actor, Kind};
use super::links::{has_other_agent, link, remove};
use crate::error::Result;
use crate::ids::{SourceKey, Timestamp};
use crate::killpoint::{self, KillPoint};
use crate::link::LinkId;

/// Why an upstream is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MissingCause {
    /// Somebody deleted it.
    Deleted,
    /// The upstream's program cleaned it up for its age.
    Retention,
}

impl MissingCause {
    /// As it stands in the event's payload.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Retention => "retention",
        }
    }
}

impl SignalLog {
    /// Records that a link's upstream is gone, and removes the link. `None`, and nothing written,
    /// where the link is gone or names another source by now.
    pub fn record_missing(
        &mut self,
        id: &LinkId,
        source: &SourceKey,
        cause: MissingCause,
        now: Timestamp,
    ) -> Result<Option<Appended>> {
        self.write("cannot record a missing upstream", |connection| {
            let Some(link) = link(connection, id)?.filter(|link| link.source_key() == *source)
            else {
                return Ok(None);
            };
            let LinkId { session_key, agent_id } = id;
            let mut key = format!("upstream-missing:{session_key}:{source}:{}", link.updated_at.0);
            if has_other_agent(connection, session_key, agent_id)? {
                key = format!("{key}:agent:{agent_id}");
            }
            let payload =
                serde_json::json!({ "channel": link.catalog_id, "cause": cause.as_str() });
            let event = NewEvent {
                dedupe_key: Some(key),
                session_key: session_key.clone(),
                agent_id: agent_id.clone(),
                session_id: None,
                kind: Kind::UpstreamMissing,
                actor: Actor::System,
                actor_id: None,
                run_id: None,
                occurred_at: now,
                summary: format!("upstream missing via {}", link.catalog_id),
                payload_json: Some(payload.to_string()),
                watchers: Vec::new(),
            };
            let appended = append(connection, &event, now)?;
            remove(connection, id)?;
            killpoint::pass(KillPoint::MissingWritten);
            Ok(Some(appended))
        })
    }
}

#[cfg(test)]
mod tests;
