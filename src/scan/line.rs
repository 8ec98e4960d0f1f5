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

/// Pieces of a line: more are not told apart, so that a line of empty objects costs no memory.
const MAX_PIECES: usize = 1024;

/// Splits a line into its values and what is none. `parse` reads the first value of some bytes and
/// says where it ended; `is_row` says whether a value found behind a torn one is a row.
pub(crate) fn split<'a, T>(
    bytes: &'a [u8],
    parse: impl Fn(&'a [u8]) -> Result<(T, usize), Fail>,
    is_row: impl Fn(&T, Place) -> bool,
) -> Vec<Piece<T>> {
    let search = Search { bytes, parse, is_row };
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

/// Where an object stands that may be a row behind a torn one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Behind the place where the torn row stops making sense.
    BehindTear,
    /// Where the torn row could have a value, so that it may be a part of it.
    AsValue,
}

/// The search for whole rows behind torn ones.
struct Search<'a, P, R> {
    bytes: &'a [u8],
    parse: P,
    is_row: R,
}

impl<'a, T, P, R> Search<'a, P, R>
where
    P: Fn(&'a [u8]) -> Result<(T, usize), Fail>,
    R: Fn(&T, Place) -> bool,
{
    /// The first whole row behind a torn one that begins at `torn`. A place that is no whole row is
    /// the next torn one: each is read up to where it fails, and the next begins near there, so
    /// that no byte is read more than a few times.
    fn row_behind(&self, mut torn: usize, mut fail: Fail) -> Option<(usize, T, usize)> {
        loop {
            let failed = torn + fail.at;
            // A row that was cut before a value takes the next row for that value, and fails behind.
            let last = last_object(self.bytes.get(torn..failed).unwrap_or_default());
            if let Some((value, end)) = last.and_then(|at| self.row_at(torn + at)) {
                return last.map(|at| (torn + at, value, end));
            }
            if fail.ended {
                return None;
            }
            // A row that was cut inside a string takes the next row's first quote for its end, and
            // fails just behind it. So the likely place is the last one before the failure.
            let near = self.bytes.get(torn + 1..self.bytes.len().min(failed + 2))?;
            let likely = memmem::rfind(near, OPENING).map(|at| torn + 1 + at);
            let mut start = likely.or_else(|| self.opening(failed + 1))?;
            loop {
                match (self.parse)(self.bytes.get(start..)?) {
                    Ok((value, length))
                        if self.is_whole_row(&value, start + length, Place::BehindTear) =>
                    {
                        return Some((start, value, start + length));
                    }
                    Ok((_, length)) => start = self.opening(start + length)?,
                    Err(next) if start + next.at > failed => {
                        (torn, fail) = (start, next);
                        break;
                    }
                    Err(_) => start = self.opening(failed + 1)?,
                }
            }
        }
    }

    fn row_at(&self, start: usize) -> Option<(T, usize)> {
        let (value, length) = (self.parse)(self.bytes.get(start..)?).ok()?;
        self.is_whole_row(&value, start + length, Place::AsValue).then_some((value, start + length))
    }

    /// A whole row reaches to the end of the line or to another object; nearly all objects inside a
    /// torn row do not.
    fn is_whole_row(&self, value: &T, end: usize, place: Place) -> bool {
        let next = self.bytes.get(skip_space(self.bytes, end));
        matches!(next, None | Some(b'{')) && (self.is_row)(value, place)
    }

    /// The next place from here where an object with members begins.
    fn opening(&self, from: usize) -> Option<usize> {
        memmem::find(self.bytes.get(from..)?, OPENING).map(|at| from + at)
    }
}

/// What an object with members begins with, as programs write it.
const OPENING: &[u8] = b"{\"";

/// Where the object begins that ends at the end of `bytes`, which are the beginning of a value.
fn last_object(bytes: &[u8]) -> Option<usize> {
    bytes.trim_ascii_end().last().filter(|byte| **byte == b'}')?;
    // The last place where the depth rose above what is open at the end.
    let open = braces(bytes).last().map(|(_, depth)| depth)?;
    let mut before = 0;
    let mut start = None;
    for (at, depth) in braces(bytes) {
        if before == open && depth > open {
            start = Some(at);
        }
        before = depth;
    }
    start
}

/// The braces outside strings, each with how many are open behind it.
fn braces(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    bytes.iter().enumerate().filter_map(move |(at, byte)| {
        if in_string {
            if is_escaped {
                is_escaped = false;
            } else if *byte == b'\\' {
                is_escaped = true;
            } else if *byte == b'"' {
                in_string = false;
            }
            return None;
        }
        match byte {
            b'"' => in_string = true,
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => return None,
        }
        (!in_string).then_some((at, depth))
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
