//! Probe, scan, classify, filter: what one pass reads of an open file.

use super::again::Again;
use super::report::{LinkReport, Outcome};
use super::sift::{History, Known, Sift};
use super::{Cycle, Failure, Progress};
use crate::classify::lines::Lines;
use crate::classify::{LineReport, LongLine, Reader};
use crate::disk::{FileStat, Transcript};
use crate::error::Result;
use crate::ids::{Generation, HashKey};
use crate::journal::{Intent, RowInPart, SourceCursor, SourceRow};
use crate::killpoint::{self, KillPoint};
use crate::link::Link;
use crate::observe::Fact;
use crate::probe;
use crate::scan::window::Rest;
use std::io;
use std::path::Path;

/// What a pass has read.
#[expect(clippy::large_enum_variant, reason = "made and taken apart once a pass")]
enum Scan {
    /// As much of a file that is read again: nothing of it is recorded yet.
    Part(Again),
    /// All there was, or a window of it.
    Whole { rest: Rest, after: SourceCursor, intent: Option<Intent> },
    /// The file changed meanwhile.
    Changed,
    /// The row that begins here waits until OpenClaw's turn is over.
    Held(u64),
}

/// Why the reading of a window ended before its end.
enum Stop {
    Failed(Failure),
    /// The line that begins here waits.
    Held(u64),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Cycle<'_> {
    /// Probes and reads an open file, as far as one window goes.
    pub(super) fn read(
        &mut self,
        link: &Link,
        path: &Path,
        file: &dyn Transcript,
        stat: &FileStat,
        known: Option<(SourceRow, SourceCursor)>,
        report: &mut LinkReport,
    ) -> Result<Progress, Failure> {
        let (source, mut cursor) = match known {
            Some((source, cursor)) if cursor.sighted_at.is_some() => (source, cursor),
            known => {
                if known.is_none() && link.last_scanned_at.is_some() {
                    let session = &link.id.session_key;
                    self.observer.observe(&Fact::JournalLost { session });
                }
                report.is_new = true;
                self.sighting(link)?.begin(self.journal, link, file)?
            }
        };
        if cursor.misses > 0 {
            cursor.misses = 0;
            cursor.missed_at = None;
            self.journal.save_cursor(source, &cursor)?;
        }
        match probe::look(&cursor, stat, file, self.key)? {
            probe::Outcome::Unchanged => {
                self.move_marker(link, file, cursor.position, report)?;
                let is_even = report.is_fork || report.marker_after == Some(cursor.position);
                report.settled = cursor.settled.filter(|_| is_even);
                return Ok(Progress::Done);
            }
            probe::Outcome::Grown => {}
            probe::Outcome::Rewritten => {
                self.observer.observe(&Fact::Rewritten { session: &link.id.session_key, path });
                cursor = begin_again(&cursor, stat)?;
                self.journal.save_cursor(source, &cursor)?;
                killpoint::pass(KillPoint::GenerationCommitted);
            }
        }
        if cursor.position == 0 && cursor.reading_again.is_some() {
            report.outcome = Outcome::Rewritten;
        } else if report.outcome != Outcome::Rewritten {
            report.outcome = Outcome::Read;
        }
        if let Some(row) = &cursor.row
            && !is_as_read(row, stat, file, self.key)?
        {
            cursor.row = None;
        }
        let again = self.again.take(source, &cursor.generation);
        let before = self.sessions.map(|_| report.clone());
        let mut scan = self.scan(link, path, file, stat, source, &cursor, again, report)?;
        if let Scan::Held(from) = scan {
            if let Some(before) = before {
                *report = before;
            }
            report.outcome = Outcome::Held;
            if cursor.reading_again.is_some() {
                // What is recorded as one waits as one.
                return Ok(Progress::Done);
            }
            // As if the file ended before that row.
            let stat = FileStat { size: from, ..*stat };
            scan = self.scan(link, path, file, &stat, source, &cursor, None, report)?;
        }
        let (rest, after, intent) = match scan {
            Scan::Whole { rest, after, intent } => (rest, after, intent),
            Scan::Part(again) => {
                self.again.keep(source, again);
                return Ok(Progress::Behind);
            }
            Scan::Changed | Scan::Held(_) => {
                report.outcome = Outcome::Changing;
                if cursor.row.take().is_some() {
                    // Some of it may have been changed: it is begun anew.
                    self.journal.save_cursor(source, &cursor)?;
                }
                return Ok(Progress::Done);
            }
        };
        let behind = rest == Rest::More;
        let (settled, position) = (after.settled, after.position);
        if let Some(intent) = intent {
            // record: one event, in three commits
            self.journal.intend(source, &intent)?;
            killpoint::pass(KillPoint::IntentCommitted);
            self.record(source, &intent, Some(file), report)?;
        } else {
            if after != cursor {
                self.journal.save_cursor(source, &after)?;
            }
            if !behind {
                self.move_marker(link, file, position, report)?;
            }
        }
        let is_even = report.is_fork || report.marker_after == Some(position);
        report.settled = settled.filter(|_| is_even);
        Ok(if behind { Progress::Behind } else { Progress::Done })
    }

    /// Scans, classifies and filters one window. Of a file that is read again, nothing is recorded
    /// before it is read up to where it ended when that was found out.
    #[expect(clippy::too_many_arguments, reason = "the means of one step, each used once")]
    fn scan(
        &self,
        link: &Link,
        path: &Path,
        file: &dyn Transcript,
        stat: &FileStat,
        source: SourceRow,
        cursor: &SourceCursor,
        again: Option<Again>,
        report: &mut LinkReport,
    ) -> Result<Scan, Failure> {
        let Again { at, mut sift } = match again {
            Some(again) => again,
            None => Again { at: cursor.clone(), sift: sift(source, cursor, stat) },
        };
        sift.go_on();
        let echoes = || self.echoes(&link.id, source.link);
        let known = Known {
            journal: self.journal,
            echoes: &echoes,
            is_running: &|| self.is_running(&link.id),
            holds_all: self.rules.holds_all,
        };
        let reader = Reader::new(self.key, self.rules.classify, at.reader.clone())
            .explaining(self.rules.explain);
        let part = at.row.as_ref().map(|row| row.line.clone());
        let mut lines = Lines::new(file, reader, self.rules.scan_window, at.position, part)
            .ending_early(self.is_awaited);
        let rest = loop {
            let rest = lines.pass(stat.size, |line| {
                self.tell(path, &line.report);
                let (extent, explain) = (line.extent, self.rules.explain);
                let goes_on = sift.take(&known, extent, line.report, report, explain)?;
                if goes_on { Ok(()) } else { Err(Stop::Held(extent.start)) }
            });
            let rest = match rest {
                Ok(rest) => rest,
                Err(Stop::Held(from)) => return Ok(Scan::Held(from)),
                Err(Stop::Failed(Failure::File(error)))
                    if error.kind() == io::ErrorKind::InvalidData =>
                {
                    return Ok(Scan::Changed);
                }
                Err(Stop::Failed(failure)) => return Err(failure),
            };
            let is_part = at.reading_again.is_some_and(|until| lines.position() < until);
            // A window a cycle would never end what no cycle may leave half done.
            if !is_part || rest != Rest::More || self.rules.at_once {
                break rest;
            }
        };
        // Was it the same content all the while?
        let now = file.stat()?;
        let to = lines.position();
        let unchanged_before = now.size >= lines.part().map_or(to, LongLine::read)
            && at.mark.as_ref().map_or(Ok(true), |expected| {
                probe::mark(file, at.position, self.key).map(|mark| mark == *expected)
            })?
            && at.row.as_ref().map_or(Ok(true), |row| is_as_read(row, &now, file, self.key))?;
        let mark = probe::mark_after(file, to, lines.tail(), self.key)?;
        let Some(mark) = mark.filter(|_| unchanged_before) else {
            return Ok(Scan::Changed);
        };
        let row = match lines.part() {
            None => None,
            Some(part) => {
                let mark = probe::mark_after(file, part.read(), lines.part_tail(), self.key)?;
                let Some(mark) = mark else {
                    return Ok(Scan::Changed);
                };
                Some(RowInPart { line: part.clone(), mark })
            }
        };
        let still_again = at.reading_again.filter(|until| to < *until);
        let at_end = matches!(rest, Rest::Nothing | Rest::Partial);
        let after = SourceCursor {
            position: to,
            mark: Some(mark),
            settled: (at_end && now == *stat).then_some(now),
            reading_again: still_again,
            row,
            reader: lines.into_reader().into_state(),
            last_uuid: sift.last_uuid.clone().or_else(|| at.last_uuid.clone()),
            sighted_at: Some(self.clock.now()),
            modified_at: Some(now.modified),
            ..at
        };
        if still_again.is_some() && rest == Rest::More {
            return Ok(Scan::Part(Again { at: after, sift }));
        }
        let (rows, excused) = sift.finish();
        let intent = (!rows.is_empty()).then(|| Intent {
            session_key: link.id.session_key.clone(),
            agent_id: link.id.agent_id.clone(),
            catalog_id: link.catalog_id.clone(),
            source_key: link.source_key(),
            is_fork: report.is_fork,
            node: None,
            generation: cursor.generation.clone(),
            from: cursor.position,
            to,
            seen: cursor.seen,
            rows,
            excused,
            after: after.clone(),
        });
        Ok(Scan::Whole { rest, after, intent })
    }

    /// Tells the observer what a line holds that a person should know.
    fn tell(&self, path: &Path, judged: &LineReport) {
        if let Some(skipped) = &judged.skipped {
            self.observer.observe(&Fact::RowSkipped {
                path,
                offset: skipped.offset,
                length: skipped.length,
                category: skipped.category.name(),
            });
        }
        for drift in judged.rows.iter().flat_map(|row| &row.drift) {
            self.observer.observe(&Fact::Drift {
                field: drift.field,
                name: &drift.name,
                version: drift.version.as_deref(),
            });
        }
    }
}

/// The filter of the windows from a cursor on.
fn sift(source: SourceRow, cursor: &SourceCursor, stat: &FileStat) -> Sift {
    let until = if cursor.newborn { Some(u64::MAX) } else { cursor.reading_again };
    let history =
        until.map(|until| History { until, floor: cursor.floor, is_of_others: cursor.newborn });
    Sift::new(source.link, stat.modified, history)
}

/// The cursor of a file that was rewritten: a new generation, from its start. What was counted is
/// known by its rows, and what was there before we came by its time.
fn begin_again(cursor: &SourceCursor, stat: &FileStat) -> Result<SourceCursor> {
    Ok(SourceCursor {
        generation: Generation::random()?,
        position: 0,
        mark: None,
        settled: None,
        row: None,
        reading_again: Some(stat.size.max(cursor.history_end)),
        reader: crate::classify::ReaderState::default(),
        ..cursor.clone()
    })
}

/// Whether the file still holds what was read of a row, as far as can be told.
fn is_as_read(
    row: &RowInPart,
    stat: &FileStat,
    file: &dyn Transcript,
    key: &HashKey,
) -> io::Result<bool> {
    Ok(stat.size >= row.line.read() && probe::mark(file, row.line.read(), key)? == row.mark)
}
