//! File events: which folders are watched, and what an event wakes.
//!
//! Answers: where did something change just now. Always holds: events are a hint; whatever is lost,
//! full or unclear becomes "look at everything", and the handler never waits. Deliberately
//! elsewhere: what is done about it (`follower`), the cycles that find what no event told (`mod`).

use crate::config::Watch;
use crate::disk::{Disk as _, RealDisk};
use crate::observe::{Fact, Observer};
use crate::record::Store;
use notify::event::{ModifyKind, RemoveKind};
use notify::{
    Config, ErrorKind, Event, EventHandler, EventKind, EventKindMask, RecommendedWatcher,
    RecursiveMode, Watcher as _,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc;

/// Changed paths that can wait; more at once are "everything".
const WAITING: usize = 4096;

/// Not the events of our own reading.
const OF_TRANSCRIPTS: EventKindMask = EventKindMask::CREATE
    .union(EventKindMask::REMOVE)
    .union(EventKindMask::MODIFY_DATA)
    .union(EventKindMask::MODIFY_NAME);
/// Not the events of our own writing, dozens for each turn, which would cost more time than the turn
/// itself: who else writes to an embedded store is a command, which closes it.
const OF_STORE: EventKindMask = EventKindMask::ACCESS_CLOSE;
/// A gateway keeps its database open while it writes, and puts another file in its place when it
/// restores it.
const OF_GATEWAY: EventKindMask = EventKindMask::ACCESS_CLOSE
    .union(EventKindMask::CREATE)
    .union(EventKindMask::MODIFY_DATA)
    .union(EventKindMask::MODIFY_NAME);

/// The watched folders.
#[derive(Debug)]
pub(super) struct Watching {
    watcher: Option<RecommendedWatcher>,
    handler: Handler,
    /// Watches the signal log's folder.
    store: Option<RecommendedWatcher>,
    mode: Watch,
    /// Each with device and number, since another folder may take its place.
    watched: BTreeMap<PathBuf, (u64, u64)>,
    /// Folders to be looked at in intervals.
    polled: BTreeSet<PathBuf>,
}

/// The end of the handler: what changed.
#[derive(Debug)]
pub(super) struct Wakes {
    paths: mpsc::Receiver<PathBuf>,
    lost: Arc<AtomicBool>,
    /// Without a watcher nothing comes, which is not the end.
    _open: mpsc::Sender<PathBuf>,
}

/// What changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// These paths.
    Paths(BTreeSet<PathBuf>),
    /// Nobody knows what: events were lost.
    Unknown,
}

/// Turns events into paths; never waits.
#[derive(Debug, Clone)]
struct Handler {
    signal_log_wal: PathBuf,
    paths: mpsc::Sender<PathBuf>,
    lost: Arc<AtomicBool>,
}

impl Watching {
    /// Watches nothing yet. The second part tells what changes.
    pub(super) fn new(mode: Watch, store: &Store, observer: &dyn Observer) -> (Self, Wakes) {
        let signal_log = store.path();
        let (send, paths) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicBool::new(false));
        let handler = Handler {
            signal_log_wal: wal_of(signal_log),
            paths: send.clone(),
            lost: Arc::clone(&lost),
        };
        let mut watching = Self {
            watcher: None,
            handler: handler.clone(),
            store: None,
            mode,
            watched: BTreeMap::new(),
            polled: BTreeSet::new(),
        };
        if matches!(mode, Watch::Poll(_)) {
            return (watching, Wakes { paths, lost, _open: send });
        }
        match watcher(handler.clone(), OF_TRANSCRIPTS) {
            Ok(watcher) => watching.watcher = Some(watcher),
            Err(error) => watching.tell(observer, signal_log, &error),
        }
        let folder = signal_log.parent().unwrap_or(Path::new("/"));
        let kinds = if store.is_gateway() { OF_GATEWAY } else { OF_STORE };
        let store = watcher(handler, kinds).and_then(|mut watcher| {
            watcher.watch(folder, RecursiveMode::NonRecursive).map(|()| watcher)
        });
        match store {
            Ok(watcher) => watching.store = Some(watcher),
            Err(error) => watching.tell(observer, folder, &error),
        }
        (watching, Wakes { paths, lost, _open: send })
    }

    /// Watches these folders from now on, and no others; says whether any of them was not watched.
    pub(super) fn set(
        &mut self,
        wanted: &BTreeSet<PathBuf>,
        disk: &RealDisk,
        observer: &dyn Observer,
    ) -> bool {
        let gone: Vec<PathBuf> =
            self.watched.keys().filter(|folder| !wanted.contains(*folder)).cloned().collect();
        for folder in gone {
            self.unwatch(&folder);
        }
        self.polled.retain(|folder| wanted.contains(folder));
        let mut is_new = false;
        for folder in wanted {
            is_new |= self.watch(folder, disk, observer);
        }
        is_new
    }

    /// Takes note that a folder came, went or was renamed; says whether it or one below it was
    /// watched. Then all watches are made anew with the next `set`: a watch ends with its folder,
    /// though another of the same number may stand in its place, and what the system says of the
    /// old one may end the new one's.
    pub(super) fn folder_changed(&mut self, folder: &Path) -> bool {
        if !self.watched.keys().any(|watched| watched.starts_with(folder)) {
            return false;
        }
        self.watched.clear();
        self.watcher = watcher(self.handler.clone(), OF_TRANSCRIPTS).ok();
        true
    }

    /// Watches a folder; says whether that is new.
    fn watch(&mut self, folder: &Path, disk: &RealDisk, observer: &dyn Observer) -> bool {
        let Some(stat) = disk.glance(folder) else {
            self.unwatch(folder);
            return false;
        };
        let number = (stat.device, stat.inode);
        if self.watched.get(folder) == Some(&number) {
            return false;
        }
        self.unwatch(folder);
        let Some(watcher) = &mut self.watcher else {
            if self.mode != Watch::Native {
                self.polled.insert(folder.to_owned());
            }
            return false;
        };
        let watch = || watcher.watch(folder, RecursiveMode::NonRecursive);
        // A dead disk holds this up as any other call.
        match disk.patience().during(folder, watch) {
            None => {}
            Some(Ok(())) => {
                self.watched.insert(folder.to_owned(), number);
                self.polled.remove(folder);
                return true;
            }
            // It went just now; it is asked for again with the next cycle.
            Some(Err(error)) if matches!(error.kind, ErrorKind::PathNotFound) => {}
            Some(Err(error)) => {
                self.tell(observer, folder, &error);
                if self.mode != Watch::Native {
                    self.polled.insert(folder.to_owned());
                }
            }
        }
        false
    }

    fn unwatch(&mut self, folder: &Path) {
        if self.watched.remove(folder).is_some()
            && let Some(watcher) = &mut self.watcher
        {
            // A folder that is gone has lost its watch already.
            drop(watcher.unwatch(folder));
        }
        self.polled.remove(folder);
    }

    fn tell(&self, observer: &dyn Observer, folder: &Path, error: &notify::Error) {
        let reason = match &error.kind {
            ErrorKind::MaxFilesWatch => "the system's limit of watches is reached".to_owned(),
            ErrorKind::Io(error) => error.to_string(),
            kind => format!("{kind:?}"),
        };
        let polled = self.mode != Watch::Native;
        observer.observe(&Fact::Unwatchable { folder, reason: &reason, polled });
    }

    /// Whether an event waits.
    pub(super) fn has_woken(&self) -> bool {
        self.handler.paths.capacity() < WAITING
    }

    /// Whether a folder is watched, or looked at in intervals.
    pub(super) fn has(&self, folder: &Path) -> bool {
        self.watched.contains_key(folder) || self.polled.contains(folder)
    }

    /// Whether a folder must be looked at in intervals.
    pub(super) fn is_polled(&self, folder: &Path) -> bool {
        self.polled.contains(folder)
    }

    /// Whether any folder must be.
    pub(super) fn polls(&self) -> bool {
        (self.store.is_none() && self.mode != Watch::Native) || !self.polled.is_empty()
    }
}

impl Wakes {
    /// Waits for a change; `None` once nobody watches any more.
    pub(super) async fn next(&mut self) -> Option<Change> {
        let first = self.paths.recv().await?;
        Some(self.drain(first))
    }

    /// The change that is there already.
    pub(super) fn waiting(&mut self) -> Option<Change> {
        let first = self.paths.try_recv().ok()?;
        Some(self.drain(first))
    }

    fn drain(&mut self, first: PathBuf) -> Change {
        let mut paths = BTreeSet::from([first]);
        while let Ok(path) = self.paths.try_recv() {
            paths.insert(path);
        }
        // Read after the paths: what was flagged before they were taken is flagged now.
        if self.lost.swap(false, Ordering::AcqRel) { Change::Unknown } else { Change::Paths(paths) }
    }
}

impl EventHandler for Handler {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        match event {
            Err(_) => self.lose(),
            // Asked before the paths: the event of an overflow has none.
            Ok(event) if event.need_rescan() => self.lose(),
            Ok(event) => {
                let is_of_folder = is_of_folder(event.kind);
                for path in event.paths {
                    if is_of_folder || self.is_ours(&path) {
                        self.send(path);
                    }
                }
            }
        }
    }
}

impl Handler {
    fn is_ours(&self, path: &Path) -> bool {
        path.extension().is_some_and(|end| end == "jsonl") || path == self.signal_log_wal
    }

    fn send(&self, path: PathBuf) {
        if self.paths.try_send(path).is_err() {
            self.lost.store(true, Ordering::Release);
        }
    }

    /// Where the channel is full, whoever empties it sees the flag.
    fn lose(&self) {
        self.lost.store(true, Ordering::Release);
        drop(self.paths.try_send(PathBuf::new()));
    }
}

fn watcher(handler: Handler, kinds: EventKindMask) -> notify::Result<RecommendedWatcher> {
    RecommendedWatcher::new(
        handler,
        Config::default().with_event_kinds(kinds).with_follow_symlinks(false),
    )
}

/// Whether an event may be of a folder that came, went or was renamed.
const fn is_of_folder(kind: EventKind) -> bool {
    matches!(
        kind,
        // A symbolic link to a folder is made as a file is.
        EventKind::Create(_)
            | EventKind::Remove(RemoveKind::Folder | RemoveKind::Any | RemoveKind::Other)
            | EventKind::Modify(ModifyKind::Name(_))
    )
}

/// The path of a database's write-ahead log.
fn wal_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}
