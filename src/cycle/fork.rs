//! Forks: the sessions in which OpenClaw goes on with what it adopted, followed beside it.
//!
//! OpenClaw's first turn after an adoption mostly forks the Claude session (`facts/gateway.md` §14):
//! its own prompts go to the fork, and so does a person who continues there. A fork begins with
//! copies of the linked file's rows, with their uuids: the linked file is read first, so that they
//! are known.

use super::first_sight::Sighting;
use super::report::{LinkReport, Outcome};
use super::{Cycle, Failure};
use crate::disk::{OpenError, Transcript};
use crate::error::{Error, Result};
use crate::ids::ThreadId;
use crate::journal::{LinkRow, SourceCursor};
use crate::link::{Fork, Link, LinkId, file_ref};
use std::path::PathBuf;

impl Cycle<'_> {
    /// Whether OpenClaw goes on with a link in a fork that is not followed yet.
    pub fn has_new_fork(&self, link: &Link) -> Result<bool> {
        Ok(self.new_fork(link)?.is_some())
    }

    /// One pass over each fork of a link, after one over the link's own file. Those that are
    /// followed already wait until that file is read to its end. `is_new` where the link was seen for
    /// the first time: then what stands in its fork is history.
    pub(super) fn pass_forks(
        &mut self,
        link: &Link,
        is_new: bool,
        report: &mut LinkReport,
    ) -> Result<()> {
        if report.behind || report.outcome.ends_link() {
            return Ok(());
        }
        if let Some((fork, path)) = self.new_fork(link)? {
            self.follow(link, &fork, &path, is_new)?;
        }
        for fork in self.journal.forks(&link.id)? {
            let named = link.to_fork(fork);
            let key = named.source_key();
            let at = report.forks.iter().position(|fork| fork.source == key);
            let mut of_fork = match at {
                Some(at) => report.forks.swap_remove(at),
                None => LinkReport::of_fork(named.clone()),
            };
            of_fork.behind = false;
            of_fork.settled = None;
            match self.pass_fork(&named, &mut of_fork) {
                Err(Failure::Ours(
                    error @ (Error::Database { .. } | Error::Refused(_) | Error::Busy(_)),
                )) => return Err(error),
                Err(Failure::Ours(error)) => of_fork.error = Some(error.to_string()),
                Err(Failure::File(error)) => {
                    if let Some(path) = named.path() {
                        self.unreadable(&named, &path, &error, &mut of_fork);
                    }
                }
                Ok(()) => {}
            }
            report.behind |= of_fork.behind;
            report.forks.push(of_fork);
        }
        Ok(())
    }

    fn pass_fork(&mut self, fork: &Link, report: &mut LinkReport) -> Result<(), Failure> {
        let Some((path, known)) = fork.path().zip(self.journal.source(&fork.id, &report.source)?)
        else {
            return Ok(());
        };
        let file = match self.disk.open(&path) {
            Ok(file) => file,
            // A fork that went says nothing of the session.
            Err(OpenError::Missing) => {
                report.outcome = Outcome::Missing;
                return Ok(());
            }
            Err(OpenError::Outside) => {
                report.outcome = Outcome::Refused;
                report.error = Some(format!("{} is in no Claude folder", path.display()));
                return Ok(());
            }
            Err(OpenError::Unreadable(error)) => return Err(error.into()),
        };
        let stat = file.stat()?;
        let progress = self.read(fork, &path, file.as_ref(), &stat, Some(known), report)?;
        report.behind = progress == super::Progress::Behind;
        Ok(())
    }

    /// The fork that OpenClaw goes on in, where it is not followed yet and its file is there: beside
    /// the linked one, since it runs in the same folder.
    fn new_fork(&self, link: &Link) -> Result<Option<(Fork, PathBuf)>> {
        let Some(thread) = self.continued_in(&link.id).filter(|thread| *thread != link.thread_id)
        else {
            return Ok(None);
        };
        if self.journal.forks(&link.id)?.iter().any(|fork| fork.thread_id == thread) {
            return Ok(None);
        }
        let Some(path) = link.path() else { return Ok(None) };
        let path = path.with_file_name(format!("{thread}.jsonl"));
        // What is more than a name leads out of the folder.
        let is_beside = crate::ids::is_plain_id(thread.as_str());
        let is_there = is_beside && self.disk.open(&path).is_ok();
        let Some(ref_json) = file_ref(&path).filter(|_| is_there) else { return Ok(None) };
        Ok(Some((Fork { thread_id: thread, ref_json }, path)))
    }

    /// The Claude session in which OpenClaw goes on, as far as it says.
    fn continued_in(&self, id: &LinkId) -> Option<ThreadId> {
        self.sessions?.entry(id).ok()??.claude_session
    }

    /// Begins to follow a fork: one that came to be while its link was followed from its first row.
    fn follow(
        &mut self,
        link: &Link,
        fork: &Fork,
        path: &std::path::Path,
        is_new: bool,
    ) -> Result<()> {
        let Some((source, of_link)) = self.journal.source(&link.id, &link.source_key())? else {
            return Ok(());
        };
        let Ok(file) = self.disk.open(path) else { return Ok(()) };
        let sighting = self.sighting(link)?;
        let key = link.to_fork(fork.clone()).source_key();
        match begin(&sighting, self, source.link, &of_link, file.as_ref(), is_new) {
            Ok(cursor) => self.journal.add_fork(source.link, fork, &key, &cursor),
            // The next pass tries again.
            Err(Failure::File(_)) => Ok(()),
            Err(Failure::Ours(error)) => Err(error),
        }
    }
}

/// The cursor from which a fork is followed.
fn begin(
    sighting: &Sighting<'_>,
    cycle: &mut Cycle<'_>,
    link: LinkRow,
    of_link: &SourceCursor,
    file: &dyn Transcript,
    is_new: bool,
) -> Result<SourceCursor, Failure> {
    if is_new {
        let (cursor, identities) = sighting.at_end(file, of_link.linked_at)?;
        cycle.journal.learn(link, &identities)?;
        return Ok(cursor);
    }
    // Copies of rows that nobody counted are older than the floor of the linked file.
    Ok(SourceCursor {
        newborn: true,
        floor: of_link.floor,
        ..sighting.at_start(file, of_link.linked_at)?
    })
}
