//! One cycle: link → probe → scan → classify → echo → record.
//!
//! Answers: what is new in each source, and records it once. Always holds: a source is passed in
//! windows, round robin; its position moves only with what was recorded; what fails for one source
//! stays with that source. Deliberately elsewhere: when a cycle runs (`daemon`), how each step is
//! done (the module of its name).

mod adoption;
mod again;
mod backfill;
mod first_sight;
mod fork;
mod gone;
mod node;
mod reading;
mod recording;
mod report;
mod session;
mod sift;
#[cfg(test)]
mod tests;

use crate::classify::Settings as ClassifySettings;
use crate::clock::Clock;
use crate::disk::{Disk, OpenError};
use crate::echo;
use crate::error::{Error, Result};
use crate::ids::{HashKey, Sequence};
use crate::journal::{Journal, SourceCursor, SourceRow};
use crate::link::{Link, LinkId};
use crate::observe::{Fact, Observer};
use crate::openclaw::nodes::Nodes;
use crate::openclaw::sessions::Sessions;
use crate::openclaw::socket::ActiveRuns;
use crate::record::{LinkFilter, SignalLog};
pub use adoption::{AdoptedLink, Adoption, From as AdoptFrom, unlink};
pub use again::ReadingAgain;
pub use backfill::{AdoptedSession, Backfill, BackfillReport, EventState, LinkState};
pub use first_sight::Sighting;
pub use report::{CycleReport, LinkReport, Outcome};
use session::Session;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::Path;

/// How a cycle is done.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "they are settings, each by itself")]
pub struct Rules {
    /// Bytes that a pass reads of a source.
    pub scan_window: u64,
    /// Whether a source that is behind is passed again in the same cycle.
    pub at_once: bool,
    /// Consecutive sights of a missing file after which it is gone.
    pub misses: u32,
    /// How far apart two such sights must be, in ms.
    pub miss_interval_ms: i64,
    /// How rows are compared with own texts.
    pub echo: echo::Mode,
    /// How many own texts they are compared with.
    pub own_texts: usize,
    /// What counts as a turn.
    pub classify: ClassifySettings,
    /// Whether links that nobody watches are read.
    pub unwatched: bool,
    /// Whether, while OpenClaw runs a turn in a session, all of its rows that count wait, and not
    /// only those that do not say who wrote them.
    pub holds_all: bool,
    /// Whether reports hold each row's verdict.
    pub explain: bool,
}

impl Rules {
    /// Which links are followed.
    #[must_use]
    pub const fn filter(&self) -> LinkFilter {
        if self.unwatched { LinkFilter::All } else { LinkFilter::Watched }
    }
}

/// One cycle's means.
pub struct Cycle<'a> {
    /// The signal log.
    pub log: &'a mut SignalLog,
    /// Our own database.
    pub journal: &'a mut Journal,
    /// The rewritten files that are being read again.
    pub again: &'a mut ReadingAgain,
    /// The transcripts.
    pub disk: &'a dyn Disk,
    /// The time.
    pub clock: &'a dyn Clock,
    /// Who listens.
    pub observer: &'a dyn Observer,
    /// The key of hashes.
    pub key: &'a HashKey,
    /// How it is done.
    pub rules: &'a Rules,
    /// The sessions of the gateway that we are beside, if we are.
    pub sessions: Option<&'a dyn Sessions>,
    /// Who knows in which of them turns run, where the gateway can be asked.
    pub runs: Option<&'a dyn ActiveRuns>,
    /// Who reads the transcripts of its paired nodes.
    pub nodes: Option<&'a dyn Nodes>,
    /// Whether somebody waits, so that the pass at hand is to end with what it has read.
    pub is_awaited: &'a dyn Fn() -> bool,
}

/// Whether a source has more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Done,
    Behind,
}

impl<'a> Cycle<'a> {
    /// Runs the cycle over all links, each as far as the rules say.
    pub fn run(&mut self) -> Result<CycleReport> {
        self.finish_open_intents()?;
        self.forget_old_links()?;
        let mut report = CycleReport::default();
        for link in self.log.links(self.rules.filter())? {
            report.links.push(LinkReport::new(link));
        }
        let mut waiting: VecDeque<usize> = (0..report.links.len()).collect();
        while !waiting.is_empty() {
            let mut asked = VecDeque::new();
            while let Some(index) = waiting.pop_front() {
                let Some(link_report) = report.links.get_mut(index) else {
                    continue;
                };
                self.pass_by_id(link_report, &mut report.events)?;
                if link_report.outcome == Outcome::Asked {
                    asked.push_back(index);
                } else if link_report.behind && self.rules.at_once {
                    waiting.push_back(index);
                }
            }
            // Nodes are waited for once everything else is done.
            if self.nodes.is_some_and(Nodes::wait) {
                waiting = asked;
            }
        }
        Ok(report)
    }

    /// One pass over a link's source; `None` where there is no such link. Whoever calls has seen to
    /// it that no intent is open (`tidy`).
    pub fn look(&mut self, id: &LinkId) -> Result<Option<LinkReport>> {
        let Some(link) = self.log.link(id)? else { return Ok(None) };
        let mut report = LinkReport::new(link.clone());
        self.pass_link(&link, &mut report)?;
        Ok(Some(report))
    }

    /// Finishes what an earlier life, or one that failed, began, and forgets what is left of links
    /// that are no more.
    pub fn tidy(&mut self) -> Result<()> {
        self.finish_open_intents()?;
        self.forget_old_links()
    }

    /// Forgets what the journal holds of links that are no more.
    fn forget_old_links(&mut self) -> Result<()> {
        let links: HashSet<LinkId> =
            self.log.links(LinkFilter::All)?.into_iter().map(|link| link.id).collect();
        for (row, id) in self.journal.links()? {
            if !links.contains(&id) {
                // What was forgotten on purpose is not lost.
                if !self.journal.is_buried(&id)? {
                    self.has_lost(&id, self.journal.last_event(row)?)?;
                }
                self.journal.forget_link(row)?;
            }
        }
        Ok(())
    }

    /// Whether the signal log lost an event that we had recorded, and says so.
    fn has_lost(&self, id: &LinkId, event: Sequence) -> Result<bool> {
        let lost = event > Sequence::default() && self.log.has_lost(id, event)?;
        if lost {
            self.observer.observe(&Fact::LogRestored { session: &id.session_key, event });
        }
        Ok(lost)
    }

    fn sighting(&self, link: &Link) -> Result<Sighting<'a>> {
        // Where nobody has read yet, no event can be about rows behind the marker.
        let is_new = link.last_scanned_at.is_none();
        let seen = if is_new { self.log.last_sequence_ever()? } else { Sequence::default() };
        Ok(Sighting {
            seen,
            key: self.key,
            classify: self.rules.classify,
            scan_window: self.rules.scan_window,
            now: self.clock.now(),
            born: None,
        })
    }

    /// One pass over a source, as its link stands now. What fails for the source is in the report;
    /// an error is of the databases, which are everybody's.
    fn pass_by_id(&mut self, report: &mut LinkReport, events: &mut Vec<Sequence>) -> Result<()> {
        report.behind = false;
        report.settled = None;
        let Some(link) = self.log.link(&report.link.id)? else {
            report.outcome = Outcome::LinkGone;
            report.marker_after = None;
            return Ok(());
        };
        let seen = |report: &LinkReport| report.each().filter_map(|of| of.event).collect();
        let before: Vec<Sequence> = seen(report);
        self.pass_link(&link, report)?;
        events.extend(seen(report).into_iter().filter(|event| !before.contains(event)));
        Ok(())
    }

    /// One pass over the file that a link names, and over the forks of it.
    fn pass_link(&mut self, link: &Link, report: &mut LinkReport) -> Result<()> {
        let Some(session) = self.session(link, report) else { return Ok(()) };
        self.pass_source(link, report)?;
        match session {
            Session::Ours => Ok(()),
            Session::Gateways { continued_in } => {
                self.pass_forks(link, continued_in.as_ref(), report)
            }
        }
    }

    fn pass_source(&mut self, link: &Link, report: &mut LinkReport) -> Result<()> {
        match self.pass(link, report) {
            Ok(progress) => report.behind = progress == Progress::Behind,
            Err(error @ (Error::Database { .. } | Error::Refused(_) | Error::Busy(_))) => {
                return Err(error);
            }
            Err(error) => report.error = Some(error.to_string()),
        }
        Ok(())
    }

    fn pass(&mut self, link: &Link, report: &mut LinkReport) -> Result<Progress> {
        // link: which source
        let source_key = link.source_key();
        report.source = source_key.clone();
        if let Some(transcript) = link.on_node() {
            return self.pass_node(link, &transcript, report);
        }
        let Some(path) = link.path() else {
            report.outcome = Outcome::Refused;
            report.error = Some("the link names no file".to_owned());
            self.observer.observe(&Fact::Refused { session: &link.id.session_key });
            return Ok(Progress::Done);
        };
        let known = if report.is_fork {
            let known = self.journal.source(&link.id, &source_key)?;
            if known.is_none() {
                return Ok(Progress::Done);
            }
            known
        } else {
            self.known(link)?
        };

        // probe: what is there
        let opened = self.disk.open(&path).and_then(|file| {
            let stat = file.stat().map_err(OpenError::Unreadable)?;
            Ok((file, stat))
        });
        let (file, stat) = match opened {
            Ok(opened) => opened,
            Err(OpenError::Missing) if report.is_fork => {
                // That a fork went says nothing of the session.
                report.outcome = Outcome::Missing;
                return Ok(Progress::Done);
            }
            Err(OpenError::Missing) => return self.missing(link, &path, known, report),
            Err(OpenError::Outside) => {
                report.outcome = Outcome::Refused;
                report.error = Some(format!("{} is in no Claude folder", path.display()));
                self.observer.observe(&Fact::Refused { session: &link.id.session_key });
                return Ok(Progress::Done);
            }
            Err(OpenError::Unreadable(error)) => {
                return Ok(self.unreadable(link, &path, &error, report));
            }
        };
        match self.read(link, &path, file.as_ref(), &stat, known, report) {
            Err(Failure::File(error)) => Ok(self.unreadable(link, &path, &error, report)),
            Err(Failure::Ours(error)) => Err(error),
            Ok(progress) => Ok(progress),
        }
    }

    /// What the journal knows of a link's source.
    fn known(&mut self, link: &Link) -> Result<Option<(SourceRow, SourceCursor)>> {
        let key = link.source_key();
        let mut known = self.journal.source(&link.id, &key)?;
        if known.is_none() && self.journal.rename_source(&link.id, &key)? {
            // Its file was found elsewhere, or it was adopted again from elsewhere: the content,
            // if it is the same, goes on.
            known = self.journal.source(&link.id, &key)?;
        }
        let Some((source, cursor)) = known else { return Ok(None) };
        // Unlinked and adopted again: what happened in between is not ours to count. A signal log
        // that was restored: what it lost is to be recorded again, from its own marker.
        let is_other = cursor.linked_at != link.created_at;
        if is_other || self.has_lost(&link.id, cursor.last_event)? {
            self.journal.forget_link(source.link)?;
            return Ok(None);
        }
        Ok(Some((source, cursor)))
    }

    fn unreadable(
        &self,
        link: &Link,
        path: &Path,
        error: &io::Error,
        report: &mut LinkReport,
    ) -> Progress {
        let reason = error.to_string();
        self.observer.observe(&Fact::Unreadable {
            session: &link.id.session_key,
            path,
            reason: &reason,
        });
        report.outcome = Outcome::Unreadable;
        report.error = Some(format!("{} cannot be read: {reason}", path.display()));
        Progress::Done
    }
}

/// What ended a pass: the file, which concerns its source alone, or something of ours.
enum Failure {
    File(io::Error),
    Ours(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}
