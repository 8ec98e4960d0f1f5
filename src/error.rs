//! What can go wrong, in the words of the person who reads it, and the exit code that says how bad.

use std::path::{Path, PathBuf};

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Each message says what happened, to which file or session, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written; the message names it.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A database did not do what was asked of it.
    #[error("{what} in {}: {source}", path.display())]
    Database {
        /// What could not be done.
        what: &'static str,
        /// The database's file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The command line or the configuration cannot be followed.
    #[error("{0}")]
    Usage(String),
    /// Going on could damage data: an unknown schema, a foreign owner.
    #[error("{0}")]
    Refused(String),
    /// Somebody else is at it; trying again later may work.
    #[error("{0}")]
    Busy(String),
    /// The thing asked for is not there, or cannot be done.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// What SQLite said, with what could not be done ("cannot …") to which database. A lock that
    /// somebody kept is worth another try.
    #[must_use]
    pub fn database(what: &'static str, path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        match source.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy(format!(
                "{what} in {}: another program holds its lock; try again",
                path.display()
            )),
            _ => Self::Database { what, path: path.to_owned(), source },
        }
    }

    /// The exit code: 1 failed, 2 usage, 4 refused to protect data, 75 try again.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Io(_) | Self::Database { .. } | Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 4,
            Self::Busy(_) => 75,
        }
    }
}
