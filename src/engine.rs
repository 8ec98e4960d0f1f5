//! What a run needs, held together: both databases, the disk, the key, the rules.
//!
//! Answers: run a cycle, for real or as a rehearsal that writes nothing. Always holds: who has an
//! engine for real holds the locks. Deliberately elsewhere: when cycles run (`daemon`), what they do
//! (`cycle`).

use crate::clock::{Clock, SystemClock};
use crate::cycle::{
    AdoptFrom, Adoption, Cycle, CycleReport, LinkReport, ReadingAgain, Rules, Sighting,
};
use crate::disk::{Patience, RealDisk, SessionFile};
use crate::error::{Error, Result};
use crate::ids::{AgentId, HashKey, Timestamp};
use crate::journal::Journal;
use crate::link::{Link, LinkId};
use crate::lock::{Lock, number};
use crate::observe::{Fact, LogObserver, Observer};
use crate::openclaw::nodes::{NodeReader, Nodes};
use crate::openclaw::sessions::{SessionStores, Sessions};
use crate::openclaw::socket::{Access, ActiveRuns, Gateway, Runs};
use crate::openclaw::this_host;
use crate::record::{LinkFilter, Owner, Retention, SignalLog, Store};
use crate::state::StateFolder;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Answers of nodes that can wait; what finds no room is found by the next cycle.
const ANSWERS: usize = 1_024;

/// Both databases, the disk, the key and the rules of a run.
#[derive(Debug)]
pub struct Engine {
    log: SignalLog,
    journal: Journal,
    again: ReadingAgain,
    disk: RealDisk,
    key: HashKey,
    rules: Rules,
    retention: Retention,
    patience: Arc<Patience>,
    observer: LogObserver,
    sessions: Option<SessionStores>,
    gateway: Option<Arc<Gateway>>,
    runs: Option<Runs>,
    nodes: Option<NodeReader>,
    lock: Option<Arc<Lock>>,
    store: Store,
    /// The databases as they were opened; `None` for copies in memory.
    files: Option<Files>,
    /// Whether the signal log was opened anew, and nobody has asked yet.
    reopened: bool,
}

/// Device and number of both databases, to notice that somebody replaced one.
#[derive(Debug)]
struct Files {
    log: (u64, u64),
    journal: (PathBuf, (u64, u64)),
}

/// What goes on when a thread takes another's place.
#[derive(Debug, Clone)]
pub struct Held {
    lock: Arc<Lock>,
    gateway: Option<Arc<Gateway>>,
}

/// What an engine is made from.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Our state folder.
    pub state: StateFolder,
    /// Where the signal log is.
    pub store: Store,
    /// How the gateway of that log is reached, if it is one's.
    pub access: Option<Access>,
    /// The folder for the lock of the signal log.
    pub runtime: PathBuf,
    /// The Claude folders.
    pub claude_dirs: Vec<PathBuf>,
    /// How cycles are done.
    pub rules: Rules,
    /// How long events are kept.
    pub retention: Retention,
}

impl Engine {
    /// Opens everything for real, and takes the locks.
    pub fn open(plan: Plan) -> Result<Self> {
        plan.state.create()?;
        let log = open_log(&plan.store)?;
        let lock = Arc::new(Lock::take(&plan.state, plan.store.path(), &plan.runtime)?);
        let gateway = gateway(&plan)?;
        Self::open_under(plan, log, Held { lock, gateway }, Arc::default())
    }

    /// Opens everything once more, with what is held already, for a thread that takes another's
    /// place.
    pub fn open_again(plan: Plan, held: Held, patience: Arc<Patience>) -> Result<Self> {
        let log = open_log(&plan.store)?;
        held.lock.follow(plan.store.path())?;
        Self::open_under(plan, log, held, patience)
    }

    fn open_under(
        plan: Plan,
        (log, log_number): (SignalLog, (u64, u64)),
        Held { lock, gateway }: Held,
        patience: Arc<Patience>,
    ) -> Result<Self> {
        let key = plan.state.hash_key()?;
        let path = plan.state.journal();
        let journal = Journal::open(&path, &key)?;
        let mut engine = Self::new(plan, log, journal, key, gateway, patience);
        engine.lock = Some(lock);
        let of_journal = number(&path)?;
        engine.files = Some(Files { log: log_number, journal: (path, of_journal) });
        Ok(engine)
    }

    /// Copies both databases into memory: a cycle then writes nothing anywhere.
    pub fn rehearse(plan: Plan) -> Result<Self> {
        let key = plan.state.hash_key_unsaved()?;
        let log = plan.store.copy_in_memory()?;
        let journal = Journal::copy_in_memory(&plan.state.journal(), &key)?;
        let gateway = gateway(&plan)?;
        Ok(Self::new(plan, log, journal, key, gateway, Arc::default()))
    }

    fn new(
        plan: Plan,
        log: SignalLog,
        journal: Journal,
        key: HashKey,
        gateway: Option<Arc<Gateway>>,
        patience: Arc<Patience>,
    ) -> Self {
        let sessions = match &plan.store {
            Store::Gateway(store) => Some(SessionStores::beneath(&store.folder, key.clone())),
            Store::Embedded(_) => None,
        };
        Self {
            log,
            journal,
            again: ReadingAgain::default(),
            disk: RealDisk::new(plan.claude_dirs, Arc::clone(&patience)),
            patience,
            key,
            rules: plan.rules,
            retention: plan.retention,
            observer: LogObserver::default(),
            sessions,
            runs: gateway.clone().map(Runs::of),
            nodes: gateway.clone().map(NodeReader::of),
            gateway,
            lock: None,
            store: plan.store,
            files: None,
            reopened: false,
        }
    }

    /// Takes other settings from now on; the state folder and the signal log stay.
    pub fn reconfigure(&mut self, plan: Plan) {
        if let Some((gateway, access)) = self.gateway.as_ref().zip(plan.access.as_ref()) {
            gateway.reach_by(access);
        }
        self.disk.set_roots(plan.claude_dirs);
        self.rules = plan.rules;
        self.retention = plan.retention;
    }

    /// What is held, for who takes our place; `None` where nothing is, in a rehearsal.
    #[must_use]
    pub fn held(&self) -> Option<Held> {
        Some(Held { lock: self.lock.clone()?, gateway: self.gateway.clone() })
    }

    /// How long our calls to the disks take, for who watches.
    #[must_use]
    pub fn patience(&self) -> Arc<Patience> {
        Arc::clone(&self.patience)
    }

    /// Runs one cycle over all links, each as far as the rules say.
    pub fn cycle(&mut self) -> Result<CycleReport> {
        self.check_files()?;
        self.disk.refresh();
        self.find_gateway()?;
        let report = self.means().run()?;
        self.checkpoint()?;
        Ok(report)
    }

    /// Asks the gateway's database where agents keep their sessions, and where the gateway listens.
    fn find_gateway(&mut self) -> Result<()> {
        if let Some(gateway) = &self.gateway {
            let (now, here) = (SystemClock.now(), this_host());
            let owner = self.log.owner()?;
            let is_here = |owner: &Owner| owner.is_live(now) && !owner.is_elsewhere(&here);
            gateway.listens_on(owner.filter(is_here).and_then(|owner| owner.port));
        }
        if let Some(sessions) = &mut self.sessions {
            let databases = self.log.agent_databases()?;
            sessions.set_places(databases.into_iter().map(|found| (found.agent_id, found.path)));
        }
        Ok(())
    }

    /// Looks again where the Claude folders are.
    pub fn refresh(&mut self) -> Result<()> {
        self.check_files()?;
        self.disk.refresh();
        self.find_gateway()
    }

    /// Finishes what an earlier life began, and forgets what is left of links that are no more.
    pub fn tidy(&mut self) -> Result<()> {
        self.check_files()?;
        self.means().tidy()
    }

    /// One pass over a link's source; `None` where there is no such link. It ends early where
    /// somebody waits for it.
    pub fn look(
        &mut self,
        id: &LinkId,
        is_awaited: &dyn Fn() -> bool,
    ) -> Result<Option<LinkReport>> {
        self.check_files()?;
        Cycle { is_awaited, ..self.means() }.look(id)
    }

    /// Whether OpenClaw goes on with a link in a fork that is not followed yet.
    pub fn has_new_fork(&mut self, id: &LinkId) -> Result<bool> {
        let Some(link) = self.log.link(id)? else { return Ok(false) };
        self.means().has_new_fork(&link)
    }

    /// Adopts a session; `None` where its link is gone again already.
    pub fn adopt(
        &mut self,
        session: &SessionFile,
        agent: &AgentId,
        from: AdoptFrom,
    ) -> Result<Option<Link>> {
        self.check_files()?;
        let sighting = Sighting {
            key: &self.key,
            classify: self.rules.classify,
            scan_window: self.rules.scan_window,
            seen: self.log.last_sequence_ever()?,
            now: SystemClock.now(),
            born: None,
        };
        let adopted =
            Adoption { log: &mut self.log, journal: &mut self.journal, disk: &self.disk, sighting }
                .adopt(session, agent, from)?;
        self.log.link(&adopted.link.id)
    }

    /// Follows a link's file to where it was moved, if it was; says whether.
    pub fn follow_moved(&mut self, id: &LinkId) -> Result<bool> {
        self.check_files()?;
        self.means().follow_moved(id)
    }

    /// Whether a person wants a session left alone.
    pub fn is_buried(&self, id: &LinkId) -> Result<bool> {
        self.journal.is_buried(id)
    }

    /// The links whose nodes have answered, each to be looked at then.
    #[must_use]
    pub fn answers_of_nodes(&self) -> mpsc::Receiver<LinkId> {
        let (told, answers) = mpsc::channel(ANSWERS);
        if let Some(nodes) = &self.nodes {
            nodes.tell(told);
        }
        answers
    }

    /// Which links are followed.
    #[must_use]
    pub const fn followed(&self) -> LinkFilter {
        self.rules.filter()
    }

    /// Whether a source that is behind is passed again at once.
    #[must_use]
    pub const fn catches_up_at_once(&self) -> bool {
        self.rules.at_once
    }

    /// Notes that sessions are adopted by themselves at this time; gives when that was last so,
    /// before.
    pub fn note_adopting(&mut self) -> Result<Option<Timestamp>> {
        self.journal.note_adopting(SystemClock.now())
    }

    /// Writes down for the commands what is left alone.
    pub fn note_parked(&mut self) -> Result<()> {
        self.journal.set_parked(&self.patience.parked(), SystemClock.now())
    }

    /// Moves what was committed to its place in the databases, for idle moments.
    pub fn checkpoint(&self) -> Result<()> {
        self.journal.checkpoint()?;
        self.log.checkpoint(SystemClock.now())
    }

    fn means(&mut self) -> Cycle<'_> {
        Cycle {
            log: &mut self.log,
            journal: &mut self.journal,
            again: &mut self.again,
            disk: &self.disk,
            clock: &SystemClock,
            observer: &self.observer as &dyn Observer,
            key: &self.key,
            rules: &self.rules,
            sessions: self.sessions.as_ref().map(|sessions| sessions as &dyn Sessions),
            runs: self.runs.as_ref().map(|runs| runs as &dyn ActiveRuns),
            nodes: self.nodes.as_ref().map(|nodes| nodes as &dyn Nodes),
            is_awaited: &|| false,
        }
    }

    /// Sees to it that nothing is written to what is left of a database that somebody removed or
    /// replaced. OpenClaw replaces its own when it restores or repairs it: then we go on with the
    /// new one.
    fn check_files(&mut self) -> Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        let is_log = number(self.store.path()).ok() == Some(files.log);
        let (journal, before) = &files.journal;
        if number(journal).ok() != Some(*before) {
            return Err(replaced(journal));
        }
        match (is_log, &self.store) {
            (true, _) => Ok(()),
            (false, Store::Embedded(path)) => Err(replaced(path)),
            (false, Store::Gateway(_)) => self.reopen(),
        }
    }

    /// Opens the file that is the signal log now.
    fn reopen(&mut self) -> Result<()> {
        let path = self.store.path();
        if number(path).is_err() {
            return Err(Error::Busy(format!(
                "{} is not there; perhaps OpenClaw is just replacing it",
                path.display()
            )));
        }
        let (log, number) = open_log(&self.store)?;
        if let Some(lock) = &self.lock {
            lock.follow(path)?;
        }
        self.log = log;
        if let Some(files) = &mut self.files {
            files.log = number;
        }
        self.reopened = true;
        self.observer.observe(&Fact::LogReplaced { path });
        Ok(())
    }

    /// Whether the signal log is another file since this was asked last; looks for that first.
    pub fn was_reopened(&mut self) -> Result<bool> {
        self.check_files()?;
        Ok(std::mem::take(&mut self.reopened))
    }

    /// Removes events and cursors that are too old.
    pub fn prune(&mut self) -> Result<()> {
        self.log.prune(self.retention, SystemClock.now()).map(drop)
    }

    /// Where the signal log is.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// The transcripts.
    #[must_use]
    pub const fn disk(&self) -> &RealDisk {
        &self.disk
    }

    /// Who listens.
    #[must_use]
    pub fn observer(&self) -> &dyn Observer {
        &self.observer
    }

    /// Our own database, for reading.
    #[must_use]
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The signal log, for reports.
    #[must_use]
    pub const fn log(&self) -> &SignalLog {
        &self.log
    }
}

/// The connection to the gateway whose log it is.
fn gateway(plan: &Plan) -> Result<Option<Arc<Gateway>>> {
    plan.access.clone().map(|access| Gateway::new(access).map(Arc::new)).transpose()
}

/// Opens the signal log, and says which file that was.
fn open_log(store: &Store) -> Result<(SignalLog, (u64, u64))> {
    let path = store.path();
    let before = number(path).ok();
    let log = store.open()?;
    let after = number(path)?;
    if before.is_some_and(|before| before != after) {
        return Err(Error::Busy(format!("{} was just replaced; try again", path.display())));
    }
    Ok((log, after))
}

/// The refusal to write to what is left of a database.
fn replaced(path: &Path) -> Error {
    Error::Failed(format!(
        "{} was removed or replaced; nothing is written to what is left of it, start again",
        path.display()
    ))
}
