//! What was found, in numbers: by class, by file, and what no rule knows.

use super::files::{Failure, is_of_agent};
use super::tally::Tally;
use crate::classify::DriftCounts;
use crate::cli::drift;
use crate::cli::output::Output;
use crate::cli::table::{Align, Table};
use crate::error::Result;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What was found in the files so far.
#[derive(Default)]
pub(super) struct Summary {
    files: Vec<OfFile>,
    total: Tally,
    drift: DriftCounts,
}

struct OfFile {
    path: PathBuf,
    tally: Tally,
    drift: DriftCounts,
}

impl Summary {
    pub(super) fn add(&mut self, path: PathBuf, tally: Tally, drift: DriftCounts) {
        self.total.merge(&tally);
        self.drift.merge(&drift);
        self.files.push(OfFile { path, tally, drift });
    }

    /// One object a file, and one for all of them.
    pub(super) fn print_json(&self, failures: &[Failure], out: &mut Output) -> Result<()> {
        for OfFile { path, tally, drift } in &self.files {
            out.json_line(&json!({
                "file": path.to_string_lossy(),
                "subAgent": is_of_agent(path),
                "classes": classes(tally),
                "drift": drift::json(drift),
            }))?;
        }
        let unreadable: Vec<_> = failures
            .iter()
            .map(|failure| {
                json!({
                    "file": failure.path.to_string_lossy(),
                    "error": failure.error.to_string(),
                })
            })
            .collect();
        out.json_line(&json!({
            "total": classes(&self.total),
            "files": self.files.len(),
            "subAgents": self.agents(),
            "drift": drift::json(&self.drift),
            "unreadable": unreadable,
        }))
    }

    /// What was found in each file, where there are several.
    pub(super) fn print_files(&self, out: &mut Output) -> Result<()> {
        if self.files.len() < 2 {
            return Ok(());
        }
        let mut table = Table::new(&[
            ("ROWS", Align::Right),
            ("TURNS", Align::Right),
            ("OF", Align::Left),
            ("FILE", Align::Left),
        ]);
        for OfFile { path, tally, .. } in &self.files {
            table.row(vec![
                tally.rows().to_string(),
                tally.turns().to_string(),
                if is_of_agent(path) { "sub-agent" } else { "session" }.to_owned(),
                path.to_string_lossy().into_owned(),
            ]);
        }
        out.text(&table.render())?;
        out.line("")
    }

    /// What was found in all files.
    pub(super) fn print(&self, failures: &[Failure], out: &mut Output) -> Result<()> {
        let classes = self.total.by_class();
        if !classes.is_empty() {
            let mut table = Table::new(&[
                ("CLASS", Align::Left),
                ("ROWS", Align::Right),
                ("TURNS", Align::Right),
                ("RULES", Align::Left),
            ]);
            for (class, found) in &classes {
                table.row(vec![
                    class.name().to_owned(),
                    found.rows.to_string(),
                    found.turns.to_string(),
                    found.commonest(),
                ]);
            }
            out.text(&table.render())?;
        }
        if let Some(list) = drift::listed(&self.drift) {
            out.line("")?;
            out.text(&list)?;
            out.line("")?;
        }
        let agents = match self.agents() {
            0 => String::new(),
            1 => ", 1 of them a sub-agent's".to_owned(),
            count => format!(", {count} of them sub-agents'"),
        };
        let unread = match failures.len() {
            0 => String::new(),
            count => format!("; {count} could not be read"),
        };
        let turns = number(self.total.turns(), "turn");
        let files = number(self.files.len() as u64, "file");
        out.line(&format!("{turns} in {files}{agents}{unread}"))
    }

    fn agents(&self) -> usize {
        self.files.iter().filter(|file| is_of_agent(&file.path)).count()
    }
}

fn number(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn classes(tally: &Tally) -> Value {
    let classes = tally.by_class().into_iter().map(|(class, found)| {
        let value = json!({ "rows": found.rows, "human": found.turns, "rules": found.rules });
        (class.name().to_owned(), value)
    });
    classes.collect::<serde_json::Map<_, _>>().into()
}
