//! Places at which a test kills the program, by name: between the steps of Record, and of what is
//! done about a file that is missing, moved or rewritten.
//!
//! Only in builds with debug assertions; a release build holds nothing of it.

/// A place at which a test can kill the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillPoint {
    /// The journal has committed the intent.
    IntentCommitted,
    /// The signal log has everything but the commit.
    EventWritten,
    /// The signal log has committed.
    EventCommitted,
    /// The journal has applied the intent.
    IntentApplied,
    /// The signal log has everything but the commit of a missing upstream.
    MissingWritten,
    /// The signal log has committed a missing upstream.
    MissingCommitted,
    /// The journal has a new generation; nothing is read again yet.
    GenerationCommitted,
    /// The signal log has a moved file's new path, the journal not yet.
    MoveCommitted,
}

impl KillPoint {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::IntentCommitted,
        Self::EventWritten,
        Self::EventCommitted,
        Self::IntentApplied,
        Self::MissingWritten,
        Self::MissingCommitted,
        Self::GenerationCommitted,
        Self::MoveCommitted,
    ];

    /// Its name in `UPSTREAMD_TEST_ABORT_AT`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IntentCommitted => "intent-committed",
            Self::EventWritten => "event-written",
            Self::EventCommitted => "event-committed",
            Self::IntentApplied => "intent-applied",
            Self::MissingWritten => "missing-written",
            Self::MissingCommitted => "missing-committed",
            Self::GenerationCommitted => "generation-committed",
            Self::MoveCommitted => "move-committed",
        }
    }
}

/// Aborts the program here if a test asked for it.
#[cfg(all(debug_assertions, not(test)))]
#[expect(
    clippy::disallowed_methods,
    reason = "a test's wish, not a setting; no release build reads it"
)]
pub fn pass(point: KillPoint) {
    if std::env::var_os("UPSTREAMD_TEST_ABORT_AT").is_some_and(|name| name == point.name()) {
        std::process::abort();
    }
}

/// Nothing, in a release build.
#[cfg(not(any(debug_assertions, test)))]
pub const fn pass(_point: KillPoint) {}

/// Waits here as long as a test wants a disk to hang: calls about the path in
/// `UPSTREAMD_TEST_HANG` or below it, while there is a file of that name with `.hang` behind.
#[cfg(all(debug_assertions, not(test)))]
#[expect(
    clippy::disallowed_methods,
    reason = "a test's wish, not a setting; no release build reads it"
)]
pub fn hang(path: &std::path::Path) {
    let Some(hanging) = std::env::var_os("UPSTREAMD_TEST_HANG") else { return };
    let mut flag = hanging.clone();
    flag.push(".hang");
    while path.starts_with(&hanging) && std::path::Path::new(&flag).exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Nothing, where no test runs the program.
#[cfg(any(test, not(debug_assertions)))]
pub const fn hang(_path: &std::path::Path) {}

/// Unwinds here if the test of this thread asked for it.
#[cfg(test)]
pub fn pass(point: KillPoint) {
    if armed::ARMED.get() == Some(point) {
        armed::ARMED.set(None);
        std::panic::resume_unwind(Box::new(point));
    }
}

/// Kill points in a test's own thread.
#[cfg(test)]
pub(crate) mod armed {
    use super::KillPoint;
    use std::cell::Cell;

    thread_local! {
        pub(super) static ARMED: Cell<Option<KillPoint>> = const { Cell::new(None) };
    }

    /// Runs until the end, or until the point is reached: then `None`.
    pub(crate) fn until<T>(point: Option<KillPoint>, run: impl FnOnce() -> T) -> Option<T> {
        ARMED.set(point);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        ARMED.set(None);
        match ended {
            Ok(value) => Some(value),
            Err(panic) if panic.is::<KillPoint>() => None,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
