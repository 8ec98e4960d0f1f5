//! `classify`: the verdict on each row of some transcripts.

use super::Context;
use super::progress::{Progress, Unit};
use super::run::classify_settings;
use super::table::{Align, Table, sanitise};
use crate::classify::{Class, Evidence, JudgedRow, Reader, ReaderState, Verdict};
use crate::disk::{FileStat, Transcript, read_range};
use crate::error::{Error, Result};
use crate::ids::{HashKey, Identity, Timestamp};
use crate::scan::window::{Rest, Window, line_after};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Bytes read at a time.
const WINDOW: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(super) struct ClassifyArgs {
    /// Transcripts, or folders of them; `-` is standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Whose rule decides
    #[arg(long, value_enum, default_value_t = Rule::Provenance)]
    rule: Rule,
    /// Only count: classes by file, and in all
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

/// One row as it is printed.
struct Shown {
    line: u64,
    row: JudgedRow,
}

/// Counts by class: rows, and how many of them are human.
type Counts = BTreeMap<Class, (u64, u64)>;

pub(super) fn run(args: &ClassifyArgs, mut context: Context) -> Result<()> {
    let key = context.state.hash_key_unsaved()?;
    let mut known = HashSet::new();
    let mut total = Counts::new();
    let mut summaries = Vec::new();
    let files = files(&args.paths)?;
    let mut progress = Progress::of(sizes(&files), Unit::Bytes, &context.out);
    for path in files {
        let rows = classify(&path, args.rule, &context, &key, &mut known, &mut progress)?;
        if args.summary {
            let mut counts = Counts::new();
            for shown in &rows {
                for counts in [&mut counts, &mut total] {
                    let (all, human) = counts.entry(shown.row.verdict.class).or_default();
                    *all += 1;
                    *human += u64::from(shown.row.verdict.human);
                }
            }
            summaries.push((path, counts));
            continue;
        }
        progress.step_aside();
        for shown in &rows {
            if context.out.json {
                let mut value = verdict_json(&shown.row);
                if let Some(object) = value.as_object_mut() {
                    object.shift_insert(0, "file".to_owned(), json!(path.to_string_lossy()));
                    object.shift_insert(1, "line".to_owned(), json!(shown.line));
                }
                context.out.json_line(&value)?;
            } else {
                let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                let line = verdict_line(&shown.row);
                context.out.line(&format!("{}:{:<6} {line}", sanitise(&file), shown.line))?;
            }
        }
    }
    drop(progress);
    if args.summary { print_summary(&mut context, &summaries, &total) } else { Ok(()) }
}

fn print_summary(context: &mut Context, files: &[(PathBuf, Counts)], total: &Counts) -> Result<()> {
    let counts_json = |counts: &Counts| -> Value {
        counts
            .iter()
            .map(|(class, (rows, human))| {
                (class.name().to_owned(), json!({ "rows": rows, "human": human }))
            })
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    if context.out.json {
        for (path, counts) in files {
            context.out.json_line(
                &json!({ "file": path.to_string_lossy(), "classes": counts_json(counts) }),
            )?;
        }
        return context.out.json_line(&json!({ "total": counts_json(total) }));
    }
    let mut table =
        Table::new(&[("CLASS", Align::Left), ("ROWS", Align::Right), ("HUMAN", Align::Right)]);
    for (class, (rows, human)) in total {
        table.row(vec![class.name().to_owned(), rows.to_string(), human.to_string()]);
    }
    context.out.text(&table.render())?;
    let human: u64 = total.values().map(|(_, human)| human).sum();
    context.out.line(&format!("{human} turns in {} files", files.len()))
}

/// The transcripts that some paths mean, each once; folders are searched for `.jsonl` files.
/// Sub-agent files come last, so that of two copies the session's own row is the first.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            found.push(path.clone());
            continue;
        }
        let path = fs_err::canonicalize(path)?;
        if fs_err::metadata(&path)?.is_dir() {
            search(&path, &mut found)?;
        } else {
            found.push(path);
        }
    }
    let is_agent = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"))
    };
    found.sort_by_key(is_agent);
    let mut seen = HashSet::new();
    found.retain(|path| seen.insert(path.clone()));
    Ok(found)
}

/// Bytes to be read, as far as they are known.
fn sizes(files: &[PathBuf]) -> u64 {
    files.iter().filter_map(|path| fs_err::metadata(path).ok()).map(|found| found.len()).sum()
}

fn search(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries: Vec<_> = fs_err::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs_err::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            search(&entry.path(), found)?;
        } else if kind.is_file() && entry.path().extension().is_some_and(|end| end == "jsonl") {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn classify(
    path: &Path,
    rule: Rule,
    context: &Context,
    key: &HashKey,
    known: &mut HashSet<Identity>,
    progress: &mut Progress,
) -> Result<Vec<Shown>> {
    let file = open(path)?;
    let size = file.stat()?.size;
    let settings = classify_settings(&context.loaded.settings);
    let mut reader = Reader::new(key, settings, ReaderState::default());
    let mut rows: Vec<Shown> = Vec::new();
    let mut by_offset = HashMap::new();
    let (mut from, mut line_number) = (0, 0);
    loop {
        let mut window = Window::read(file.as_ref(), from, size, WINDOW)?;
        if window.rest == Rest::Partial {
            // A file at rest: its last line is whole, line end or not.
            let tail = read_range(file.as_ref(), window.to, size)?;
            window.bytes.extend_from_slice(&tail);
            window.bytes.push(b'\n');
        }
        for line in window.lines() {
            line_number += 1;
            let mut judged = reader.read_line(&line);
            if rule == Rule::Compat {
                rows.extend(judged.rows.into_iter().take(1).map(|row| compat(line_number, row)));
                continue;
            }
            for row in &mut judged.rows {
                for proven in row.proves.drain(..) {
                    let earlier =
                        by_offset.get(&proven.start).and_then(|at: &usize| rows.get_mut(*at));
                    if let Some(earlier) = earlier {
                        let fresh = known.insert(proven.identity);
                        earlier.row.verdict =
                            if fresh { proven.verdict } else { copy(proven.verdict) };
                    }
                }
                let counted = row.identity.as_ref().filter(|_| row.verdict.human);
                if counted.is_some_and(|identity| !known.insert(identity.clone())) {
                    row.verdict = copy(row.verdict);
                }
            }
            for row in judged.rows {
                by_offset.insert(row.start, rows.len());
                rows.push(Shown { line: line_number, row });
            }
        }
        progress.add(window.to - from);
        from = window.to;
        match window.rest {
            Rest::More => {}
            Rest::Oversized => {
                let next = line_after(file.as_ref(), from, size)?;
                line_number += 1;
                rows.push(Shown { line: line_number, row: too_big(from, next) });
                progress.add(next - from);
                from = next;
            }
            Rest::Nothing | Rest::Partial => return Ok(rows),
        }
    }
}

/// A row beyond what is read whole yet: named, so that nobody takes silence for a verdict.
fn too_big(start: u64, end: u64) -> JudgedRow {
    let class = Class::Unknown;
    let evidence = Evidence::Default;
    JudgedRow {
        start,
        end,
        identity: None,
        uuid: None,
        at: None,
        verdict: Verdict { human: false, class, rule: "too-big-to-be-read-yet", evidence },
        compat: None,
        text: None,
        proves: Vec::new(),
        drift: Vec::new(),
    }
}

const fn copy(verdict: Verdict) -> Verdict {
    Verdict { human: false, class: Class::Copy, rule: "known-identity", ..verdict }
}

fn compat(line: u64, mut row: JudgedRow) -> Shown {
    row.at = row.compat.as_ref().and_then(|compat| compat.at);
    row.verdict.human = row.compat.is_some();
    row.verdict.rule = "compat";
    row.verdict.evidence = Evidence::Shape;
    Shown { line, row }
}

/// The machine form of a verdict.
pub(super) fn verdict_json(row: &JudgedRow) -> Value {
    json!({
        "offset": row.start,
        "length": row.end - row.start,
        "human": row.verdict.human,
        "class": row.verdict.class.name(),
        "rule": row.verdict.rule,
        "evidence": row.verdict.evidence.name(),
        "uuid": row.uuid,
        "at": row.at,
    })
}

/// The form of a verdict for people.
pub(super) fn verdict_line(row: &JudgedRow) -> String {
    let mark = if row.verdict.human { "●" } else { " " };
    let (class, evidence) = (row.verdict.class.name(), row.verdict.evidence.name());
    format!("{:>10} {mark} {class:<17} {evidence:<10} {}", row.start, row.verdict.rule)
}

/// Opens a file that a person named; it may be anywhere.
fn open(path: &Path) -> Result<Box<dyn Transcript>> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        return Ok(Box::new(Bytes(bytes)));
    }
    if !fs_err::metadata(path)?.is_file() {
        return Err(Error::Failed(format!("{} is no regular file", path.display())));
    }
    Ok(Box::new(Named(fs_err::File::open(path)?)))
}

struct Bytes(Vec<u8>);

impl Transcript for Bytes {
    fn stat(&self) -> io::Result<FileStat> {
        Ok(stat(self.0.len() as u64))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(count)
    }
}

struct Named(fs_err::File);

impl Transcript for Named {
    fn stat(&self) -> io::Result<FileStat> {
        Ok(stat(self.0.metadata()?.len()))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.file().read_at(buffer, offset)
    }
}

/// A file that is read once needs no identity.
const fn stat(size: u64) -> FileStat {
    FileStat { device: 0, inode: 0, size, modified: Timestamp(0), changed_ns: 0 }
}
