//! The gateway's rule, bit for bit, its faults included (OpenClaw 2026.9.6).
//!
//! Answers: whether the gateway counts a row, at which time, and which text it compares with own
//! texts. Always holds: the same as release 2026.9.6 for every line, but for what is absurd: a time of
//! more than 4 KiB, of which both ends are seen, times without a zone, which are UTC here, and rows nested
//! so deep that the gateway fails on them; `tests` and the interop suite hold it to that. Not here: our own rule (`rules`). A line counts only where the whole of it is one
//! JSON value; the reader sees to that.

use super::row::{Row, date, is};
use crate::ids::Timestamp;

/// The beginning of a text that one session of the gateway sent to another.
pub(crate) const INTER_SESSION: &str = "[Inter-session message]";

/// The beginning of the prompt by which the gateway fills a fresh session with an old conversation.
pub(crate) const RESEED: &str = "Continue this conversation using the OpenClaw transcript below as prior session history.\n\
Treat it as authoritative context for this fresh CLI session.\n\n<conversation_history>";

/// Whether the gateway's rule counts a row, by the first text of its message.
pub(crate) fn counts(row: &Row<'_>) -> bool {
    let is_flagged = row.is_meta
        || row.is_compact_summary
        || row.is_visible_in_transcript_only
        || row.is_sidechain;
    if is_flagged || !row.is_kind("user") || !is(row.message.role, "user") {
        return false;
    }
    let candidates = row.message.content.candidates();
    !candidates.is_empty()
        && !candidates.iter().any(|candidate| {
            let text = candidate.text();
            text.starts_with(INTER_SESSION) || text.starts_with(RESEED)
        })
}

/// The time that it takes from the row, if it can.
pub(crate) fn time(row: &Row<'_>) -> Option<Timestamp> {
    let time = row.timestamp?;
    date::parse_plain(time.raw()).or_else(|| date::parse(&time.word()))
}
