//! The first sight of a link: where reading starts, and what is known before it.

use super::Failure;
use crate::classify::lines::{JudgedLine, Lines};
use crate::classify::{Reader, ReaderState, Settings as ClassifySettings};
use crate::disk::Transcript;
use crate::error::{Error, Result};
use crate::ids::{Generation, HashKey, Identity, Sequence, Timestamp};
use crate::journal::{Journal, SourceCursor, SourceRow};
use crate::link::Link;
use crate::probe;
use crate::scan::window::{Rest, row_start};
use std::io;

/// How far below the last row's time the floor lies: queued messages carry the time at which they
/// were typed.
const FLOOR_MARGIN_MS: i64 = 60_000;
/// How much is read back at first, and at most, to learn the rows above the floor.
const LOOK_BACK: u64 = 1 << 20;
const LOOK_BACK_LIMIT: u64 = 16 << 20;

/// What the rows before a position tell.
#[derive(Default)]
struct Past {
    reader: ReaderState,
    floor: Option<Timestamp>,
    identities: Vec<Identity>,
    last_uuid: Option<String>,
}

/// What a first sight needs beside the file.
#[derive(Debug, Clone, Copy)]
pub struct Sighting<'a> {
    /// The key of hashes.
    pub key: &'a HashKey,
    /// What counts as a turn.
    pub classify: ClassifySettings,
    /// Bytes that are read at a time.
    pub scan_window: u64,
    /// Events up to this sequence cannot be about rows behind the marker.
    pub seen: Sequence,
    /// The time.
    pub now: Timestamp,
    /// When the file was born, where that was before our eyes.
    pub born: Option<Timestamp>,
}

impl Sighting<'_> {
    /// Begins to follow a link's source at its marker; `adopt` does so at once, since a marker alone
    /// cannot tell a file that grew from one that was rewritten.
    pub fn take(&self, journal: &mut Journal, link: &Link, file: &dyn Transcript) -> Result<()> {
        match self.begin(journal, link, file) {
            Ok(_) => Ok(()),
            Err(Failure::File(error)) => Err(Error::Io(error)),
            Err(Failure::Ours(error)) => Err(error),
        }
    }

    pub(super) fn begin(
        &self,
        journal: &mut Journal,
        link: &Link,
        file: &dyn Transcript,
    ) -> Result<(SourceRow, SourceCursor), Failure> {
        let stat = file.stat()?;
        // A link without a marker is followed from its end: what stands there is history.
        let marker = link.marker().unwrap_or(stat.size);
        let mut cursor = SourceCursor::unseen(Generation::random()?, link.created_at);
        cursor.seen = self.seen;
        cursor.history_end = marker;
        cursor.sighted_at = Some(self.now);
        cursor.modified_at = Some(stat.modified);
        let mut past = Past::default();
        if marker > stat.size {
            // It was rewritten before we ever saw it: what was scanned by then is history.
            let scanned = link.last_scanned_at.unwrap_or(link.created_at);
            cursor.floor = Some(scanned.plus_ms(-FLOOR_MARGIN_MS));
            cursor.reading_again = Some(stat.size);
        } else {
            cursor.position = row_start(file, marker)?;
            past = self.look_back(file, cursor.position)?;
            let untimed = (cursor.position > 0).then_some(link.created_at);
            cursor.floor = past.floor.or(untimed.map(|at| at.plus_ms(-FLOOR_MARGIN_MS)));
            cursor.mark = Some(probe::mark(file, cursor.position, self.key)?);
            cursor.settled = Some(stat).filter(|stat| stat.size == cursor.position);
        }
        if let Some(born) = self.born.filter(|_| marker == 0) {
            cursor.floor = Some(born.plus_ms(-FLOOR_MARGIN_MS));
            cursor.newborn = true;
        }
        cursor.reader = past.reader;
        cursor.last_uuid = past.last_uuid;
        let source = journal.add_source(&link.id, &link.source_key(), &cursor)?;
        journal.learn(source.link, &past.identities)?;
        Ok((source, cursor))
    }

    /// A cursor at the start of a file.
    pub(super) fn at_start(
        &self,
        file: &dyn Transcript,
        linked_at: Timestamp,
    ) -> Result<SourceCursor, Failure> {
        let mut cursor = SourceCursor::unseen(Generation::random()?, linked_at);
        cursor.seen = self.seen;
        cursor.sighted_at = Some(self.now);
        cursor.modified_at = Some(file.stat()?.modified);
        cursor.mark = Some(probe::mark(file, 0, self.key)?);
        Ok(cursor)
    }

    /// A cursor at the end of a file, and the rows before it that may come again.
    pub(super) fn at_end(
        &self,
        file: &dyn Transcript,
        linked_at: Timestamp,
    ) -> Result<(SourceCursor, Vec<Identity>), Failure> {
        let position = row_start(file, file.stat()?.size)?;
        let past = self.look_back(file, position)?;
        let cursor = SourceCursor {
            position,
            history_end: position,
            mark: Some(probe::mark(file, position, self.key)?),
            floor: past.floor,
            reader: past.reader,
            last_uuid: past.last_uuid,
            ..self.at_start(file, linked_at)?
        };
        Ok((cursor, past.identities))
    }

    /// Reads the rows before a position, back to the floor: their identities and open enqueues.
    fn look_back(&self, file: &dyn Transcript, position: u64) -> Result<Past, Failure> {
        let mut reach = LOOK_BACK;
        loop {
            let from = row_start(file, position.saturating_sub(reach))?;
            let reader = Reader::new(self.key, self.classify, ReaderState::default());
            let mut last_at = None;
            let mut newest = None;
            let mut last_uuid = None;
            let mut timed = Vec::new();
            let mut rows = Vec::new();
            let mut lines = Lines::new(file, reader, self.scan_window, from, None);
            let mut take = |line: JudgedLine| -> io::Result<()> {
                for row in line.report.rows {
                    newest = newest.max(row.at);
                    last_at = row.at.or(last_at);
                    last_uuid = row.uuid.or(last_uuid.take());
                    let countable = row.verdict.human || row.compat.is_some();
                    let names = row.aliases.into_iter().chain(row.identity.filter(|_| countable));
                    timed.extend(names.map(|id| (last_at, id)));
                    rows.push((row.start, row.at));
                    timed.extend(row.proves.into_iter().map(|row| (row.at, row.identity)));
                }
                Ok(())
            };
            while lines.pass(position, &mut take)? == Rest::More {}
            let reader = lines.into_reader();
            // A clock that ran ahead must not make new rows history.
            let floor = last_at.map(|at| at.min(self.now).plus_ms(-FLOOR_MARGIN_MS));
            // Reached where the first half of what was read has no row above the floor: times do not
            // always grow from row to row.
            let is_above = |at: Option<Timestamp>| floor.zip(at).is_some_and(|(f, at)| at >= f);
            let first_above = rows.iter().find(|(_, at)| is_above(*at)).map_or(position, |t| t.0);
            let reached = from == 0 || first_above > from + (position - from) / 2;
            if reached || position - from >= LOOK_BACK_LIMIT {
                // Rows that were not learned must be below the floor, in whatever order they are.
                let floor =
                    if reached { floor } else { newest.map(|at: Timestamp| at.min(self.now)) };
                let above =
                    |at: Option<Timestamp>| floor.zip(at).is_none_or(|(floor, at)| at >= floor);
                let identities =
                    timed.into_iter().filter(|(at, _)| above(*at)).map(|(_, id)| id).collect();
                return Ok(Past { reader: reader.into_state(), floor, identities, last_uuid });
            }
            // Of a row longer than that, more than what was read already.
            reach = (reach * 2).max(position - from + 1);
        }
    }
}
