//! How much is measured.

use std::time::Duration;

pub(crate) struct Size {
    /// Rounds of each measurement; its figure is their median.
    pub(crate) rounds: u32,
    /// Followed sessions, and the folders that hold them.
    pub(crate) sessions: u32,
    pub(crate) folders: u32,
    /// Turns that are typed in a round.
    pub(crate) turns: u32,
    /// Bytes of the transcript that is read as a whole.
    pub(crate) transcript: usize,
    /// Bytes of a giant row.
    pub(crate) giant: usize,
    /// Counted cycles of a round.
    pub(crate) cycles: u32,
    /// How long nothing happens.
    pub(crate) quiet: Duration,
    /// Events of a round that are committed without a daemon.
    pub(crate) commits: u32,
}

impl Size {
    pub(crate) const FULL: Self = Self {
        rounds: 5,
        sessions: 10_000,
        folders: 100,
        turns: 400,
        transcript: 256 << 20,
        giant: 100_000_000,
        cycles: 8,
        quiet: Duration::from_secs(10),
        commits: 500,
    };

    /// Enough to see that everything runs; the figures mean little.
    pub(crate) const QUICK: Self = Self {
        rounds: 1,
        sessions: 300,
        folders: 10,
        turns: 20,
        transcript: 8 << 20,
        giant: 12_000_000,
        cycles: 2,
        quiet: Duration::from_millis(500),
        commits: 20,
    };
}
