//! Reading files that are given together, and what is kept of their rows.

use super::Rule;
use super::source::open;
use super::tally::Tally;
use crate::classify::lines::{JudgedLine, Lines};
use crate::classify::{
    DriftCounts, Evidence, JudgedRow, LongLine, Reader, ReaderState, Settings, Verdict,
};
use crate::cli::progress::Progress;
use crate::error::{Error, Result};
use crate::ids::{HashKey, Identity};
use crate::scan::window::Rest;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::rc::Rc;

/// Bytes read at a time.
const WINDOW: u64 = 1 << 20;

/// Which rows are kept to be shown; all are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Keep {
    #[default]
    None,
    /// Those that count, and those that may turn out to.
    Turns,
    All,
}

/// One row as it is printed.
pub(super) struct Shown {
    pub(super) line: u64,
    pub(super) row: JudgedRow,
}

/// The rows of a file.
#[derive(Default)]
pub(super) struct Rows {
    keep: Keep,
    pub(super) shown: Vec<Shown>,
    pub(super) tally: Tally,
    pub(super) drift: DriftCounts,
    /// By its offset: what a later row may prove a turn, and where it is among `shown`.
    open: HashMap<u64, (usize, Verdict)>,
}

impl Rows {
    pub(super) fn new(keep: Keep) -> Self {
        Self { keep, ..Self::default() }
    }

    fn add(&mut self, line: u64, row: JudgedRow) {
        self.tally.add(row.verdict);
        self.drift.note(&row.drift);
        let may_be_proven = row.identity.is_some() && !row.verdict.human;
        if may_be_proven {
            self.open.insert(row.start, (self.shown.len(), row.verdict));
        }
        if match self.keep {
            Keep::None => false,
            Keep::Turns => row.verdict.human || may_be_proven,
            Keep::All => true,
        } {
            self.shown.push(Shown { line, row });
        }
    }

    /// An earlier row turns out to be this, by what stands on a line.
    fn prove(&mut self, start: u64, verdict: Verdict, line: u64) {
        let Some((index, before)) = self.open.remove(&start) else {
            return;
        };
        self.tally.replace(before, verdict);
        if let Some(earlier) = self.shown.get_mut(index).filter(|shown| shown.row.start == start) {
            earlier.row.verdict = verdict;
            if !earlier.row.because.is_empty() {
                earlier.row.because.push(format!("proven-by=line-{line}"));
            }
        }
    }
}

/// What all files have in common.
pub(super) struct Family<'a> {
    pub(super) rule: Rule,
    pub(super) settings: Settings,
    pub(super) key: &'a HashKey,
    pub(super) explains: bool,
    /// The rows that were counted.
    pub(super) known: HashSet<Identity>,
    pub(super) progress: Progress,
}

impl Family<'_> {
    /// Reads a file; what was read of it before an error is there.
    pub(super) fn read(&mut self, path: &Path, rows: &mut Rows) -> Result<()> {
        let judged_to = Rc::new(Cell::new(0));
        let file = open(path, &judged_to)?;
        let unreadable = |error: io::Error| {
            Error::Failed(format!("cannot read {} to its end: {error}", path.display()))
        };
        let size = file.stat()?.size;
        let reader = Reader::new(self.key, self.settings, ReaderState::default());
        let reader = reader.explaining(self.explains);
        let mut lines = Lines::new(file.as_ref(), reader, WINDOW, 0, None);
        let Self { rule, known, progress, .. } = self;
        let mut number = 0;
        let mut take = |line: JudgedLine| -> io::Result<()> {
            number += 1;
            judged_to.set(line.extent.next);
            take_line(*rule, known, number, line.report.rows, rows);
            Ok(())
        };
        let mut read = 0;
        loop {
            let rest = lines.pass(size, &mut take).map_err(unreadable)?;
            let now = lines.part().map_or(lines.position(), LongLine::read);
            progress.add(now.saturating_sub(read));
            read = now;
            if rest != Rest::More {
                break;
            }
        }
        // A file at rest: its last line is whole, line end or not.
        lines.finish(size, &mut take).map_err(unreadable)
    }
}

fn take_line(
    rule: Rule,
    known: &mut HashSet<Identity>,
    number: u64,
    mut judged: Vec<JudgedRow>,
    rows: &mut Rows,
) {
    if rule == Rule::Compat {
        judged.truncate(1);
        for row in judged {
            rows.add(number, compat(row));
        }
        return;
    }
    for mut row in judged {
        let is_countable = row.verdict.human || row.compat.is_some();
        for proven in row.proves.drain(..) {
            let fresh = known.insert(proven.identity);
            let verdict = if fresh { proven.verdict } else { proven.verdict.known() };
            rows.prove(proven.start, verdict, number);
        }
        let names = row.aliases.drain(..).chain(row.identity.clone());
        if names
            .filter(|_| is_countable)
            .fold(false, |is_known, name| !known.insert(name) | is_known)
            && row.verdict.human
        {
            row.verdict = row.verdict.known();
        }
        rows.add(number, row);
    }
}

fn compat(mut row: JudgedRow) -> JudgedRow {
    row.at = row.compat.as_ref().and_then(|compat| compat.at);
    row.verdict.human = row.compat.is_some();
    row.verdict.rule = "compat";
    row.verdict.evidence = Evidence::Shape;
    row
}
