//! What a cycle found and did, for `once` and for the log.

use crate::classify::{Class, DriftCounts, JudgedRow};
use crate::disk::FileStat;
use crate::ids::{Sequence, SourceKey};
use crate::link::Link;
use std::collections::BTreeMap;

/// What a cycle found and did.
#[derive(Debug, Default)]
pub struct CycleReport {
    /// One for each link, in the order of their keys.
    pub links: Vec<LinkReport>,
    /// The events that were recorded.
    pub events: Vec<Sequence>,
}

/// What was found and done for one link.
#[derive(Debug, Clone)]
pub struct LinkReport {
    /// The link as it was when the cycle began.
    pub link: Link,
    /// The source that was read.
    pub source: SourceKey,
    /// Whether that is a fork of what the link names; `link` then names the fork.
    pub is_fork: bool,
    /// Whether it was seen for the first time.
    pub is_new: bool,
    /// What was found of the link's forks.
    pub forks: Vec<Self>,
    /// What became of it in this cycle.
    pub outcome: Outcome,
    /// The rows that were read, by class.
    pub rows: BTreeMap<Class, u64>,
    /// Bytes that were no rows, in places.
    pub skipped: u64,
    /// The names in these rows that no rule knows.
    pub drift: DriftCounts,
    /// Turns recorded.
    pub turns: usize,
    /// Human-looking rows that were our own texts.
    pub echoes: usize,
    /// The last event recorded.
    pub event: Option<Sequence>,
    /// Where the link's marker stands now; `None` where the link is gone or has no offset.
    pub marker_after: Option<u64>,
    /// Whether there is more to read at once.
    pub behind: bool,
    /// The file as it was when nothing was left to do: while it is the same, nothing is new.
    pub settled: Option<FileStat>,
    /// What went wrong, for a person.
    pub error: Option<String>,
    /// Each row's verdict, where the cycle was asked to explain itself.
    pub verdicts: Vec<JudgedRow>,
}

/// What became of a source in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing new.
    Unchanged,
    /// New rows were read.
    Read,
    /// It was rewritten and read again.
    Rewritten,
    /// It changed while it was read; the next pass looks again.
    Changing,
    /// OpenClaw runs a turn in its session, and a row that may be its own waits for the end.
    Held,
    /// It is on a paired node, which was asked and has not answered yet.
    Asked,
    /// It is missing, not for good yet.
    Missing,
    /// It is elsewhere now, and followed there.
    Moved,
    /// Its store is gone.
    StoreGone,
    /// It was deleted; the link is gone.
    Deleted,
    /// Claude Code cleaned it up; the link is gone.
    Retention,
    /// It cannot be read.
    Unreadable,
    /// Its path is in no Claude folder.
    Refused,
    /// The link went, or was pointed elsewhere, while it was read.
    LinkGone,
    /// OpenClaw has no session of its key: it is not read.
    NoSession,
    /// OpenClaw is just making its session: it is not read yet.
    Initializing,
    /// OpenClaw's session store gives no answer: it is not read until it does.
    SessionUnknown,
}

impl Outcome {
    /// The word for it in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Read => "read",
            Self::Rewritten => "rewritten",
            Self::Changing => "changing",
            Self::Held => "held",
            Self::Asked => "asked",
            Self::Missing => "missing",
            Self::Moved => "moved",
            Self::StoreGone => "store_gone",
            Self::Deleted => "deleted",
            Self::Retention => "retention",
            Self::Unreadable => "unreadable",
            Self::Refused => "refused",
            Self::LinkGone => "link_gone",
            Self::NoSession => "no_session",
            Self::Initializing => "initializing",
            Self::SessionUnknown => "session_unknown",
        }
    }

    /// Whether the link is not what it was any more.
    #[must_use]
    pub const fn ends_link(self) -> bool {
        matches!(self, Self::Moved | Self::Deleted | Self::Retention | Self::LinkGone)
    }
}

impl LinkReport {
    /// The report on a fork of what a link names.
    pub(super) fn of_fork(link: Link) -> Self {
        Self { is_fork: true, ..Self::new(link) }
    }

    /// This report and those on the link's forks.
    pub fn each(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.forks)
    }

    pub(super) fn new(link: Link) -> Self {
        Self {
            source: link.source_key(),
            is_fork: false,
            is_new: false,
            forks: Vec::new(),
            marker_after: link.marker(),
            link,
            outcome: Outcome::Unchanged,
            rows: BTreeMap::new(),
            skipped: 0,
            drift: DriftCounts::default(),
            turns: 0,
            echoes: 0,
            event: None,
            behind: false,
            settled: None,
            error: None,
            verdicts: Vec::new(),
        }
    }
}
