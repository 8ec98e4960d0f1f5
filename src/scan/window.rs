//! A window: the next whole lines of a file.
//!
//! Answers: which lines end within so many bytes from a position on. Always holds: a buffer holds a
//! step of them at a time, so that the bytes are still in the processor's cache when they are looked
//! at; only a line longer than a step makes it grow, to a window at most.

use super::bytes::fill;
use super::line::Line;
use crate::disk::{Transcript, read_range};
use memchr::{memchr, memrchr};
use std::io;

/// Bytes that are read at a time.
const STEP: usize = 256 << 10;

/// Some whole lines of a file, a step at a time.
#[derive(Debug, Default)]
pub struct Window {
    /// Only ever grows: to clear new bytes costs as much as to look at them.
    buffer: Vec<u8>,
    /// How much of the buffer was read.
    filled: usize,
    /// Where the lines in it end.
    cut: usize,
    /// Offset of the first byte in the buffer.
    from: u64,
    /// How far the window goes.
    until: u64,
    /// Whether the window ends before the file does.
    is_cut_off: bool,
    /// Whether any line was found.
    has_lines: bool,
    /// Whether the file ended before its size.
    is_short: bool,
}

/// What follows a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// The end of the file.
    Nothing,
    /// Bytes without a line end: a row that is being written.
    Partial,
    /// More to read.
    More,
    /// A line longer than a window.
    Long,
}

impl Window {
    /// Begins at `from`, with at most `limit` bytes of a file of `size` bytes.
    pub fn begin(&mut self, from: u64, size: u64, limit: u64) {
        let until = size.min(from.saturating_add(limit.max(1)));
        *self = Self {
            buffer: std::mem::take(&mut self.buffer),
            from,
            until,
            is_cut_off: until < size,
            ..Self::default()
        };
    }

    /// Reads on to the next lines; says whether there are any more in this window.
    pub fn read(&mut self, file: &dyn Transcript) -> io::Result<bool> {
        self.buffer.copy_within(self.cut..self.filled, 0);
        self.from = self.position();
        self.filled -= self.cut;
        self.cut = 0;
        loop {
            let at = self.from + self.filled as u64;
            let missing = self.until.saturating_sub(at);
            if missing == 0 || self.is_short {
                return Ok(false);
            }
            let wanted = usize::try_from(missing).map_or(STEP, |missing| missing.min(STEP));
            let end = self.filled + wanted;
            if self.buffer.len() < end {
                self.buffer.resize(end, 0);
            }
            let new = self.buffer.get_mut(self.filled..end).unwrap_or_default();
            let read = fill(file, at, new)?;
            self.is_short = read < wanted;
            let found = memrchr(b'\n', new.get(..read).unwrap_or_default());
            let before = self.filled;
            self.filled += read;
            if let Some(found) = found {
                self.cut = before + found + 1;
                self.has_lines = true;
                return Ok(true);
            }
        }
    }

    /// The lines that were read, in order, without their line ends.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut rest = self.bytes();
        let mut start = self.from;
        std::iter::from_fn(move || {
            let end = memchr(b'\n', rest)?;
            let (line, after) = rest.split_at_checked(end + 1)?;
            rest = after;
            let bytes = line.strip_suffix(b"\n").unwrap_or(line);
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            let line = Line { start, bytes, next: start + end as u64 + 1 };
            start = line.next;
            Some(line)
        })
    }

    /// The bytes of these lines.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.cut).unwrap_or_default()
    }

    /// What was read behind them: of a line longer than a window its beginning.
    #[must_use]
    pub fn behind(&self) -> &[u8] {
        self.buffer.get(self.cut..self.filled).unwrap_or_default()
    }

    /// Offset just after the last of these lines.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.from + self.cut as u64
    }

    /// What follows the window, all of it read: why there is no line, or nothing after these.
    #[must_use]
    pub fn rest(&self) -> Rest {
        match (self.has_lines, self.is_cut_off && !self.is_short) {
            (false, true) => Rest::Long,
            (true, true) => Rest::More,
            (_, false) if self.behind().is_empty() => Rest::Nothing,
            (_, false) => Rest::Partial,
        }
    }
}

/// The offset just after the last line end before `offset`: the start of the row that it lies in,
/// or `offset` itself where it is just after a line end.
pub fn row_start(file: &dyn Transcript, offset: u64) -> io::Result<u64> {
    const STEP: u64 = 64 << 10;
    let mut end = offset;
    while end > 0 {
        let from = end.saturating_sub(STEP);
        let bytes = read_range(file, from, end)?;
        if let Some(at) = memrchr(b'\n', &bytes) {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk as _;
    use crate::disk::memory::MemoryDisk;

    fn file(bytes: &[u8]) -> Box<dyn Transcript> {
        let disk = MemoryDisk::default();
        disk.append("/f", bytes);
        disk.open("/f".as_ref()).unwrap()
    }

    fn read(bytes: &[u8], limit: u64) -> (Vec<String>, Rest) {
        let file = file(bytes);
        let size = file.stat().unwrap().size;
        let mut lines = Vec::new();
        let mut window = Window::default();
        loop {
            window.begin(window.position(), size, limit);
            while window.read(file.as_ref()).unwrap() {
                lines.extend(
                    window.lines().map(|line| String::from_utf8_lossy(line.bytes).into_owned()),
                );
            }
            if window.rest() != Rest::More {
                return (lines, window.rest());
            }
        }
    }

    #[test]
    fn every_window_gives_the_same_lines() {
        for limit in [5, 7, 64, 1 << 20] {
            for (bytes, lines, rest) in [
                (&b""[..], &[][..], Rest::Nothing),
                (b"a\nbb\n", &["a", "bb"], Rest::Nothing),
                (b"a\r\n\r\nbb\r\n", &["a", "", "bb"], Rest::Nothing),
                (b"\n\n\n", &["", "", ""], Rest::Nothing),
                (b"a\nhalf", &["a"], Rest::Partial),
                (b"half", &[], Rest::Partial),
            ] {
                let expected = (lines.iter().map(ToString::to_string).collect(), rest);
                assert_eq!(read(bytes, limit), expected, "{bytes:?} by {limit}");
            }
        }
    }

    #[test]
    fn a_line_longer_than_a_window_is_told_from_one_being_written() {
        for (bytes, limit, rest) in [
            (&b"abcd"[..], 4, Rest::Partial),
            (b"abc\n", 4, Rest::Nothing),
            (b"abcd\n", 4, Rest::Long),
            (b"abcde", 4, Rest::Long),
            (b"abc\nabcde\n", 4, Rest::Long),
            (b"a", 0, Rest::Partial),
        ] {
            assert_eq!(read(bytes, limit).1, rest, "{bytes:?} by {limit}");
        }
    }

    #[test]
    fn lines_longer_than_a_step_and_across_steps_are_whole() {
        let line = |length: usize| vec![b'a' + u8::try_from(length % 26).unwrap(); length];
        let mut bytes = Vec::new();
        let lengths = [STEP * 3, 10, STEP - 12, 0, STEP, STEP * 2 - 1, 700_000, 5, STEP / 2];
        for length in lengths {
            bytes.extend(line(length));
            bytes.push(b'\n');
        }
        bytes.extend(line(STEP * 2));
        for limit in [1 << 20, 1 << 40, 800_000] {
            let (lines, rest) = read(&bytes, limit);
            assert!(lines.iter().map(String::as_bytes).eq(lengths.map(line)), "{limit}");
            assert_eq!(rest, Rest::Partial);
        }
    }

    #[test]
    fn a_row_starts_after_the_line_end_before_it() {
        let file = file(b"one\ntwo\nthr");
        for (offset, start) in [(0, 0), (2, 0), (3, 0), (4, 4), (6, 4), (8, 8), (11, 8)] {
            assert_eq!(row_start(file.as_ref(), offset).unwrap(), start, "{offset}");
        }
    }
}
