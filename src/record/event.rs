//! Events: the words of the signal log.
//!
//! Answers: which kinds there are, which of them wake watchers, what an event is when it is read
//! back. Always holds: kinds and actors that we write are OpenClaw's; what others wrote is passed
//! on as it stands. Deliberately elsewhere: how an event gets in (`append`).

use crate::ids::{AgentId, Sequence, SessionKey, Timestamp};
use rusqlite::Row;
use serde::{Serialize, Serializer};

/// What happened to a session (the kinds of OpenClaw 2026.9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A person typed into the session's upstream, past OpenClaw.
    HumanDirectMessage,
    /// The upstream is gone.
    UpstreamMissing,
    /// The session's goal is another one.
    GoalChanged,
    /// The session was made.
    Created,
    /// The session was taken over from an upstream.
    Adopted,
    /// The session started another one.
    ChildSpawned,
    /// A run ended well.
    RunCompleted,
    /// A run failed.
    RunFailed,
    /// The session's history was replaced by a summary.
    Compacted,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::HumanDirectMessage,
        Self::UpstreamMissing,
        Self::GoalChanged,
        Self::Created,
        Self::Adopted,
        Self::ChildSpawned,
        Self::RunCompleted,
        Self::RunFailed,
        Self::Compacted,
    ];

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// As it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HumanDirectMessage => "human_direct_message",
            Self::UpstreamMissing => "upstream_missing",
            Self::GoalChanged => "goal_changed",
            Self::Created => "created",
            Self::Adopted => "adopted",
            Self::ChildSpawned => "child_spawned",
            Self::RunCompleted => "run_completed",
            Self::RunFailed => "run_failed",
            Self::Compacted => "compacted",
        }
    }

    /// Whether watchers are told; the other kinds are only in the log.
    #[must_use]
    pub const fn notifies(self) -> bool {
        matches!(self, Self::HumanDirectMessage | Self::UpstreamMissing | Self::GoalChanged)
    }
}

/// What kind of actor caused an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A person.
    Human,
    /// An agent.
    Agent,
    /// A program.
    System,
}

impl Actor {
    /// As it is stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::System => "system",
        }
    }
}

/// An event as it stands in the log; serialises to what the `events` command prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its number; grows over the whole log, never used twice.
    pub sequence: Sequence,
    /// The session.
    pub session_key: SessionKey,
    /// Its agent.
    pub agent_id: AgentId,
    /// OpenClaw's id of the session's history, where it is known.
    pub session_id: Option<String>,
    /// What happened; not always one of [`Kind`].
    pub kind: String,
    /// What kind of actor did it.
    pub actor_type: String,
    /// Who did it.
    pub actor_id: Option<String>,
    /// The run in which it happened.
    pub run_id: Option<String>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// What happened, in a few fixed words.
    pub summary: String,
    /// More of it, JSON as stored; printed as JSON, or as null where it is none.
    #[serde(rename = "payload", serialize_with = "as_json")]
    pub payload_json: Option<String>,
    /// What the event is recognised by when it comes again; internal, not printed.
    #[serde(skip)]
    pub dedupe_key: Option<String>,
}

/// The columns that [`Event::from_row`] reads.
pub(super) const EVENT_COLUMNS: &str = "sequence, session_key, agent_id, session_id, kind, \
    actor_type, actor_id, run_id, occurred_at, summary, payload_json, dedupe_key";

impl Event {
    /// Reads the columns of [`EVENT_COLUMNS`].
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            sequence: Sequence(row.get(0)?),
            session_key: SessionKey::new(row.get::<_, String>(1)?),
            agent_id: AgentId::new(row.get::<_, String>(2)?),
            session_id: row.get(3)?,
            kind: row.get(4)?,
            actor_type: row.get(5)?,
            actor_id: row.get(6)?,
            run_id: row.get(7)?,
            occurred_at: Timestamp(row.get(8)?),
            summary: row.get(9)?,
            payload_json: row.get(10)?,
            dedupe_key: row.get(11)?,
        })
    }
}

/// Writes stored JSON as JSON.
#[expect(clippy::ref_option, reason = "the form that serde calls")]
fn as_json<S: Serializer>(stored: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    stored
        .as_deref()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok())
        .serialize(serializer)
}
