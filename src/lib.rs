//! Notices when a person types into a Claude Code session, records it once, tells the watchers.

pub mod classify;
pub mod cli;
pub mod clock;
pub mod config;
pub mod echo;
pub mod error;
pub mod ids;
pub mod journal;
pub mod link;
pub mod record;
pub mod scan;
