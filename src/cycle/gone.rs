//! A file that is missing: counted, and once it is missing for good, acted on by its cause.

use super::report::{LinkReport, Outcome};
use super::{Cycle, Progress};
use crate::disk::OpenError;
use crate::error::Result;
use crate::ids::Generation;
use crate::journal::{SourceCursor, SourceRow};
use crate::killpoint::{self, KillPoint};
use crate::link::{Link, LinkId, file_ref};
use crate::observe::Fact;
use crate::probe::missing::{Cause, cause};
use crate::record::MissingCause;
use std::path::Path;

impl Cycle<'_> {
    /// Counts a sight of a missing file.
    pub(super) fn missing(
        &mut self,
        link: &Link,
        path: &Path,
        known: Option<(SourceRow, SourceCursor)>,
        report: &mut LinkReport,
    ) -> Result<Progress> {
        let Some((source, cursor)) = self.miss(link, path, known, report)? else {
            return Ok(Progress::Done);
        };
        let session = &link.id.session_key;
        let cause = cause(self.disk, link, path, &cursor, self.key);
        let word = cause.to_string();
        self.observer.observe(&Fact::Gone { session, path, cause: &word });
        match cause {
            Cause::StoreGone => {
                report.outcome = Outcome::StoreGone;
                report.error = Some(format!("the Claude folder of {} is missing", path.display()));
                Ok(Progress::Done)
            }
            Cause::Unclear => {
                report.error = Some(format!(
                    "{} is missing, and may be in a folder or file that cannot be read",
                    path.display()
                ));
                Ok(Progress::Done)
            }
            Cause::Moved(to) => self.moved(link, &to, report),
            Cause::Final(cause) => {
                self.end_link(link, source, cause, report)?;
                Ok(Progress::Done)
            }
        }
    }

    /// Counts a sight of a missing transcript; gives its source once it is missing for good.
    pub(super) fn miss(
        &mut self,
        link: &Link,
        path: &Path,
        known: Option<(SourceRow, SourceCursor)>,
        report: &mut LinkReport,
    ) -> Result<Option<(SourceRow, SourceCursor)>> {
        let now = self.clock.now();
        let (source, mut cursor) = if let Some(known) = known {
            known
        } else {
            let cursor = SourceCursor::unseen(Generation::random()?, link.created_at);
            (self.journal.add_source(&link.id, &link.source_key(), &cursor)?, cursor)
        };
        report.outcome = Outcome::Missing;
        let too_soon = cursor
            .missed_at
            .is_some_and(|at| (0..self.rules.miss_interval_ms).contains(&now.ms_since(at)));
        if too_soon {
            return Ok(None);
        }
        cursor.misses = cursor.misses.saturating_add(1).min(self.rules.misses);
        cursor.missed_at = Some(now);
        self.journal.save_cursor(source, &cursor)?;
        let session = &link.id.session_key;
        self.observer.observe(&Fact::Missing { session, path, misses: cursor.misses });
        Ok((cursor.misses >= self.rules.misses).then_some((source, cursor)))
    }

    /// Records that a link's transcript is gone for good; the link is gone with it.
    pub(super) fn end_link(
        &mut self,
        link: &Link,
        source: SourceRow,
        cause: MissingCause,
        report: &mut LinkReport,
    ) -> Result<()> {
        report.outcome = match cause {
            MissingCause::Retention => Outcome::Retention,
            MissingCause::Deleted => Outcome::Deleted,
        };
        let now = self.clock.now();
        let event = self.log.record_missing(&link.id, &link.source_key(), cause, now)?;
        killpoint::pass(KillPoint::MissingCommitted);
        self.journal.forget_link(source.link)?;
        report.event = event.map(|event| event.sequence).or(report.event);
        report.marker_after = None;
        Ok(())
    }

    /// Follows a link's file to where it was moved, without waiting for more sights of it missing;
    /// says whether it was moved.
    pub fn follow_moved(&mut self, id: &LinkId) -> Result<bool> {
        let Some(link) = self.log.link(id)? else { return Ok(false) };
        let Some(path) = link.path() else { return Ok(false) };
        if !matches!(self.disk.open(&path), Err(OpenError::Missing)) {
            return Ok(false);
        }
        let Some((_, cursor)) = self.known(&link)? else { return Ok(false) };
        let Cause::Moved(to) = cause(self.disk, &link, &path, &cursor, self.key) else {
            return Ok(false);
        };
        let session = &link.id.session_key;
        self.observer.observe(&Fact::Gone { session, path: &path, cause: "moved" });
        self.moved(&link, &to, &mut LinkReport::new(link.clone()))?;
        Ok(true)
    }

    /// Follows a file to its new path; its content goes on, so no event.
    fn moved(&mut self, link: &Link, to: &Path, report: &mut LinkReport) -> Result<Progress> {
        let Some(ref_json) = file_ref(to) else {
            report.error =
                Some(format!("{} is no UTF-8 path and cannot be followed", to.display()));
            return Ok(Progress::Done);
        };
        report.outcome = Outcome::Moved;
        self.log.repoint(&link.id, &link.source_key(), &ref_json, self.clock.now())?;
        killpoint::pass(KillPoint::MoveCommitted);
        // The next pass finds the link's source under its new key.
        Ok(Progress::Behind)
    }
}
