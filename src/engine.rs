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
use crate::lock::Lock;
use crate::observe::{LogObserver, Observer};
use crate::record::{LinkFilter, Retention, SignalLog};
use crate::state::StateFolder;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    lock: Option<Arc<Lock>>,
    /// Device and number of both databases, to notice that somebody replaced one.
    files: Vec<(PathBuf, (u64, u64))>,
}

/// What an engine is made from.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Our state folder.
    pub state: StateFolder,
    /// The folder for the lock of the signal log.
    pub runtime: PathBuf,
    /// The Claude folders.
    pub claude_dirs: Vec<PathBuf>,
    /// How cycles are done.
    pub rules: Rules,
    /// How long events are kept.
    pub retention: Retention,
}

/// A file's device and number there.
fn number(path: &Path) -> Result<(u64, u64)> {
    let meta = fs_err::metadata(path)?;
    Ok((meta.dev(), meta.ino()))
}

impl Engine {
    /// Opens everything for real, and takes the locks.
    pub fn open(plan: Plan) -> Result<Self> {
        plan.state.create()?;
        let log_path = plan.state.signal_log();
        let log = SignalLog::open(&log_path)?;
        let lock = Arc::new(Lock::take(&plan.state, &log_path, &plan.runtime)?);
        Self::open_under(plan, log, lock, Arc::default())
    }

    /// Opens everything once more, under the locks that are held already, for a thread that takes
    /// another's place.
    pub fn open_again(plan: Plan, lock: Arc<Lock>, patience: Arc<Patience>) -> Result<Self> {
        let log = SignalLog::open(&plan.state.signal_log())?;
        Self::open_under(plan, log, lock, patience)
    }

    fn open_under(
        plan: Plan,
        log: SignalLog,
        lock: Arc<Lock>,
        patience: Arc<Patience>,
    ) -> Result<Self> {
        let key = plan.state.hash_key()?;
        let paths = [plan.state.signal_log(), plan.state.journal()];
        let journal = Journal::open(&plan.state.journal(), &key)?;
        let mut engine = Self::new(plan, log, journal, key, Some(lock), patience);
        for path in paths {
            let number = number(&path)?;
            engine.files.push((path, number));
        }
        Ok(engine)
    }

    /// Copies both databases into memory: a cycle then writes nothing anywhere.
    pub fn rehearse(plan: Plan) -> Result<Self> {
        let key = plan.state.hash_key_unsaved()?;
        let log = SignalLog::copy_in_memory(&plan.state.signal_log())?;
        let journal = Journal::copy_in_memory(&plan.state.journal(), &key)?;
        Ok(Self::new(plan, log, journal, key, None, Arc::default()))
    }

    fn new(
        plan: Plan,
        log: SignalLog,
        journal: Journal,
        key: HashKey,
        lock: Option<Arc<Lock>>,
        patience: Arc<Patience>,
    ) -> Self {
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
            lock,
            files: Vec::new(),
        }
    }

    /// Takes other settings from now on; the state folder stays.
    pub fn reconfigure(&mut self, plan: Plan) {
        self.disk.set_roots(plan.claude_dirs);
        self.rules = plan.rules;
        self.retention = plan.retention;
    }

    /// The locks, for who takes our place.
    #[must_use]
    pub fn lock(&self) -> Option<Arc<Lock>> {
        self.lock.clone()
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
        let report = self.means().run()?;
        self.checkpoint()?;
        Ok(report)
    }

    /// Looks again where the Claude folders are.
    pub fn refresh(&mut self) -> Result<()> {
        self.check_files()?;
        self.disk.refresh();
        Ok(())
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
        self.log.checkpoint()
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
            is_awaited: &|| false,
        }
    }

    /// Refuses to write to what is left of a database that somebody removed or replaced.
    fn check_files(&self) -> Result<()> {
        for (path, before) in &self.files {
            if number(path).ok() != Some(*before) {
                return Err(Error::Failed(format!(
                    "{} was removed or replaced; nothing is written to what is left of it, start again",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Removes events and cursors that are too old.
    pub fn prune(&mut self) -> Result<()> {
        self.log.prune(self.retention, SystemClock.now()).map(drop)
    }

    /// The signal log's file.
    #[must_use]
    pub fn signal_log(&self) -> &Path {
        self.log.path()
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
