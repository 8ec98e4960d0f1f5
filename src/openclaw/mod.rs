//! The gateway seen from outside.
//!
//! Answers: where an OpenClaw keeps its things, and what it knows of a session. Always holds: its
//! files are read through SQLite alone and never written; what a version that we do not know may
//! mean otherwise is not read at all. Deliberately elsewhere: its state database, whose tables are
//! the signal log (`record`); what follows from an answer (`cycle`).

pub mod catalog;
pub mod folder;
pub mod nodes;
pub mod sessions;
pub mod socket;

pub use folder::OpenclawFolder;

/// The name of this machine, as a gateway on it writes it into its lease.
#[must_use]
pub fn this_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
