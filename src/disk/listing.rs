//! The session files below the Claude folders.

use super::patience::Patience;
use super::{RealDisk, SessionFile, Sessions};
use crate::ids::{ThreadId, Timestamp};
use std::collections::BTreeMap;
use std::fs::FileType;
use std::io;
use std::path::{Path, PathBuf};

/// The folders that hold projects, and the projects.
#[derive(Debug, Default)]
pub struct Projects {
    /// The real `projects` folders; a Claude folder while it has none.
    pub stores: Vec<PathBuf>,
    /// The real folders of the projects, each with when it last changed.
    pub folders: BTreeMap<PathBuf, Timestamp>,
}

impl RealDisk {
    /// The folders below the Claude folders.
    #[must_use]
    pub fn projects(&self) -> Projects {
        let mut found = Projects::default();
        for root in &self.roots {
            let Some(store) = self.real(&root.join("projects")) else {
                found.stores.extend(self.real(root));
                continue;
            };
            for (project, _) in self.folder(&store, &mut Sessions::default()) {
                let Some(real) = self.real(&project) else { continue };
                let meta = self.patience.during(&real, || fs_err::metadata(&real).ok()).flatten();
                let changed = meta.filter(std::fs::Metadata::is_dir).map(|meta| meta.modified());
                if let Some(Ok(changed)) = changed {
                    found.folders.insert(real, changed.into());
                }
            }
            found.stores.push(store);
        }
        found
    }

    /// The session of a file that lies in a project's folder.
    #[must_use]
    pub fn session_at(&self, path: &Path) -> Option<SessionFile> {
        let path = self.real(path)?;
        let is_file = || fs_err::metadata(&path).is_ok_and(|meta| meta.is_file());
        let store = path.parent()?.parent()?;
        let is_store =
            |root: &PathBuf| self.real(&root.join("projects")).is_some_and(|known| known == store);
        let is_meant = self.patience.during(&path, is_file)? && self.roots.iter().any(is_store);
        session(path.clone()).filter(|_| is_meant)
    }

    /// When a file was made, where its file system tells.
    #[must_use]
    pub fn born(&self, path: &Path) -> Option<Timestamp> {
        let meta = self.patience.during(path, || fs_err::metadata(path).ok()).flatten()?;
        meta.created().ok().map(Timestamp::from)
    }

    /// The session files of one project: sub-agent files and helper files are none.
    pub fn sessions_in(&self, project: &Path, found: &mut Sessions) {
        let Some(project) = self.real(project) else { return };
        for (path, kind) in self.folder(&project, found) {
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            // A session is named after its real path, so that a link beside it is no second one.
            let real = if kind.is_symlink() { self.real(&path) } else { Some(path) };
            let is_file = |path: &PathBuf| {
                let follow = || fs_err::metadata(path).is_ok_and(|meta| meta.is_file());
                kind.is_file()
                    || (kind.is_symlink() && self.patience.during(path, follow) == Some(true))
            };
            found.files.extend(real.filter(is_file).and_then(session));
        }
    }

    /// The session files of a `projects` folder.
    pub(super) fn sessions_below(&self, projects: &Path, found: &mut Sessions) {
        for (project, _) in self.folder(projects, found) {
            self.sessions_in(&project, found);
        }
    }

    /// What is in a folder. What is no folder has nothing in it; what cannot be listed may have.
    fn folder(&self, path: &Path, found: &mut Sessions) -> Vec<(PathBuf, FileType)> {
        let list = || -> io::Result<Vec<(PathBuf, FileType)>> {
            let entries = fs_err::read_dir(path)?;
            entries
                .map(|entry| entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))))
                .collect()
        };
        match self.patience.during(path, list) {
            Some(Ok(entries)) => entries,
            Some(Err(error)) => {
                let kind = error.kind();
                found.incomplete |=
                    !matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
                Vec::new()
            }
            None => {
                found.incomplete = true;
                Vec::new()
            }
        }
    }

    /// Whether there is a folder at a path.
    #[must_use]
    pub fn is_folder(&self, path: &Path) -> bool {
        self.patience.during(path, || path.is_dir()) == Some(true)
    }

    /// The real path, if there is one and its disk answers.
    #[must_use]
    pub fn real(&self, path: &Path) -> Option<PathBuf> {
        real(&self.patience, path)
    }
}

/// The session of a real file, unless it is a helper's.
fn session(path: PathBuf) -> Option<SessionFile> {
    let stem = path.file_stem()?.to_str()?;
    if path.extension()? != "jsonl" || stem.starts_with("agent-") {
        return None;
    }
    let thread_id = ThreadId::new(stem);
    Some(SessionFile { path, thread_id })
}

/// The real path, if there is one and its disk answers.
pub(super) fn real(patience: &Patience, path: &Path) -> Option<PathBuf> {
    patience.during(path, || fs_err::canonicalize(path).ok()).flatten()
}
