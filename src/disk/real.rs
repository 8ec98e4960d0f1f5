//! The machine's own disk.

use super::listing::real;
use super::patience::Patience;
use super::{Disk, FileStat, OpenError, Sessions, Store, Transcript};
use crate::ids::Timestamp;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Claude Code's default age of files that it cleans up.
const CLEANUP_AGE_DAYS: i64 = 30;
const DAY_MS: i64 = 86_400_000;

/// Transcripts below some Claude folders of this machine.
#[derive(Debug)]
pub struct RealDisk {
    pub(super) roots: Vec<PathBuf>,
    anchors: Vec<Anchor>,
    pub(super) patience: Arc<Patience>,
}

/// A folder that paths may lie beneath, held open so that no link leads out of it.
#[derive(Debug)]
struct Anchor {
    prefix: PathBuf,
    dir: Dir,
}

impl RealDisk {
    /// Will look at these Claude folders (each holds `projects/`) once it is refreshed; they need
    /// not exist yet.
    #[must_use]
    pub const fn new(roots: Vec<PathBuf>, patience: Arc<Patience>) -> Self {
        Self { roots, anchors: Vec::new(), patience }
    }

    /// Looks where the Claude folders are; they may have been mounted or made since.
    pub fn refresh(&mut self) {
        self.anchors = anchors(&self.roots, &self.patience);
    }

    /// How long its calls take.
    #[must_use]
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Looks at other Claude folders from now on.
    pub fn set_roots(&mut self, roots: Vec<PathBuf>) {
        self.roots = roots;
        self.refresh();
    }

    /// The Claude folder whose path, real path or `projects` folder holds this path.
    fn root_of(&self, path: &Path) -> Option<&PathBuf> {
        self.roots.iter().find(|root| {
            prefixes(root, &self.patience).iter().any(|(prefix, _)| path.starts_with(prefix))
        })
    }
}

/// The prefixes that a path below a Claude folder can have, and the folder that each names. A
/// person may have moved `projects` to another disk and left a symbolic link.
fn prefixes(root: &Path, patience: &Patience) -> Vec<(PathBuf, PathBuf)> {
    let mut prefixes = vec![(root.to_owned(), root.to_owned())];
    for folder in [root.to_owned(), root.join("projects")] {
        if let Some(real) = real(patience, &folder) {
            prefixes.push((folder, real.clone()));
            prefixes.push((real.clone(), real));
        }
    }
    prefixes
}

fn anchors(roots: &[PathBuf], patience: &Patience) -> Vec<Anchor> {
    let mut anchors: Vec<Anchor> = roots
        .iter()
        .flat_map(|root| prefixes(root, patience))
        .filter_map(|(prefix, folder)| {
            let open = || Dir::open_ambient_dir(&folder, ambient_authority()).ok();
            let dir = patience.during(&folder, open).flatten()?;
            Some(Anchor { prefix, dir })
        })
        .collect();
    anchors.sort_by_key(|anchor| std::cmp::Reverse(anchor.prefix.components().count()));
    anchors
}

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> Result<Box<dyn Transcript>, OpenError> {
        let Some((anchor, rest)) = self
            .anchors
            .iter()
            .find_map(|anchor| Some((anchor, path.strip_prefix(&anchor.prefix).ok()?)))
        else {
            // A folder that is gone anchors nothing, yet its paths are not foreign.
            return Err(if self.root_of(path).is_some() {
                OpenError::Missing
            } else {
                OpenError::Outside
            });
        };
        if rest.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(OpenError::Outside);
        }
        match self.patience.during(path, || open_below(anchor, rest)) {
            Some(opened) => {
                let (file, stat) = opened?;
                let patience = Arc::clone(&self.patience);
                Ok(Box::new(RealFile {
                    file,
                    path: path.to_owned(),
                    first: Cell::new(Some(stat)),
                    patience,
                }))
            }
            None => Err(OpenError::Unreadable(no_answer())),
        }
    }

    fn glance(&self, path: &Path) -> Option<FileStat> {
        let meta = self.patience.during(path, || fs_err::symlink_metadata(path).ok()).flatten()?;
        stat_of(&meta).ok()
    }

    fn sessions(&self) -> Sessions {
        let mut found = Sessions::default();
        for root in &self.roots {
            self.sessions_below(&root.join("projects"), &mut found);
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        found.files.dedup();
        found
    }

    fn store(&self, path: &Path) -> Store {
        let root = self.root_of(path);
        let known = root.and_then(|root| {
            let projects = root.join("projects");
            let meta =
                || fs_err::metadata(&projects).ok().filter(|_| fs_err::read_dir(&projects).is_ok());
            Some((self.patience.during(&projects, meta).flatten()?, projects))
        });
        Store {
            present: known.is_some(),
            device: known.as_ref().map(|(meta, _)| meta.dev()),
            has_sessions: known.is_some_and(|(_, projects)| {
                let mut found = Sessions::default();
                self.sessions_below(&projects, &mut found);
                !found.files.is_empty()
            }),
            cleaned_at: root.and_then(|root| {
                let path = root.join(".last-cleanup");
                self.patience.during(&path, || modified(&path)).flatten()
            }),
            cleanup_age_ms: DAY_MS
                * root
                    .and_then(|root| self.patience.during(root, || cleanup_days(root)))
                    .unwrap_or(CLEANUP_AGE_DAYS),
        }
    }
}

/// Opens a regular file below a folder.
fn open_below(anchor: &Anchor, rest: &Path) -> Result<(File, FileStat), OpenError> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(nonblock());
    match anchor.dir.open_with(rest, &options) {
        Ok(file) => {
            let file = file.into_std();
            let meta = file.metadata().map_err(OpenError::Unreadable)?;
            let stat = stat_of(&meta).map_err(OpenError::Unreadable)?;
            if meta.is_file() { Ok((file, stat)) } else { Err(OpenError::Missing) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(OpenError::Missing),
        // cap-std's word for a link that leads out has no errno of its own.
        Err(error)
            if error.kind() == io::ErrorKind::PermissionDenied
                && error.raw_os_error().is_none() =>
        {
            Err(OpenError::Outside)
        }
        Err(error) => Err(OpenError::Unreadable(error)),
    }
}

/// `O_NONBLOCK`, so that opening a FIFO in a transcript's place does not wait for its writer.
fn nonblock() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default()
}

fn modified(path: &Path) -> Option<Timestamp> {
    Some(fs_err::metadata(path).ok()?.modified().ok()?.into())
}

/// Claude Code's `cleanupPeriodDays`, from the folder's settings.
fn cleanup_days(root: &Path) -> i64 {
    fs_err::read(root.join("settings.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
        .and_then(|settings| settings.get("cleanupPeriodDays")?.as_i64())
        .filter(|days| (0..=36_500).contains(days))
        .unwrap_or(CLEANUP_AGE_DAYS)
}

fn stat_of(meta: &std::fs::Metadata) -> io::Result<FileStat> {
    Ok(FileStat {
        device: meta.dev(),
        inode: meta.ino(),
        size: meta.len(),
        modified: meta.modified()?.into(),
        changed_ns: meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec()),
    })
}

/// An open file.
#[derive(Debug)]
struct RealFile {
    file: File,
    path: PathBuf,
    /// Its state when it was opened, for whoever asks first.
    first: Cell<Option<FileStat>>,
    patience: Arc<Patience>,
}

impl Transcript for RealFile {
    fn stat(&self) -> io::Result<FileStat> {
        if let Some(stat) = self.first.take() {
            return Ok(stat);
        }
        let stat = || stat_of(&self.file.metadata()?);
        self.patience.during(&self.path, stat).unwrap_or_else(|| Err(no_answer()))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = || self.file.read_at(buffer, offset);
        self.patience.during(&self.path, read).unwrap_or_else(|| Err(no_answer()))
    }
}

/// What is said of a file whose disk keeps us waiting.
fn no_answer() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "its disk does not answer; it is left alone until it does",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn world() -> (tempfile::TempDir, PathBuf, RealDisk) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("claude");
        fs_err::create_dir_all(root.join("projects/-p")).unwrap();
        let mut disk = RealDisk::new(vec![root.clone()], Arc::default());
        disk.refresh();
        (folder, root, disk)
    }

    fn word(result: &Result<Box<dyn Transcript>, OpenError>) -> &'static str {
        match result {
            Ok(_) => "opened",
            Err(OpenError::Missing) => "missing",
            Err(OpenError::Outside) => "outside",
            Err(OpenError::Unreadable(_)) => "unreadable",
        }
    }

    #[test]
    fn only_a_regular_file_below_a_claude_folder_is_opened() {
        let (folder, root, disk) = world();
        let project = root.join("projects/-p");
        fs_err::write(project.join("a.jsonl"), "x\n").unwrap();
        fs_err::write(folder.path().join("secret"), "x\n").unwrap();
        symlink(project.join("a.jsonl"), project.join("absolute.jsonl")).unwrap();
        symlink("a.jsonl", project.join("inside.jsonl")).unwrap();
        symlink("../../../secret", project.join("out.jsonl")).unwrap();
        fs_err::create_dir(project.join("folder.jsonl")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            project.join("fifo.jsonl"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        for (path, expected) in [
            (project.join("a.jsonl"), "opened"),
            (project.join("inside.jsonl"), "opened"),
            (project.join("absolute.jsonl"), "outside"),
            (project.join("none.jsonl"), "missing"),
            (root.join("projects/-q/none.jsonl"), "missing"),
            (project.join("folder.jsonl"), "missing"),
            (project.join("fifo.jsonl"), "missing"),
            (project.join("out.jsonl"), "outside"),
            (project.join("../../../secret"), "outside"),
            (folder.path().join("secret"), "outside"),
            (PathBuf::from("/etc/passwd"), "outside"),
            (project.join("a.jsonl/x.jsonl"), "unreadable"),
        ] {
            assert_eq!(word(&disk.open(&path)), expected, "{}", path.display());
        }
    }

    #[test]
    fn a_projects_folder_moved_away_and_linked_is_still_the_store() {
        let (folder, root, _) = world();
        let away = folder.path().join("big-disk");
        fs_err::rename(root.join("projects"), &away).unwrap();
        symlink(&away, root.join("projects")).unwrap();
        fs_err::write(away.join("-p/a.jsonl"), "x\n").unwrap();
        let mut disk = RealDisk::new(vec![root.clone()], Arc::default());
        disk.refresh();
        assert_eq!(word(&disk.open(&root.join("projects/-p/a.jsonl"))), "opened");
        assert_eq!(word(&disk.open(&away.join("-p/a.jsonl"))), "opened");
        assert_eq!(disk.sessions().files.len(), 1);
    }

    #[test]
    fn a_store_that_is_gone_is_told_from_a_file_that_is_gone() {
        let (_folder, root, mut disk) = world();
        let path = root.join("projects/-p/a.jsonl");
        assert!(disk.store(&path).present);
        fs_err::remove_dir_all(&root).unwrap();
        disk.refresh();
        assert_eq!(word(&disk.open(&path)), "missing");
        assert!(!disk.store(&path).present);
    }
}
