//! The loop: a pass at start, file events, cycles by the clock, signals, the service manager.
//!
//! Answers: when something is looked at, and when the daemon ends. Always holds: one thread works on
//! the databases and the disk (`worker`), this one waits, and reads the configuration again; READY
//! means that every source was looked at once, WATCHDOG that the work goes on; what no event tells
//! is found by the next cycle. Deliberately elsewhere: what a pass does (`cycle`).

mod follower;
mod hung;
mod later;
mod newcomers;
mod signals;
mod table;
mod watching;
mod worker;

use crate::clock::{Clock as _, SystemClock};
use crate::config::{Adopt, Watch};
use crate::engine::{Engine, Held, Plan};
use crate::error::{Error, Result};
use crate::ids::Timestamp;
use hung::Hung;
use sd_notify::NotifyState;
pub use signals::Signal;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};
use tracing::{error, info, warn};
use worker::{Job, Outcome, Worker};

/// How long the transaction at hand may take to end after SIGTERM.
const STOP_WITHIN: Duration = Duration::from_millis(1_800);
/// How often a standby asks for the locks.
const STANDBY_EVERY: Duration = Duration::from_millis(500);
/// How often events and cursors that are too old are removed.
const PRUNE_EVERY: Duration = Duration::from_secs(3_600);

/// How long nobody may have looked for new sessions, for what was born meanwhile to be new still.
const SHORT_STOP_MS: i64 = 3_600_000;
/// How often a folder is looked at whose watch failed.
const POLL_EVERY: Duration = Duration::from_secs(2);

/// When and how the daemon looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The first counted cycle, from the start.
    pub first_cycle: Duration,
    /// Between counted cycles, from the start.
    pub cycle: Duration,
    /// How new rows are noticed between them.
    pub watch: Watch,
    /// Which sessions are adopted by themselves.
    pub adopt: Adopt,
    /// How long a disk may keep us waiting.
    pub source_deadline: Duration,
}

/// Reads the configuration again, for SIGHUP.
pub type Reload<'a> = dyn Fn() -> Result<(Setup, Plan)> + 'a;

/// A cycle that is done, in numbers.
#[derive(Debug)]
struct Done {
    links: usize,
    events: usize,
    troubled: usize,
    took: Duration,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { links, events, troubled, took } = self;
        write!(
            f,
            "links: {links}, in trouble: {troubled}; last pass: {events} events in {} ms",
            took.as_millis()
        )
    }
}

/// Runs the daemon until SIGTERM or SIGINT; in standby it waits until nobody else holds the locks.
pub fn run(plan: Plan, standby: bool, setup: Setup, reload: &Reload<'_>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let mut signals = signals::listen()?;
    runtime.block_on(async {
        match wait_for_engine(&plan, standby, &mut signals).await? {
            Some(engine) => serve(engine, plan, setup, signals, reload).await,
            None => Ok(()),
        }
    })
}

/// The engine; `None` where a signal came first.
async fn wait_for_engine(
    plan: &Plan,
    standby: bool,
    signals: &mut mpsc::Receiver<Signal>,
) -> Result<Option<Engine>> {
    let mut tries = interval_at(Instant::now(), STANDBY_EVERY);
    let mut said = false;
    loop {
        tokio::select! {
            biased;
            signal = signals.recv() => match signal {
                Some(Signal::Stop) | None => return Ok(None),
                Some(Signal::Reload | Signal::Status) => {}
            },
            _ = tries.tick() => match Engine::open(plan.clone()) {
                Err(Error::Busy(reason)) if standby => {
                    if !said {
                        said = true;
                        info!(reason, "Standing by.");
                    }
                }
                opened => return opened.map(Some),
            }
        }
    }
}

/// The loop itself.
async fn serve(
    mut engine: Engine,
    mut plan: Plan,
    mut setup: Setup,
    mut signals: mpsc::Receiver<Signal>,
    reload: &Reload<'_>,
) -> Result<()> {
    let started = Instant::now();
    info!(version = env!("CARGO_PKG_VERSION"), store = engine.store().word(), signal_log = %engine.store().path().display(), "Started.");
    let held = engine.held();
    let mut since = since(&mut engine, &setup)?;
    let mut worker = Worker::spawn(engine, setup, since)?;
    let mut ready = false;
    let mut status = String::from("first pass");
    let mut cycles = Cycles::new(&setup, started);
    let mut polls = polls(&setup);
    let mut hung = Hung::default();
    let mut looks = looks(&setup);
    let mut prune = interval(PRUNE_EVERY);
    let mut watchdog = watchdog();
    worker.ask(Job::Prune);
    worker.ask(Job::Cycle);
    loop {
        tokio::select! {
            biased;
            signal = signals.recv() => match signal {
                Some(Signal::Status) => info!(status, "Status."),
                Some(Signal::Reload) => match reload() {
                    Ok((new, new_plan)) => {
                        if worker.ask(Job::Change(new, Box::new(new_plan.clone()))) {
                            if setup.adopt != new.adopt {
                                since = SystemClock.now();
                            }
                            (setup, plan) = (new, new_plan);
                            looks = self::looks(&setup);
                            cycles = Cycles::new(&setup, started);
                            polls = self::polls(&setup);
                            info!("Read the configuration again.");
                        } else {
                            error!("The configuration was read and not applied, since work is stuck; try again.");
                        }
                    }
                    Err(error) => error!(%error, "The configuration was not read again; the old one stays."),
                },
                Some(Signal::Stop) | None => break,
            },
            outcome = worker.finished() => match outcome {
                Some(Outcome::Cycle(done)) => {
                    status = done.to_string();
                    tell(&[NotifyState::Status(&status)]);
                    if !ready {
                        ready = true;
                        tell(&[NotifyState::Ready]);
                        info!(status, "Ready.");
                    }
                }
                Some(Outcome::Failed(error @ (Error::Refused(_) | Error::Failed(_)))) => return Err(error),
                Some(Outcome::Failed(error)) => error!(%error, "Work failed; the next cycle tries again."),
                Some(Outcome::Prune(Err(error))) => warn!(%error, "Old events were not removed; the next hour tries again."),
                Some(Outcome::Prune(Ok(())) | Outcome::Done) => {}
                None => return Err(Error::Failed("the working thread ended unasked: see the log".to_owned())),
            },
            () = cycles.tick() => {
                worker.ask(Job::Cycle);
            }
            _ = polls.tick(), if worker.polls() => {
                worker.ask(Job::Poll);
            }
            _ = looks.tick() => {
                let answered = hung.answered();
                for path in &answered {
                    info!(path = %path.display(), "The disk answers again.");
                    worker.patience().release(path);
                }
                if !answered.is_empty() {
                    worker.ask(Job::Release);
                }
                if let Some(held) = &held && hung.has_hung(worker.patience(), setup.source_deadline) {
                    let path = worker.patience().park(&plan.claude_dirs);
                    error!(path = %path.display(), "The disk does not answer; going on without it until it does.");
                    match successor(&worker, plan.clone(), held.clone(), setup, since) {
                        Ok(successor) => hung.add(std::mem::replace(&mut worker, successor).abandon(), path),
                        Err(error) => error!(%error, "Nobody can go on in its place yet; it is tried again."),
                    }
                }
            }
            _ = prune.tick() => {
                worker.ask(Job::Prune);
            }
            () = tick(&mut watchdog) => {
                if worker.moves() {
                    tell(&[NotifyState::Watchdog]);
                }
            }
        }
    }
    tell(&[NotifyState::Stopping]);
    worker.stop();
    if timeout(STOP_WITHIN, worker.ended()).await.is_err() {
        warn!("A source did not answer in time; its rows are read at the next start.");
    }
    info!("Stopped.");
    Ok(())
}

/// A worker that goes on in the place of one that hangs, and looks at everything first.
fn successor(
    worker: &Worker,
    plan: Plan,
    held: Held,
    setup: Setup,
    since: Timestamp,
) -> Result<Worker> {
    let patience = Arc::new(worker.patience().of_successor());
    let mut worker = Worker::spawn(Engine::open_again(plan, held, patience)?, setup, since)?;
    worker.ask(Job::Cycle);
    Ok(worker)
}

/// Since when sessions are adopted by themselves: a short stop, such as for a new version, is none.
fn since(engine: &mut Engine, setup: &Setup) -> Result<Timestamp> {
    let now = SystemClock.now();
    if setup.adopt == Adopt::Off {
        return Ok(now);
    }
    let before = engine.note_adopting()?;
    Ok(before.filter(|at| (0..=SHORT_STOP_MS).contains(&now.ms_since(*at))).unwrap_or(now))
}

/// The counted cycles: 15 s and then every 60 s from the start, by default.
struct Cycles {
    first: Option<Interval>,
    every: Interval,
}

impl Cycles {
    fn new(setup: &Setup, started: Instant) -> Self {
        let now = Instant::now();
        let first = started + setup.first_cycle;
        let mut next = started + setup.cycle;
        while next < now {
            next += setup.cycle;
        }
        let mut every = interval_at(next, setup.cycle);
        every.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self { first: (first >= now).then(|| interval_at(first, setup.cycle)), every }
    }

    async fn tick(&mut self) {
        tokio::select! {
            () = tick(&mut self.first) => self.first = None,
            _ = self.every.tick() => {}
        }
    }
}

/// How often folders are looked at that cannot be watched.
fn polls(setup: &Setup) -> Interval {
    let every = match setup.watch {
        Watch::Poll(every) => every,
        Watch::Auto | Watch::Native => POLL_EVERY,
    };
    interval(every)
}

/// How often the worker's call to a disk is looked at: a hang is noticed in at most one and a half
/// deadlines.
fn looks(setup: &Setup) -> Interval {
    interval(setup.source_deadline / 2)
}

fn interval(every: Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + every, every);
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    interval
}

/// Pings at half of what the service manager allows.
fn watchdog() -> Option<Interval> {
    let every = sd_notify::watchdog_enabled()? / 2;
    (!every.is_zero()).then(|| interval_at(Instant::now() + every, every))
}

async fn tick(interval: &mut Option<Interval>) {
    match interval {
        Some(interval) => {
            interval.tick().await;
        }
        None => std::future::pending().await,
    }
}

/// Tells the service manager, where there is one.
fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!(%error, "The service manager was not told.");
    }
}
