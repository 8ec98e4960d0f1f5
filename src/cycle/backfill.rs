//! Backfill: what a gateway adopted before it kept links and events gets them.

use crate::disk::{Disk, Sessions as Files};
use crate::error::{Error, Result};
use crate::ids::{AgentId, HostId, ThreadId, Timestamp};
use crate::link::adopt::{CATALOG, LOCAL_HOST, key_prefix, link};
use crate::link::backfill::{Candidates, Unmatched, is_adoption};
use crate::link::{Link, LinkId};
use crate::openclaw::sessions::{SessionStores, Sessions as _, Unavailable};
use crate::record::{AdoptedEvent, LinkFilter, SignalLog};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What a backfill needs. On a copy of the log in memory it says what it would do.
pub struct Backfill<'a> {
    /// The signal log of a gateway.
    pub log: &'a mut SignalLog,
    /// The gateway's sessions.
    pub sessions: &'a SessionStores,
    /// The transcripts.
    pub disk: &'a dyn Disk,
    /// The time.
    pub now: Timestamp,
}

/// What a backfill found and did.
#[derive(Debug, Default)]
pub struct BackfillReport {
    /// The adopted sessions of Claude Code, by key and agent.
    pub sessions: Vec<AdoptedSession>,
    /// What of the gateway's sessions could not be read.
    pub unavailable: Vec<Unavailable>,
    /// Whether a folder of transcripts could not be listed, so that a file may have been missed.
    pub incomplete: bool,
}

/// An adopted session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptedSession {
    /// Its key and agent.
    pub id: LinkId,
    /// The session of Claude Code, where it is certain.
    pub thread_id: Option<ThreadId>,
    /// That session's file.
    pub path: Option<PathBuf>,
    /// What became of its link.
    pub state: LinkState,
    /// What became of its `adopted` event; none where there is no link.
    pub event: Option<EventState>,
    /// What is in the way, in words.
    pub error: Option<String>,
}

/// What became of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// It was made.
    Linked,
    /// It was there.
    HasLink,
    /// No file has the session.
    NoFile,
    /// Several files have it.
    SeveralFiles,
    /// The session is a paired node's.
    OfANode,
    /// The session was archived.
    Archived,
    /// OpenClaw is just making the session.
    Initializing,
    /// The session's entry or file cannot be read.
    Unreadable,
}

/// What became of an `adopted` event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventState {
    /// It was recorded.
    Recorded,
    /// It was there.
    There,
    /// It is so old that it may have been there and gone.
    TooOld,
    /// It is not there; the link's session is gone, unfinished or cannot be read.
    Lacking,
}

impl LinkState {
    /// Its word in JSON; `is_real`: it was not only tried on a copy.
    #[must_use]
    pub const fn word(self, is_real: bool) -> &'static str {
        match self {
            Self::Linked if is_real => "linked",
            Self::Linked => "would_link",
            Self::HasLink => "has_link",
            Self::NoFile => "no_file",
            Self::SeveralFiles => "several_files",
            Self::OfANode => "of_a_node",
            Self::Archived => "archived",
            Self::Initializing => "initializing",
            Self::Unreadable => "unreadable",
        }
    }
}

impl EventState {
    /// Its word in JSON; `is_real`: it was not only tried on a copy.
    #[must_use]
    pub const fn word(self, is_real: bool) -> &'static str {
        match self {
            Self::Recorded if is_real => "recorded",
            Self::Recorded => "would_record",
            Self::There => "there",
            Self::TooOld => "too_old",
            Self::Lacking => "lacking",
        }
    }
}

impl AdoptedSession {
    /// Whether all was there and nothing is to be said.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state == LinkState::HasLink && self.event == Some(EventState::There)
    }

    fn unlinked(id: LinkId, state: LinkState) -> Self {
        Self { id, thread_id: None, path: None, state, event: None, error: None }
    }
}

impl Backfill<'_> {
    /// Links each adopted session that has no link and exactly one file, from the end of that; and
    /// records the adoptions that the log does not tell of.
    pub fn run(&mut self) -> Result<BackfillReport> {
        let files = self.disk.sessions();
        let mut report = BackfillReport { incomplete: files.incomplete, ..Default::default() };
        let links: BTreeMap<LinkId, Link> = self
            .log
            .links(LinkFilter::All)?
            .into_iter()
            .map(|link| (link.id.clone(), link))
            .collect();
        for link in links.values().filter(|link| link.catalog_id.as_str() == CATALOG) {
            let adopted = self.complete(link)?;
            report.sessions.push(adopted);
        }
        let hosts = links.values().map(|link| link.host_id.clone());
        let nodes = hosts.filter(|host| host.as_str() != LOCAL_HOST).collect();
        match self.sessions.agents() {
            Ok(agents) => {
                for agent in agents {
                    self.link_those_of(&agent, &links, &files, &nodes, &mut report)?;
                }
            }
            Err(unavailable) => report.unavailable.push(unavailable),
        }
        report.sessions.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(report)
    }

    /// Gives a link its event.
    fn complete(&mut self, link: &Link) -> Result<AdoptedSession> {
        let mut error = None;
        let event = match self.log.adopted_event(link, self.now)? {
            AdoptedEvent::There => EventState::There,
            AdoptedEvent::TooOld => EventState::TooOld,
            AdoptedEvent::Lacking => match self.sessions.entry(&link.id) {
                Ok(Some(entry)) if !entry.initializing => {
                    // Who else records it does so under the same key.
                    let is_new = self.log.record_adopted(&link.id, self.now)?;
                    if is_new { EventState::Recorded } else { EventState::There }
                }
                // Nobody would ever remove the event of a session that is no more.
                Ok(_) => EventState::Lacking,
                Err(unavailable) => {
                    error = Some(unavailable.to_string());
                    EventState::Lacking
                }
            },
        };
        Ok(AdoptedSession {
            id: link.id.clone(),
            thread_id: Some(link.thread_id.clone()),
            path: link.path(),
            state: LinkState::HasLink,
            event: Some(event),
            error,
        })
    }

    /// Links the adopted sessions of one agent.
    fn link_those_of(
        &mut self,
        agent: &AgentId,
        links: &BTreeMap<LinkId, Link>,
        files: &Files,
        nodes: &BTreeSet<HostId>,
        report: &mut BackfillReport,
    ) -> Result<()> {
        let mut keys = match self.sessions.keys(agent, &key_prefix(agent)) {
            Ok(keys) => keys,
            Err(unavailable) => {
                report.unavailable.push(unavailable);
                return Ok(());
            }
        };
        keys.retain(|key| is_adoption(agent, key));
        let candidates = Candidates::of(agent, &files.files, nodes);
        for session_key in keys {
            let id = LinkId { session_key, agent_id: agent.clone() };
            if !links.contains_key(&id) {
                report.sessions.extend(self.link(id, &candidates)?);
            }
        }
        Ok(())
    }

    /// Links one session, if it can be; `None` where there is no such session.
    fn link(&mut self, id: LinkId, candidates: &Candidates<'_>) -> Result<Option<AdoptedSession>> {
        // Asked now, not with the keys: a session that is deleted meanwhile must not be linked.
        let entry = match self.sessions.entry(&id) {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(None),
            Err(unavailable) => {
                let error = Some(unavailable.to_string());
                return Ok(Some(AdoptedSession {
                    error,
                    ..AdoptedSession::unlinked(id, LinkState::Unreadable)
                }));
            }
        };
        let file = match candidates.find(&id.session_key, &entry) {
            Ok(file) => file,
            Err(why) => return Ok(Some(left_alone(&id, why))),
        };
        let found = AdoptedSession {
            thread_id: Some(file.thread_id.clone()),
            path: Some(file.path.clone()),
            ..AdoptedSession::unlinked(id, LinkState::Unreadable)
        };
        let new = match link(self.disk, file, &found.id.agent_id, None) {
            Ok(new) => new,
            Err(error @ (Error::Failed(_) | Error::Io(_))) => {
                return Ok(Some(AdoptedSession { error: Some(error.to_string()), ..found }));
            }
            Err(error) => return Err(error),
        };
        let done = self.log.backfill(&new, self.now)?;
        let (state, event) = match (done.linked, done.recorded) {
            (true, true) => (LinkState::Linked, Some(EventState::Recorded)),
            (true, false) => (LinkState::Linked, Some(EventState::There)),
            // OpenClaw made it just now, and its event with it.
            (false, _) => (LinkState::HasLink, None),
        };
        Ok(Some(AdoptedSession { state, event, ..found }))
    }
}

/// A session that cannot be linked.
fn left_alone(id: &LinkId, why: Unmatched<'_>) -> AdoptedSession {
    let of = |state, thread_id| AdoptedSession {
        thread_id,
        ..AdoptedSession::unlinked(id.clone(), state)
    };
    match why {
        Unmatched::NoFile(thread) => of(LinkState::NoFile, thread),
        Unmatched::OfANode(thread) => {
            let error = Some("of a paired node, not backfilled".to_owned());
            AdoptedSession { error, ..of(LinkState::OfANode, thread) }
        }
        Unmatched::Archived => of(LinkState::Archived, None),
        Unmatched::Initializing => of(LinkState::Initializing, None),
        Unmatched::SeveralFiles(files) => {
            let paths: Vec<_> = files.iter().map(|file| file.path.display().to_string()).collect();
            let thread = files.first().map(|file| file.thread_id.clone());
            let error = Some(format!("its files are {}", paths.join(" and ")));
            AdoptedSession { error, ..of(LinkState::SeveralFiles, thread) }
        }
    }
}

#[cfg(test)]
mod tests;
