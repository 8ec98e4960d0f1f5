//! Waiting, for commands that go on until somebody ends them.
//!
//! Always holds: SIGINT, SIGTERM and SIGHUP end a wait, and so does a reader who left.

use crate::error::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the program was asked to end.
#[derive(Debug, Clone)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens from now on.
    pub(super) fn listen() -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Self(asked))
    }

    /// Whether it was asked.
    pub(super) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Lets this much time pass; true where the program is to end.
    pub(super) fn pause(&self, time: Duration) -> Result<bool> {
        pause(time)?;
        Ok(self.is_asked())
    }

    /// Lets this much time pass; true where the program is to end, or nobody reads what it prints.
    pub(super) fn pause_while_read(&self, time: Duration) -> Result<bool> {
        let stdout = std::io::stdout();
        // Asked for nothing: errors and hang-ups are told all the same.
        let left = wait(&mut [PollFd::new(&stdout, PollFlags::empty())], time)?;
        Ok(left || self.is_asked())
    }
}

/// Lets this much time pass; a signal ends it early.
pub(super) fn pause(time: Duration) -> Result<()> {
    wait(&mut [], time)?;
    Ok(())
}

/// Whether anything is to be told of these files, within a time; a signal ends it early.
fn wait(files: &mut [PollFd<'_>], time: Duration) -> Result<bool> {
    let time = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(files, Some(&time)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}
