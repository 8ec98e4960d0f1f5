//! The transcript of a paired node: read back to what is known, and recorded as one window.
//!
//! Always holds: nobody waits here for a node, a pass takes what was read since the one before and
//! has more read; rows are placed by their offsets in the node's file, as those of a file of ours.
//! What a node tells of a row is its words, its time and its uuid: no field says who wrote it, so
//! that rows wait while OpenClaw runs a turn, and are compared with what it sent.

use super::report::{LinkReport, Outcome};
use super::sift::{History, Known, Sift};
use super::{Cycle, Progress};
use crate::classify::{Reader, ReaderState};
use crate::error::Result;
use crate::ids::{Generation, Identity, Timestamp};
use crate::journal::{Intent, NodeWindow, PassedRow, SourceCursor, SourceRow};
use crate::killpoint::{self, KillPoint};
use crate::link::{Link, OnNode, RowMarker};
use crate::observe::Fact;
use crate::openclaw::nodes::{Reading, Silence};
use crate::record::{MarkerOutcome, MissingCause};
use crate::scan::line::{Extent, Line};
use crate::scan::node::{End, Goal, Item, Walk};
use std::path::PathBuf;

/// How far below a time the floor lies, as for a file.
const FLOOR_MARGIN_MS: i64 = 60_000;

/// Rows at which the gateway's marker may stand that is to move on, or its events may end; it looks
/// at the newest 50.
const PASSED: usize = 1_000;

/// A window of a node's transcript, the oldest row first.
struct NodeRows<'a> {
    source: SourceRow,
    cursor: SourceCursor,
    items: Vec<&'a Item>,
    /// Whether the file is another one than was read before: what is known or old is history.
    is_again: bool,
}

impl Cycle<'_> {
    /// One pass over the transcript of a paired node.
    pub(super) fn pass_node(
        &mut self,
        link: &Link,
        transcript: &OnNode,
        report: &mut LinkReport,
    ) -> Result<Progress> {
        let Some(nodes) = self.nodes else {
            report.outcome = Outcome::Unreadable;
            report.error =
                Some("the session is on a paired node, and there is no gateway".to_owned());
            return Ok(Progress::Done);
        };
        let known = self.known(link)?.filter(|(_, cursor)| cursor.sighted_at.is_some());
        let goal = goal(link, known.as_ref().map(|(_, cursor)| cursor));
        match nodes.read(&link.id, transcript, &goal) {
            Reading::UnderWay => report.outcome = Outcome::Asked,
            Reading::Done(walk, end) => self.read_node(link, &walk, end, known, report)?,
            Reading::Failed(Silence::Missing) => self.missing_on_node(link, report)?,
            Reading::Failed(silence) => {
                report.outcome = Outcome::Unreadable;
                let reason = silence.to_string();
                let (session, path) = (&link.id.session_key, &place(link));
                self.observer.observe(&Fact::Unreadable { session, path, reason: &reason });
                report.error = Some(reason);
            }
        }
        Ok(Progress::Done)
    }

    fn read_node(
        &mut self,
        link: &Link,
        walk: &Walk,
        end: End,
        known: Option<(SourceRow, SourceCursor)>,
        report: &mut LinkReport,
    ) -> Result<()> {
        let mut rows = if let Some((source, cursor)) = known {
            self.next_rows(link, source, cursor, walk, end)?
        } else {
            report.is_new = true;
            self.first_rows(link, walk, end)?
        };
        report.outcome = match (rows.is_again, rows.items.is_empty()) {
            (true, _) => Outcome::Rewritten,
            (false, true) => Outcome::Unchanged,
            (false, false) => Outcome::Read,
        };
        let before = report.clone();
        let (mut sift, held) = self.sift_node(link, &rows, report)?;
        if let Some(at) = held {
            *report = before;
            report.outcome = Outcome::Held;
            if rows.is_again {
                // What is recorded as one waits as one.
                return Ok(());
            }
            rows.items.truncate(at);
            (sift, _) = self.sift_node(link, &rows, report)?;
        }
        self.record_node(link, walk, &rows, sift, report)
    }

    /// Where a link is seen for the first time: what stands before its marker is history.
    fn first_rows<'w>(&mut self, link: &Link, walk: &'w Walk, end: End) -> Result<NodeRows<'w>> {
        if link.last_scanned_at.is_some() {
            self.observer.observe(&Fact::JournalLost { session: &link.id.session_key });
        }
        let now = self.clock.now();
        let mut cursor = SourceCursor::unseen(Generation::random()?, link.created_at);
        cursor.seen = self.sighting(link)?.seen;
        cursor.sighted_at = Some(now);
        let (new, old) = match end {
            End::Found(at) => walk.items.split_at(at),
            // A link without a marker is followed from its end.
            End::NotFound if link.row_marker() == RowMarker::Unknown => walk.items.split_at(0),
            End::NotFound => (walk.items.as_slice(), [].as_slice()),
        };
        let mut is_again = false;
        if let Some(marker) = old.first() {
            cursor.position = marker.end;
            cursor.last_uuid.clone_from(&marker.uuid);
            let last = old.iter().find_map(|item| item.at).unwrap_or(link.created_at);
            cursor.floor = Some(last.min(now).plus_ms(-FLOOR_MARGIN_MS));
        } else if walk.goal.uuid.is_some() {
            // It was rewritten before we ever saw it.
            cursor.floor = walk.goal.floor;
            cursor.reading_again = Some(u64::MAX);
            is_again = true;
        }
        let source = self.journal.add_source(&link.id, &link.source_key(), &cursor)?;
        let identities: Vec<Identity> = old.iter().filter_map(|item| self.identity(item)).collect();
        self.journal.learn(source.link, &identities)?;
        Ok(NodeRows { source, cursor, items: new.iter().rev().collect(), is_again })
    }

    /// What is new since the row that was read last; all of a file that is another one now.
    fn next_rows<'w>(
        &mut self,
        link: &Link,
        source: SourceRow,
        mut cursor: SourceCursor,
        walk: &'w Walk,
        end: End,
    ) -> Result<NodeRows<'w>> {
        if cursor.misses > 0 {
            cursor.misses = 0;
            cursor.missed_at = None;
            self.journal.save_cursor(source, &cursor)?;
        }
        let new = match end {
            End::Found(at) => walk.items.get(..at).unwrap_or_default(),
            End::NotFound => walk.items.as_slice(),
        };
        let is_other = end == End::NotFound && walk.goal.uuid.is_some();
        if is_other && !walk.items.is_empty() {
            let (session, path) = (&link.id.session_key, &place(link));
            self.observer.observe(&Fact::Rewritten { session, path });
            cursor = SourceCursor {
                generation: Generation::random()?,
                position: 0,
                last_uuid: None,
                reading_again: Some(u64::MAX),
                ..cursor
            };
            self.journal.save_cursor(source, &cursor)?;
            killpoint::pass(KillPoint::GenerationCommitted);
        }
        let is_again = cursor.reading_again.is_some() && !walk.items.is_empty();
        Ok(NodeRows { source, cursor, items: new.iter().rev().collect(), is_again })
    }

    /// Judges and filters the rows of a window, up to the one, by its index, that waits until
    /// OpenClaw's turn is over.
    fn sift_node(
        &self,
        link: &Link,
        rows: &NodeRows<'_>,
        report: &mut LinkReport,
    ) -> Result<(Sift, Option<usize>)> {
        let floor = rows.cursor.floor;
        let history =
            rows.is_again.then_some(History { until: u64::MAX, floor, is_of_others: false });
        let mut sift = Sift::new(rows.source.link, self.clock.now(), history);
        let echoes = || self.echoes(&link.id, rows.source.link);
        let known = Known {
            journal: self.journal,
            echoes: &echoes,
            is_running: &|| self.is_running(&link.id),
            holds_all: self.rules.holds_all,
        };
        for (index, item) in rows.items.iter().enumerate() {
            let Some((row, extent)) = line(item) else { continue };
            // Each by itself: what stood between them is not told.
            let judged = self.reader().explaining(self.rules.explain).read_line(&row);
            if !sift.take(&known, extent, judged, report, self.rules.explain)? {
                return Ok((sift, Some(index)));
            }
        }
        Ok((sift, None))
    }

    /// Records a window, or moves the marker over it where nothing in it counts.
    fn record_node(
        &mut self,
        link: &Link,
        walk: &Walk,
        rows: &NodeRows<'_>,
        sift: Sift,
        report: &mut LinkReport,
    ) -> Result<()> {
        // A row without a uuid cannot be come back to: it waits for one with.
        let newest = rows.items.iter().rev().find_map(|item| Some((item.uuid.as_ref()?, item.end)));
        let known = rows.cursor.last_uuid.as_ref().map(|uuid| (uuid, rows.cursor.position));
        let Some((newest, to)) = newest.or(known) else { return Ok(()) };
        let is_passed = |item: &&Item| item.end <= to;
        let passed = walk
            .items
            .iter()
            .filter(is_passed)
            .filter_map(|item| item.uuid.clone().map(|uuid| PassedRow { uuid, end: item.end }));
        let window = NodeWindow {
            newest: newest.clone(),
            passed: passed.take(PASSED).collect(),
            read_at: link.updated_at,
        };
        let after = SourceCursor {
            position: to,
            last_uuid: Some(newest.clone()),
            reading_again: None,
            sighted_at: Some(self.clock.now()),
            ..rows.cursor.clone()
        };
        let (mut countable, excused) = sift.finish();
        countable.retain(|row| row.end <= to);
        if countable.is_empty() {
            if (after.position, &after.last_uuid) != (rows.cursor.position, &rows.cursor.last_uuid)
                || after.reading_again != rows.cursor.reading_again
            {
                self.journal.save_cursor(rows.source, &after)?;
            }
            let (id, now) = (&link.id, self.clock.now());
            let moved = self.log.move_node_marker(id, &link.source_key(), &window, now)?;
            if moved == MarkerOutcome::LinkGone {
                report.outcome = Outcome::LinkGone;
            }
            return Ok(());
        }
        let intent = Intent {
            session_key: link.id.session_key.clone(),
            agent_id: link.id.agent_id.clone(),
            catalog_id: link.catalog_id.clone(),
            source_key: link.source_key(),
            is_fork: false,
            node: Some(window),
            generation: rows.cursor.generation.clone(),
            from: rows.cursor.position,
            to,
            seen: rows.cursor.seen,
            rows: countable,
            excused,
            after,
        };
        self.journal.intend(rows.source, &intent)?;
        killpoint::pass(KillPoint::IntentCommitted);
        self.record(rows.source, &intent, None, report)
    }

    /// Counts a sight of a transcript that its node does not have.
    fn missing_on_node(&mut self, link: &Link, report: &mut LinkReport) -> Result<()> {
        let known = self.known(link)?;
        if let Some((source, _)) = self.miss(link, &place(link), known, report)? {
            let cause = MissingCause::Deleted;
            let (session, path) = (&link.id.session_key, &place(link));
            self.observer.observe(&Fact::Gone { session, path, cause: cause.as_str() });
            self.end_link(link, source, cause, report)?;
        }
        Ok(())
    }

    fn reader(&self) -> Reader {
        Reader::new(self.key, self.rules.classify, ReaderState::default())
    }

    /// What a row is known by, if it may count.
    fn identity(&self, item: &Item) -> Option<Identity> {
        let (line, _) = line(item)?;
        self.reader().read_line(&line).rows.pop()?.identity
    }
}

/// How far back a transcript is to be read.
fn goal(link: &Link, cursor: Option<&SourceCursor>) -> Goal {
    match cursor {
        Some(cursor) => Goal {
            uuid: cursor.last_uuid.clone(),
            end: cursor.last_uuid.as_ref().map(|_| cursor.position),
            floor: cursor.floor,
            further: false,
            asked_at: link.updated_at,
        },
        None => Goal {
            uuid: match link.row_marker() {
                RowMarker::Row(uuid) => Some(uuid),
                RowMarker::Start | RowMarker::Unknown => None,
            },
            end: None,
            floor: Some(scanned_at(link).plus_ms(-FLOOR_MARGIN_MS)),
            further: true,
            asked_at: link.updated_at,
        },
    }
}

/// When somebody last knew where the marker belongs.
fn scanned_at(link: &Link) -> Timestamp {
    link.last_scanned_at.unwrap_or(link.created_at)
}

/// A row as a line of a transcript, and where it stands.
fn line(item: &Item) -> Option<(Line<'_>, Extent)> {
    let bytes = item.row.as_deref()?;
    // How long it is there is not told.
    let start = item.end.saturating_sub(1);
    Some((Line { start, bytes, next: item.end }, Extent { start, next: item.end }))
}

/// What stands for a file's path in messages.
fn place(link: &Link) -> PathBuf {
    PathBuf::from(format!("{}/{}", link.host_id, link.thread_id))
}
