//! The machine's own disk.

use super::{Disk, FileStat, OpenError, SessionFile, Sessions, Store, Transcript};
use crate::ids::{ThreadId, Timestamp};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// Claude Code's default age of files that it cleans up.
const CLEANUP_AGE_DAYS: i64 = 30;
const DAY_MS: i64 = 86_400_000;

/// Transcripts below some Claude folders of this machine.
#[derive(Debug)]
pub struct RealDisk {
    roots: Vec<PathBuf>,
    anchors: Vec<Anchor>,
}

/// A folder that paths may lie beneath, held open so that no link leads out of it.
#[derive(Debug)]
struct Anchor {
    prefix: PathBuf,
    dir: Dir,
}

impl RealDisk {
    /// Looks at these Claude folders (each holds `projects/`); they need not exist yet.
    #[must_use]
    pub fn new(roots: Vec<PathBuf>) -> Self {
        let anchors = anchors(&roots);
        Self { roots, anchors }
    }

    /// Looks again where the Claude folders are; they may have been mounted or made since.
    pub fn refresh(&mut self) {
        self.anchors = anchors(&self.roots);
    }

    /// The real folders that hold projects (a Claude folder while it has none), and the real folders
    /// of the projects, each with when it last changed.
    #[must_use]
    pub fn projects(&self) -> (Vec<PathBuf>, BTreeMap<PathBuf, Timestamp>) {
        let mut stores = Vec::new();
        let mut projects = BTreeMap::new();
        for root in &self.roots {
            let Ok(store) = fs_err::canonicalize(root.join("projects")) else {
                stores.extend(fs_err::canonicalize(root));
                continue;
            };
            for project in folder(&store, &mut Sessions::default()) {
                let meta = fs_err::metadata(&project).ok().filter(std::fs::Metadata::is_dir);
                let changed = meta.and_then(|meta| meta.modified().ok());
                if let Some(changed) = changed
                    && let Ok(real) = fs_err::canonicalize(&project)
                {
                    projects.insert(real, changed.into());
                }
            }
            stores.push(store);
        }
        (stores, projects)
    }

    /// The session files of one project.
    #[must_use]
    pub fn sessions_in(&self, project: &Path) -> Sessions {
        let mut found = Sessions::default();
        sessions_of(project, &mut found);
        found
    }

    /// The session of a file that lies in a project's folder.
    #[must_use]
    pub fn session_at(&self, path: &Path) -> Option<SessionFile> {
        let session = session_at(path)?;
        let store = session.path.parent()?.parent()?;
        let is_store = |root: &PathBuf| {
            fs_err::canonicalize(root.join("projects")).is_ok_and(|known| known == store)
        };
        self.roots.iter().any(is_store).then_some(session)
    }

    /// The Claude folder whose path, real path or `projects` folder holds this path.
    fn root_of(&self, path: &Path) -> Option<&PathBuf> {
        self.roots
            .iter()
            .find(|root| prefixes(root).iter().any(|(prefix, _)| path.starts_with(prefix)))
    }
}

/// The prefixes that a path below a Claude folder can have, and the folder that each names. A
/// person may have moved `projects` to another disk and left a symbolic link.
fn prefixes(root: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut prefixes = vec![(root.to_owned(), root.to_owned())];
    for folder in [root.to_owned(), root.join("projects")] {
        if let Ok(real) = fs_err::canonicalize(&folder) {
            prefixes.push((folder, real.clone()));
            prefixes.push((real.clone(), real));
        }
    }
    prefixes
}

fn anchors(roots: &[PathBuf]) -> Vec<Anchor> {
    let mut anchors: Vec<Anchor> = roots
        .iter()
        .flat_map(|root| prefixes(root))
        .filter_map(|(prefix, folder)| {
            let dir = Dir::open_ambient_dir(folder, ambient_authority()).ok()?;
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
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(nonblock());
        match anchor.dir.open_with(rest, &options) {
            Ok(file) => {
                let file = file.into_std();
                let meta = file.metadata().map_err(OpenError::Unreadable)?;
                if meta.is_file() { Ok(Box::new(RealFile(file))) } else { Err(OpenError::Missing) }
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

    fn glance(&self, path: &Path) -> Option<FileStat> {
        stat_of(&fs_err::symlink_metadata(path).ok()?).ok()
    }

    fn sessions(&self) -> Sessions {
        let mut found = Sessions::default();
        for root in &self.roots {
            sessions_below(&root.join("projects"), &mut found);
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        found.files.dedup();
        found
    }

    fn store(&self, path: &Path) -> Store {
        let root = self.root_of(path);
        let projects = root.map(|root| root.join("projects"));
        let meta = projects.as_ref().and_then(|projects| fs_err::metadata(projects).ok());
        Store {
            present: projects.as_ref().is_some_and(|projects| fs_err::read_dir(projects).is_ok()),
            device: meta.map(|meta| meta.dev()),
            has_sessions: projects.is_some_and(|projects| {
                let mut found = Sessions::default();
                sessions_below(&projects, &mut found);
                !found.files.is_empty()
            }),
            cleaned_at: root.and_then(|root| modified(&root.join(".last-cleanup"))),
            cleanup_age_ms: root.map_or(CLEANUP_AGE_DAYS, |root| cleanup_days(root)) * DAY_MS,
        }
    }
}

/// `O_NONBLOCK`, so that opening a FIFO in a transcript's place does not wait for its writer.
fn nonblock() -> i32 {
    i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default()
}

/// The session files of a `projects` folder.
fn sessions_below(projects: &Path, found: &mut Sessions) {
    for project in folder(projects, found) {
        sessions_of(&project, found);
    }
}

/// The session files of a project: sub-agent files and helper files are none.
fn sessions_of(project: &Path, found: &mut Sessions) {
    for path in folder(project, found) {
        if path.extension().is_some_and(|end| end == "jsonl") {
            found.files.extend(session_at(&path));
        }
    }
}

/// The session of a file, named after its real path, so that a link beside it is no second one.
fn session_at(path: &Path) -> Option<SessionFile> {
    let path = fs_err::canonicalize(path).ok()?;
    let meta = fs_err::metadata(&path).ok()?;
    if path.extension().is_none_or(|end| end != "jsonl") || !meta.is_file() {
        return None;
    }
    let stem = path.file_stem()?.to_str()?;
    if stem.starts_with("agent-") {
        return None;
    }
    let thread_id = ThreadId::new(stem);
    Some(SessionFile { path, thread_id, born: meta.created().ok().map(Timestamp::from) })
}

/// What is in a folder. What is no folder has nothing in it; what cannot be listed may have.
fn folder(path: &Path, found: &mut Sessions) -> Vec<PathBuf> {
    match fs_err::read_dir(path) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => {
            let kind = error.kind();
            found.incomplete |=
                !matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
            Vec::new()
        }
    }
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
struct RealFile(File);

impl Transcript for RealFile {
    fn stat(&self) -> io::Result<FileStat> {
        stat_of(&self.0.metadata()?)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn world() -> (tempfile::TempDir, PathBuf, RealDisk) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("claude");
        fs_err::create_dir_all(root.join("projects/-p")).unwrap();
        let disk = RealDisk::new(vec![root.clone()]);
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
        let disk = RealDisk::new(vec![root.clone()]);
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
