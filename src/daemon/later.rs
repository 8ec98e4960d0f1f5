//! What is to be looked at without any event that tells so.
//!
//! Always holds: only times and names stand here; whoever asks does the looking.

use crate::link::LinkId;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How soon the links are read again of which somebody else wrote: a busy gateway writes all the
/// time, and mostly something else.
const READ_EVERY: Duration = Duration::from_millis(250);

/// How soon a source is looked at again of which a row waits for the end of OpenClaw's turn.
const HELD_FOR: Duration = Duration::from_millis(500);

/// How soon, and how long after a file of a session came that is not followed, it is asked whether
/// OpenClaw goes on with a followed one there: it says so at the end of its turn.
const FORKS_EVERY: Duration = Duration::from_secs(1);
const FORKS_FOR: Duration = Duration::from_secs(120);

/// What is due, and when.
#[derive(Debug, Default)]
pub(super) struct Later {
    /// When the links were read last, and when they are to be read again.
    links_read: Option<Instant>,
    links: Option<Instant>,
    /// The links of which a row waits, and when they are next looked at.
    held: HashSet<Arc<LinkId>>,
    held_until: Option<Instant>,
    /// When forks are next asked for, and until when.
    forks: Option<Instant>,
    forks_until: Option<Instant>,
}

impl Later {
    /// When the next of it is due.
    pub(super) fn due(&self) -> Option<Instant> {
        [self.links, self.held_until, self.forks].into_iter().flatten().min()
    }

    /// The signal log changed: says whether its links may be read at once.
    pub(super) fn log_changed(&mut self) -> bool {
        let now = Instant::now();
        let due = *self.links.get_or_insert(self.links_read.map_or(now, |read| read + READ_EVERY));
        due <= now
    }

    /// Whether it is time to read the links again.
    pub(super) fn are_links_due(&self) -> bool {
        self.links.is_some_and(|due| due <= Instant::now())
    }

    /// The links are looked at; `read` where anything had changed.
    pub(super) fn links_looked_at(&mut self, read: bool) {
        self.links = None;
        if read {
            self.links_read = Some(Instant::now());
        }
    }

    /// A row of a link waits.
    pub(super) fn hold(&mut self, id: Arc<LinkId>) {
        self.held.insert(id);
        self.held_until.get_or_insert(Instant::now() + HELD_FOR);
    }

    /// The links whose rows have waited.
    pub(super) fn take_held(&mut self) -> HashSet<Arc<LinkId>> {
        match self.held_until.take_if(|until| *until <= Instant::now()) {
            Some(_) => std::mem::take(&mut self.held),
            None => HashSet::new(),
        }
    }

    /// A file came that may be a fork of OpenClaw's.
    pub(super) fn stranger_came(&mut self) {
        let now = Instant::now();
        self.forks_until = Some(now + FORKS_FOR);
        self.forks.get_or_insert(now + FORKS_EVERY);
    }

    /// Whether it is time to ask for forks.
    pub(super) fn take_forks(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.forks.take_if(|due| *due <= now).is_some();
        if is_due && self.forks_until.is_some_and(|until| now < until) {
            self.forks = Some(now + FORKS_EVERY);
        }
        is_due
    }

    /// What waited is given up; the next cycle finds it again.
    pub(super) fn give_up(&mut self) {
        self.held.clear();
        self.held_until = None;
    }
}
