//! The session of a link beside a gateway: whether there is one, and what OpenClaw sent to it.

use super::Cycle;
use super::report::{LinkReport, Outcome};
use crate::echo::{Echoes, GATEWAY_TEXTS, OwnTextId, OwnTexts as _};
use crate::error::Result;
use crate::ids::ThreadId;
use crate::journal::LinkRow;
use crate::link::{Link, LinkId};
use crate::observe::{Fact, Lack};

/// The session of a link that can be recorded for.
pub(super) enum Session {
    /// There is no gateway: the link is the session.
    Ours,
    /// One of a gateway's.
    Gateways {
        /// The Claude session in which OpenClaw goes on, as far as it says.
        continued_in: Option<ThreadId>,
    },
}

impl Cycle<'_> {
    /// A link's session; `None` where it cannot be recorded for. Then its rows wait: the position
    /// stays, and a later pass counts them.
    pub(super) fn session(&self, link: &Link, report: &mut LinkReport) -> Option<Session> {
        let Some(sessions) = self.sessions else { return Some(Session::Ours) };
        let outcome = match sessions.entry(&link.id) {
            Ok(Some(entry)) if !entry.initializing => {
                return Some(Session::Gateways { continued_in: entry.claude_session });
            }
            Ok(Some(_)) => Outcome::Initializing,
            Ok(None) => Outcome::NoSession,
            Err(unavailable) => {
                let session = &link.id.session_key;
                self.observer
                    .observe(&Fact::SessionStore { session, lack: Lack::Entry(&unavailable) });
                report.error = Some(unavailable.to_string());
                Outcome::SessionUnknown
            }
        };
        report.outcome = outcome;
        None
    }

    /// Whether OpenClaw runs a turn in a link's session: the gateway says so; where it cannot be
    /// asked, the session is marked so, and the gateway that marked it lives. Where the mark cannot be
    /// read, its rows wait.
    pub(super) fn is_running(&self, id: &LinkId) -> Result<bool> {
        let Some(sessions) = self.sessions else { return Ok(false) };
        if let Some(is_running) = self.runs.and_then(|runs| runs.is_running(id)) {
            return Ok(is_running);
        }
        let is_marked = match sessions.entry(id) {
            Ok(entry) => entry.is_some_and(|entry| entry.run.is_some()),
            Err(_) => true,
        };
        let now = self.clock.now();
        Ok(is_marked && self.log.owner()?.is_some_and(|owner| owner.is_live(now)))
    }

    /// What rows of a link are compared with: the texts that programs told us of, and those in
    /// OpenClaw's transcript.
    pub(super) fn echoes(&self, id: &LinkId, link: LinkRow) -> Result<Echoes> {
        let (mode, limit) = (self.rules.echo, self.rules.own_texts);
        let told = self.journal.recent(id, limit)?.texts;
        let Some(sessions) = self.sessions else {
            return Ok(Echoes::alone(mode, told));
        };
        let session = &id.session_key;
        let mut stored = match sessions.recent(id, limit.max(GATEWAY_TEXTS)) {
            Ok(recent) => {
                if recent.skipped > 0 {
                    self.observer.observe(&Fact::SessionStore {
                        session,
                        lack: Lack::SomeTexts(recent.skipped),
                    });
                }
                recent.texts
            }
            // What a row says of itself still counts, and what programs told us.
            Err(unavailable) => {
                self.observer
                    .observe(&Fact::SessionStore { session, lack: Lack::Texts(&unavailable) });
                Vec::new()
            }
        };
        let used = self.journal.used_texts(link)?;
        for text in &mut stored {
            text.used = matches!(&text.id, OwnTextId::Stored(id) if used.contains(id));
        }
        Ok(Echoes::beside(mode, told, stored, limit))
    }
}
