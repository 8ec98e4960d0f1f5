//! Which files some paths mean.
//!
//! Always holds: each file once, by its real path; what cannot be looked at is named and does not
//! hold up the rest; links inside folders are not followed, so that a loop of them ends nothing.

use super::source::is_standard_input;
use crate::error::Error;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// The transcripts. Sub-agent files come last, so that of two copies the session's own row is
    /// the first.
    pub(super) files: Vec<PathBuf>,
    /// What could not be looked at.
    pub(super) failures: Vec<Failure>,
}

/// A file or folder that could not be read.
pub(super) struct Failure {
    pub(super) path: PathBuf,
    pub(super) error: Error,
}

impl Found {
    /// The transcripts that these paths mean; folders are searched for `.jsonl` files.
    pub(super) fn below(paths: &[PathBuf]) -> Self {
        let mut found = Self::default();
        for path in paths {
            if is_standard_input(path) {
                found.files.push(path.clone());
            } else if let Some(path) = found.or_failure(path, fs_err::canonicalize(path)) {
                let is_folder = fs_err::metadata(&path).map(|stat| stat.is_dir());
                match found.or_failure(&path, is_folder) {
                    Some(true) => found.search(path),
                    Some(false) => found.files.push(path),
                    None => {}
                }
            }
        }
        found.files.sort_by_key(|path| is_of_agent(path));
        let mut seen = HashSet::new();
        found.files.retain(|path| seen.insert(path.clone()));
        found
    }

    /// Bytes to be read, as far as they are known.
    pub(super) fn size(&self) -> u64 {
        let sizes = self.files.iter().filter_map(|path| fs_err::metadata(path).ok());
        sizes.map(|found| found.len()).sum()
    }

    fn or_failure<T>(&mut self, path: &Path, result: std::io::Result<T>) -> Option<T> {
        result
            .map_err(|error| {
                let path = path.to_owned();
                self.failures.push(Failure { path, error: error.into() });
            })
            .ok()
    }

    /// Searches a folder, depth by depth without recursion: nothing limits how deep folders are.
    fn search(&mut self, folder: PathBuf) {
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            let Some(entries) = self.or_failure(&folder, fs_err::read_dir(&folder)) else {
                continue;
            };
            let mut inner = Vec::new();
            let mut files = Vec::new();
            for entry in entries {
                let Some(entry) = self.or_failure(&folder, entry) else {
                    continue;
                };
                let path = entry.path();
                match self.or_failure(&path, entry.file_type()) {
                    Some(kind) if kind.is_dir() => inner.push(path),
                    Some(kind)
                        if kind.is_file() && path.extension() == Some(OsStr::new("jsonl")) =>
                    {
                        files.push(path);
                    }
                    _ => {}
                }
            }
            files.sort_unstable();
            self.files.append(&mut files);
            // The last one is taken first.
            inner.sort_unstable_by(|one, other| other.cmp(one));
            folders.append(&mut inner);
        }
    }
}

/// Whether this is where a sub-agent writes.
pub(super) fn is_of_agent(path: &Path) -> bool {
    let has_name =
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"agent-"));
    let folders = path.parent().into_iter().flat_map(Path::iter);
    has_name || folders.into_iter().any(|folder| folder == "subagents")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_agents_are_known_by_folder_and_name() {
        for (path, is_agent) in [
            ("/a/agent-1.jsonl", true),
            ("/a/s/subagents/x.jsonl", true),
            ("/a/s/subagents/deep/x.jsonl", true),
            ("/a/subagents.jsonl", false),
            ("/a/my-agent-1.jsonl", false),
            ("-", false),
        ] {
            assert_eq!(is_of_agent(path.as_ref()), is_agent, "{path}");
        }
    }
}
