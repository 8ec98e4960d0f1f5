//! Automatic following: which session files nobody has adopted yet.
//!
//! Answers: which files are to be adopted, and from where. Always holds: a file that was born since
//! sessions are adopted by themselves is followed from its first byte, an older one from its end; who
//! is new comes first. Deliberately elsewhere: the adoption itself (`cycle`), the list of files
//! (`disk`).

use crate::cycle::AdoptFrom;
use crate::disk::{Disk as _, Projects, RealDisk, SessionFile, Sessions};
use crate::ids::{Timestamp, is_plain_id};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

/// File systems stamp a birth with a coarser clock than ours.
const COARSE_MS: i64 = 20;
/// A folder that changed less than this before it was listed may have changed again in the same
/// tick of its clock.
const FRESH_MS: i64 = 2_000;

/// The files that nobody has adopted yet.
#[derive(Debug)]
pub(super) struct Newcomers {
    /// Since when sessions are adopted by themselves.
    since: Timestamp,
    /// The project folders that were listed, each as it had last changed then.
    listed: HashMap<PathBuf, Timestamp>,
    waiting: VecDeque<Newcomer>,
    /// The paths of those that wait.
    known: HashSet<PathBuf>,
    /// How long the older ones were when they were first seen: what is written while they wait is
    /// no history.
    ends: HashMap<PathBuf, u64>,
}

/// A session file to be adopted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Newcomer {
    pub(super) session: SessionFile,
    pub(super) from: AdoptFrom,
}

impl Newcomers {
    pub(super) fn new(since: Timestamp) -> Self {
        Self {
            since,
            listed: HashMap::new(),
            waiting: VecDeque::new(),
            known: HashSet::new(),
            ends: HashMap::new(),
        }
    }

    /// Lists the project folders that changed since they were listed last, and keeps the files that
    /// are not followed.
    pub(super) fn list(
        &mut self,
        projects: &Projects,
        disk: &RealDisk,
        now: Timestamp,
        is_followed: impl Fn(&Path) -> bool,
    ) {
        self.listed.retain(|folder, _| projects.folders.contains_key(folder));
        for (folder, changed) in &projects.folders {
            if self.listed.get(folder) == Some(changed) {
                continue;
            }
            let mut found = Sessions::default();
            disk.sessions_in(folder, &mut found);
            for session in found.files {
                if !is_followed(&session.path) {
                    self.add(session, disk);
                }
            }
            if now.ms_since(*changed) > FRESH_MS && !found.incomplete {
                self.listed.insert(folder.clone(), *changed);
            }
        }
    }

    /// Takes a file that just showed itself.
    pub(super) fn add(&mut self, session: SessionFile, disk: &RealDisk) {
        if !self.known.insert(session.path.clone()) {
            return;
        }
        if !is_plain_id(session.thread_id.as_str()) {
            // No session of Claude Code: somebody's copy or notes.
            return;
        }
        let born = disk.born(&session.path);
        if let Some(born) = born.filter(|born| born.plus_ms(COARSE_MS) >= self.since) {
            // Somebody is at its keyboard.
            self.waiting.push_front(Newcomer { session, from: AdoptFrom::Birth(born) });
            return;
        }
        let from = disk.glance(&session.path).map_or(AdoptFrom::End, |stat| {
            AdoptFrom::At(*self.ends.entry(session.path.clone()).or_insert(stat.size))
        });
        self.waiting.push_back(Newcomer { session, from });
    }

    /// The next file to be adopted.
    pub(super) fn next(&mut self) -> Option<Newcomer> {
        let next = self.waiting.pop_front()?;
        self.known.remove(&next.session.path);
        Some(next)
    }

    /// Forgets a file that is adopted, or left alone.
    pub(super) fn settle(&mut self, session: &SessionFile) {
        self.ends.remove(&session.path);
    }

    /// Has a file's folder listed again: it could not be adopted now.
    pub(super) fn try_again(&mut self, session: &SessionFile) {
        if let Some(folder) = session.path.parent() {
            self.listed.remove(folder);
        }
    }

    /// Gives up who waits, and has all folders listed again.
    pub(super) fn begin_again(&mut self) {
        self.listed.clear();
        self.waiting.clear();
        self.known.clear();
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
