//! Forks: the sessions in which OpenClaw goes on with what it adopted, followed beside it.
//!
//! OpenClaw's first turn after an adoption mostly forks the Claude session (`facts/gateway.md` §14):
//! its own prompts go to the fork, and so does a person who continues there. A fork begins with
//! copies of the linked file's rows, with their uuids: the linked file is read first, so that they
//! are known.

use super::report::LinkReport;
use super::{Cycle, Failure};
use crate::disk::Transcript;
use crate::error::Result;
use crate::ids::{ThreadId, is_plain_id};
use crate::journal::{LinkRow, SourceCursor};
use crate::link::{Fork, Link, file_ref};

impl Cycle<'_> {
    /// Whether OpenClaw goes on with a link in a fork that is not followed yet.
    pub fn has_new_fork(&self, link: &Link) -> Result<bool> {
        let entry = self.sessions.and_then(|sessions| sessions.entry(&link.id).ok()?);
        let continued_in = entry.and_then(|entry| entry.claude_session);
        Ok(self.new_fork(link, continued_in.as_ref())?.is_some())
    }

    /// One pass over each fork of a link, after those over the link's own file.
    pub(super) fn pass_forks(
        &mut self,
        link: &Link,
        continued_in: Option<&ThreadId>,
        report: &mut LinkReport,
    ) -> Result<()> {
        if report.outcome.ends_link() {
            return Ok(());
        }
        // What stands in it when its link is seen for the first time is history, as it is there.
        if (report.is_new || !report.behind)
            && let Some((fork, file)) = self.new_fork(link, continued_in)?
        {
            self.follow(link, &fork, file.as_ref(), report)?;
        }
        if report.behind {
            return Ok(());
        }
        for fork in self.journal.forks(&link.id)? {
            let fork = link.to_fork(fork);
            let key = fork.source_key();
            let at = report.forks.iter().position(|earlier| earlier.source == key);
            let mut of_fork = match at {
                Some(at) => report.forks.swap_remove(at),
                None => LinkReport::of_fork(fork.clone()),
            };
            of_fork.behind = false;
            of_fork.settled = None;
            self.pass_source(&fork, &mut of_fork)?;
            report.behind |= of_fork.behind;
            report.forks.push(of_fork);
        }
        Ok(())
    }

    /// The fork that OpenClaw goes on in, where it is not followed yet and its file is there: beside
    /// the linked one, since it runs in the same folder.
    fn new_fork(
        &self,
        link: &Link,
        continued_in: Option<&ThreadId>,
    ) -> Result<Option<(Fork, Box<dyn Transcript>)>> {
        // What is more than a name leads out of the folder.
        let is_other =
            |thread: &&ThreadId| **thread != link.thread_id && is_plain_id(thread.as_str());
        let Some((thread, path)) = continued_in.filter(is_other).zip(link.path()) else {
            return Ok(None);
        };
        if self.journal.forks(&link.id)?.iter().any(|fork| fork.thread_id == *thread) {
            return Ok(None);
        }
        let path = path.with_file_name(format!("{thread}.jsonl"));
        let Some((ref_json, file)) = file_ref(&path).zip(self.disk.open(&path).ok()) else {
            return Ok(None);
        };
        Ok(Some((Fork { thread_id: thread.clone(), ref_json }, file)))
    }

    /// Begins to follow a fork: one that came to be while its link was followed from its first row.
    fn follow(
        &mut self,
        link: &Link,
        fork: &Fork,
        file: &dyn Transcript,
        report: &LinkReport,
    ) -> Result<()> {
        let Some((source, of_link)) = self.journal.source(&link.id, &link.source_key())? else {
            return Ok(());
        };
        let key = link.to_fork(fork.clone()).source_key();
        match self.begin_fork(link, source.link, &of_link, file, report) {
            Ok(cursor) => self.journal.add_fork(source.link, fork, &key, &cursor),
            // The next pass tries again.
            Err(Failure::File(_)) => Ok(()),
            Err(Failure::Ours(error)) => Err(error),
        }
    }

    /// The cursor from which a fork is followed.
    fn begin_fork(
        &mut self,
        link: &Link,
        row: LinkRow,
        of_link: &SourceCursor,
        file: &dyn Transcript,
        report: &LinkReport,
    ) -> Result<SourceCursor, Failure> {
        let sighting = self.sighting(link)?;
        if report.is_new {
            let (cursor, identities) = sighting.at_end(file, of_link.linked_at)?;
            // Among them may be copies of rows that are still to be read in the linked file.
            if !report.behind {
                self.journal.learn(row, &identities)?;
            }
            return Ok(cursor);
        }
        // Copies of rows that nobody counted are older than the floor of the linked file.
        Ok(SourceCursor {
            newborn: true,
            floor: of_link.floor,
            ..sighting.at_start(file, of_link.linked_at)?
        })
    }
}
