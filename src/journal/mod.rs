//! Our own database.

mod intent;

use crate::ids::{Generation, Sequence, Timestamp};
pub use intent::{CountableRow, Intent};
use serde::{Deserialize, Serialize};

/// How far a source was read, and what is needed to go on from there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCursor {
    /// The life of the file's content that the position belongs to.
    pub generation: Generation,
    /// All rows that end at or before this offset are decided.
    pub position: u64,
    /// Events up to this sequence are accounted for.
    pub seen: Sequence,
    /// Rows older than this are history when the file is read again.
    pub floor: Option<Timestamp>,
}
