//! The three commits of Record: the journal's intent, the signal log's event, the journal's end.

use super::Cycle;
use super::report::{LinkReport, Outcome};
use crate::classify::lines::{JudgedLine, Lines};
use crate::classify::{Reader, ReaderState};
use crate::disk::{Transcript, read_range};
use crate::error::Result;
use crate::ids::Timestamp;
use crate::journal::{CountableRow, Intent, OpenIntent, SourceRow};
use crate::killpoint::{self, KillPoint};
use crate::link::{Link, LinkId};
use crate::observe::Fact;
use crate::record::{Ahead, MarkerOutcome, WindowOutcome, WindowRecord};
use crate::scan::window::Rest;
use std::io;

impl Cycle<'_> {
    /// Records what an earlier life of ours had written down and not applied.
    pub(super) fn finish_open_intents(&mut self) -> Result<()> {
        for open in self.journal.open_intents()? {
            self.finish(&open)?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, open: &OpenIntent) -> Result<()> {
        let id = LinkId {
            session_key: open.intent.session_key.clone(),
            agent_id: open.intent.agent_id.clone(),
        };
        // The file may be gone or another: it is asked only whether a marker fits it; of a fork there
        // is none.
        let link = self.log.link(&id)?.filter(|_| !open.intent.is_fork);
        let path = link.and_then(|link| link.path());
        let file = path.and_then(|path| self.disk.open(&path).ok());
        self.carry_out(open.source, &open.intent, file.as_deref()).map(drop)
    }

    pub(super) fn record(
        &mut self,
        source: SourceRow,
        intent: &Intent,
        file: Option<&dyn Transcript>,
        report: &mut LinkReport,
    ) -> Result<()> {
        match self.carry_out(source, intent, file)? {
            None => {
                report.outcome = Outcome::LinkGone;
                report.marker_after = None;
            }
            Some(recorded) => {
                report.turns += recorded.turns;
                report.event = recorded.sequence.or(report.event);
                if !report.is_fork {
                    report.marker_after =
                        self.log.link(&report.link.id)?.and_then(|link| link.marker());
                }
            }
        }
        Ok(())
    }

    /// Commits 2 and 3 of Record; `None` where the link is gone. What was recorded by an earlier
    /// life is found there and not recorded again.
    fn carry_out(
        &mut self,
        source: SourceRow,
        intent: &Intent,
        file: Option<&dyn Transcript>,
    ) -> Result<Option<WindowRecord>> {
        let mut ahead = Ahead::Unseen;
        let mut linked = None;
        let recorded = loop {
            match self.log.record_window(intent, linked.as_deref(), ahead, self.clock.now())? {
                WindowOutcome::LinkedNeeded => linked = Some(self.linked_rows(file)),
                WindowOutcome::Recorded(recorded) => break recorded,
                WindowOutcome::MarkerAhead(marker) => ahead = look_ahead(file, marker),
                WindowOutcome::LinkGone => {
                    self.journal.drop_intent(source)?;
                    return Ok(None);
                }
            }
        };
        killpoint::pass(KillPoint::EventCommitted);
        let session = &intent.session_key;
        if let Some(sequence) = recorded.sequence {
            self.observer.observe(&Fact::Recorded { session, sequence, turns: recorded.turns });
        }
        if recorded.unplaced > 0 {
            self.observer.observe(&Fact::Unplaced { session, events: recorded.unplaced });
        }
        self.journal.apply(source, intent, recorded.newest_seen, recorded.sequence)?;
        killpoint::pass(KillPoint::IntentApplied);
        Ok(Some(recorded))
    }

    /// Moves a link's marker over rows that do not count; of a fork there is none.
    pub(super) fn move_marker(
        &mut self,
        link: &Link,
        file: &dyn Transcript,
        to: u64,
        report: &mut LinkReport,
    ) -> Result<()> {
        if report.is_fork {
            return Ok(());
        }
        if link.marker() == Some(to) {
            report.marker_after = Some(to);
            return Ok(());
        }
        let mut ahead = Ahead::Unseen;
        let source = link.source_key();
        loop {
            match self.log.move_marker(&link.id, &source, to, ahead, self.clock.now())? {
                MarkerOutcome::Moved => {
                    report.marker_after = Some(to);
                    return Ok(());
                }
                MarkerOutcome::Stands => return Ok(()),
                MarkerOutcome::MarkerAhead(marker) => ahead = look_ahead(Some(file), marker),
                MarkerOutcome::LinkGone => {
                    report.outcome = Outcome::LinkGone;
                    report.marker_after = None;
                    return Ok(());
                }
            }
        }
    }
}

impl Cycle<'_> {
    /// The countable rows of the linked file as it is now, in file order; none where it cannot be
    /// read.
    fn linked_rows(&self, file: Option<&dyn Transcript>) -> Vec<CountableRow> {
        file.and_then(|file| self.countable_rows(file).ok()).unwrap_or_default()
    }

    fn countable_rows(&self, file: &dyn Transcript) -> io::Result<Vec<CountableRow>> {
        let stat = file.stat()?;
        let reader = Reader::new(self.key, self.rules.classify, ReaderState::default());
        let mut lines = Lines::new(file, reader, self.rules.scan_window, 0, None);
        let mut rows = Vec::new();
        let mut take = |line: JudgedLine| -> io::Result<()> {
            let countable = |identity, at: Option<Timestamp>, ours, gateway| CountableRow {
                identity,
                aliases: Vec::new(),
                start: line.extent.start,
                end: line.extent.next,
                at: at.unwrap_or(stat.modified),
                ours,
                gateway,
            };
            for row in line.report.rows {
                for proven in row.proves {
                    let ours = proven.verdict.human;
                    rows.push(countable(proven.identity, proven.at, ours, false));
                }
                let (ours, gateway) = (row.verdict.human, row.compat.is_some());
                if let Some(identity) = row.identity.filter(|_| ours || gateway) {
                    rows.push(countable(identity, row.at, ours, gateway));
                }
            }
            Ok(())
        };
        while lines.pass(stat.size, &mut take)? == Rest::More {}
        Ok(rows)
    }
}

/// Whether a marker beyond our own position belongs to the file: it then is just after a line end.
fn look_ahead(file: Option<&dyn Transcript>, marker: u64) -> Ahead {
    let before = marker.saturating_sub(1);
    let fits = file.is_some_and(|file| {
        marker == 0 || read_range(file, before, marker).is_ok_and(|bytes| bytes == b"\n")
    });
    if fits { Ahead::Keep(marker) } else { Ahead::Replace(marker) }
}
