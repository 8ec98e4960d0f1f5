//! A window: the next whole lines of a file.

use super::line::Line;
use crate::disk::{Transcript, read_range};
use memchr::{memchr, memrchr};
use std::io;

/// Some whole lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Offset of the first byte.
    pub from: u64,
    /// Offset just after the last line end; equal to `from` where no line is whole.
    pub to: u64,
    /// The bytes between them; of a line longer than a window its beginning.
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
    /// A line longer than a window.
    Long,
}

impl Window {
    /// Reads from `from`, at most `limit` bytes of a file of `size` bytes, and cuts after the last
    /// line end.
    pub fn read(file: &dyn Transcript, from: u64, size: u64, limit: u64) -> io::Result<Self> {
        let until = size.min(from.saturating_add(limit.max(1)));
        let mut bytes = read_range(file, from, until)?;
        let read = bytes.len() as u64;
        let is_more = until < size && from + read == until;
        let cut = memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        let rest = match (cut, is_more) {
            (0, true) => return Ok(Self { from, to: from, bytes, rest: Rest::Long }),
            (_, true) => Rest::More,
            (cut, false) if cut < bytes.len() => Rest::Partial,
            (_, false) => Rest::Nothing,
        };
        bytes.truncate(cut);
        Ok(Self { from, to: from + cut as u64, bytes, rest })
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
    fn a_row_starts_after_the_line_end_before_it() {
        let file = file(b"one\ntwo\nthr");
        for (offset, start) in [(0, 0), (2, 0), (3, 0), (4, 4), (6, 4), (8, 8), (11, 8)] {
            assert_eq!(row_start(file.as_ref(), offset).unwrap(), start, "{offset}");
        }
    }
}
