//! `classify`: the verdict on each row of some transcripts.

use super::Context;
use super::progress::{Progress, Unit};
use super::run::classify_settings;
use super::table::{Align, Table, sanitise};
use crate::classify::lines::{JudgedLine, Lines};
use crate::classify::{
    Class, Evidence, JudgedRow, LongLine, Reader, ReaderState, Settings, Verdict,
};
use crate::disk::{FileStat, Transcript};
use crate::error::{Error, Result};
use crate::ids::{HashKey, Identity, Timestamp};
use crate::scan::window::Rest;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

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
    let mut total = Counts::new();
    let mut summaries = Vec::new();
    let files = files(&args.paths)?;
    let mut family = Family {
        rule: args.rule,
        settings: classify_settings(&context.loaded.settings),
        key: &key,
        known: HashSet::new(),
        progress: Progress::of(sizes(&files), Unit::Bytes, &context.out),
    };
    for path in files {
        let mut rows = Rows::default();
        if args.summary {
            rows.counts = Some(Counts::new());
        }
        classify(&path, &mut family, &mut rows)?;
        if let Some(counts) = rows.counts {
            for (class, (all, human)) in &counts {
                let sum = total.entry(*class).or_default();
                sum.0 += all;
                sum.1 += human;
            }
            summaries.push((path, counts));
            continue;
        }
        family.progress.step_aside();
        for shown in &rows.shown {
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
    if args.summary { print_summary(&mut context, &summaries, &total) } else { Ok(()) }
}

/// The rows of a file, or only their counts.
#[derive(Default)]
struct Rows {
    shown: Vec<Shown>,
    counts: Option<Counts>,
    /// By its offset: what a later row may prove a turn, and where it is among `shown`.
    open: HashMap<u64, (usize, Verdict)>,
}

impl Rows {
    fn add(&mut self, line: u64, row: JudgedRow) {
        if row.identity.is_some() && !row.verdict.human {
            self.open.insert(row.start, (self.shown.len(), row.verdict));
        }
        match &mut self.counts {
            Some(counts) => count(counts, row.verdict),
            None => self.shown.push(Shown { line, row }),
        }
    }

    /// An earlier row turns out to be this.
    fn prove(&mut self, start: u64, verdict: Verdict) {
        let Some((index, before)) = self.open.remove(&start) else {
            return;
        };
        if let Some(counts) = &mut self.counts {
            if let Some((all, _)) = counts.get_mut(&before.class) {
                *all -= 1;
            }
            counts.retain(|_, (all, _)| *all > 0);
            count(counts, verdict);
        } else if let Some(earlier) = self.shown.get_mut(index) {
            earlier.row.verdict = verdict;
        }
    }
}

fn count(counts: &mut Counts, verdict: Verdict) {
    let (all, human) = counts.entry(verdict.class).or_default();
    *all += 1;
    *human += u64::from(verdict.human);
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

/// What all files have in common.
struct Family<'a> {
    rule: Rule,
    settings: Settings,
    key: &'a HashKey,
    /// The rows that were counted.
    known: HashSet<Identity>,
    progress: Progress,
}

fn classify(path: &Path, family: &mut Family<'_>, rows: &mut Rows) -> Result<()> {
    let Family { rule, settings, key, known, progress } = family;
    let judged_to = Rc::new(Cell::new(0));
    let file = open(path, &judged_to)?;
    let size = file.stat()?.size;
    let reader = Reader::new(key, *settings, ReaderState::default());
    let mut lines = Lines::new(file.as_ref(), reader, WINDOW, 0, None);
    let mut number = 0;
    let mut take = |line: JudgedLine| -> io::Result<()> {
        number += 1;
        judged_to.set(line.extent.next);
        let mut judged = line.report.rows;
        if *rule == Rule::Compat {
            judged.truncate(1);
            for row in judged {
                rows.add(number, compat(row));
            }
            return Ok(());
        }
        for row in &mut judged {
            for proven in row.proves.drain(..) {
                let fresh = known.insert(proven.identity);
                let verdict = if fresh { proven.verdict } else { copy(proven.verdict) };
                rows.prove(proven.start, verdict);
            }
            let counted = row.identity.as_ref().filter(|_| row.verdict.human);
            if counted.is_some_and(|identity| !known.insert(identity.clone())) {
                row.verdict = copy(row.verdict);
            }
        }
        for row in judged {
            rows.add(number, row);
        }
        Ok(())
    };
    let mut read = 0;
    loop {
        let rest = lines.pass(size, &mut take)?;
        let now = lines.part().map_or(lines.position(), LongLine::read);
        progress.add(now.saturating_sub(read));
        read = now;
        if rest != Rest::More {
            break;
        }
    }
    // A file at rest: its last line is whole, line end or not.
    lines.finish(size, &mut take)?;
    Ok(())
}

const fn copy(verdict: Verdict) -> Verdict {
    Verdict { human: false, class: Class::Copy, rule: "known-identity", ..verdict }
}

fn compat(mut row: JudgedRow) -> JudgedRow {
    row.at = row.compat.as_ref().and_then(|compat| compat.at);
    row.verdict.human = row.compat.is_some();
    row.verdict.rule = "compat";
    row.verdict.evidence = Evidence::Shape;
    row
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
fn open(path: &Path, judged: &Rc<Cell<u64>>) -> Result<Box<dyn Transcript>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(Piped { kept: RefCell::default(), judged: Rc::clone(judged) }));
    }
    if !fs_err::metadata(path)?.is_file() {
        return Err(Error::Failed(format!("{} is no regular file", path.display())));
    }
    Ok(Box::new(Named(fs_err::File::open(path)?)))
}

/// Standard input: what was read is kept until its line was judged, since of a line that is longer
/// than a window some is read again.
struct Piped {
    kept: RefCell<Kept>,
    /// Offset up to which all lines are judged.
    judged: Rc<Cell<u64>>,
}

#[derive(Default)]
struct Kept {
    /// Offset of the first byte that is kept.
    from: u64,
    bytes: Vec<u8>,
    has_ended: bool,
}

/// Bytes that are worth moving the rest for.
const FORGET: usize = 1 << 20;

impl Kept {
    /// Reads on until the bytes up to `to` are there, or the input ends.
    fn read_to(&mut self, to: u64) -> io::Result<()> {
        let missing = to.saturating_sub(self.from + self.bytes.len() as u64);
        if missing > 0 && !self.has_ended {
            let read = io::stdin().lock().take(missing).read_to_end(&mut self.bytes)?;
            self.has_ended = (read as u64) < missing;
        }
        Ok(())
    }

    /// Forgets what stands before `to`.
    fn forget(&mut self, to: u64) {
        let count = usize::try_from(to.saturating_sub(self.from)).unwrap_or(usize::MAX);
        if count > FORGET && count <= self.bytes.len() {
            self.bytes.drain(..count);
            self.bytes.shrink_to(FORGET);
            self.from = to;
        }
    }
}

impl Transcript for Piped {
    fn stat(&self) -> io::Result<FileStat> {
        // Its end shows when it is reached.
        Ok(stat(u64::MAX))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut kept = self.kept.borrow_mut();
        kept.forget(self.judged.get());
        kept.read_to(offset.saturating_add(buffer.len() as u64))?;
        let place = offset.checked_sub(kept.from).and_then(|at| usize::try_from(at).ok());
        let rest = place.and_then(|at| kept.bytes.get(at..)).unwrap_or_default();
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
