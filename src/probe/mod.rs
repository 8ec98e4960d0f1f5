//! Is there something new?
//!
//! Answers: is this file unchanged, grown or rewritten since we last looked; and, once it is missing
//! for good, what became of it. Always holds: a content that was read is known again by the bytes
//! before the position, whatever the file's name and number; nothing is called missing that merely
//! cannot be read. Deliberately elsewhere: reading rows (`scan`), keeping the cursor (`journal`).

pub mod missing;
pub mod successor;
#[cfg(test)]
mod tests;

use crate::disk::{FileStat, Transcript, read_range};
use crate::ids::HashKey;
use crate::journal::{ContentMark, SourceCursor};
use std::io;

/// How many bytes before a position tell whether the content is the one that was read. More would
/// cost more reads and tell nothing new: rows carry uuids and times.
pub const MARK_BYTES: u64 = 4096;

/// What a look at a file found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing happened since its end was last reached.
    Unchanged,
    /// The content up to the position is the one that was read; there may be more.
    Grown,
    /// It is smaller than the position, or other bytes stand before it.
    Rewritten,
}

/// What happened to a file since the cursor was written. The mark is compared only where anything
/// about the file changed.
pub fn look(
    cursor: &SourceCursor,
    stat: &FileStat,
    file: &dyn Transcript,
    key: &HashKey,
) -> io::Result<Outcome> {
    if cursor.settled.as_ref() == Some(stat) {
        return Ok(Outcome::Unchanged);
    }
    if stat.size < cursor.position {
        return Ok(Outcome::Rewritten);
    }
    let same = match &cursor.mark {
        Some(expected) => mark(file, cursor.position, key)? == *expected,
        None => true,
    };
    Ok(if same { Outcome::Grown } else { Outcome::Rewritten })
}

/// The mark of the content before an offset. A file that has become shorter gives another mark.
pub fn mark(file: &dyn Transcript, offset: u64, key: &HashKey) -> io::Result<ContentMark> {
    let bytes = read_range(file, offset.saturating_sub(MARK_BYTES), offset)?;
    Ok(mark_of(&bytes, key))
}

fn mark_of(bytes: &[u8], key: &HashKey) -> ContentMark {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    ContentMark { length, hash: key.content(bytes) }
}

/// The mark after a window that ended at an offset; `None` where the file holds other bytes there
/// now than the window did.
pub fn mark_after(
    file: &dyn Transcript,
    offset: u64,
    window: &[u8],
    key: &HashKey,
) -> io::Result<Option<ContentMark>> {
    let bytes = read_range(file, offset.saturating_sub(MARK_BYTES), offset)?;
    let same = bytes.iter().rev().zip(window.iter().rev()).all(|(now, then)| now == then);
    let whole = bytes.len() as u64 == offset.min(MARK_BYTES);
    Ok((same && whole).then(|| mark_of(&bytes, key)))
}
