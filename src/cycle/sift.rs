//! From judged rows to countable ones: copies, history and echoes are taken out.

use super::report::LinkReport;
use crate::classify::{Evidence, JudgedRow, LineReport, ProvenRow};
use crate::echo::{Echoes, OwnTextId};
use crate::error::Result;
use crate::ids::{Identity, TextHash, Timestamp};
use crate::journal::{CountableRow, Journal, LinkRow};
use crate::scan::line::Extent;
use std::collections::HashSet;

/// The rows of some windows that are recorded together.
#[derive(Debug)]
pub(super) struct Sift {
    link: LinkRow,
    /// The own texts, once a row was to be compared with them.
    echoes: Option<Echoes>,
    /// Own texts that rows of earlier passes used up.
    used: Vec<OwnTextId>,
    /// Whether OpenClaw runs a turn, once a row made us ask.
    is_running: Option<bool>,
    /// The file's own time, for rows without one.
    file_time: Timestamp,
    history: Option<History>,
    rows: Vec<CountableRow>,
    here: HashSet<Identity>,
    last_at: Option<Timestamp>,
    pub(super) last_uuid: Option<String>,
}

/// What is history in a file that is read again.
#[derive(Debug, Clone, Copy)]
pub(super) struct History {
    /// Rows that begin before this offset were there when the file was found rewritten.
    pub(super) until: u64,
    /// Of these, rows older than this were there before we followed the file.
    pub(super) floor: Option<Timestamp>,
    /// Whether rows that another session had are history too: a fork copies them.
    pub(super) is_of_others: bool,
}

/// What rows are compared with.
pub(super) struct Known<'a> {
    /// The rows that were passed before.
    pub(super) journal: &'a Journal,
    /// Asks for the own texts. Not before the first row needs them: a row of OpenClaw's stands in
    /// its transcript earlier than in the upstream, so texts that are read after the rows hold
    /// those of all of them.
    pub(super) echoes: &'a dyn Fn() -> Result<Echoes>,
    /// Asks whether OpenClaw runs a turn in the session: then a row that does not say who wrote it
    /// may be OpenClaw's, and its text not in the transcript yet. Asked after the rows are read, as
    /// the own texts are, and before these.
    pub(super) is_running: &'a dyn Fn() -> Result<bool>,
    /// Whether while it runs even a person's own mark is not believed (`active_run = "hold"`).
    pub(super) holds_all: bool,
}

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    /// It is a copy or history.
    No,
    /// It waits until OpenClaw's turn is over.
    Held,
}

/// A row that counts by our rule or by the gateway's.
struct Candidate<'r> {
    identity: &'r Identity,
    aliases: &'r [Identity],
    at: Option<Timestamp>,
    text: Option<&'r TextHash>,
    human: bool,
    evidence: Evidence,
    gateway: Option<&'r TextHash>,
}

impl Sift {
    pub(super) fn new(link: LinkRow, file_time: Timestamp, history: Option<History>) -> Self {
        Self {
            link,
            echoes: None,
            used: Vec::new(),
            is_running: None,
            file_time,
            history,
            rows: Vec::new(),
            here: HashSet::new(),
            last_at: None,
            last_uuid: None,
        }
    }

    /// Rows that were written later follow: own texts may be new, and another turn under way.
    pub(super) fn go_on(&mut self) {
        self.is_running = None;
        self.used.extend(self.echoes.take().into_iter().flat_map(Echoes::into_used));
    }

    /// Takes the rows of one line, notes them in the report, and keeps the countable ones. False
    /// where the line waits: this value is of no use then, nor is what stands in the report.
    pub(super) fn take(
        &mut self,
        known: &Known<'_>,
        line: Extent,
        judged: LineReport,
        report: &mut LinkReport,
        explain: bool,
    ) -> Result<bool> {
        for mut row in judged.rows {
            self.last_at = row.at.or(self.last_at);
            if row.uuid.is_some() {
                self.last_uuid.clone_from(&row.uuid);
            }
            for proven in &row.proves {
                if self.keep_proven(known, proven, line, report)? == Kept::Held {
                    return Ok(false);
                }
            }
            if self.keep_row(known, &mut row, line, report)? == Kept::Held {
                return Ok(false);
            }
            *report.rows.entry(row.verdict.class).or_default() += 1;
            report.drift.note(&row.drift);
            if explain {
                report.verdicts.push(row);
            }
        }
        if judged.skipped.is_some() {
            report.skipped += 1;
        }
        Ok(true)
    }

    fn keep_proven(
        &mut self,
        known: &Known<'_>,
        proven: &ProvenRow,
        line: Extent,
        report: &mut LinkReport,
    ) -> Result<Kept> {
        let candidate = Candidate {
            identity: &proven.identity,
            aliases: &[],
            at: proven.at,
            text: proven.text.as_ref(),
            human: proven.verdict.human,
            evidence: proven.verdict.evidence,
            gateway: None,
        };
        self.keep(known, &candidate, line, report)
    }

    fn keep_row(
        &mut self,
        known: &Known<'_>,
        row: &mut JudgedRow,
        line: Extent,
        report: &mut LinkReport,
    ) -> Result<Kept> {
        let Some(identity) = &row.identity else {
            return Ok(Kept::No);
        };
        if !row.verdict.human && row.compat.is_none() {
            return Ok(Kept::No);
        }
        let candidate = Candidate {
            identity,
            aliases: &row.aliases,
            at: row.at,
            text: row.text.as_ref(),
            human: row.verdict.human,
            evidence: row.verdict.evidence,
            gateway: row.compat.as_ref().map(|compat| &compat.text),
        };
        let kept = self.keep(known, &candidate, line, report)?;
        if kept == Kept::No && row.verdict.human {
            row.verdict = row.verdict.known();
        }
        Ok(kept)
    }

    /// Keeps a candidate unless it is a copy or history, or must wait.
    fn keep(
        &mut self,
        known: &Known<'_>,
        row: &Candidate<'_>,
        line: Extent,
        report: &mut LinkReport,
    ) -> Result<Kept> {
        if self.knows(known.journal, row.identity)? {
            return Ok(Kept::No);
        }
        // The gateway counts a copy under another uuid.
        let mut is_copy = false;
        for alias in row.aliases {
            is_copy |= self.knows(known.journal, alias)?;
        }
        let at = row.at.unwrap_or(self.file_time);
        let is_old = self.history.is_some_and(|history| {
            let time = row.at.or(self.last_at);
            line.start < history.until
                && history.floor.zip(time).is_some_and(|(floor, time)| time < floor)
        });
        let may_be_of_others = self.history.is_some_and(|history| history.is_of_others);
        let is_history = is_old
            || (may_be_of_others && known.journal.knows_elsewhere(self.link, row.identity)?);
        let is_ours = row.human && !is_copy && !is_history;
        let may_be_sent = known.holds_all || row.evidence != Evidence::FirstHand;
        if is_ours && may_be_sent && self.is_running(known)? {
            return Ok(Kept::Held);
        }
        let echoes = self.echoes(known)?;
        let echo = is_ours && echoes.excuses(row.evidence, row.text, at);
        let gateway = row.gateway.is_some_and(|text| !echoes.excuses_to_gateway(text));
        if echo {
            report.echoes += 1;
        }
        self.here.extend(row.aliases.iter().chain([row.identity]).cloned());
        self.rows.push(CountableRow {
            identity: row.identity.clone(),
            aliases: row.aliases.to_vec(),
            start: line.start,
            end: line.next,
            at,
            ours: is_ours && !echo,
            gateway,
        });
        Ok(if is_history || is_copy { Kept::No } else { Kept::Yes })
    }

    fn is_running(&mut self, known: &Known<'_>) -> Result<bool> {
        let is_running = self.is_running.map_or_else(known.is_running, Ok)?;
        self.is_running = Some(is_running);
        Ok(is_running)
    }

    fn knows(&self, journal: &Journal, identity: &Identity) -> Result<bool> {
        Ok(self.here.contains(identity) || journal.knows(self.link, identity)?)
    }

    fn echoes(&mut self, known: &Known<'_>) -> Result<&mut Echoes> {
        if self.echoes.is_none() {
            let mut echoes = (known.echoes)()?;
            echoes.have_used(std::mem::take(&mut self.used));
            self.echoes = Some(echoes);
        }
        Ok(self.echoes.get_or_insert_default())
    }

    /// The countable rows, and the own texts that echoes among them used up.
    pub(super) fn finish(mut self) -> (Vec<CountableRow>, Vec<OwnTextId>) {
        self.go_on();
        (self.rows, self.used)
    }
}
