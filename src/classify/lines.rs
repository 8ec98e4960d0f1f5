//! The lines of a file, judged one after the other, a window at a time.

use super::{LineReport, LongLine, Reader};
use crate::disk::{Transcript, read_range};
use crate::scan::bytes::fill;
use crate::scan::line::{Extent, Line};
use crate::scan::window::{Rest, Window};
use std::io;

/// Bytes of a long line that are read at a time; what is in the processor's cache is read again at
/// no cost.
const CHUNK: u64 = 128 << 10;

/// Bytes that are kept of what was read last.
const TAIL: usize = 4 << 10;

/// A line with the verdicts on its rows.
#[derive(Debug)]
pub(crate) struct JudgedLine {
    /// Where it stands.
    pub(crate) extent: Extent,
    /// Its rows.
    pub(crate) report: LineReport,
}

/// The lines of a file from a position on.
pub(crate) struct Lines<'a> {
    file: &'a dyn Transcript,
    reader: Reader,
    /// Bytes that a pass reads at most.
    window: u64,
    /// Whether a pass is to end with what it has read.
    ends_early: Option<&'a dyn Fn() -> bool>,
    position: u64,
    part: Option<LongLine>,
    /// The last bytes that were read before the position.
    tail: Vec<u8>,
    /// The last bytes that were read of that line.
    part_tail: Vec<u8>,
    /// The window that is read.
    held: Window,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// The lines from a position on, which is just after a line end; `part` is what an earlier life
    /// read of the first of them.
    pub(crate) fn new(
        file: &'a dyn Transcript,
        reader: Reader,
        window: u64,
        position: u64,
        part: Option<LongLine>,
    ) -> Self {
        let part = part.filter(|part| part.start() == position);
        let window = window.max(1);
        Self {
            file,
            reader,
            window,
            ends_early: None,
            position,
            part,
            tail: Vec::new(),
            part_tail: Vec::new(),
            held: Window::default(),
            buffer: Vec::new(),
        }
    }

    /// From now on a pass ends before its window does where this says so, though not before it has
    /// read something.
    pub(crate) fn ending_early(mut self, when: &'a dyn Fn() -> bool) -> Self {
        self.ends_early = Some(when);
        self
    }

    /// Just after the last whole line.
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// The line that was read in part behind it.
    pub(crate) const fn part(&self) -> Option<&LongLine> {
        self.part.as_ref()
    }

    /// The last bytes that were read before the position; what an earlier life read is not there.
    pub(crate) fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// The last bytes that were read of the line behind it.
    pub(crate) fn part_tail(&self) -> &[u8] {
        &self.part_tail
    }

    /// What is to be remembered of the lines that were judged.
    pub(crate) fn into_reader(self) -> Reader {
        self.reader
    }

    /// One pass: the next whole lines, or the next part of a line longer than a window.
    pub(crate) fn pass<E: From<io::Error>>(
        &mut self,
        size: u64,
        mut each: impl FnMut(JudgedLine) -> Result<(), E>,
    ) -> Result<Rest, E> {
        if let Some(part) = self.part.take() {
            return self.read_on(part, size, each);
        }
        self.held.begin(self.position, size, self.window);
        while self.held.read(self.file)? {
            for line in self.held.lines() {
                let report = self.reader.read_line(&line);
                each(JudgedLine { extent: line.extent(), report })?;
            }
            self.position = self.held.position();
            keep_tail(&mut self.tail, self.held.bytes());
            if self.position < size && self.is_to_end() {
                return Ok(Rest::More);
            }
        }
        let rest = self.held.rest();
        if rest == Rest::Long {
            keep_tail(&mut self.part_tail, self.held.behind());
            let mut part = LongLine::new(self.position);
            // No line end is in it, so that the line goes on.
            part.take(self.file, self.held.behind())?;
            self.part = Some(part);
            return Ok(Rest::More);
        }
        Ok(rest)
    }

    fn read_on<E: From<io::Error>>(
        &mut self,
        mut part: LongLine,
        size: u64,
        mut each: impl FnMut(JudgedLine) -> Result<(), E>,
    ) -> Result<Rest, E> {
        let until = size.min(part.read().saturating_add(self.window));
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut end = None;
        let mut is_short = false;
        while end.is_none() && !is_short && part.read() < until {
            let wanted = usize::try_from(CHUNK.min(until - part.read())).unwrap_or_default();
            buffer.resize(wanted, 0);
            let filled = fill(self.file, part.read(), &mut buffer)?;
            is_short = filled < wanted;
            let bytes = buffer.get(..filled).unwrap_or_default();
            let from = part.read();
            end = part.take(self.file, bytes)?;
            let taken = end.map_or(filled, |end| usize::try_from(end + 1 - from).unwrap_or(filled));
            keep_tail(&mut self.part_tail, bytes.get(..taken).unwrap_or_default());
            if self.is_to_end() {
                break;
            }
        }
        self.buffer = buffer;
        let Some(end) = end else {
            let is_more = part.read() < size && !is_short;
            self.part = Some(part);
            return Ok(if is_more { Rest::More } else { Rest::Partial });
        };
        self.end_part(part, end, end + 1, &mut each)?;
        Ok(if self.position < size { Rest::More } else { Rest::Nothing })
    }

    /// Takes what stands behind the last line end for a line: the file is at rest.
    pub(crate) fn finish<E: From<io::Error>>(
        &mut self,
        size: u64,
        mut each: impl FnMut(JudgedLine) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(part) = self.part.take() {
            let end = part.read();
            return self.end_part(part, end, end, &mut each);
        }
        // Were there more, it would have been begun.
        let until = size.min(self.position.saturating_add(self.window));
        let bytes = read_range(self.file, self.position, until)?;
        let next = self.position + bytes.len() as u64;
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(&bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        let line = Line { start: self.position, bytes, next };
        let report = self.reader.read_line(&line);
        self.position = next;
        each(JudgedLine { extent: line.extent(), report })
    }

    fn is_to_end(&self) -> bool {
        self.ends_early.is_some_and(|when| when())
    }

    fn end_part<E: From<io::Error>>(
        &mut self,
        part: LongLine,
        end: u64,
        next: u64,
        each: &mut impl FnMut(JudgedLine) -> Result<(), E>,
    ) -> Result<(), E> {
        let extent = Extent { start: part.start(), next };
        let report = self.reader.read_long(self.file, part, end)?;
        self.position = next;
        self.tail = std::mem::take(&mut self.part_tail);
        each(JudgedLine { extent, report })
    }
}

fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    let new = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
    let surplus = (tail.len() + new.len()).saturating_sub(TAIL);
    tail.drain(..surplus.min(tail.len()));
    tail.extend_from_slice(new);
}
