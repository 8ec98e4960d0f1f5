//! How long a disk may keep us waiting.
//!
//! Answers: is a call under way, about what, and is a path left alone because its disk does not
//! answer. Always holds: what is left alone is not touched again until it is released. Deliberately
//! elsewhere: how long is too long, and who releases (`daemon`).
//!
//! A call that hangs cannot be ended; the thread that made it is left to it, and another goes on
//! without the path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The calls of one thread to its disks, seen by another.
#[derive(Debug, Default)]
pub struct Patience {
    /// Odd while a call is under way; another number for each.
    calls: AtomicU64,
    /// What the last call is about.
    path: Mutex<PathBuf>,
    /// What is left alone, by all threads.
    parked: Arc<RwLock<BTreeSet<PathBuf>>>,
}

impl Patience {
    /// For the thread that takes another's place: what is left alone is the same.
    #[must_use]
    pub fn of_successor(&self) -> Self {
        Self { parked: Arc::clone(&self.parked), ..Self::default() }
    }

    /// Makes a call about a path; `None` where it is left alone.
    pub fn during<T>(&self, path: &Path, call: impl FnOnce() -> T) -> Option<T> {
        if self.is_parked(path) {
            return None;
        }
        {
            let mut about = self.path.lock().unwrap_or_else(PoisonError::into_inner);
            about.as_mut_os_string().clear();
            about.push(path);
        }
        self.calls.fetch_add(1, Ordering::AcqRel);
        crate::killpoint::hang(path);
        let answer = call();
        self.calls.fetch_add(1, Ordering::AcqRel);
        Some(answer)
    }

    /// The call under way, by a number of its own.
    #[must_use]
    pub fn call(&self) -> Option<u64> {
        Some(self.calls.load(Ordering::Acquire)).filter(|calls| calls % 2 == 1)
    }

    /// Leaves alone what the call under way is about. A second path of one folder takes the whole
    /// folder with it, and so on up to one of the roots: they share a disk.
    #[must_use]
    pub fn park(&self, roots: &[PathBuf]) -> PathBuf {
        let mut path = self.path.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut parked = self.parked.write().unwrap_or_else(PoisonError::into_inner);
        while let Some(folder) = path.parent()
            && !roots.contains(&path)
            && roots.iter().any(|root| folder.starts_with(root))
            && parked.iter().any(|other| other.starts_with(folder) && !other.starts_with(&path))
        {
            path.pop();
        }
        parked.insert(path.clone());
        path
    }

    /// What is left alone.
    #[must_use]
    pub fn parked(&self) -> BTreeSet<PathBuf> {
        self.parked.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes a path up again.
    pub fn release(&self, path: &Path) {
        self.parked.write().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    fn is_parked(&self, path: &Path) -> bool {
        let parked = self.parked.read().unwrap_or_else(PoisonError::into_inner);
        parked.iter().any(|parked| path.starts_with(parked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_path_of_a_folder_takes_the_folder_with_it_and_never_more_than_a_root() {
        let patience = Patience::default();
        let roots = [PathBuf::from("/c")];
        let park = |path: &str| {
            let _is_parked = patience.during(Path::new(path), || ());
            patience.park(&roots)
        };
        for (hangs, parked) in [
            ("/c/projects/-p/a.jsonl", "/c/projects/-p/a.jsonl"),
            ("/c/projects/-p/b.jsonl", "/c/projects/-p"),
            ("/c/projects/-q/c.jsonl", "/c/projects/-q/c.jsonl"),
            ("/c/projects/-q/d.jsonl", "/c/projects"),
        ] {
            assert_eq!(park(hangs), Path::new(parked), "{hangs}");
        }
        assert_eq!(patience.during(Path::new("/c/projects/-r/e.jsonl"), || ()), None);
        patience.release(Path::new("/c/projects"));
        assert_eq!(patience.during(Path::new("/c/projects/-r/e.jsonl"), || ()), Some(()));
        assert_eq!(patience.during(Path::new("/c/projects/-p/e.jsonl"), || ()), None);
        assert_eq!(
            patience.of_successor().during(Path::new("/c/projects/-p/e.jsonl"), || ()),
            None
        );
    }
}
