//! A chunk of a file: its bytes, and those around it where they are needed.

use super::{Span, read_again};
use crate::classify::row::raw::{REACH, beginning, end};
use crate::disk::Transcript;
use memchr::memchr2;
use std::borrow::Cow;
use std::io;

/// A chunk and where it stands in the file.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub(crate) file: &'a dyn Transcript,
    pub(crate) bytes: &'a [u8],
    /// Offset of its first byte.
    pub(crate) from: u64,
    /// Whether a control character may be in it.
    pub(crate) has_controls: bool,
}

impl<'a> Chunk<'a> {
    pub(crate) fn offset(&self, at: usize) -> u64 {
        self.from.saturating_add(at as u64)
    }

    /// What is seen of a key that nobody knows.
    pub(super) fn key(&self, key: Span) -> io::Result<Cow<'a, [u8]>> {
        self.read(key.from, key.from.saturating_add(key.seen()))
    }

    /// Bytes of the file, from the chunk where it holds them.
    pub(super) fn read(&self, from: u64, to: u64) -> io::Result<Cow<'a, [u8]>> {
        let place = |offset: u64| offset.checked_sub(self.from).and_then(|at| at.try_into().ok());
        let held = place(from)
            .zip(place(to))
            .and_then(|(from, to): (usize, usize)| self.bytes.get(from..to));
        held.map_or_else(|| read_again(self.file, from, to).map(Cow::Owned), |held| Ok(held.into()))
    }
}

/// Where a string ends, goes on with an escape that is cut or wrong, or fails, and by which byte;
/// no byte where the chunk ends first.
pub(super) fn text_end(chunk: &Chunk<'_>, from: usize) -> (usize, Option<u8>) {
    let mut at = from;
    loop {
        let place = special(chunk, at);
        let rest = chunk.bytes.get(place..).unwrap_or_default();
        match rest {
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => at = place + 2,
            _ => return (place, rest.first().copied()),
        }
    }
}

/// The next byte that is not plain text: a quote, a backslash, a control character.
fn special(chunk: &Chunk<'_>, from: usize) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let mut at = from;
    // Most strings are short: a word at a time costs less than a call.
    for _ in 0..2 {
        let rest = chunk.bytes.get(at..).unwrap_or_default();
        let Some(word) = rest.first_chunk().map(|word| u64::from_le_bytes(*word)) else {
            break;
        };
        // In each of these the lowest high bit that is set is that of the first such byte.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let backslash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quote | backslash | control) & (ONES * 0x80);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = chunk.bytes.get(at..).unwrap_or_default();
    let length = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
    if chunk.has_controls {
        let plain = rest.get(..length).unwrap_or_default();
        if let Some(control) = plain.iter().position(|byte| *byte < 0x20) {
            return at + control;
        }
    }
    at + length
}

/// What rules see of a string of the file.
pub(super) fn read_excerpt<'a>(
    chunk: &Chunk<'a>,
    span: Span,
    side: usize,
) -> io::Result<Cow<'a, [u8]>> {
    let side_bytes = side as u64;
    if span.length() <= side_bytes * 2 {
        return chunk.read(span.from, span.to);
    }
    let front = chunk.read(span.from, span.from + side_bytes)?;
    let back = chunk.read(span.to.saturating_sub(side_bytes + REACH as u64), span.to)?;
    Ok(Cow::Owned([beginning(&front), end(&back)].concat()))
}
