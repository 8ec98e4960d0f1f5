//! A window: the next whole lines of a file.

use super::line::Line;
use crate::disk::{Transcript, read_range};
use memchr::{memchr, memrchr};
use std::io;

/// The biggest row that is read whole. A window without a line end grows up to this; a row beyond
/// it waits, and is shown as waiting.
pub const ROW_LIMIT: u64 = 8 << 20;

/// Some whole lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Offset of the first byte.
    pub from: u64,
    /// Offset just after the last line end; equal to `from` where no line is whole.
    pub to: u64,
    /// The bytes between them.
    pub bytes: Vec<u8>,
    /// Why there is no line, or nothing after these.
    pub rest: Rest,
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
    /// A row bigger than `ROW_LIMIT`.
    Oversized,
}

impl Window {
    /// Reads from `from`, at most `limit` bytes of a file of `size` bytes, and cuts after the last
    /// line end. Where the first line is longer than that, the window grows until it holds it.
    pub fn read(file: &dyn Transcript, from: u64, size: u64, limit: u64) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let mut next = from;
        let mut limit = limit.max(1);
        loop {
            let until = size.min(from.saturating_add(limit));
            let chunk = read_range(file, next, until)?;
            let short = next + (chunk.len() as u64) < until;
            let searched = bytes.len();
            bytes.extend_from_slice(&chunk);
            next += chunk.len() as u64;
            let cut = memrchr(b'\n', &chunk).map(|at| searched + at + 1);
            if let Some(cut) = cut {
                let rest = if next < size && !short {
                    Rest::More
                } else if cut < bytes.len() {
                    Rest::Partial
                } else {
                    Rest::Nothing
                };
                bytes.truncate(cut);
                return Ok(Self { from, to: from + cut as u64, bytes, rest });
            }
            let rest = if next >= size || short {
                if bytes.is_empty() { Rest::Nothing } else { Rest::Partial }
            } else if limit >= ROW_LIMIT {
                Rest::Oversized
            } else {
                limit = limit.saturating_mul(2).min(ROW_LIMIT);
                continue;
            };
            return Ok(Self { from, to: from, bytes: Vec::new(), rest });
        }
    }

    /// The lines, in order, without their line ends.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut rest = self.bytes.as_slice();
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

/// Where the next line begins; the end of the file where there is none.
pub fn line_after(file: &dyn Transcript, from: u64, size: u64) -> io::Result<u64> {
    const STEP: u64 = 1 << 20;
    let mut at = from;
    while at < size {
        let bytes = read_range(file, at, size.min(at + STEP))?;
        if let Some(end) = memchr(b'\n', &bytes) {
            return Ok(at + end as u64 + 1);
        }
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
    }
    Ok(size)
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
        let mut from = 0;
        loop {
            let window = Window::read(file.as_ref(), from, size, limit).unwrap();
            lines.extend(
                window.lines().map(|line| String::from_utf8_lossy(line.bytes).into_owned()),
            );
            from = window.to;
            if window.rest != Rest::More {
                return (lines, window.rest);
            }
        }
    }

    #[test]
    fn every_window_gives_the_same_lines() {
        for limit in [1, 2, 3, 7, 64, 1 << 20] {
            for (bytes, lines, rest) in [
                (&b""[..], &[][..], Rest::Nothing),
                (b"a\nbb\n", &["a", "bb"], Rest::Nothing),
                (b"a\r\n\r\nbb\r\n", &["a", "", "bb"], Rest::Nothing),
                (b"\n\n\n", &["", "", ""], Rest::Nothing),
                (b"a\nlonger than a window\nhalf", &["a", "longer than a window"], Rest::Partial),
                (b"half", &[], Rest::Partial),
            ] {
                let expected = (lines.iter().map(ToString::to_string).collect(), rest);
                assert_eq!(read(bytes, limit), expected, "{bytes:?} by {limit}");
            }
        }
    }

    #[test]
    fn a_row_beyond_the_limit_is_told_from_one_being_written() {
        let limit = usize::try_from(ROW_LIMIT).unwrap();
        let mut bytes = vec![b'x'; limit - 1];
        assert_eq!(read(&bytes, 1 << 20).1, Rest::Partial);
        bytes.push(b'\n');
        assert_eq!(read(&bytes, 1 << 20).1, Rest::Nothing);
        bytes.insert(0, b'x');
        assert_eq!(read(&bytes, 1 << 20).1, Rest::Oversized);
    }

    #[test]
    fn the_next_line_begins_after_the_line_end() {
        let file = file(b"one\ntwo\nthr");
        for (from, next) in [(0, 4), (3, 4), (4, 8), (8, 11)] {
            assert_eq!(line_after(file.as_ref(), from, 11).unwrap(), next, "{from}");
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
