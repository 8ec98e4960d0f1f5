//! Threads that hang in a call to a disk, and what is left alone because of them.
//!
//! Always holds: a call is given its deadline, then its thread is left to it and another goes on
//! without the path; so many threads may hang at most; what a thread hung in is taken up again once
//! the thread has ended.

use crate::disk::Patience;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::time::Instant;

/// Threads that may hang at a time. Each costs a stack and two connections; with more of them hanging
/// the service manager's watchdog is the better remedy.
const MOST: usize = 8;

/// The threads that hang.
#[derive(Debug, Default)]
pub(super) struct Hung {
    threads: Vec<(JoinHandle<()>, PathBuf)>,
    /// The call under way when this was asked last, and since when it was.
    call: Option<(u64, Instant)>,
}

impl Hung {
    /// Whether the call under way has lasted too long, and another thread may hang.
    pub(super) fn has_hung(&mut self, patience: &Patience, deadline: Duration) -> bool {
        let now = Instant::now();
        let Some(call) = patience.call() else {
            self.call = None;
            return false;
        };
        match self.call {
            Some((same, since)) if same == call => {
                now - since >= deadline && self.threads.len() < MOST
            }
            _ => {
                self.call = Some((call, now));
                false
            }
        }
    }

    /// Keeps a thread that hangs.
    pub(super) fn add(&mut self, thread: JoinHandle<()>, path: PathBuf) {
        self.call = None;
        self.threads.push((thread, path));
    }

    /// Takes out what answers again.
    pub(super) fn answered(&mut self) -> Vec<PathBuf> {
        self.threads
            .extract_if(.., |(thread, _)| thread.is_finished())
            .map(|(_, path)| path)
            .collect()
    }
}
