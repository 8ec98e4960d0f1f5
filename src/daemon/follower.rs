//! What is looked at next: what an event names first, then one source after the other.
//!
//! Answers: which links may have something new, and passes them a window each, so that none holds up
//! another. Always holds: a link waits once, however often it is named; a cycle is done when each of
//! its links was passed once. Deliberately elsewhere: threads and time (`worker`, `mod`), the pass
//! (`cycle`).

use super::later::Later;
use super::newcomers::{Newcomer, Newcomers};
use super::table::Table;
use super::watching::{Change, Wakes, Watching};
use super::worker::Shared;
use super::{Done, Setup};
use crate::clock::{Clock as _, SystemClock};
use crate::config::Adopt;
use crate::cycle::{AdoptFrom, Outcome};
use crate::engine::{Engine, Plan};
use crate::error::{Error, Result};
use crate::ids::{AgentId, Sequence, Timestamp};
use crate::link::LinkId;
use crate::link::adopt::{DEFAULT_AGENT, session_key};
use crate::observe::Fact;
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Windows recorded until the write-ahead logs are worth a checkpoint: it waits for the disk, and
/// would keep somebody's turn waiting for it.
const CHECKPOINT_AFTER: usize = 200;

/// How long it is not said again that events were lost.
const SAID_FOR: Duration = Duration::from_secs(60);

/// Listings of the folders in a row, while each shows new ones; the next event goes on.
const MOST_LISTINGS: usize = 8;

/// Follows the links of an engine.
#[derive(Debug)]
pub(super) struct Follower {
    engine: Engine,
    shared: Arc<Shared>,
    table: Table,
    watching: Watching,
    /// Set where sessions are adopted by themselves.
    newcomers: Option<Newcomers>,
    /// Links to be passed, each once.
    queue: VecDeque<Arc<LinkId>>,
    queued: HashSet<Arc<LinkId>>,
    /// Those that are far behind: what is new there waits for what is old.
    behind: HashSet<Arc<LinkId>>,
    cycle: Option<Under>,
    /// Windows recorded since the last checkpoint.
    to_checkpoint: usize,
    /// When it was last said that events were lost.
    lost_at: Option<Instant>,
    /// The signal log's `data_version` when the links were read.
    version: Option<i64>,
    later: Later,
    /// The last event's number then: a smaller one later is a restored log.
    last: Sequence,
}

/// A cycle under way.
#[derive(Debug)]
struct Under {
    began: Instant,
    left: HashSet<Arc<LinkId>>,
    events: usize,
    troubled: usize,
}

impl Follower {
    /// Reads the links and watches their folders; what has come since they were read last waits to
    /// be passed. `since` is when we began to adopt sessions by themselves.
    pub(super) fn new(
        engine: Engine,
        setup: &Setup,
        since: Timestamp,
        shared: Arc<Shared>,
    ) -> Result<(Self, Wakes)> {
        let (watching, wakes) = Watching::new(setup.watch, engine.store(), engine.observer());
        let mut follower = Self {
            engine,
            shared,
            table: Table::default(),
            watching,
            newcomers: None,
            queue: VecDeque::new(),
            queued: HashSet::new(),
            behind: HashSet::new(),
            cycle: None,
            to_checkpoint: 0,
            lost_at: None,
            version: None,
            later: Later::default(),
            last: Sequence::default(),
        };
        follower.engine.note_parked()?;
        follower.engine.refresh()?;
        if setup.adopt == Adopt::Auto {
            follower.newcomers = Some(Newcomers::new(since));
        }
        follower.read_links()?;
        follower.recall()?;
        Ok((follower, wakes))
    }

    /// Takes other settings from now on, and watches anew: `wakes` tells of the new watches, whatever
    /// fails after that.
    pub(super) fn change(&mut self, setup: &Setup, plan: Plan, wakes: &mut Wakes) -> Result<()> {
        self.engine.reconfigure(plan);
        (self.watching, *wakes) =
            Watching::new(setup.watch, self.engine.store(), self.engine.observer());
        match (setup.adopt, &mut self.newcomers) {
            (Adopt::Off, newcomers) => *newcomers = None,
            (Adopt::Auto, Some(newcomers)) => newcomers.begin_again(),
            (Adopt::Auto, newcomers) => *newcomers = Some(Newcomers::new(SystemClock.now())),
        }
        self.read_links_again()?;
        // The old watches may have told what nobody heard.
        for id in self.table.unsettled(self.engine.disk(), |_| true) {
            self.enqueue(id);
        }
        Ok(())
    }

    /// Begins a cycle: all links that may have something new are to be passed.
    pub(super) fn begin_cycle(&mut self) -> Result<()> {
        let began = Instant::now();
        self.engine.refresh()?;
        if self.newcomers.is_some() {
            self.engine.note_adopting()?;
        }
        self.read_links()?;
        self.watch_folders();
        self.find_forks()?;
        let left: HashSet<Arc<LinkId>> =
            self.table.unsettled(self.engine.disk(), |_| true).into_iter().collect();
        for id in &left {
            self.enqueue(Arc::clone(id));
        }
        self.cycle = Some(Under { began, left, events: 0, troubled: 0 });
        Ok(())
    }

    /// Looks at what an event named.
    pub(super) fn wake(&mut self, change: Change) -> Result<()> {
        match change {
            Change::Unknown => {
                // One burst overruns more than one queue: it is said once a minute.
                let now = Instant::now();
                if self.lost_at.is_none_or(|at| now - at >= SAID_FOR) {
                    self.lost_at = Some(now);
                    self.engine.observer().observe(&Fact::EventsLost);
                }
                self.engine.refresh()?;
                self.watching.folder_changed(Path::new("/"));
                self.read_links_again()?;
                for id in self.table.unsettled(self.engine.disk(), |_| true) {
                    self.enqueue(id);
                }
                Ok(())
            }
            Change::Paths(paths) => paths.iter().try_for_each(|path| self.wake_path(path)),
        }
    }

    fn wake_path(&mut self, path: &Path) -> Result<()> {
        if self.table.follows(path) {
            // At once, before whatever waits: somebody just wrote there.
            let mut new = self.table.new_in(path, self.engine.disk());
            new.retain(|id| !self.behind.contains(id));
            return new.into_iter().try_for_each(|id| self.pass(id));
        }
        if path.extension().is_some_and(|end| end == "jsonl") {
            if let Some(newcomers) = &mut self.newcomers
                && let Some(session) = self.engine.disk().session_at(path)
            {
                newcomers.add(session, self.engine.disk());
            }
            if self.engine.store().is_gateway() {
                self.later.stranger_came();
            }
            return Ok(());
        }
        let is_log = path == self.engine.store().path();
        if is_log || path.extension().is_some_and(|end| end == "sqlite-wal") {
            return if self.later.log_changed() { self.read_links() } else { Ok(()) };
        }
        // A folder came or went, or another took its place; or a file that is none of ours.
        let was_watched = self.watching.folder_changed(path);
        if !was_watched && !self.engine.disk().is_folder(path) {
            return Ok(());
        }
        self.engine.refresh()?;
        // Files may have other real paths now.
        self.read_links_again()?;
        // Nobody told what happened until the watches stood.
        for id in self.table.unsettled(self.engine.disk(), |_| true) {
            self.enqueue(id);
        }
        Ok(())
    }

    /// Looks at a link whose node has answered.
    pub(super) fn answered(&mut self, id: LinkId) -> Result<()> {
        self.pass(Arc::new(id))
    }

    /// Looks at the folders that cannot be watched.
    pub(super) fn poll(&mut self) -> Result<()> {
        self.engine.refresh()?;
        self.read_links()?;
        self.watch_folders();
        let watching = &self.watching;
        let is_polled = |file: &Path| file.parent().is_some_and(|f| watching.is_polled(f));
        for id in self.table.unsettled(self.engine.disk(), is_polled) {
            self.enqueue(id);
        }
        Ok(())
    }

    /// Whether any folder must be polled.
    pub(super) fn polls(&self) -> bool {
        self.watching.polls()
    }

    /// Whether nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        let is_adopting = self.newcomers.as_ref().is_some_and(|newcomers| !newcomers.is_empty());
        self.queue.is_empty() && self.cycle.is_none() && !is_adopting
    }

    /// For a moment in which nothing waits: so that the write-ahead logs stay small.
    pub(super) fn rest(&mut self) -> Result<()> {
        if self.to_checkpoint < CHECKPOINT_AFTER {
            return Ok(());
        }
        self.to_checkpoint = 0;
        self.engine.checkpoint()
    }

    /// Does the next bit of what waits; gives the cycle that it ended.
    pub(super) fn step(&mut self) -> Result<Option<Done>> {
        // Both, in turns: a source that is far behind is in the queue for long.
        if let Some(id) = self.queue.pop_front() {
            self.queued.remove(&id);
            self.pass(id)?;
        }
        if let Some(newcomer) = self.newcomers.as_mut().and_then(Newcomers::next) {
            self.adopt(&newcomer)?;
        }
        let Some(cycle) = self.cycle.take_if(|cycle| cycle.left.is_empty()) else {
            return Ok(None);
        };
        Ok(Some(Done {
            links: self.table.len(),
            events: cycle.events,
            troubled: cycle.troubled,
            took: cycle.began.elapsed(),
        }))
    }

    /// Takes up again what answers now.
    pub(super) fn release(&mut self) -> Result<()> {
        self.engine.note_parked()?;
        self.begin_cycle()
    }

    /// Removes events and cursors that are too old.
    pub(super) fn prune(&mut self) -> Result<()> {
        self.engine.prune()
    }

    fn enqueue(&mut self, id: Arc<LinkId>) {
        if self.queued.insert(Arc::clone(&id)) {
            self.queue.push_back(id);
        }
    }

    /// One pass over a link.
    fn pass(&mut self, id: Arc<LinkId>) -> Result<()> {
        // An abandoned thread that wakes up must not meet its successor at another source.
        if self.shared.is_stopped() {
            return Ok(());
        }
        if self.version.is_none() {
            // What was given up may have left an intent open.
            self.read_links()?;
        }
        let is_of_cycle = self.cycle.as_mut().is_some_and(|cycle| cycle.left.remove(&id));
        // Whoever is far behind makes room for who just wrote.
        let Self { engine, watching, .. } = self;
        let Some(report) = engine.look(&id, &|| watching.has_woken())? else {
            self.behind.remove(&id);
            return self.read_links_again();
        };
        let events = report.each().filter(|report| report.event.is_some()).count();
        self.to_checkpoint += events;
        if let Some(cycle) = &mut self.cycle {
            cycle.events += events;
            let is_troubled = report.each().any(|report| report.error.is_some());
            cycle.troubled += usize::from(is_of_cycle && is_troubled);
        }
        if self.table.note(&report, self.engine.disk()) {
            self.watch_folders();
        }
        // A node is not asked again before the next cycle.
        let is_near = report.link.on_node().is_none();
        if is_near && report.each().any(|report| report.outcome == Outcome::Held) {
            self.later.hold(Arc::clone(&id));
        }
        if report.behind && self.engine.catches_up_at_once() {
            self.behind.insert(Arc::clone(&id));
            self.enqueue(id);
        } else {
            self.behind.remove(&id);
        }
        if !report.outcome.ends_link() {
            return Ok(());
        }
        if let Some(newcomers) = &mut self.newcomers {
            // What stood beside it under its name is a session of its own now.
            newcomers.begin_again();
        }
        self.read_links_again()
    }

    fn adopt(&mut self, newcomer: &Newcomer) -> Result<()> {
        let agent = AgentId::new(DEFAULT_AGENT);
        let session = &newcomer.session;
        let id = LinkId {
            session_key: session_key(&agent, &session.thread_id),
            agent_id: agent.clone(),
        };
        let is_followed = self.table.has(&id) || self.table.follows(&session.path);
        if is_followed || self.engine.is_buried(&id)? {
            if let Some(newcomers) = &mut self.newcomers {
                newcomers.settle(session);
            }
            // Perhaps it was moved: then there is no need to wait for three sights.
            return if self.engine.follow_moved(&id)? { self.read_links_again() } else { Ok(()) };
        }
        // Who comes back is no newborn: its turns were counted before it went.
        let is_known = self.engine.log().state_version(&id.session_key, &agent)? > Sequence(0);
        let from = match newcomer.from {
            AdoptFrom::Birth(_) if is_known => AdoptFrom::End,
            from => from,
        };
        let mut adopted = self.engine.adopt(session, &agent, from);
        if matches!(adopted, Err(Error::Failed(_))) {
            // Its store may have been made again since we looked where it is.
            self.engine.refresh()?;
            adopted = self.engine.adopt(session, &agent, from);
        }
        match adopted {
            Ok(link) => {
                if let Some(newcomers) = &mut self.newcomers {
                    newcomers.settle(session);
                }
                if let Some(link) = link {
                    let (session, path) = (&link.id.session_key, &session.path);
                    let newborn = matches!(from, AdoptFrom::Birth(_));
                    self.engine.observer().observe(&Fact::Adopted { session, path, newborn });
                    self.table.add(&link, self.engine.disk());
                }
                self.pass(Arc::new(id))
            }
            // What is wrong with one file is no matter of the others.
            Err(error @ (Error::Failed(_) | Error::Usage(_) | Error::Io(_))) => {
                let reason = error.to_string();
                let path = &session.path;
                self.engine.observer().observe(&Fact::NotFollowed { path, reason: &reason });
                if let Some(newcomers) = &mut self.newcomers {
                    newcomers.try_again(session);
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// When something is to be done that no event tells.
    pub(super) fn due(&self) -> Option<Instant> {
        self.later.due()
    }

    /// Does what is due.
    pub(super) fn on_time(&mut self) -> Result<()> {
        for id in self.later.take_held() {
            self.enqueue(id);
        }
        if self.later.take_forks() {
            self.find_forks()?;
        }
        if self.later.are_links_due() { self.read_links() } else { Ok(()) }
    }

    /// Lets the links be passed of which OpenClaw made forks that are not followed yet.
    fn find_forks(&mut self) -> Result<()> {
        if !self.engine.store().is_gateway() {
            return Ok(());
        }
        let ids: Vec<_> = self.table.ids().map(Arc::clone).collect();
        for id in ids {
            if self.engine.has_new_fork(&id)? {
                self.enqueue(id);
            }
        }
        Ok(())
    }

    /// Reads the links again where another program has written since.
    fn read_links(&mut self) -> Result<()> {
        self.later.links_looked_at(false);
        if self.engine.was_reopened()? {
            // What it lacks of ours is found where its files are looked at.
            self.version = None;
            self.table.unsettle();
        }
        let version = self.engine.log().data_version()?;
        if self.version == Some(version) {
            return Ok(());
        }
        self.later.links_looked_at(true);
        let last = self.engine.log().last_sequence_ever()?;
        if last < self.last {
            // A restored log: what it lost is found where its files are looked at.
            self.table.unsettle();
        }
        self.last = last;
        self.engine.tidy()?;
        let mut filling = self.table.begin_fill(self.engine.disk());
        self.engine.log().each_link(self.engine.followed(), |link| filling.take(&link))?;
        for id in filling.new {
            self.enqueue(id);
        }
        self.version = Some(version);
        self.watch_folders();
        Ok(())
    }

    fn read_links_again(&mut self) -> Result<()> {
        self.version = None;
        self.read_links()
    }

    /// Takes from the journal which files had nothing left to do.
    fn recall(&mut self) -> Result<()> {
        let Self { engine, table, queue, queued, .. } = self;
        let log = engine.log();
        engine.journal().each_source(|id, source, cursor, fork| {
            if let Some(path) = fork.and_then(|fork| fork.path()) {
                table.add_fork(&id, &source, &path, engine.disk());
            }
            let event = cursor.last_event;
            if event == Sequence::default() || !log.has_lost(&id, event)? {
                table.recall(&id, &source, &cursor);
            }
            Ok(())
        })?;
        queue.clear();
        queued.clear();
        Ok(())
    }

    /// Gives up what waits; the next cycle finds it again.
    pub(super) fn give_up(&mut self) {
        self.queue.clear();
        self.queued.clear();
        self.behind.clear();
        self.later.give_up();
        self.cycle = None;
        self.version = None;
        if let Some(newcomers) = &mut self.newcomers {
            newcomers.begin_again();
        }
    }

    /// Watches every folder that holds a followed file or may come to hold one.
    fn watch_folders(&mut self) {
        let of_links = self.table.folders();
        let (disk, observer) = (self.engine.disk(), self.engine.observer());
        let Some(newcomers) = &mut self.newcomers else {
            self.watching.set(&of_links, disk, observer);
            return;
        };
        // Watched first, then listed: what comes in between is told by an event.
        let mut projects = disk.projects();
        if projects.stores.is_empty() {
            observer.observe(&Fact::NoClaudeFolder);
        }
        for _ in 0..MOST_LISTINGS {
            let folders = of_links.iter().chain(&projects.stores).chain(projects.folders.keys());
            let is_new = self.watching.set(&folders.cloned().collect(), disk, observer);
            // What went before its watch stood may be there again, and no event tells of it.
            let mut found = projects.stores.iter().chain(projects.folders.keys());
            if !is_new && found.all(|folder| self.watching.has(folder)) {
                break;
            }
            projects = disk.projects();
        }
        let table = &self.table;
        newcomers.list(&projects, disk, SystemClock.now(), |path| table.follows(path));
    }
}
