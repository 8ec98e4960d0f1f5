//! The thread that works on the databases and the disk.

use super::follower::Follower;
use super::watching::{Change, Wakes};
use super::{Done, Setup};
use crate::disk::Patience;
use crate::engine::{Engine, Plan};
use crate::error::{Error, Result};
use crate::ids::Timestamp;
use crate::link::LinkId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// What the thread is asked to do.
pub(super) enum Job {
    /// A cycle over all links.
    Cycle,
    /// A look at the folders that cannot be watched.
    Poll,
    /// Removing what is too old.
    Prune,
    /// Taking up what was left alone.
    Release,
    /// A change of settings.
    Change(Setup, Box<Plan>),
}

/// What became of a job, or of what an event woke.
pub(super) enum Outcome {
    /// A cycle is done.
    Cycle(Done),
    Prune(Result<()>),
    /// Anything else that was asked for.
    Done,
    /// What was under way was given up.
    Failed(Error),
}

/// The thread, seen from the loop.
pub(super) struct Worker {
    jobs: Option<mpsc::Sender<Job>>,
    outcomes: mpsc::Receiver<Outcome>,
    shared: Arc<Shared>,
    cycle_pending: bool,
    last_seen: u64,
    patience: Arc<Patience>,
    thread: JoinHandle<()>,
}

/// What both sides see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Whether the thread is to end.
    stop: AtomicBool,
    /// Moves with everything that is done.
    steps: AtomicU64,
    /// Whether the thread does something, or waits.
    works: AtomicBool,
    /// Whether any folder must be polled.
    polls: AtomicBool,
}

impl Shared {
    /// Whether the thread is to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Jobs that can wait; a cycle is never asked for twice.
const JOBS: usize = 16;

impl Worker {
    pub(super) fn spawn(engine: Engine, setup: Setup, since: Timestamp) -> Result<Self> {
        let (jobs, to_do) = mpsc::channel::<Job>(JOBS);
        let (done, outcomes) = mpsc::channel(JOBS);
        let shared = Arc::new(Shared { works: AtomicBool::new(true), ..Shared::default() });
        let of_thread = Arc::clone(&shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let patience = engine.patience();
        let answers = engine.answers_of_nodes();
        let thread = std::thread::Builder::new().name("work".to_owned()).spawn(move || {
            let (follower, wakes) =
                match Follower::new(engine, &setup, since, Arc::clone(&of_thread)) {
                    Ok(made) => made,
                    Err(error) => {
                        drop(done.blocking_send(Outcome::Failed(error)));
                        return;
                    }
                };
            let thread = Thread {
                follower,
                wakes,
                answers,
                jobs: to_do,
                done,
                shared: of_thread,
                runtime,
                has_woken: false,
            };
            thread.run();
        })?;
        Ok(Self {
            jobs: Some(jobs),
            outcomes,
            shared,
            cycle_pending: false,
            last_seen: 0,
            patience,
            thread,
        })
    }

    /// Asks for a job; false where the queue is full, which the clock will try again. A cycle that
    /// is asked for while one is under way is that one.
    pub(super) fn ask(&mut self, job: Job) -> bool {
        let is_cycle = matches!(job, Job::Cycle);
        if is_cycle && self.cycle_pending {
            return true;
        }
        let taken = self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok());
        self.cycle_pending |= taken && is_cycle;
        taken
    }

    /// The next outcome; `None` if the thread has ended.
    pub(super) async fn finished(&mut self) -> Option<Outcome> {
        let outcome = self.outcomes.recv().await?;
        if matches!(outcome, Outcome::Cycle(_) | Outcome::Failed(_)) {
            self.cycle_pending = false;
        }
        Some(outcome)
    }

    /// Whether any folder must be polled.
    pub(super) fn polls(&self) -> bool {
        self.shared.polls.load(Ordering::Relaxed)
    }

    /// Whether the thread waits for work, or has moved on since this was asked last.
    pub(super) fn moves(&mut self) -> bool {
        let steps = self.shared.steps.load(Ordering::Relaxed);
        let moved = steps != self.last_seen || !self.shared.works.load(Ordering::Relaxed);
        self.last_seen = steps;
        moved
    }

    /// What the thread's calls to the disks look like.
    pub(super) fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Leaves the thread to the call that it hangs in; it ends by itself once that returns.
    pub(super) fn abandon(mut self) -> JoinHandle<()> {
        self.stop();
        self.thread
    }

    /// Asks the thread to end after the pass at hand.
    pub(super) fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.jobs = None;
    }

    /// Waits until the thread has ended.
    pub(super) async fn ended(&mut self) {
        while self.outcomes.recv().await.is_some() {}
    }
}

/// The thread itself.
struct Thread {
    follower: Follower,
    wakes: Wakes,
    /// The links whose nodes have answered.
    answers: mpsc::Receiver<LinkId>,
    jobs: mpsc::Receiver<Job>,
    done: mpsc::Sender<Outcome>,
    shared: Arc<Shared>,
    runtime: Runtime,
    /// Whether events had their turn.
    has_woken: bool,
}

/// What the thread does next.
enum Next {
    Job(Job),
    Wake(Change),
    Answer(LinkId),
    /// Something is due.
    Due,
    Step,
    Failed(Error),
    End,
}

impl Thread {
    fn run(mut self) {
        loop {
            let next = self.next();
            if self.shared.is_stopped() {
                return;
            }
            let outcome = match next {
                Next::End => return,
                Next::Job(job) => self.job(job),
                Next::Wake(change) => self.follower.wake(change).map(|()| None),
                Next::Answer(id) => self.follower.answered(id).map(|()| None),
                Next::Failed(error) => Err(error),
                Next::Due => self.follower.on_time().map(|()| None),
                Next::Step => self.follower.step().map(|done| done.map(Outcome::Cycle)),
            };
            self.shared.polls.store(self.follower.polls(), Ordering::Relaxed);
            self.shared.steps.fetch_add(1, Ordering::Relaxed);
            let outcome = outcome.unwrap_or_else(|error| {
                self.follower.give_up();
                Some(Outcome::Failed(error))
            });
            if outcome.is_some_and(|outcome| self.done.blocking_send(outcome).is_err()) {
                return;
            }
        }
    }

    /// What was asked for comes first, then what an event woke, then what waits.
    fn next(&mut self) -> Next {
        if let Ok(job) = self.jobs.try_recv() {
            return Next::Job(job);
        }
        // In turns: a file that never rests must not hold up what waits.
        self.has_woken = !self.has_woken || self.follower.is_idle();
        if self.has_woken
            && let Some(change) = self.wakes.waiting()
        {
            return Next::Wake(change);
        }
        if let Ok(id) = self.answers.try_recv() {
            return Next::Answer(id);
        }
        if self.follower.due().is_some_and(|due| due <= Instant::now()) {
            return Next::Due;
        }
        if !self.follower.is_idle() {
            return Next::Step;
        }
        if let Err(error) = self.follower.rest() {
            return Next::Failed(error);
        }
        self.shared.works.store(false, Ordering::Relaxed);
        let due = self.follower.due();
        let (jobs, wakes, answers) = (&mut self.jobs, &mut self.wakes, &mut self.answers);
        let next = self.runtime.block_on(async {
            tokio::select! {
                biased;
                job = jobs.recv() => job.map_or(Next::End, Next::Job),
                change = wakes.next() => change.map_or(Next::End, Next::Wake),
                Some(id) = answers.recv() => Next::Answer(id),
                () = until(due) => Next::Due,
            }
        });
        self.shared.works.store(true, Ordering::Relaxed);
        next
    }

    fn job(&mut self, job: Job) -> Result<Option<Outcome>> {
        match job {
            Job::Cycle => self.follower.begin_cycle().map(|()| None),
            Job::Poll => self.follower.poll().map(|()| None),
            Job::Release => self.follower.release().map(|()| Some(Outcome::Done)),
            Job::Prune => Ok(Some(Outcome::Prune(self.follower.prune()))),
            Job::Change(setup, plan) => {
                self.follower.change(&setup, *plan, &mut self.wakes)?;
                Ok(Some(Outcome::Done))
            }
        }
    }
}

/// Waits until then, or for ever.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
