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
    /// The file that a link names, and its forks.
    files: HashMap<Arc<LinkId>, Vec<Arc<Path>>>,
}

/// A source of a link, as much of it as an idle look needs.
#[derive(Debug)]
struct Entry {
    id: Arc<LinkId>,
    source: SourceKey,
    made: Timestamp,
    /// Its marker when the links were read; of a fork there is none.
    marker: Option<u64>,
    is_fork: bool,
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

    /// Takes a fork of a link that is there; false where it is there itself.
    pub(super) fn add_fork(
        &mut self,
        id: &LinkId,
        source: &SourceKey,
        path: &Path,
        disk: &RealDisk,
    ) -> bool {
        let Some((id, files)) = self.files.get_key_value(id) else { return false };
        let mut of_link = files.iter().filter_map(|file| self.by_file.get(file)).flatten();
        let Some(made) = of_link.clone().find(|entry| entry.id == *id).map(|entry| entry.made)
        else {
            return false;
        };
        if of_link.any(|entry| entry.id == *id && entry.source == *source) {
            return false;
        }
        let (id, source) = (Arc::clone(id), source.clone());
        let file = real(path, disk, &mut HashMap::new());
        self.insert(file, Entry { id, source, made, marker: None, is_fork: true, settled: None });
        true
    }

    fn insert(&mut self, file: impl Into<Arc<Path>>, entry: Entry) {
        let file: Arc<Path> = file.into();
        self.files.entry(Arc::clone(&entry.id)).or_default().push(Arc::clone(&file));
        // Nearly always one.
        self.by_file.entry(file).or_insert_with(|| Vec::with_capacity(1)).push(entry);
    }

    /// Takes out a link with its forks.
    fn remove(&mut self, id: &LinkId) -> Vec<(Arc<Path>, Entry)> {
        let mut removed = Vec::new();
        for file in self.files.remove(id).into_iter().flatten() {
            let Some(entries) = self.by_file.get_mut(&file) else { continue };
            if let Some(at) = entries.iter().position(|entry| *entry.id == *id) {
                removed.push((file, entries.swap_remove(at)));
            }
        }
        removed
    }

    fn get_mut(&mut self, id: &LinkId, source: &SourceKey) -> Option<&mut Entry> {
        let file = self.files.get(id)?.iter().find(|file| {
            let entries = self.by_file.get(*file).map(Vec::as_slice).unwrap_or_default();
            entries.iter().any(|entry| *entry.id == *id && entry.source == *source)
        })?;
        let entries = self.by_file.get_mut(file)?;
        entries.iter_mut().find(|entry| *entry.id == *id && entry.source == *source)
    }

    /// The links.
    pub(super) fn ids(&self) -> impl Iterator<Item = &Arc<LinkId>> {
        self.files.keys()
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
        let Some(entry) = self.get_mut(id, source) else { return };
        let is_even = entry.is_fork || entry.marker == Some(cursor.position);
        let is_done = is_even && entry.made == cursor.linked_at && cursor.misses == 0;
        entry.settled = cursor.settled.filter(|_| is_done);
    }

    /// Takes what a pass found; says whether there is a fork that was not here.
    pub(super) fn note(&mut self, report: &LinkReport, disk: &RealDisk) -> bool {
        let mut is_more = false;
        for of_source in report.each() {
            let id = &of_source.link.id;
            if let Some(path) = of_source.link.path().filter(|_| of_source.is_fork) {
                is_more |= self.add_fork(id, &of_source.source, &path, disk);
            }
            if let Some(entry) = self.get_mut(id, &of_source.source) {
                entry.settled = of_source.settled;
            }
        }
        is_more
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
        let old = self.old.remove(&link.id);
        let same = old.iter().find(|(_, old)| old.is_same(&entry));
        let settled = same.map(|(_, old)| old.settled);
        match settled {
            Some(settled) => entry.settled = settled,
            None => self.new.push(Arc::clone(&entry.id)),
        }
        self.table.insert(file, entry);
        for (file, fork) in old.into_iter().filter(|(_, old)| settled.is_some() && old.is_fork) {
            self.table.insert(file, fork);
        }
    }
}

impl Entry {
    fn of(link: &Link) -> Self {
        Self {
            id: Arc::new(link.id.clone()),
            source: link.source_key(),
            made: link.created_at,
            marker: link.marker(),
            is_fork: false,
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
