//! How far a source was read, and what is needed to go on from there.

use crate::classify::{LongLine, ReaderState};
use crate::disk::FileStat;
use crate::ids::{Generation, Sequence, TextHash, Timestamp};
use serde::{Deserialize, Serialize};

/// How far a source was read, and what is needed to go on from there. Offsets are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCursor {
    /// When the link was made that the source is followed for.
    pub linked_at: Timestamp,
    /// The life of the file's content that the position belongs to.
    pub generation: Generation,
    /// All rows that end at or before this offset are decided; always just after a line end.
    pub position: u64,
    /// The content just before the position; `None` until the file was seen.
    pub mark: Option<ContentMark>,
    /// The file when its end was last reached: equal means nothing new.
    pub settled: Option<FileStat>,
    /// Set while a rewritten file is read again: up to where rows that are older than the floor are
    /// history; as long as it was when that was found out, or as the history was.
    pub reading_again: Option<u64>,
    /// What was read of a row longer than a window, which begins at the position.
    #[serde(default)]
    pub row: Option<RowInPart>,
    /// Where the link's marker stood when we first saw it: what a rewritten file holds up to there
    /// may be history.
    pub history_end: u64,
    /// The last event that we recorded of this source: where the signal log does not have it, the
    /// log was restored from an older copy.
    pub last_event: Sequence,
    /// The time of the last row before the link's marker when we first saw it, less a minute; `None`
    /// if the source is followed from its start.
    pub floor: Option<Timestamp>,
    /// Whether it is followed from its first byte since it was born before our eyes: then rows older
    /// than the floor, wherever they stand, are copies of another session's.
    #[serde(default)]
    pub newborn: bool,
    /// Events of this source up to this sequence are accounted for.
    pub seen: Sequence,
    /// What the classifier carries from row to row.
    pub reader: ReaderState,
    /// The last uuid seen, to know the file again elsewhere.
    pub last_uuid: Option<String>,
    /// When the file was last seen, and when its content had last changed then.
    pub sighted_at: Option<Timestamp>,
    /// When the content had last changed at that sight.
    pub modified_at: Option<Timestamp>,
    /// Consecutive sights of it missing.
    pub misses: u32,
    /// When the last of these was counted.
    pub missed_at: Option<Timestamp>,
}

impl SourceCursor {
    /// The cursor of a source that was not seen yet: at the start of a generation, nothing known.
    #[must_use]
    pub fn unseen(generation: Generation, linked_at: Timestamp) -> Self {
        Self {
            linked_at,
            generation,
            position: 0,
            mark: None,
            settled: None,
            reading_again: None,
            row: None,
            floor: None,
            newborn: false,
            history_end: 0,
            last_event: Sequence::default(),
            seen: Sequence::default(),
            reader: ReaderState::default(),
            last_uuid: None,
            sighted_at: None,
            modified_at: None,
            misses: 0,
            missed_at: None,
        }
    }
}

/// A row that was read in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowInPart {
    /// The row, and how far it was read.
    pub line: LongLine,
    /// The content just before that place.
    pub mark: ContentMark,
}

/// A hash of the bytes just before an offset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentMark {
    /// How many bytes it is over, at most `probe::MARK_BYTES`.
    pub length: u32,
    /// Keyed hash of them.
    pub hash: TextHash,
}
