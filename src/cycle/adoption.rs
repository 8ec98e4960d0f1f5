//! Adoption: a session becomes a link, with what its file holds at that moment.

use super::first_sight::Sighting;
use crate::disk::{Disk, SessionFile};
use crate::error::{Error, Result};
use crate::ids::{AgentId, Timestamp};
use crate::journal::Journal;
use crate::link::adopt::{link, open};
use crate::link::{LinkId, NewLink};
use crate::record::SignalLog;

/// What adopting needs.
pub struct Adoption<'a> {
    /// The signal log.
    pub log: &'a mut SignalLog,
    /// Our own database.
    pub journal: &'a mut Journal,
    /// The transcripts.
    pub disk: &'a dyn Disk,
    /// How their files are first looked at.
    pub sighting: Sighting<'a>,
}

/// From where a session is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The end of its last whole row.
    End,
    /// The end that it had when it was so many bytes long.
    At(u64),
    /// Its first row.
    Start,
    /// Its first row; it was born then, before our eyes, and rows older than that are copies.
    Birth(Timestamp),
}

/// What came of it.
#[derive(Debug)]
pub struct AdoptedLink {
    /// The link.
    pub link: NewLink,
    /// Whether it is new.
    pub created: bool,
}

impl Adoption<'_> {
    /// Adopts a session; one that is adopted already stays as it is.
    pub fn adopt(
        &mut self,
        session: &SessionFile,
        agent: &AgentId,
        from: From,
    ) -> Result<AdoptedLink> {
        let offset = match from {
            From::End => None,
            From::At(size) => Some(size),
            From::Start | From::Birth(_) => Some(0),
        };
        let link = link(self.disk, session, agent, offset)?;
        match self.log.link(&link.id)? {
            None => {
                let file = open(self.disk, session)?;
                // First what the file holds now, then the link: so nobody follows it without.
                let made = link.made_at(self.sighting.now);
                let born = if let From::Birth(born) = from { Some(born) } else { None };
                let sighting = Sighting { born, ..self.sighting };
                sighting.take(self.journal, &made, file.as_ref())?;
            }
            Some(old) => {
                if let Some(path) = old.path().filter(|path| *path != session.path) {
                    return Err(Error::Failed(format!(
                        "session {} is followed at {} (a file that moved is found by itself); to follow {} instead, unlink the session first",
                        session.thread_id,
                        path.display(),
                        session.path.display(),
                    )));
                }
            }
        }
        let created = self.log.adopt(&link, self.sighting.now)?.created;
        self.journal.unbury(&link.id)?;
        Ok(AdoptedLink { link, created })
    }
}

/// Ends a link, so that it is not made again by itself; false where there is none.
pub fn unlink(log: &mut SignalLog, journal: &Journal, id: &LinkId) -> Result<bool> {
    // The note first: the other way round a daemon could adopt the session in between.
    journal.bury(id)?;
    log.unlink(id)
}
