//! A disk in memory, for whole cycles without files.

use super::{Disk, FileStat, OpenError, SessionFile, Sessions, Store, Transcript};
use crate::ids::{ThreadId, Timestamp};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A disk in memory. Every change to a file moves its times by one.
#[derive(Debug, Default, Clone)]
pub(crate) struct MemoryDisk(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, Rc<RefCell<Content>>>,
    next_inode: u64,
    ticks: i64,
    store_gone: bool,
    incomplete: bool,
}

#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    inode: u64,
    changed: i64,
}

impl MemoryDisk {
    /// Appends to a file, made where it is missing.
    pub(crate) fn append(&self, path: &str, bytes: &[u8]) {
        self.change(path, |content| content.extend_from_slice(bytes));
    }

    /// Writes a file's content anew, in place.
    pub(crate) fn rewrite(&self, path: &str, bytes: &[u8]) {
        self.change(path, |content| bytes.clone_into(content));
    }

    /// Puts another file with this content in a file's place.
    pub(crate) fn replace(&self, path: &str, bytes: &[u8]) {
        self.remove(path);
        self.append(path, bytes);
    }

    /// Removes a file; who holds it open can go on reading.
    pub(crate) fn remove(&self, path: &str) {
        self.0.borrow_mut().files.remove(Path::new(path));
    }

    /// Moves a file.
    pub(crate) fn rename(&self, from: &str, to: &str) {
        let mut state = self.0.borrow_mut();
        let file = state.files.remove(Path::new(from)).unwrap();
        state.files.insert(to.into(), file);
    }

    /// The content of a file.
    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        self.0.borrow().files[Path::new(path)].borrow().bytes.clone()
    }

    /// Takes the whole store away, or brings it back.
    pub(crate) fn set_store_gone(&self, gone: bool) {
        self.0.borrow_mut().store_gone = gone;
    }

    /// Makes a folder unreadable, or readable again.
    pub(crate) fn set_incomplete(&self, incomplete: bool) {
        self.0.borrow_mut().incomplete = incomplete;
    }

    fn change(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.0.borrow_mut();
        state.ticks += 1;
        state.next_inode += 1;
        let (ticks, inode) = (state.ticks, state.next_inode);
        let file = state
            .files
            .entry(path.into())
            .or_insert_with(|| Rc::new(RefCell::new(Content { inode, ..Content::default() })));
        let mut content = file.borrow_mut();
        content.changed = ticks;
        change(&mut content.bytes);
    }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path) -> Result<Box<dyn Transcript>, OpenError> {
        let state = self.0.borrow();
        if state.store_gone {
            return Err(OpenError::Missing);
        }
        match state.files.get(path) {
            Some(file) => Ok(Box::new(MemoryFile(Rc::clone(file)))),
            None => Err(OpenError::Missing),
        }
    }

    fn glance(&self, path: &Path) -> Option<FileStat> {
        self.open(path).ok()?.stat().ok()
    }

    fn sessions(&self) -> Sessions {
        let state = self.0.borrow();
        let thread = |path: &PathBuf| ThreadId::new(path.file_stem().unwrap().to_str().unwrap());
        let files = state
            .files
            .keys()
            .map(|path| SessionFile { path: path.clone(), thread_id: thread(path) })
            .collect();
        Sessions { files, incomplete: state.incomplete }
    }

    fn store(&self, _path: &Path) -> Store {
        let state = self.0.borrow();
        Store {
            present: !state.store_gone,
            device: Some(1),
            has_sessions: !state.files.is_empty(),
            cleaned_at: None,
            cleanup_age_ms: 30 * 86_400_000,
        }
    }
}

struct MemoryFile(Rc<RefCell<Content>>);

impl Transcript for MemoryFile {
    fn stat(&self) -> io::Result<FileStat> {
        let content = self.0.borrow();
        Ok(FileStat {
            device: 1,
            inode: content.inode,
            size: content.bytes.len() as u64,
            modified: Timestamp(content.changed),
            changed_ns: content.changed,
        })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let content = self.0.borrow();
        let from = usize::try_from(offset).unwrap().min(content.bytes.len());
        let count = buffer.len().min(content.bytes.len() - from);
        buffer[..count].copy_from_slice(&content.bytes[from..from + count]);
        Ok(count)
    }
}
