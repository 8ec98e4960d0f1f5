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

/// Places where a row is looked for behind a torn one. The first nearly always is one.
const MAX_ATTEMPTS: usize = 64;

/// Splits a line into its values and what is none. `parse` reads the first value of some bytes and
/// says where it ended; `is_row` says whether a value found behind a torn one is a row, not just an
/// object from the inside of the torn one.
pub(crate) fn split<'a, T>(
    bytes: &'a [u8],
    parse: impl Fn(&'a [u8]) -> Result<(T, usize), Fail>,
    is_row: impl Fn(&T) -> bool,
) -> Vec<Piece<T>> {
    let mut pieces = Vec::with_capacity(1);
    let mut at = skip_space(bytes, 0);
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        match parse(rest) {
            Ok((value, length)) => {
                pieces.push(Piece::Value { start: at, end: at + length, value });
                at = skip_space(bytes, at + length);
            }
            Err(fail) => {
                let category = categorise(rest, fail);
                let Some((start, value, end)) = row_behind(bytes, at, fail, &parse, &is_row) else {
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

/// The first whole row behind a torn one that begins at `torn`: it must reach to the end of the
/// line or to another object, since objects inside the torn row do not.
fn row_behind<'a, T>(
    bytes: &'a [u8],
    torn: usize,
    fail: Fail,
    parse: &impl Fn(&'a [u8]) -> Result<(T, usize), Fail>,
    is_row: &impl Fn(&T) -> bool,
) -> Option<(usize, T, usize)> {
    // A row that was cut inside a string takes the next row's first quote for its end, and fails
    // just behind it. So the likely place is the last one before the failure.
    let failed = torn + fail.at;
    let near = bytes.get(torn + 1..(failed + 2).min(bytes.len())).unwrap_or_default();
    let likely = memmem::rfind(near, b"{\"").map(|at| torn + 1 + at).filter(|_| !fail.ended);
    let all = memmem::find_iter(bytes.get(torn + 1..).unwrap_or_default(), b"{\"")
        .map(|at| torn + 1 + at)
        .take(MAX_ATTEMPTS);
    likely.into_iter().chain(all).find_map(|start| {
        let (value, length) = parse(bytes.get(start..)?).ok()?;
        let end = start + length;
        let is_followed = matches!(bytes.get(skip_space(bytes, end)), None | Some(b'{'));
        (is_followed && is_row(&value)).then_some((start, value, end))
    })
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
