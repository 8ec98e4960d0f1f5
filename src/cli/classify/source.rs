//! Where the bytes come from: a file that a person named, or standard input.

use crate::disk::{FileStat, Transcript};
use crate::error::{Error, Result};
use crate::ids::Timestamp;
use std::cell::{Cell, RefCell};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::rc::Rc;

/// Whether this name means standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens a file that a person named; it may be anywhere.
pub(super) fn open(path: &Path, judged: &Rc<Cell<u64>>) -> Result<Box<dyn Transcript>> {
    if is_standard_input(path) {
        return Ok(Box::new(Piped { kept: RefCell::default(), judged: Rc::clone(judged) }));
    }
    if !fs_err::metadata(path)?.is_file() {
        return Err(Error::Failed(format!("{} is no regular file", path.display())));
    }
    Ok(Box::new(Named(fs_err::File::open(path)?)))
}

/// Standard input: what was read is kept until its line was judged, since of a line that is longer
/// than a window some is read again.
struct Piped {
    kept: RefCell<Kept>,
    /// Offset up to which all lines are judged.
    judged: Rc<Cell<u64>>,
}

#[derive(Default)]
struct Kept {
    /// Offset of the first byte that is kept.
    from: u64,
    bytes: Vec<u8>,
    has_ended: bool,
}

/// Bytes that are worth moving the rest for.
const FORGET: usize = 1 << 20;

impl Kept {
    /// Reads on until the bytes up to `to` are there, or the input ends.
    fn read_to(&mut self, to: u64) -> io::Result<()> {
        let missing = to.saturating_sub(self.from + self.bytes.len() as u64);
        if missing > 0 && !self.has_ended {
            let read = io::stdin().lock().take(missing).read_to_end(&mut self.bytes)?;
            self.has_ended = (read as u64) < missing;
        }
        Ok(())
    }

    /// Forgets what stands before `to`.
    fn forget(&mut self, to: u64) {
        let count = usize::try_from(to.saturating_sub(self.from)).unwrap_or(usize::MAX);
        if count > FORGET && count <= self.bytes.len() {
            self.bytes.drain(..count);
            self.bytes.shrink_to(FORGET);
            self.from = to;
        }
    }
}

impl Transcript for Piped {
    fn stat(&self) -> io::Result<FileStat> {
        // Its end shows when it is reached.
        Ok(stat(u64::MAX))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut kept = self.kept.borrow_mut();
        kept.forget(self.judged.get());
        kept.read_to(offset.saturating_add(buffer.len() as u64))?;
        let place = offset.checked_sub(kept.from).and_then(|at| usize::try_from(at).ok());
        let rest = place.and_then(|at| kept.bytes.get(at..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(count)
    }
}

struct Named(fs_err::File);

impl Transcript for Named {
    fn stat(&self) -> io::Result<FileStat> {
        Ok(stat(self.0.metadata()?.len()))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.file().read_at(buffer, offset)
    }
}

/// A file that is read once needs no identity.
const fn stat(size: u64) -> FileStat {
    FileStat { device: 0, inode: 0, size, modified: Timestamp(0), changed_ns: 0 }
}
