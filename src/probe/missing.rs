//! What became of a file that is missing for good.

use crate::disk::{Disk, OpenError, Store, Transcript, read_range};
use crate::ids::{HashKey, Timestamp};
use crate::journal::SourceCursor;
use crate::link::Link;
use crate::record::MissingCause;
use memchr::memmem;
use std::fmt;
use std::path::{Path, PathBuf};

/// How much of a candidate is read at a time in search of the last uuid.
const SEARCH_BYTES: u64 = 1 << 20;

/// Why a session's file is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The same file is elsewhere below the Claude folders.
    Moved(PathBuf),
    /// The store or its mount is absent: nothing is known of the file.
    StoreGone,
    /// It may be where we cannot look: nothing is known of the file.
    Unclear,
    /// It is gone for good.
    Final(MissingCause),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Moved(_) => "moved",
            Self::StoreGone => "store_gone",
            Self::Unclear => "unclear",
            Self::Final(cause) => cause.as_str(),
        })
    }
}

/// The cause, by what is found below the Claude folders.
#[must_use]
pub fn cause(
    disk: &dyn Disk,
    link: &Link,
    path: &Path,
    cursor: &SourceCursor,
    key: &HashKey,
) -> Cause {
    let sessions = disk.sessions();
    let mut unclear = sessions.incomplete;
    // Where nothing of it was read, its name alone tells: a session's id is its own.
    let nothing_known =
        cursor.last_uuid.is_none() && (cursor.position == 0 || cursor.mark.is_none());
    let mut by_name = Vec::new();
    for session in sessions.files {
        if session.thread_id != link.thread_id || session.path == path {
            continue;
        }
        match disk.open(&session.path) {
            Ok(file) if is_same_session(file.as_ref(), cursor, key) => {
                return Cause::Moved(session.path);
            }
            Ok(_) if nothing_known => by_name.push(session.path),
            Err(OpenError::Unreadable(_)) => unclear = true,
            _ => {}
        }
    }
    if let [path] = by_name.as_slice() {
        return Cause::Moved(path.clone());
    }
    if unclear || !by_name.is_empty() {
        Cause::Unclear
    } else {
        cause_of_store(&disk.store(path), cursor)
    }
}

/// The cause where the session is nowhere else.
pub(super) fn cause_of_store(store: &Store, cursor: &SourceCursor) -> Cause {
    let other_device = match (store.device, &cursor.settled) {
        (Some(device), Some(settled)) => device != settled.device,
        _ => false,
    };
    // A mount point without its mount is an empty folder of another device.
    if !store.present || (other_device && !store.has_sessions) {
        return Cause::StoreGone;
    }
    let cleaned_since = |sighted: Timestamp| store.cleaned_at.is_some_and(|at| at > sighted);
    let old_enough = |modified: Timestamp| {
        store.cleaned_at.is_some_and(|at| at.ms_since(modified) >= store.cleanup_age_ms)
    };
    if cursor.sighted_at.is_some_and(cleaned_since) && cursor.modified_at.is_some_and(old_enough) {
        return Cause::Final(MissingCause::Retention);
    }
    Cause::Final(MissingCause::Deleted)
}

/// Whether a file of the same name holds the content that was read, or at least its last row.
fn is_same_session(file: &dyn Transcript, cursor: &SourceCursor, key: &HashKey) -> bool {
    if cursor.position > 0
        && let Some(expected) = &cursor.mark
        && super::mark(file, cursor.position, key).is_ok_and(|mark| mark == *expected)
    {
        return true;
    }
    cursor.last_uuid.as_deref().is_some_and(|uuid| holds(file, uuid.as_bytes()))
}

/// Whether the bytes stand anywhere in the file.
fn holds(file: &dyn Transcript, wanted: &[u8]) -> bool {
    let overlap = wanted.len() as u64;
    let finder = memmem::Finder::new(wanted);
    let mut from = 0;
    loop {
        let Ok(bytes) = read_range(file, from, from + SEARCH_BYTES) else {
            return false;
        };
        if finder.find(&bytes).is_some() {
            return true;
        }
        if (bytes.len() as u64) < SEARCH_BYTES {
            return false;
        }
        from += SEARCH_BYTES - overlap;
    }
}
