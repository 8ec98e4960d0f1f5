//! What the tests and the targets in `fuzz/` read by; there only when these are built.

use super::lines::{JudgedLine, Lines};
use super::row::{Parsed, Row};
use super::{LineReport, LongLine, Reader, ReaderState, Settings};
use crate::disk::{FileStat, Transcript};
use crate::ids::{HashKey, Timestamp};
use crate::scan::line::{Extent, Parse, Place, Values, split};
use crate::scan::window::Rest;
use std::convert::Infallible;
use std::io;

/// A file that is only bytes.
struct Held<'a>(&'a [u8]);

impl Transcript for Held<'_> {
    fn stat(&self) -> io::Result<FileStat> {
        let size = self.0.len() as u64;
        Ok(FileStat { device: 1, inode: 1, size, modified: Timestamp(0), changed_ns: 0 })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let rest = self.0.get(from..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(count)
    }
}

/// Reads a file in windows of these sizes, over and over, by a reader that explains itself; `between`
/// gets what would be stored after each of them and gives what is read back.
pub fn read_in_windows(
    bytes: &[u8],
    key: &HashKey,
    settings: Settings,
    windows: &[u64],
    mut between: impl FnMut((Option<LongLine>, ReaderState)) -> (Option<LongLine>, ReaderState),
) -> io::Result<(Vec<(Extent, LineReport)>, ReaderState)> {
    let file = Held(bytes);
    let size = bytes.len() as u64;
    let mut found = Vec::new();
    let mut take = |line: JudgedLine| -> io::Result<()> {
        found.push((line.extent, line.report));
        Ok(())
    };
    let (mut position, mut part, mut state) = (0, None, ReaderState::default());
    let mut windows = windows.iter().copied().cycle();
    loop {
        let window = windows.next().unwrap_or(u64::MAX);
        let reader = Reader::new(key, settings, state).explaining(true);
        let mut lines = Lines::new(&file, reader, window, position, part);
        let rest = lines.pass(size, &mut take)?;
        if rest != Rest::More {
            lines.finish(size, &mut take)?;
            return Ok((found, lines.into_reader().into_state()));
        }
        position = lines.position();
        let kept = lines.part().cloned();
        (part, state) = between((kept, lines.into_reader().into_state()));
    }
}

/// How many bytes are read as values until a line is split, if nothing on it passes for a row behind
/// a torn one.
#[must_use]
pub fn bytes_parsed(line: &[u8]) -> usize {
    let mut parsed = 0;
    let Ok(_) = split(line, Counted { line, parsed: &mut parsed });
    parsed
}

struct Counted<'a, 'c> {
    line: &'a [u8],
    parsed: &'c mut usize,
}

impl<'a> Values for Counted<'a, '_> {
    type Value = Parsed<'a>;
    type Error = Infallible;

    fn parse(&mut self, at: usize) -> Result<Parse<Self::Value>, Infallible> {
        let parse = Row::parse(self.line.get(at..).unwrap_or_default());
        *self.parsed += parse.as_ref().map_or_else(|fail| fail.at, |(_, length)| *length);
        Ok(parse)
    }

    fn is_row(&mut self, _: &Self::Value, _: Place) -> Result<bool, Infallible> {
        Ok(false)
    }
}
