//! A line that is too long to be held: read on in chunks, judged at its end.
//!
//! Answers: the rows of such a line, the same as `Reader::read_line` on all of it. Always holds:
//! what is kept between two chunks is numbers, so that it can be stored and reading can go on in
//! another process; whole values are outlined as they pass, and only a line with faults is read a
//! second time. Not here: where lines begin and how much is read at a time (`lines`).

use super::outline::{Chunk, Fed, Outline, Scanner, Span};
use super::reader::{BOM, is_blank, is_row};
use super::row::{Parsed, Row};
use super::whole::InFile;
use super::{Fail, JudgedRow, LineReport, Reader};
use crate::disk::Transcript;
use crate::scan::bytes::{Bytes as _, FileRange, has_controls, shorter};
use crate::scan::line::{MAX_PIECES, Parse, Piece, Place, Values, split};
use memchr::memchr;
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::ControlFlow;

/// A line that was read in part. Offsets are the file's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongLine {
    /// Where it begins.
    start: u64,
    /// How far it was read.
    read: u64,
    /// The values that ended.
    values: Vec<Whole>,
    stage: Stage,
}

/// A value that was read, by its outline; none where it is no object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Whole {
    span: Span,
    outline: Option<Box<Outline>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// So many bytes of a mark of the byte order.
    Mark(u8),
    /// Before a value.
    Between,
    /// In a value that began there.
    Inside(u64, Box<Scanner>),
    /// Something is no JSON: only the end of the line is looked for.
    Faulty,
}

impl LongLine {
    /// The line that begins at this offset.
    pub(super) const fn new(start: u64) -> Self {
        Self { start, read: start, values: Vec::new(), stage: Stage::Mark(0) }
    }

    /// Where it begins.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// How far it was read.
    #[must_use]
    pub const fn read(&self) -> u64 {
        self.read
    }

    /// Takes the bytes that follow in the file; gives the offset of the line's end where it is
    /// among them.
    pub(super) fn take(&mut self, file: &dyn Transcript, bytes: &[u8]) -> io::Result<Option<u64>> {
        let has_controls = has_controls(bytes);
        let end = if has_controls { memchr(b'\n', bytes) } else { None };
        let bytes = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let chunk = Chunk { file, bytes, from: self.read, has_controls };
        self.feed(&chunk)?;
        self.read = self.read.saturating_add(bytes.len() as u64);
        Ok(end.map(|_| self.read))
    }

    fn feed(&mut self, chunk: &Chunk<'_>) -> io::Result<()> {
        let mut at = 0;
        while let Some(byte) = chunk.bytes.get(at) {
            match &mut self.stage {
                Stage::Mark(done) if BOM.get(usize::from(*done)) == Some(byte) => {
                    at += 1;
                    *done += 1;
                    if usize::from(*done) == BOM.len() {
                        self.stage = Stage::Between;
                    }
                }
                Stage::Mark(0) => self.stage = Stage::Between,
                Stage::Mark(_) => self.stage = Stage::Faulty,
                Stage::Between if matches!(byte, b' ' | b'\t' | b'\r') => at += 1,
                Stage::Between if self.values.len() >= MAX_PIECES => self.stage = Stage::Faulty,
                Stage::Between => {
                    self.stage = Stage::Inside(chunk.offset(at), Box::new(Scanner::new()));
                }
                Stage::Inside(_, scanner) => match scanner.feed(chunk, at)? {
                    Fed::More => return Ok(()),
                    Fed::Ended(end) => {
                        at = end;
                        self.end_value(chunk.offset(end));
                    }
                    Fed::Failed(_) => self.stage = Stage::Faulty,
                },
                Stage::Faulty => {
                    // It is split when its end is known.
                    self.values = Vec::new();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn end_value(&mut self, to: u64) {
        if let Stage::Inside(from, scanner) = std::mem::replace(&mut self.stage, Stage::Between) {
            let span = Span { from, to };
            self.values.push(Whole { span, outline: scanner.into_outline() });
        }
    }

    /// Ends the line at this offset; says whether it is whole values only.
    fn finish(&mut self, end: u64) -> bool {
        match &self.stage {
            Stage::Inside(_, scanner) if scanner.can_end() => self.end_value(end),
            Stage::Inside(..) | Stage::Mark(1..) | Stage::Faulty => return false,
            Stage::Between | Stage::Mark(_) => {}
        }
        true
    }
}

impl Reader {
    /// Judges the rows of a line that was read up to its end.
    pub(super) fn read_long(
        &mut self,
        file: &dyn Transcript,
        mut line: LongLine,
        end: u64,
    ) -> io::Result<LineReport> {
        let start = line.start;
        let is_clean = line.finish(end);
        let bytes = FileRange::new(file, start, before_cr(file, start, end)?)?;
        if !is_clean && is_blank(&bytes)? {
            return Ok(LineReport::default());
        }
        let has_mark = has_mark(&bytes)?;
        let from = if has_mark { start + BOM.len() as u64 } else { start };
        let pieces = if is_clean {
            let place = |offset: u64| usize::try_from(offset - from).map_err(|_| shorter());
            let piece = |whole: Whole| {
                let (start, end) = (place(whole.span.from)?, place(whole.span.to)?);
                Ok(Piece::Value { start, end, value: whole.outline })
            };
            line.values.into_iter().map(piece).collect::<io::Result<_>>()?
        } else {
            let bytes = FileRange::new(file, from, before_cr(file, start, end)?.max(from))?;
            split(&bytes, InFileLine { bytes: &bytes })?
        };
        self.report(pieces, from, has_mark, |reader, outline, span, is_whole| {
            outline.map_or(Ok(None), |outline| {
                reader.judge_outline(file, &outline, span, is_whole).map(Some)
            })
        })
    }

    fn judge_outline(
        &mut self,
        file: &dyn Transcript,
        outline: &Outline,
        span: Span,
        is_whole: bool,
    ) -> io::Result<JudgedRow> {
        let bytes = outline.condensed(file)?;
        let row = parse(&bytes)?;
        self.judge(&row, &InFile { file, outline, span }, span, is_whole)
    }
}

/// A condensed row is whole, unless the file was changed under it.
fn parse(condensed: &[u8]) -> io::Result<Box<Row<'_>>> {
    match Row::parse(condensed) {
        Ok((Parsed::Row(row), _)) => Ok(row),
        _ => Err(shorter()),
    }
}

/// The end of a line without a CR before its LF.
fn before_cr(file: &dyn Transcript, start: u64, end: u64) -> io::Result<u64> {
    let last = end.saturating_sub(1).max(start);
    let is_cr = FileRange::new(file, last, end)?.find(0, |_| true)? == Some((0, b'\r'));
    Ok(if is_cr { last } else { end })
}

fn has_mark(bytes: &FileRange<'_>) -> io::Result<bool> {
    let mut first = Vec::new();
    bytes.walk(0, BOM.len(), &mut |_, piece| {
        first.extend_from_slice(piece);
        ControlFlow::Continue(())
    })?;
    Ok(first == BOM)
}

/// The values of a line in the file.
struct InFileLine<'a, 'f> {
    bytes: &'a FileRange<'f>,
}

impl Values for InFileLine<'_, '_> {
    type Value = Option<Box<Outline>>;
    type Error = io::Error;

    fn parse(&mut self, at: usize) -> io::Result<Parse<Self::Value>> {
        let mut scanner = Scanner::new();
        let mut ended = None;
        self.bytes.pieces(at, usize::MAX, &mut |start, bytes, has_controls| {
            let from = self.bytes.offset(start);
            let chunk = Chunk { file: self.bytes.file(), bytes, from, has_controls };
            ended = match scanner.feed(&chunk, 0)? {
                Fed::More => return Ok(ControlFlow::Continue(())),
                Fed::Ended(end) => Some(Ok(start + end - at)),
                Fed::Failed(place) => Some(Err(Fail { at: start + place - at, ended: false })),
            };
            Ok(ControlFlow::Break(()))
        })?;
        let length = self.bytes.len() - at;
        Ok(match ended {
            Some(Ok(length)) => Ok((scanner.into_outline(), length)),
            None if scanner.can_end() => Ok((scanner.into_outline(), length)),
            Some(Err(fail)) => Err(fail),
            None => Err(Fail { at: length, ended: true }),
        })
    }

    fn is_row(&mut self, value: &Self::Value, place: Place) -> io::Result<bool> {
        let Some(outline) = value else {
            return Ok(false);
        };
        let bytes = outline.condensed(self.bytes.file())?;
        Ok(is_row(&*parse(&bytes)?, place))
    }
}
