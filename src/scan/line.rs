//! One line of a transcript, and the rows on it.
//!
//! Answers: which pieces of a line are values: mostly one; two where a line end was lost; a torn
//! row and the whole row behind it where a write was cut short. Always holds: the pieces are in
//! order, and a line takes time in proportion to its length whatever stands on it. Not here: how a
//! value is read, which is handed in (`classify`).

use crate::classify::Fail;
use memchr::memmem;

/// One line of a transcript, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Offset of its first byte in the file.
    pub start: u64,
    /// The bytes, LF and a CR before it left out.
    pub bytes: &'a [u8],
    /// Offset just after its LF: where the next line begins.
    pub next: u64,
}

/// Bytes that are no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// Offset of the first of them in the file.
    pub offset: u64,
    /// How many they are.
    pub length: u64,
    /// What is wrong with them.
    pub category: SkipCategory,
}

/// What is wrong with bytes that are no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkipCategory {
    /// They are zeros: a file that was extended but not written.
    Zeros,
    /// They end inside a value, or another begins there: a write was cut short.
    Torn,
    /// Anything else.
    Syntax,
}

impl SkipCategory {
    /// The name in logs and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Torn => "torn",
            Self::Syntax => "syntax",
        }
    }
}

/// A piece of a line.
pub(crate) enum Piece<T> {
    /// A value, from its first byte to just after its last.
    Value {
        /// Where it begins in the line.
        start: usize,
        /// Just after its last byte.
        end: usize,
        /// What was read.
        value: T,
    },
    /// Bytes that are no JSON.
    NoJson {
        /// Where they begin in the line.
        start: usize,
        /// Just after the last of them.
        end: usize,
        /// What is wrong with them.
        category: SkipCategory,
    },
}

/// Places on a line where a row is looked for behind a torn one. The first nearly always is one.
const MAX_ATTEMPTS: usize = 64;

/// Pieces of a line: more are not told apart, so that a line of empty objects costs no memory.
const MAX_PIECES: usize = 1024;

/// Splits a line into its values and what is none. `parse` reads the first value of some bytes and
/// says where it ended; `is_row` says whether a value found behind a torn one is a row, not just an
/// object from the inside of the torn one.
pub(crate) fn split<'a, T>(
    bytes: &'a [u8],
    parse: impl Fn(&'a [u8]) -> Result<(T, usize), Fail>,
    is_row: impl Fn(&T) -> bool,
) -> Vec<Piece<T>> {
    let mut search = Search { bytes, parse, is_row, attempts: MAX_ATTEMPTS };
    let mut pieces = Vec::with_capacity(1);
    let mut at = skip_space(bytes, 0);
    while at < bytes.len() {
        if pieces.len() >= MAX_PIECES {
            pieces.push(Piece::NoJson {
                start: at,
                end: bytes.len(),
                category: SkipCategory::Syntax,
            });
            break;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        match (search.parse)(rest) {
            Ok((value, length)) => {
                pieces.push(Piece::Value { start: at, end: at + length, value });
                at = skip_space(bytes, at + length);
            }
            Err(fail) => {
                let category = categorise(rest, fail);
                let Some((start, value, end)) = search.row_behind(at, fail) else {
                    pieces.push(Piece::NoJson { start: at, end: bytes.len(), category });
                    break;
                };
                let category =
                    if category == SkipCategory::Syntax { SkipCategory::Torn } else { category };
                pieces.push(Piece::NoJson { start: at, end: start, category });
                pieces.push(Piece::Value { start, end, value });
                at = skip_space(bytes, end);
            }
        }
    }
    pieces
}

/// The search for whole rows behind torn ones, with what it may cost on this line.
struct Search<'a, P, R> {
    bytes: &'a [u8],
    parse: P,
    is_row: R,
    attempts: usize,
}

impl<'a, T, P, R> Search<'a, P, R>
where
    P: Fn(&'a [u8]) -> Result<(T, usize), Fail>,
    R: Fn(&T) -> bool,
{
    /// The first whole row behind a torn one that begins at `torn`.
    fn row_behind(&mut self, torn: usize, fail: Fail) -> Option<(usize, T, usize)> {
        // A row that was cut inside a string takes the next row's first quote for its end, and
        // fails just behind it. So the likely place is the last one before the failure.
        let failed = (torn + fail.at + 2).min(self.bytes.len());
        let near = self.bytes.get(torn + 1..failed).unwrap_or_default();
        let likely = memmem::rfind(near, b"{\"").map(|at| torn + 1 + at).filter(|_| !fail.ended);
        let behind = self.bytes.get(torn + 1..).unwrap_or_default();
        let all = memmem::find_iter(behind, b"{\"").map(|at| torn + 1 + at);
        likely.into_iter().chain(all).take(self.attempts).find_map(|start| {
            self.attempts -= 1;
            self.row_at(start).map(|(value, end)| (start, value, end))
        })
    }

    /// The row that begins here: it must reach to the end of the line or to another object, since
    /// objects inside a torn row do not.
    fn row_at(&self, start: usize) -> Option<(T, usize)> {
        let (value, length) = (self.parse)(self.bytes.get(start..)?).ok()?;
        let end = start + length;
        let is_followed = matches!(self.bytes.get(skip_space(self.bytes, end)), None | Some(b'{'));
        (is_followed && (self.is_row)(&value)).then_some((value, end))
    }
}

fn categorise(bytes: &[u8], fail: Fail) -> SkipCategory {
    if bytes.first() == Some(&0) {
        SkipCategory::Zeros
    } else if fail.ended {
        SkipCategory::Torn
    } else {
        SkipCategory::Syntax
    }
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    from + space.count()
}
