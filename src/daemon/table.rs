//! The links in memory: which files they mean, and which of these may have something new.
//!
//! Always holds: what stands here is only a hint that spares looking; what a link is, and how far it
//! was read, is asked of the databases at each pass.

use crate::cycle::LinkReport;
use crate::disk::{Disk, FileStat, RealDisk};
use crate::ids::{SourceKey, Timestamp};
use crate::journal::SourceCursor;
use crate::link::{Link, LinkId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The links in memory.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// By file: below its real folder, as file events name it; empty where a link names none.
    by_file: BTreeMap<Arc<Path>, Vec<Entry>>,
    files: HashMap<Arc<LinkId>, Arc<Path>>,
}

/// A link, as much of it as an idle look needs.
#[derive(Debug)]
struct Entry {
    id: Arc<LinkId>,
    source: SourceKey,
    made: Timestamp,
    /// Its marker when the links were read.
    marker: Option<u64>,
    /// The file as it was when nothing was left to do.
    settled: Option<FileStat>,
}

impl Table {
    /// Begins to take the links as they are now. What is known of those that are the same stays.
    pub(super) fn begin_fill<'a>(&'a mut self, disk: &'a RealDisk) -> Filling<'a> {
        let old = std::mem::take(self);
        Filling { table: self, disk, old, folders: HashMap::new(), new: Vec::new() }
    }

    /// Takes one more link.
    pub(super) fn add(&mut self, link: &Link, disk: &RealDisk) {
        let file =
            link.path().map(|path| real(&path, disk, &mut HashMap::new())).unwrap_or_default();
        self.remove(&link.id);
        self.insert(file, Entry::of(link));
    }

    fn insert(&mut self, file: PathBuf, entry: Entry) {
        let file: Arc<Path> = file.into();
        self.files.insert(Arc::clone(&entry.id), Arc::clone(&file));
        // Nearly always one.
        self.by_file.entry(file).or_insert_with(|| Vec::with_capacity(1)).push(entry);
    }

    fn remove(&mut self, id: &LinkId) -> Option<Entry> {
        let entries = self.by_file.get_mut(&self.files.remove(id)?)?;
        let at = entries.iter().position(|entry| *entry.id == *id)?;
        Some(entries.swap_remove(at))
    }

    fn get_mut(&mut self, id: &LinkId) -> Option<&mut Entry> {
        let entries = self.by_file.get_mut(self.files.get(id)?)?;
        entries.iter_mut().find(|entry| *entry.id == *id)
    }

    /// How many links there are.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether this link is there.
    pub(super) fn has(&self, id: &LinkId) -> bool {
        self.files.contains_key(id)
    }

    /// Whether any link means this file.
    pub(super) fn follows(&self, file: &Path) -> bool {
        self.by_file.get(file).is_some_and(|entries| !entries.is_empty())
    }

    /// The links of a file, unless it is as it was when nothing was left to do.
    pub(super) fn new_in(&self, file: &Path, disk: &dyn Disk) -> Vec<Arc<LinkId>> {
        let entries = self.by_file.get(file).map(Vec::as_slice).unwrap_or_default();
        unsettled(file, entries, disk).cloned().collect()
    }

    /// The links that may have something new, of the files that are meant.
    pub(super) fn unsettled(
        &self,
        disk: &dyn Disk,
        is_meant: impl Fn(&Path) -> bool,
    ) -> Vec<Arc<LinkId>> {
        self.by_file
            .iter()
            .filter(|(file, _)| is_meant(file))
            .flat_map(|(file, entries)| unsettled(file, entries, disk))
            .cloned()
            .collect()
    }

    /// Takes what the journal knows of a source: whether nothing was left to do.
    pub(super) fn recall(&mut self, id: &LinkId, source: &SourceKey, cursor: &SourceCursor) {
        let Some(entry) = self.get_mut(id) else { return };
        let is_same = entry.source == *source && entry.made == cursor.linked_at;
        let is_done = entry.marker == Some(cursor.position) && cursor.misses == 0;
        entry.settled = cursor.settled.filter(|_| is_same && is_done);
    }

    /// Takes what a pass found.
    pub(super) fn note(&mut self, report: &LinkReport) {
        if let Some(entry) = self.get_mut(&report.link.id)
            && entry.source == report.source
        {
            entry.settled = report.settled;
        }
    }

    /// Forgets what is known of the files, so that all are looked at again.
    pub(super) fn unsettle(&mut self) {
        for entry in self.by_file.values_mut().flatten() {
            entry.settled = None;
        }
    }

    /// The folders that hold the files.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::new();
        let mut last = None;
        for folder in self.by_file.keys().filter_map(|file| file.parent()) {
            // They are sorted: one folder comes many times in a row.
            if last != Some(folder) && folder.is_absolute() {
                folders.insert(folder.to_owned());
                last = Some(folder);
            }
        }
        folders
    }
}

/// A table that takes the links anew.
#[derive(Debug)]
pub(super) struct Filling<'a> {
    table: &'a mut Table,
    disk: &'a RealDisk,
    old: Table,
    folders: HashMap<PathBuf, PathBuf>,
    /// The links that are new or not the same any more.
    pub(super) new: Vec<Arc<LinkId>>,
}

impl Filling<'_> {
    pub(super) fn take(&mut self, link: &Link) {
        let file =
            link.path().map(|path| real(&path, self.disk, &mut self.folders)).unwrap_or_default();
        let mut entry = Entry::of(link);
        match self.old.remove(&link.id) {
            Some(old) if old.is_same(&entry) => entry.settled = old.settled,
            _ => self.new.push(Arc::clone(&entry.id)),
        }
        self.table.insert(file, entry);
    }
}

impl Entry {
    fn of(link: &Link) -> Self {
        Self {
            id: Arc::new(link.id.clone()),
            source: link.source_key(),
            made: link.created_at,
            marker: link.marker(),
            settled: None,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.source == other.source && self.made == other.made
    }
}

/// The links of a file that is not as it was when nothing was left to do.
fn unsettled<'a>(
    file: &Path,
    entries: &'a [Entry],
    disk: &dyn Disk,
) -> impl Iterator<Item = &'a Arc<LinkId>> {
    let is_known = entries.iter().any(|entry| entry.settled.is_some());
    let now = if is_known { disk.glance(file) } else { None };
    let is_new = move |entry: &&Entry| entry.settled.is_none() || entry.settled != now;
    entries.iter().filter(is_new).map(|entry| &entry.id)
}

/// A path below its real folder, as file events name it. Folders come many times.
fn real(path: &Path, disk: &RealDisk, folders: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    if let Some(real) = folders.get(folder) {
        return real.join(name);
    }
    let real = disk.real(folder).unwrap_or_else(|| folder.to_owned());
    let file = real.join(name);
    folders.insert(folder.to_owned(), real);
    file
}
