//! `classify`: the verdict on each row of some transcripts.

mod files;
mod reading;
mod source;
mod summary;
mod tally;
mod words;

use super::Context;
use super::output::{Output, complain};
use super::progress::{Progress, Unit};
use super::run::classify_settings;
use super::table::sanitise;
use crate::classify::{JudgedRow, Verdict};
use crate::error::Result;
use clap::{Args, ValueEnum};
use files::{Failure, Found};
use reading::{Family, Keep, Rows, Shown};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use summary::Summary;

#[derive(Debug, Args)]
pub(super) struct ClassifyArgs {
    /// Transcripts, or folders of them; `-` is standard input. Files given together are one family:
    /// a row that was copied between them counts once
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Whose rule decides
    #[arg(long, value_enum, default_value_t = Rule::Provenance)]
    rule: Rule,
    /// Show every row, each with the fields that speak for its verdict (no text)
    #[arg(long, conflicts_with = "summary")]
    explain: bool,
    /// Show the beginning of what was said in rows that count; to a terminal only
    #[arg(long, conflicts_with = "summary")]
    show_text: bool,
    /// Only count: by file, by class and in all
    #[arg(long)]
    summary: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// Ours
    Provenance,
    /// That of OpenClaw 2026.9.6, its faults included
    Compat,
}

pub(super) fn run(args: &ClassifyArgs, mut context: Context) -> Result<()> {
    if args.show_text {
        words::may_be_shown(&context.out, &args.paths)?;
    }
    let key = context.state.hash_key_unsaved()?;
    let found = Found::below(&args.paths);
    let out = &mut context.out;
    let mut family = Family {
        rule: args.rule,
        settings: classify_settings(&context.loaded.settings),
        key: &key,
        explains: args.explain,
        known: HashSet::new(),
        progress: Progress::of(found.size(), Unit::Bytes, out),
    };
    let keep = match (args.summary, out.json || args.explain) {
        (true, _) => Keep::None,
        (false, true) => Keep::All,
        (false, false) => Keep::Turns,
    };
    let Found { files, mut failures } = found;
    let mut summary = Summary::default();
    let mut has_rows = false;
    for path in files {
        let mut rows = Rows::new(keep);
        if let Err(error) = family.read(&path, &mut rows) {
            failures.push(Failure { path: path.clone(), error });
            if rows.tally.rows() == 0 {
                continue;
            }
        }
        if keep != Keep::None {
            family.progress.step_aside();
            has_rows |= print_rows(&path, &rows.shown, args, out)?;
        }
        summary.add(path, rows.tally, rows.drift);
    }
    drop(family);
    if args.summary && out.json {
        summary.print_json(&failures, out)?;
    } else if !out.json {
        if args.summary {
            summary.print_files(out)?;
        } else if has_rows {
            out.line("")?;
        }
        summary.print(&failures, out)?;
    }
    fail_with(failures)
}

/// Names everything that could not be read, now that all the rest was.
fn fail_with(mut failures: Vec<Failure>) -> Result<()> {
    let Some(last) = failures.pop() else {
        return Ok(());
    };
    for failure in failures {
        complain(&failure.error);
    }
    Err(last.error)
}

/// Prints the rows of a file; says whether there were any.
fn print_rows(path: &Path, rows: &[Shown], args: &ClassifyArgs, out: &mut Output) -> Result<bool> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = sanitise(&name);
    let mut has_rows = false;
    for Shown { line, row } in rows {
        if out.json {
            let mut value = verdict_json(row, args.explain);
            if let Some(object) = value.as_object_mut() {
                object.shift_insert(0, "file".to_owned(), json!(path.to_string_lossy()));
                object.shift_insert(1, "line".to_owned(), json!(line));
            }
            out.json_line(&value)?;
        } else if args.explain || row.verdict.human {
            out.line(&format!("{name}:{line:<6} {}", verdict_line(row)))?;
            if args.show_text && row.verdict.human {
                out.line(&format!("    {}", words::beginning(path, row)))?;
            }
        } else {
            continue;
        }
        has_rows = true;
    }
    Ok(has_rows)
}

/// The machine form of a verdict, with what speaks for it where that was asked for.
pub(super) fn verdict_json(row: &JudgedRow, explain: bool) -> Value {
    let mut value = json!({
        "offset": row.start,
        "length": row.end - row.start,
        "human": row.verdict.human,
        "class": row.verdict.class.name(),
        "rule": row.verdict.rule,
        "evidence": row.verdict.evidence.name(),
        "uuid": row.uuid,
        "at": row.at,
    });
    if explain && let Some(object) = value.as_object_mut() {
        object.insert("because".to_owned(), json!(row.because));
    }
    value
}

/// The form of a verdict for people.
pub(super) fn verdict_line(row: &JudgedRow) -> String {
    let mark = if row.verdict.human { "●" } else { " " };
    let Verdict { class, evidence, rule, .. } = row.verdict;
    let (class, evidence, because) = (class.name(), evidence.name(), row.because.join(" "));
    let line = format!("{:>10} {mark} {class:<17} {evidence:<10} {rule:<24}  {because}", row.start);
    line.trim_end().to_owned()
}
