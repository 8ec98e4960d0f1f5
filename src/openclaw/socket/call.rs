//! A call to a gateway, and how it can fail.

use super::frame::Refusal;
use serde_json::Value;
use std::fmt;
use tokio::time::Instant;

/// What a call came to.
pub type Answer = Result<Value, CallError>;

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is no connection.
    #[error("the gateway is not connected: {0}")]
    NotConnected(String),
    /// It does not let us in.
    #[error("the gateway does not let us in: {} ({})", .0.message, .0.code)]
    Unwelcome(Refusal),
    /// It did not answer in time.
    #[error("the gateway does not answer")]
    TimedOut,
    /// It answered that it does not do this.
    #[error("the gateway refuses: {} ({})", .0.message, .0.code)]
    Refused(Refusal),
    /// The connection ended before the answer.
    #[error("the gateway closed the connection")]
    Closed,
    /// It sent what is none of its frames.
    #[error("what answers there does not speak OpenClaw's protocol")]
    Protocol,
}

impl CallError {
    /// A word for it, for logs and metrics.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotConnected(_) => "not_connected",
            Self::Unwelcome(_) => "unwelcome",
            Self::TimedOut => "timed_out",
            Self::Refused(_) => "refused",
            Self::Closed => "closed",
            Self::Protocol => "protocol",
        }
    }

    /// Whether the gateway asks to be asked again: it is just starting.
    #[must_use]
    pub fn is_for_now(&self) -> bool {
        match self {
            Self::Refused(refusal) | Self::Unwelcome(refusal) => refusal.code == "UNAVAILABLE",
            Self::NotConnected(_) | Self::TimedOut | Self::Closed | Self::Protocol => true,
        }
    }
}

/// A call under way.
pub(super) struct Call {
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// When nobody waits for it any more.
    pub(super) deadline: Instant,
    reply: Option<Box<dyn FnOnce(Answer) + Send>>,
}

impl Call {
    pub(super) fn new(
        method: &'static str,
        params: Value,
        deadline: Instant,
        reply: impl FnOnce(Answer) + Send + 'static,
    ) -> Self {
        Self { method, params, deadline, reply: Some(Box::new(reply)) }
    }

    pub(super) fn answer(mut self, answer: Answer) {
        if let Some(reply) = self.reply.take() {
            reply(answer);
        }
    }
}

impl Drop for Call {
    /// Whoever waits is told, whatever became of the connection.
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            reply(Err(CallError::Closed));
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Parameters may hold what a person wrote.
        f.debug_struct("Call").field("method", &self.method).finish_non_exhaustive()
    }
}
