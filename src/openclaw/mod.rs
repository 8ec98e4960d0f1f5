//! The gateway seen from outside.
//!
//! Answers: where an OpenClaw keeps its things. Always holds: nothing of it is written here.
//! Deliberately elsewhere: its state database, whose tables are the signal log (`record`).

pub mod folder;

pub use folder::OpenclawFolder;
