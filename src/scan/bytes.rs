//! The bytes of a line, wherever they are: in memory, or in the file still.

use crate::disk::Transcript;
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::ops::ControlFlow;

/// Bytes that can be looked at anywhere, a piece at a time.
pub(crate) trait Bytes {
    /// What can go wrong.
    type Error;

    /// How many there are.
    fn len(&self) -> usize;

    /// Shows the bytes from here to there, piece by piece, until `look` breaks off. `look` gets the
    /// place of each piece's first byte.
    fn walk(
        &self,
        from: usize,
        to: usize,
        look: &mut dyn FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Self::Error>;

    /// The first byte from here on that passes.
    fn find(
        &self,
        from: usize,
        mut passes: impl FnMut(u8) -> bool,
    ) -> Result<Option<(usize, u8)>, Self::Error> {
        let mut found = None;
        self.walk(from, self.len(), &mut |start, piece| match piece
            .iter()
            .position(|byte| passes(*byte))
        {
            None => ControlFlow::Continue(()),
            Some(at) => {
                found = piece.get(at).map(|byte| (start + at, *byte));
                ControlFlow::Break(())
            }
        })?;
        Ok(found)
    }
}

impl Bytes for [u8] {
    type Error = Infallible;

    fn len(&self) -> usize {
        self.len()
    }

    fn walk(
        &self,
        from: usize,
        to: usize,
        look: &mut dyn FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        if let Some(piece) = self.get(from..to.min(self.len())).filter(|piece| !piece.is_empty()) {
            let (ControlFlow::Continue(()) | ControlFlow::Break(())) = look(from, piece);
        }
        Ok(())
    }
}

/// Bytes that are read at a time.
const STEP: usize = 128 << 10;

/// Bytes of a file. What was read last is kept: who looks at many places looks at near ones.
pub(crate) struct FileRange<'a> {
    file: &'a dyn Transcript,
    from: u64,
    length: usize,
    held: RefCell<Held>,
}

/// A piece that was read.
#[derive(Default)]
struct Held {
    start: usize,
    bytes: Vec<u8>,
    has_controls: bool,
}

/// Gets a piece, the place of its first byte, and whether a control character may be in it.
type Look<'l> = dyn FnMut(usize, &[u8], bool) -> io::Result<ControlFlow<()>> + 'l;

impl<'a> FileRange<'a> {
    /// The bytes from here to there.
    pub(crate) fn new(file: &'a dyn Transcript, from: u64, to: u64) -> io::Result<Self> {
        let length = usize::try_from(to.saturating_sub(from))
            .map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        Ok(Self { file, from, length, held: RefCell::default() })
    }

    /// The file.
    pub(crate) const fn file(&self) -> &'a dyn Transcript {
        self.file
    }

    /// Offset in the file of the byte at this place.
    pub(crate) fn offset(&self, at: usize) -> u64 {
        self.from.saturating_add(at as u64)
    }

    /// The same as `walk`; also says whether a control character may be in the piece.
    pub(crate) fn pieces(&self, from: usize, to: usize, look: &mut Look<'_>) -> io::Result<()> {
        let to = to.min(self.length);
        let mut at = from;
        while at < to {
            if !self.held.borrow().holds(at) {
                self.held.borrow_mut().fill(self, at)?;
            }
            let held = self.held.borrow();
            let piece = held.bytes.get(at - held.start..).unwrap_or_default();
            let piece = piece.get(..to - at).unwrap_or(piece);
            if look(at, piece, held.has_controls)?.is_break() {
                break;
            }
            at += piece.len();
        }
        Ok(())
    }
}

impl Held {
    fn holds(&self, at: usize) -> bool {
        (self.start..self.start + self.bytes.len()).contains(&at)
    }

    fn fill(&mut self, range: &FileRange<'_>, at: usize) -> io::Result<()> {
        self.bytes.resize(STEP.min(range.length - at), 0);
        let filled = fill(range.file, range.offset(at), &mut self.bytes)?;
        if filled < self.bytes.len() {
            self.bytes.clear();
            return Err(shorter());
        }
        self.start = at;
        self.has_controls = has_controls(&self.bytes);
        Ok(())
    }
}

impl Bytes for FileRange<'_> {
    type Error = io::Error;

    fn len(&self) -> usize {
        self.length
    }

    fn walk(
        &self,
        from: usize,
        to: usize,
        look: &mut dyn FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.pieces(from, to, &mut |at, piece, _| Ok(look(at, piece)))
    }
}

/// Fills a buffer from an offset on; less of it only where the file ends before.
pub(crate) fn fill(file: &dyn Transcript, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset.saturating_add(filled as u64), rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The file is not what it was when its row was begun.
pub(crate) fn shorter() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file was changed while a row of it was read")
}

/// Whether a control character is among the bytes. A block at a time: a loop that may end at each
/// byte is many times slower.
pub(crate) fn has_controls(bytes: &[u8]) -> bool {
    let least = |block: &[u8]| block.iter().fold(u8::MAX, |least, byte| least.min(*byte));
    bytes.chunks(4096).any(|block| least(block) < 0x20)
}
