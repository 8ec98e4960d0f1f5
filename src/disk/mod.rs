//! The seam to transcripts on disk.
//!
//! Answers: open this path, list the session files, what became of the store. Always holds: a path
//! is opened beneath a Claude folder and never leads out of it, and opening never waits for a FIFO
//! or a device. Deliberately elsewhere: what a file's state means (`probe`).

mod listing;
#[cfg(test)]
pub(crate) mod memory;
mod patience;
mod real;

use crate::ids::{ThreadId, Timestamp};
pub use listing::Projects;
pub use patience::Patience;
pub use real::RealDisk;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Transcripts below the Claude folders.
pub trait Disk {
    /// Opens a transcript for reading.
    fn open(&self, path: &Path) -> Result<Box<dyn Transcript>, OpenError>;

    /// The state of what is at a path, found out without opening it: where it is that of a file
    /// that was read, nothing has changed. It decides nothing else.
    fn glance(&self, path: &Path) -> Option<FileStat>;

    /// The main session files below all Claude folders, by path.
    fn sessions(&self) -> Sessions;

    /// What can be said of the store that should hold a path, when the path is missing.
    fn store(&self, path: &Path) -> Store;
}

/// An open transcript. Offsets and sizes are bytes.
pub trait Transcript {
    /// Its state now.
    fn stat(&self) -> io::Result<FileStat>;

    /// Reads from an offset into the buffer; 0 is the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

/// Why a transcript could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// There is nothing at the path, or something that is no regular file.
    Missing,
    /// The path lies in no Claude folder, or leads out of it.
    Outside,
    /// It is there, or may be there, and cannot be read.
    Unreadable(io::Error),
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    /// The device that holds it.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// When its content last changed.
    pub modified: Timestamp,
    /// When anything about it last changed, in nanoseconds since 1970.
    pub changed_ns: i64,
}

/// The main session files that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sessions {
    /// The files; each real path once, whatever links lead to it.
    pub files: Vec<SessionFile>,
    /// Whether a folder could not be listed, so that there may be more.
    pub incomplete: bool,
}

/// A main session file: `<Claude folder>/projects/<project>/<thread>.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// Its real path.
    pub path: PathBuf,
    /// The session id, from the file's name.
    pub thread_id: ThreadId,
}

/// The store that should hold a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    /// Whether its `projects` folder is there and readable.
    pub present: bool,
    /// The device of that folder.
    pub device: Option<u64>,
    /// Whether any session file is in it.
    pub has_sessions: bool,
    /// When Claude Code last cleaned up (`.last-cleanup`).
    pub cleaned_at: Option<Timestamp>,
    /// How old a file must be for it to be cleaned up, in ms.
    pub cleanup_age_ms: i64,
}

/// Reads exactly the bytes from `from` to `to`; fewer only where the file ends before.
pub fn read_range(file: &dyn Transcript, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(to.saturating_sub(from))
        .map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut bytes = vec![0; length];
    let mut filled = 0;
    let mut at = from;
    while filled < length {
        let Some(rest) = bytes.get_mut(filled..) else {
            break;
        };
        match file.read_at(at, rest) {
            Ok(0) => break,
            Ok(read) => {
                filled += read;
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
