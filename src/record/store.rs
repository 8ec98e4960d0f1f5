//! Which signal log: the embedded one, or a gateway's.
//!
//! Answers: where the log is, and opens it in each of three ways. Always holds: whoever asks need
//! not know which of the two it is. Deliberately elsewhere: which of them is meant (`config`).

use super::{SignalLog, embedded, gateway};
use crate::error::Result;
use std::path::{Path, PathBuf};

/// A signal log that can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// A file of our own.
    Embedded(PathBuf),
    /// The state database of a gateway.
    Gateway(GatewayStore),
}

/// The state database of a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayStore {
    /// OpenClaw's state folder, from which the paths in the database are meant.
    pub folder: PathBuf,
    /// The database.
    pub database: PathBuf,
    /// A schema version that is not known and written to all the same.
    pub accept: Option<i64>,
}

impl Store {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Embedded(path) => path,
            Self::Gateway(store) => &store.database,
        }
    }

    /// Whether the log is a gateway's.
    #[must_use]
    pub const fn is_gateway(&self) -> bool {
        matches!(self, Self::Gateway(_))
    }

    /// Its word in the configuration.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::Gateway(_) => "gateway",
        }
    }

    /// Opens the log for reading and writing. The embedded one is made where it is missing; of a
    /// gateway's a missing file is worth another try, and an unknown schema is refused.
    pub fn open(&self) -> Result<SignalLog> {
        match self {
            Self::Embedded(path) => embedded::open(path),
            Self::Gateway(store) => gateway::open(store),
        }
    }

    /// Opens the log for reading; `None` where there is none. Creates no file. Of a gateway's an
    /// unknown schema is read as far as its columns are the known ones.
    pub fn open_read_only(&self) -> Result<Option<SignalLog>> {
        match self {
            Self::Embedded(path) => embedded::open_read_only(path),
            Self::Gateway(store) => gateway::open_read_only(store),
        }
    }

    /// Copies the log into memory, for a dry run: it can be written to, and nothing on disk changes.
    pub fn copy_in_memory(&self) -> Result<SignalLog> {
        match self {
            Self::Embedded(path) => embedded::copy_in_memory(path),
            Self::Gateway(store) => gateway::copy_in_memory(store),
        }
    }
}
