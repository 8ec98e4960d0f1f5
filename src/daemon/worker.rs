//! The thread that works on the databases and the disk.

use crate::engine::{Engine, Reach};
use crate::error::Result;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// What the thread is asked to do.
pub(super) enum Job {
    /// One pass over each source.
    FirstPass,
    /// A cycle over all links, as far as each goes.
    Cycle,
    /// Removing what is too old.
    Prune,
    /// A change of settings.
    Change(Box<dyn FnOnce(&mut Engine) + Send>),
}

/// What became of a job.
pub(super) enum Outcome {
    Cycle(Result<Done>),
    Prune(Result<()>),
    Change,
}

/// A cycle that is done, in numbers.
pub(super) struct Done {
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

/// The thread, seen from the loop.
pub(super) struct Worker {
    jobs: Option<mpsc::Sender<Job>>,
    outcomes: mpsc::Receiver<Outcome>,
    shared: Arc<Shared>,
    pending: usize,
    cycle_pending: bool,
    last_seen: u64,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Moves with every pass.
    passes: AtomicU64,
}

/// Jobs that can wait; a cycle is never asked for twice.
const JOBS: usize = 16;

impl Worker {
    pub(super) fn spawn(mut engine: Engine) -> Result<Self> {
        let (jobs, mut to_do) = mpsc::channel::<Job>(JOBS);
        let (done, outcomes) = mpsc::channel(JOBS);
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new().name("work".to_owned()).spawn(move || {
            while let Some(job) = to_do.blocking_recv() {
                if of_thread.stop.load(Ordering::Relaxed) {
                    return;
                }
                let outcome = match job {
                    Job::FirstPass => {
                        Outcome::Cycle(cycle(&mut engine, &of_thread, Reach::OnePass))
                    }
                    Job::Cycle => Outcome::Cycle(cycle(&mut engine, &of_thread, Reach::ToEnd)),
                    Job::Prune => Outcome::Prune(engine.prune()),
                    Job::Change(change) => {
                        change(&mut engine);
                        Outcome::Change
                    }
                };
                if done.blocking_send(outcome).is_err() {
                    return;
                }
            }
        })?;
        let worker = Self {
            jobs: Some(jobs),
            outcomes,
            shared,
            pending: 0,
            cycle_pending: false,
            last_seen: 0,
        };
        Ok(worker)
    }

    /// Asks for a job; false where the queue is full, which the clock will try again. A cycle that
    /// is asked for while one is under way is that one.
    pub(super) fn ask(&mut self, job: Job) -> bool {
        let is_cycle = matches!(job, Job::Cycle | Job::FirstPass);
        if is_cycle && self.cycle_pending {
            return true;
        }
        let taken = self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok());
        if taken {
            self.pending += 1;
            self.cycle_pending |= is_cycle;
        }
        taken
    }

    /// The next outcome; `None` if the thread has ended.
    pub(super) async fn finished(&mut self) -> Option<Outcome> {
        let outcome = self.outcomes.recv().await?;
        self.pending -= 1;
        if matches!(outcome, Outcome::Cycle(_)) {
            self.cycle_pending = false;
        }
        Some(outcome)
    }

    /// Whether the thread waits for work, or has moved on since this was asked last.
    pub(super) fn moves(&mut self) -> bool {
        let passes = self.shared.passes.load(Ordering::Relaxed);
        let moved = passes != self.last_seen || self.pending == 0;
        self.last_seen = passes;
        moved
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

fn cycle(engine: &mut Engine, shared: &Shared, reach: Reach) -> Result<Done> {
    let started = Instant::now();
    let report = engine.cycle(reach, &|| {
        shared.passes.fetch_add(1, Ordering::Relaxed);
        shared.stop.load(Ordering::Relaxed)
    })?;
    Ok(Done {
        links: report.links.len(),
        events: report.events.len(),
        troubled: report.links.iter().filter(|link| link.error.is_some()).count(),
        took: started.elapsed(),
    })
}
