//! Named facts of the program, and who listens to them.
//!
//! Answers: what happened that somebody may want to know. Always holds: a fact carries keys, paths,
//! offsets and counts, never a text of a row. Deliberately elsewhere: what is done about it (the
//! module that observed it).

mod log;

use crate::ids::{Sequence, SessionKey};
use crate::openclaw::sessions::Unavailable;
use crate::openclaw::socket::CallError;
pub use log::LogObserver;
use std::path::Path;
use std::time::Duration;

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact<'a> {
    /// An event was recorded.
    Recorded {
        /// The session.
        session: &'a SessionKey,
        /// The event.
        sequence: Sequence,
        /// How many turns it counts.
        turns: usize,
    },
    /// A file was rewritten and is read again.
    Rewritten {
        /// The session.
        session: &'a SessionKey,
        /// Its file.
        path: &'a Path,
    },
    /// Bytes that are no JSON were stepped over.
    RowSkipped {
        /// The file.
        path: &'a Path,
        /// Where they begin.
        offset: u64,
        /// How many they are.
        length: u64,
        /// What is wrong with them.
        category: &'static str,
    },
    /// A file cannot be read; no statement about it is made.
    Unreadable {
        /// The session.
        session: &'a SessionKey,
        /// Its file.
        path: &'a Path,
        /// The system's word for it.
        reason: &'a str,
    },
    /// A link's path lies outside all Claude folders, or leads out of them.
    Refused {
        /// The session.
        session: &'a SessionKey,
    },
    /// A file is missing.
    Missing {
        /// The session.
        session: &'a SessionKey,
        /// Its file.
        path: &'a Path,
        /// How often in a row.
        misses: u32,
    },
    /// A file is missing for good; the link went, or was pointed elsewhere.
    Gone {
        /// The session.
        session: &'a SessionKey,
        /// Its file.
        path: &'a Path,
        /// `deleted`, `retention`, `moved`, `store_gone` or `unclear`.
        cause: &'a str,
    },
    /// The journal knows nothing of a source that was read before: it was lost, and reading goes on
    /// from the marker.
    JournalLost {
        /// The session.
        session: &'a SessionKey,
    },
    /// The signal log is older than the journal: it was lost or restored, and reading goes on from
    /// the marker that it has.
    LogRestored {
        /// The session.
        session: &'a SessionKey,
        /// An event that we recorded and that the log does not have.
        event: Sequence,
    },
    /// A gateway's database was replaced, as when it is restored; the new one is open.
    LogReplaced {
        /// Its path.
        path: &'a Path,
    },
    /// Events of another writer could not be matched with rows.
    Unplaced {
        /// The session.
        session: &'a SessionKey,
        /// How many.
        events: usize,
    },
    /// File events were lost, or came faster than they could be taken: everything is looked at.
    EventsLost,
    /// There is no Claude folder, or none that answers.
    NoClaudeFolder,
    /// A session was adopted by itself.
    Adopted {
        /// The session.
        session: &'a SessionKey,
        /// Its file.
        path: &'a Path,
        /// Whether it was born before our eyes, and is followed from its first row.
        newborn: bool,
    },
    /// A session could not be adopted by itself; it is tried again.
    NotFollowed {
        /// Its file.
        path: &'a Path,
        /// Why.
        reason: &'a str,
    },
    /// A folder cannot be watched; it is looked at in intervals.
    Unwatchable {
        /// The folder.
        folder: &'a Path,
        /// The system's word for it.
        reason: &'a str,
        /// Whether it is looked at every two seconds; else it waits for the next cycle.
        polled: bool,
    },
    /// Something about the connection to a gateway.
    Gateway(Contact<'a>),
    /// OpenClaw's session store does not tell all of a session.
    SessionStore {
        /// The session.
        session: &'a SessionKey,
        /// What it does not tell.
        lack: Lack<'a>,
    },
    /// A row holds a name that no rule knows.
    Drift {
        /// Which kind of name.
        field: &'static str,
        /// The name, clamped.
        name: &'a str,
        /// The version of the program that wrote it.
        version: Option<&'a str>,
    },
}

/// How it stands with a gateway's WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contact<'a> {
    /// It is open.
    Made {
        /// Where.
        url: &'a str,
        /// The gateway's version.
        version: &'a str,
    },
    /// It is not open, and should be.
    Lost {
        /// Why.
        reason: &'a CallError,
    },
    /// A call of a gateway's method came to its end.
    Call {
        /// The method.
        method: &'static str,
        /// `ok`, or a word for what went wrong.
        outcome: &'static str,
        /// How long it took.
        took: Duration,
    },
}

/// What OpenClaw's session store does not tell of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack<'a> {
    /// Whether the session is there; its rows wait.
    Entry(&'a Unavailable),
    /// The texts that were sent to it; only what rows say of themselves counts.
    Texts(&'a Unavailable),
    /// Some of these texts: so many entries of its transcript could not be read.
    SomeTexts(usize),
}

/// Who listens.
pub trait Observer {
    /// Takes note of a fact.
    fn observe(&self, fact: &Fact<'_>);
}
