//! Intents: what the journal says we are about to record.

use super::SourceCursor;
use crate::ids::{
    AgentId, CatalogId, Generation, Identity, Sequence, SessionKey, SourceKey, Timestamp,
};
use serde::{Deserialize, Serialize};

/// One window's turns, written down before they are recorded, so that they can be recorded from the
/// journal alone (design: one cycle, Record).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The session that the event will name.
    pub session_key: SessionKey,
    /// Its agent.
    pub agent_id: AgentId,
    /// The catalog, for summary and payload.
    pub catalog_id: CatalogId,
    /// The source whose window this is.
    pub source_key: SourceKey,
    /// The life of the file's content that the offsets belong to.
    pub generation: Generation,
    /// Where the window begins.
    pub from: u64,
    /// Where it ends, just after a line end.
    pub to: u64,
    /// Events of this source up to this sequence are accounted for.
    pub seen: Sequence,
    /// The rows of the window that count by our rule or by the gateway's and were not known before.
    pub rows: Vec<CountableRow>,
    /// Own texts that the window's echoes use up, by their row in the journal.
    pub excused: Vec<i64>,
    /// The cursor once the window is recorded; its `seen` is set then.
    pub after: SourceCursor,
}

/// A row that counts by our rule or by the gateway's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountableRow {
    /// What it is known by.
    pub identity: Identity,
    /// Where the row begins that proves it (the row itself, but for queued messages).
    pub start: u64,
    /// Just after the line end of the row that proves it.
    pub end: u64,
    /// Its time: its own, else the file's.
    pub at: Timestamp,
    /// Whether our rule counts it.
    pub ours: bool,
    /// Whether the gateway's rule counts it.
    pub gateway: bool,
}
