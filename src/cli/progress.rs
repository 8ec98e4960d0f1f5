//! How far a long command is, for whoever looks.
//!
//! Always holds: nothing is shown but on a terminal, nothing of what is over soon, and nothing of it
//! stays. Standard output is left to what was asked for.

use super::output::Output;
use crate::clock::Stopwatch;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::Duration;

/// What is over sooner needs no bar.
const PATIENCE: Duration = Duration::from_millis(300);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    Sessions,
}

/// How much of the work is done. The bar goes with this value.
#[derive(Debug)]
pub(super) struct Progress {
    unit: Unit,
    total: u64,
    done: u64,
    /// `None` where nobody looks.
    began: Option<Stopwatch>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// So much is to be done.
    pub(super) fn of(total: u64, unit: Unit, out: &Output) -> Self {
        let looked_at = !out.json && !out.quiet && std::io::stderr().is_terminal();
        Self { unit, total, done: 0, began: looked_at.then(Stopwatch::start), bar: None }
    }

    /// So much more is done.
    pub(super) fn add(&mut self, count: u64) {
        self.done = self.done.saturating_add(count);
        let Some(took) = self.began.map(|began| began.elapsed()).filter(|took| *took >= PATIENCE)
        else {
            return;
        };
        let (unit, total) = (self.unit, self.total);
        let bar = self.bar.get_or_insert_with(|| bar(unit, total).with_elapsed(took));
        bar.set_position(self.done);
    }

    /// Makes room for what is printed now; the bar comes again.
    pub(super) fn step_aside(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.step_aside();
    }
}

fn bar(unit: Unit, total: u64) -> ProgressBar {
    let template = match unit {
        Unit::Bytes => "{bar:40} {bytes}/{total_bytes}, {eta} left",
        Unit::Sessions => "{bar:40} {pos}/{len} sessions, {eta} left",
    };
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
