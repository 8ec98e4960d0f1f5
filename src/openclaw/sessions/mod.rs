//! OpenClaw's session stores: session entries, and the texts that OpenClaw sent.
//!
//! Answers: is there a session under this key, and in which state; which keys there are; which texts
//! were OpenClaw's own. Always holds: a look is one short read transaction; a database that is not
//! there is not made; what cannot be read has a name (`Unavailable`), and nothing is guessed in its
//! place; texts leave as keyed hashes. Deliberately elsewhere: where the state folder is (whoever
//! makes `SessionStores`), what own texts excuse (`echo`).

mod database;
mod entry;
mod event;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod transcript;
mod tree;

use crate::echo::{OwnTexts, Recent};
use crate::ids::{AgentId, HashKey, SessionKey, is_plain_id};
use crate::link::LinkId;
use database::AgentDatabase;
pub use entry::{Entry, Run};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The sessions of a gateway.
pub trait Sessions: OwnTexts<Error = Unavailable> {
    /// The entry of a link's session; `None` where there is no such session.
    fn entry(&self, link: &LinkId) -> Result<Option<Entry>, Unavailable>;
}

/// Why a session store gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The agent has no database.
    #[error("there is no session database {}", path.display())]
    NoDatabase {
        /// Where it would be.
        path: PathBuf,
    },
    /// Its schema is of a version that we do not know.
    #[error(
        "{} has schema version {found}, this upstreamd knows {}: use a newer upstreamd",
        path.display(),
        database::KNOWN_VERSION,
    )]
    UnknownVersion {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// It lacks something that every schema of its version has.
    #[error("{} has no {table}.{column}, though its version should: `openclaw doctor` may mend it", path.display())]
    MissingColumn {
        /// The database.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
    /// It is not the database of an agent.
    #[error("{} is not the database of an agent", path.display())]
    NotOfAnAgent {
        /// The database.
        path: PathBuf,
    },
    /// The session's entry cannot be understood.
    #[error("the session's entry in {} cannot be read: `openclaw doctor` may mend it", path.display())]
    BrokenEntry {
        /// The database.
        path: PathBuf,
    },
    /// The session's transcript was moved to cold storage.
    #[error(
        "the session's transcript is in OpenClaw's cold storage, where its own texts cannot be read"
    )]
    Cold,
    /// The database cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// What SQLite or the system said.
        reason: String,
    },
}

impl Unavailable {
    /// A word for it, for logs and metrics.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NoDatabase { .. } => "no_database",
            Self::UnknownVersion { .. } => "unknown_version",
            Self::MissingColumn { .. } => "missing_column",
            Self::NotOfAnAgent { .. } => "not_of_an_agent",
            Self::BrokenEntry { .. } => "broken_entry",
            Self::Cold => "cold",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}

/// The session stores of a gateway's agents.
#[derive(Debug)]
pub struct SessionStores {
    /// OpenClaw's state folder.
    folder: PathBuf,
    /// Databases that are kept elsewhere than is usual.
    places: HashMap<AgentId, PathBuf>,
    key: HashKey,
    open: RefCell<HashMap<AgentId, AgentDatabase>>,
}

impl SessionStores {
    /// The stores at their usual places in a state folder.
    #[must_use]
    pub fn beneath(folder: &Path, key: HashKey) -> Self {
        let folder = folder.to_owned();
        Self { folder, places: HashMap::new(), key, open: RefCell::default() }
    }

    /// Takes note of where agents' databases are; an agent's first one counts.
    pub fn set_places(&mut self, places: impl IntoIterator<Item = (AgentId, PathBuf)>) {
        self.places.clear();
        for (agent, path) in places {
            self.places.entry(agent).or_insert(path);
        }
    }

    /// The agents that may have sessions: those of known places, and those that have a database at
    /// its usual place.
    pub fn agents(&self) -> Result<BTreeSet<AgentId>, Unavailable> {
        let mut agents: BTreeSet<AgentId> = self.places.keys().cloned().collect();
        let folder = self.folder.join("agents");
        let found = match fs_err::read_dir(&folder) {
            Ok(entries) => entries.collect::<std::io::Result<Vec<_>>>(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        let found = found.map_err(|error| Unavailable::Unreadable {
            path: folder.clone(),
            reason: error.to_string(),
        })?;
        // What is more than a plain name leads out of the folder.
        let names = found.iter().filter_map(|entry| entry.file_name().into_string().ok());
        agents.extend(
            names
                .filter(|name| is_plain_id(name))
                .map(AgentId::new)
                .filter(|agent| usual_place(&self.folder, agent).exists()),
        );
        Ok(agents)
    }

    /// The keys of an agent's sessions that begin so, in their order; some may be without an entry.
    pub fn keys(&self, agent: &AgentId, prefix: &str) -> Result<Vec<SessionKey>, Unavailable> {
        self.with(agent, |database| database.look(|tx, _| entry::keys(tx, prefix)))
    }

    fn place(&self, agent: &AgentId) -> PathBuf {
        self.places.get(agent).map_or_else(|| usual_place(&self.folder, agent), PathBuf::clone)
    }

    fn with<T>(
        &self,
        agent: &AgentId,
        look: impl FnOnce(&mut AgentDatabase) -> Result<T, Unavailable>,
    ) -> Result<T, Unavailable> {
        let path = self.place(agent);
        // An agent's name is part of a path: one that is more than a name leads out of the folder.
        if !is_plain_id(agent.as_str()) {
            return Err(Unavailable::NoDatabase { path });
        }
        let mut open = self.open.borrow_mut();
        let database = open.entry(agent.clone()).or_insert_with(|| AgentDatabase::new(&path));
        if database.path() != path {
            *database = AgentDatabase::new(&path);
        }
        look(database)
    }
}

/// Where an agent's database is beneath a state folder unless a configuration says otherwise.
#[must_use]
pub fn usual_place(state_dir: &Path, agent: &AgentId) -> PathBuf {
    state_dir.join("agents").join(agent.as_str()).join("agent/openclaw-agent.sqlite")
}

impl Sessions for SessionStores {
    fn entry(&self, link: &LinkId) -> Result<Option<Entry>, Unavailable> {
        self.with(&link.agent_id, |database| {
            database.look(|tx, path| entry::read(tx, path, &link.session_key))
        })
    }
}

impl OwnTexts for SessionStores {
    type Error = Unavailable;

    fn recent(&self, link: &LinkId, limit: usize) -> Result<Recent, Unavailable> {
        self.with(&link.agent_id, |database| {
            // Entry and texts are of one moment, so that the texts are of the session's own id.
            database.look(|tx, path| match entry::read(tx, path, &link.session_key)? {
                Some(entry) => transcript::recent(tx, &entry.session_id, limit, &self.key),
                None => Ok(Recent::default()),
            })
        })
    }
}
