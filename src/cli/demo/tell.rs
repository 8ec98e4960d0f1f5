//! How the demo is told: steps with what was written and what came of it, or a JSON object each.
//!
//! Always holds: a line has at most 100 columns.

use super::stage::Stage;
use crate::cli::output::Output;
use crate::cli::table::sanitise;
use crate::error::{Error, Result};
use anstyle::{AnsiColor, Style};
use serde_json::json;
use std::time::Duration;

/// Columns.
const WIDTH: usize = 100;
/// Before what a step shows.
const INDENT: &str = "      ";
/// Of a block that is longer than both, so many lines are shown, and so many at its end.
const FIRST_LINES: usize = 9;
const LAST_LINES: usize = 3;

const RECORDED: Style = AnsiColor::Green.on_default().bold();
const NOT_RECORDED: Style = Style::new().dimmed();

/// What came of a step.
#[derive(Default)]
pub(super) struct Outcome {
    /// In a few words.
    pub(super) text: String,
    /// Whether there is an event of it.
    pub(super) recorded: bool,
    /// How many turns were recorded.
    pub(super) turns: u64,
    /// How long it took.
    pub(super) took: Option<Duration>,
    /// What else there is to see.
    pub(super) block: String,
}

/// Tells steps, as they happen.
pub(super) struct Teller<'a> {
    out: &'a mut Output,
    step: u32,
}

impl<'a> Teller<'a> {
    pub(super) const fn new(out: &'a mut Output) -> Self {
        Self { out, step: 0 }
    }

    /// Prints a paragraph, for people only.
    pub(super) fn say(&mut self, text: &str) -> Result<()> {
        if self.out.json {
            return Ok(());
        }
        for line in wrap(text, WIDTH) {
            self.out.line(&line)?;
        }
        Ok(())
    }

    /// Says what happens, lets it happen, and says what came of it.
    pub(super) fn step(
        &mut self,
        what: &str,
        stage: &mut Stage,
        act: impl FnOnce(&mut Stage) -> Result<Outcome>,
    ) -> Result<Outcome> {
        self.step += 1;
        let step = self.step;
        if !self.out.json {
            self.out.line(&format!("{step:>2}  {what}"))?;
            self.out.flush()?;
        }
        let outcome = act(stage).map_err(|error| match error {
            Error::Failed(why) => {
                Error::Failed(format!("step {step} of the demo ({what}) failed: {why}"))
            }
            other => other,
        })?;
        self.tell(what, &outcome)?;
        self.out.flush()?;
        Ok(outcome)
    }

    fn tell(&mut self, what: &str, outcome: &Outcome) -> Result<()> {
        let Outcome { text, recorded, turns, took, block } = outcome;
        if self.out.json {
            let ms = took.map(|took| (took.as_secs_f64() * 100_000.0).round() / 100.0);
            return self.out.json_line(&json!({
                "step": self.step,
                "what": what,
                "recorded": recorded,
                "turns": turns,
                "ms": ms,
            }));
        }
        let (style, mark) = if *recorded { (RECORDED, "●") } else { (NOT_RECORDED, "○") };
        let time =
            took.map_or_else(String::new, |t| format!(" {:.2} ms", t.as_secs_f64() * 1000.0));
        self.out.line(&format!("    {style}{mark} {}{style:#}{time}", sanitise(text)))?;
        for line in shorten(block) {
            let line = sanitise(&line);
            for line in wrap(&line, WIDTH - INDENT.len()) {
                self.out.line(&format!("{INDENT}{line}"))?;
            }
        }
        Ok(())
    }
}

/// The lines of a block, without most of a long one's middle.
fn shorten(block: &str) -> Vec<String> {
    let mut lines: Vec<String> = block.lines().map(str::to_owned).collect();
    let hidden = lines.len().saturating_sub(FIRST_LINES + LAST_LINES);
    if hidden > 1 {
        lines.splice(FIRST_LINES..FIRST_LINES + hidden, [format!("… {hidden} lines more")]);
    }
    lines
}

/// The lines of a text, cut between words; a line that fits stays as it is.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        if paragraph.chars().count() <= width {
            lines.push(paragraph.to_owned());
            continue;
        }
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}
