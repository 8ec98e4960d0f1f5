//! Notices when a person types into a Claude Code session, records it once, tells the watchers.

pub mod classify;
pub mod clock;
pub mod echo;
pub mod error;
pub mod ids;
pub mod journal;
pub mod link;
pub mod notice;
pub mod record;
pub mod scan;
