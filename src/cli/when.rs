//! placeholder
use crate::ids::Timestamp;
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String { format!("{} s ago", now.ms_since(at) / 1000) }
pub(super) fn iso(at: Timestamp) -> String { humantime::format_rfc3339_millis(std::time::UNIX_EPOCH + std::time::Duration::from_millis(at.0 as u64)).to_string() }
