//! The clock, read in one place. Decisions take the time as a parameter.

use crate::ids::Timestamp;
use std::time::{Duration, Instant};

/// What tells the time.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
    fn now(&self) -> Timestamp {
        std::time::SystemTime::now().into()
    }
}

impl From<std::time::SystemTime> for Timestamp {
    fn from(time: std::time::SystemTime) -> Self {
        let ms = match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()),
            Err(before) => i64::try_from(before.duration().as_millis()).map(|ms| -ms),
        };
        Self(ms.unwrap_or(i64::MAX))
    }
}

/// Measures how long something takes; the date may be changed meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins to measure.
    #[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since it was started.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
