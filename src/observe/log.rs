//! Facts as log lines: each repeated state once, not once a cycle.

use super::{Contact, Fact, Lack, Observer};
use crate::ids::SessionKey;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use tracing::{debug, error, info, warn};

/// States remembered so that they are not logged again; beyond this they are forgotten together,
/// and each is logged once more.
const REMEMBERED: usize = 4096;

/// Names that no rule knows and that are logged, each once: a new version of Claude Code brings a
/// few, and a transcript that was made to have more does not fill the log.
const NAMED: usize = 64;

/// Writes facts to the log.
#[derive(Debug, Default)]
pub struct LogObserver {
    said: Mutex<HashMap<String, String>>,
    /// The names that no rule knows, with the kind of each.
    unknown: Mutex<HashSet<(&'static str, String)>>,
}

/// What a name is to the log that no rule knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meeting {
    /// It was not met before.
    First,
    /// It was named, or there were too many before it.
    Known,
    /// It is the first for which there is no room.
    TooMany,
}

impl LogObserver {
    /// Whether this is the first time that the subject is in this state.
    fn is_new(&self, subject: String, state: &str) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.get(&subject).is_some_and(|last| last == state) {
            return false;
        }
        if said.len() >= REMEMBERED {
            said.clear();
        }
        said.insert(subject, state.to_owned());
        true
    }

    /// Meets a name that no rule knows, of whatever version.
    fn meet(&self, field: &'static str, name: &str) -> Meeting {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        if unknown.len() > NAMED {
            return Meeting::Known;
        }
        if !unknown.insert((field, name.to_owned())) {
            return Meeting::Known;
        }
        if unknown.len() > NAMED { Meeting::TooMany } else { Meeting::First }
    }

    fn observe_contact(&self, contact: Contact<'_>) {
        match contact {
            Contact::Made { url, version } => {
                self.is_new("gateway".to_owned(), "connected");
                info!(url, version, "Connected to the gateway.");
            }
            Contact::Lost { reason } => {
                if self.is_new("gateway".to_owned(), &reason.to_string()) {
                    warn!(cause = reason.as_str(), %reason, "There is no connection to the gateway; going by its databases until there is.");
                }
            }
            Contact::Call { method, outcome, took } => {
                debug!(method, outcome, ms = took.as_secs_f64() * 1e3, "Called the gateway.");
            }
        }
    }

    fn observe_lack(&self, session: &SessionKey, lack: Lack<'_>) {
        match lack {
            Lack::Entry(why) => {
                if self.is_new(format!("entry {session}"), why.as_str()) {
                    error!(%session, cause = why.as_str(), reason = %why, "OpenClaw's session store gives no answer; the session's rows wait.");
                }
            }
            Lack::Texts(why) => {
                if self.is_new(format!("texts {session}"), why.as_str()) {
                    warn!(%session, cause = why.as_str(), reason = %why, "What OpenClaw sent to the session cannot be read; rows are judged by what they say of themselves.");
                }
            }
            Lack::SomeTexts(count) => {
                if self.is_new(format!("some texts {session}"), &count.to_string()) {
                    warn!(%session, count, "Entries of OpenClaw's transcript could not be read; their echoes may count as a person's.");
                }
            }
        }
    }
}

impl Observer for LogObserver {
    fn observe(&self, fact: &Fact<'_>) {
        match *fact {
            Fact::Recorded { session, sequence, turns } => {
                info!(%session, %sequence, turns, "Recorded a person's turns.");
            }
            Fact::Rewritten { session, path } => {
                info!(%session, path = %path.display(), "The transcript was rewritten; reading it again.");
            }
            Fact::RowSkipped { path, offset, length, category } => {
                warn!(path = %path.display(), offset, length, category, "Stepped over bytes that are no row.");
            }
            Fact::Unreadable { session, path, reason } => {
                if self.is_new(format!("file {session}"), reason) {
                    error!(%session, path = %path.display(), reason, "The transcript cannot be read.");
                }
            }
            Fact::Refused { session } => {
                if self.is_new(format!("file {session}"), "refused") {
                    error!(%session, "The link's path is in no Claude folder; name the folder with --claude-dir or unlink the session.");
                }
            }
            Fact::Missing { session, path, misses } => {
                debug!(%session, path = %path.display(), misses, "The transcript is missing.");
            }
            Fact::Gone { session, path, cause: "store_gone" } => {
                if self.is_new(format!("file {session}"), "store_gone") {
                    error!(%session, path = %path.display(), "The Claude folder itself is missing; is its disk mounted?");
                }
            }
            Fact::Gone { session, path, cause: "unclear" } => {
                if self.is_new(format!("file {session}"), "unclear") {
                    error!(%session, path = %path.display(), "The transcript is missing, and may be where we cannot look.");
                }
            }
            Fact::Gone { session, path, cause } => {
                info!(%session, path = %path.display(), cause, "The transcript is gone.");
            }
            Fact::JournalLost { session } => {
                warn!(%session, "The journal knows nothing of this session, which was read before; going on from its marker. Rows of a file that was rewritten meanwhile may count again.");
            }
            Fact::LogRestored { session, event } => {
                warn!(%session, %event, "The signal log is older than the journal; going on from what it has. Events that it lost are recorded again where their rows are behind its marker.");
            }
            Fact::LogReplaced { path } => {
                warn!(path = %path.display(), "The gateway's database was replaced; going on with the new one.");
            }
            Fact::Unplaced { session, events } => {
                warn!(%session, events, "Events of another writer match no row.");
            }
            Fact::NoClaudeFolder => {
                if self.is_new("folders".to_owned(), "none") {
                    warn!("There is no Claude folder yet; --claude-dir names others.");
                }
            }
            Fact::Adopted { session, path, newborn: true } => {
                info!(%session, path = %path.display(), "A new session is followed.");
            }
            Fact::Adopted { session, path, newborn: false } => {
                debug!(%session, path = %path.display(), "A session is followed from its end.");
            }
            Fact::NotFollowed { path, reason } => {
                if self.is_new(format!("newcomer {}", path.display()), reason) {
                    warn!(path = %path.display(), reason, "A session is not followed yet; it is tried again.");
                }
            }
            Fact::EventsLost => {
                warn!("File events came faster than they could be taken; looking at everything.");
            }
            Fact::Unwatchable { folder, reason, polled } => {
                if !self.is_new("watch".to_owned(), reason) {
                    debug!(folder = %folder.display(), reason, "A folder cannot be watched.");
                } else if polled {
                    warn!(folder = %folder.display(), reason, "A folder cannot be watched, and perhaps others; they are looked at every 2 seconds.");
                } else {
                    warn!(folder = %folder.display(), reason, "A folder cannot be watched, and perhaps others; they wait for the next cycle.");
                }
            }
            Fact::Gateway(contact) => self.observe_contact(contact),
            Fact::SessionStore { session, lack } => self.observe_lack(session, lack),
            Fact::Drift { field, name, version } => match self.meet(field, name) {
                Meeting::First => {
                    warn!(field, name, version, "A row holds a name that no rule knows.");
                }
                Meeting::TooMany => {
                    warn!(
                        names = NAMED,
                        "Rows hold more names that no rule knows; no more of them are named."
                    );
                }
                Meeting::Known => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_rule_knows_is_logged_once_and_so_many_of_them() {
        let log = LogObserver::default();
        assert_eq!(log.meet("type", "new"), Meeting::First);
        assert_eq!(log.meet("type", "new"), Meeting::Known);
        assert_eq!(log.meet("subtype", "new"), Meeting::First);
        let met: Vec<_> = (0..1000).map(|n| log.meet("type", &n.to_string())).collect();
        let count = |meeting| met.iter().filter(|met| **met == meeting).count();
        assert_eq!(count(Meeting::First), NAMED - 2);
        assert_eq!(count(Meeting::TooMany), 1);
    }
}
