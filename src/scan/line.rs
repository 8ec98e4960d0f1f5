//! One line of a transcript, and the rows on it.
//!
//! Answers: which pieces of a line are values: mostly one; two where a line end was lost; a torn
//! row and the whole row behind it where a write was cut short. Always holds: the pieces are in
//! order, and a line takes time in proportion to its length whatever stands on it. Not here: how a
//! value is read, which is handed in (`classify`).

use super::bytes::Bytes;
use crate::classify::Fail;
use memchr::memmem;
use std::ops::ControlFlow;

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

/// Where a line stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Offset of its first byte.
    pub start: u64,
    /// Offset just after its LF.
    pub next: u64,
}

impl Line<'_> {
    /// Where it stands.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        Extent { start: self.start, next: self.next }
    }
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
pub(crate) const MAX_PIECES: usize = 1024;

/// A value and its length, or why there is none.
pub(crate) type Parse<T> = Result<(T, usize), Fail>;

/// How values are read, and known for rows.
pub(crate) trait Values {
    /// What is read of a value.
    type Value;
    /// What can go wrong beside the bytes being no JSON.
    type Error;

    /// Reads the first value from a place on; gives its length too.
    fn parse(&mut self, at: usize) -> Result<Parse<Self::Value>, Self::Error>;

    /// Whether a value found behind a torn one is a row.
    fn is_row(&mut self, value: &Self::Value, place: Place) -> Result<bool, Self::Error>;
}

/// Splits a line into its values and what is none.
pub(crate) fn split<B, V>(bytes: &B, values: V) -> Result<Vec<Piece<V::Value>>, B::Error>
where
    B: Bytes + ?Sized,
    V: Values<Error = B::Error>,
{
    let mut search = Search { bytes, values };
    let mut pieces = Vec::with_capacity(1);
    let mut next = search.first(0)?;
    while let Some((at, byte)) = next {
        if pieces.len() >= MAX_PIECES {
            pieces.push(Piece::NoJson {
                start: at,
                end: bytes.len(),
                category: SkipCategory::Syntax,
            });
            break;
        }
        match search.values.parse(at)? {
            Ok((value, length)) => {
                pieces.push(Piece::Value { start: at, end: at + length, value });
                next = search.first(at + length)?;
            }
            Err(fail) => {
                let category = categorise(byte, fail);
                let Some((start, value, end)) = search.row_behind(at, fail)? else {
                    pieces.push(Piece::NoJson { start: at, end: bytes.len(), category });
                    break;
                };
                let category =
                    if category == SkipCategory::Syntax { SkipCategory::Torn } else { category };
                pieces.push(Piece::NoJson { start: at, end: start, category });
                pieces.push(Piece::Value { start, end, value });
                next = search.first(end)?;
            }
        }
    }
    Ok(pieces)
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
struct Search<'a, B: ?Sized, V> {
    bytes: &'a B,
    values: V,
}

/// A value with its beginning and its end.
type Placed<T> = (usize, T, usize);

impl<B, V> Search<'_, B, V>
where
    B: Bytes + ?Sized,
    V: Values<Error = B::Error>,
{
    /// The first whole row behind a torn one that begins at `torn`. A place that is no whole row is
    /// the next torn one: each is read up to where it fails, and the next begins near there, so
    /// that no byte is read more than a few times.
    fn row_behind(
        &mut self,
        mut torn: usize,
        mut fail: Fail,
    ) -> Result<Option<Placed<V::Value>>, B::Error> {
        loop {
            let failed = torn + fail.at;
            // A row that was cut before a value takes the next row for that value, and fails behind.
            if let Some(start) = self.last_object(torn, failed)?
                && let Ok((value, length)) = self.values.parse(start)?
                && self.is_whole_row(&value, start + length, Place::AsValue)?
            {
                return Ok(Some((start, value, start + length)));
            }
            if fail.ended {
                return Ok(None);
            }
            // A row that was cut inside a string takes the next row's first quote for its end, and
            // fails just behind it. So the likely place is the last one before the failure.
            let mut next = self.last_opening(torn + 1, failed + 2)?;
            if next.is_none() {
                next = self.opening(failed + 1)?;
            }
            loop {
                let Some(start) = next else {
                    return Ok(None);
                };
                next = match self.values.parse(start)? {
                    Ok((value, length)) => {
                        if self.is_whole_row(&value, start + length, Place::BehindTear)? {
                            return Ok(Some((start, value, start + length)));
                        }
                        self.opening(start + length)?
                    }
                    Err(further) if start + further.at > failed => {
                        (torn, fail) = (start, further);
                        break;
                    }
                    Err(_) => self.opening(failed + 1)?,
                };
            }
        }
    }

    /// A whole row reaches to the end of the line or to another object; nearly all objects inside a
    /// torn row do not.
    fn is_whole_row(
        &mut self,
        value: &V::Value,
        end: usize,
        place: Place,
    ) -> Result<bool, B::Error> {
        let next = self.first(end)?.map(|(_, byte)| byte);
        Ok(matches!(next, None | Some(b'{')) && self.values.is_row(value, place)?)
    }

    /// The first byte from here on that is no white space.
    fn first(&self, from: usize) -> Result<Option<(usize, u8)>, B::Error> {
        self.bytes.find(from, |byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// The next place from here where an object with members begins.
    fn opening(&self, from: usize) -> Result<Option<usize>, B::Error> {
        let mut found = None;
        self.openings(from, self.bytes.len(), |at| {
            found = Some(at);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// The last such place between two.
    fn last_opening(&self, from: usize, to: usize) -> Result<Option<usize>, B::Error> {
        let mut found = None;
        self.openings(from, to, |at| {
            found = Some(at);
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn openings(
        &self,
        from: usize,
        to: usize,
        mut found: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(), B::Error> {
        // A piece may end between the two bytes.
        let mut is_half = false;
        let finder = memmem::Finder::new(OPENING);
        self.bytes.walk(from, to, &mut |start, piece| {
            if is_half && piece.first() == Some(&b'"') {
                found(start - 1)?;
            }
            is_half = piece.last() == Some(&b'{');
            finder.find_iter(piece).try_for_each(|at| found(start + at))
        })
    }

    /// Where the object begins that ends at the end of these bytes, the beginning of a value.
    fn last_object(&self, from: usize, to: usize) -> Result<Option<usize>, B::Error> {
        let mut last = None;
        self.bytes.walk(from, to, &mut |_, piece| {
            last = piece.trim_ascii_end().last().copied().or(last);
            ControlFlow::Continue(())
        })?;
        if last != Some(b'}') {
            return Ok(None);
        }
        // The last place where the depth rose above what is open at the end.
        let mut braces = Braces::default();
        let mut open = 0;
        self.bytes.walk(from, to, &mut |start, piece| {
            braces.look(start, piece, |_, depth| open = depth);
            ControlFlow::Continue(())
        })?;
        let (mut braces, mut before, mut start) = (Braces::default(), 0, None);
        self.bytes.walk(from, to, &mut |piece_start, piece| {
            braces.look(piece_start, piece, |at, depth| {
                if before == open && depth > open {
                    start = Some(at);
                }
                before = depth;
            });
            ControlFlow::Continue(())
        })?;
        Ok(start)
    }
}

/// What an object with members begins with, as programs write it.
const OPENING: &[u8] = b"{\"";

/// Finds the braces outside strings, each with how many are open behind it.
#[derive(Default)]
struct Braces {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Braces {
    fn look(&mut self, start: usize, piece: &[u8], mut found: impl FnMut(usize, usize)) {
        for (at, byte) in piece.iter().enumerate() {
            if self.in_string {
                if self.is_escaped {
                    self.is_escaped = false;
                } else if *byte == b'\\' {
                    self.is_escaped = true;
                } else if *byte == b'"' {
                    self.in_string = false;
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' => {
                    self.depth += 1;
                    found(start + at, self.depth);
                }
                b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    found(start + at, self.depth);
                }
                _ => {}
            }
        }
    }
}

fn categorise(first: u8, fail: Fail) -> SkipCategory {
    if first == 0 {
        SkipCategory::Zeros
    } else if fail.ended {
        SkipCategory::Torn
    } else {
        SkipCategory::Syntax
    }
}
