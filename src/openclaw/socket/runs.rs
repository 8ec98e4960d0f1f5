//! In which sessions OpenClaw runs a turn, as the gateway itself says.
//!
//! Always holds: that nothing runs in a session is believed only of an answer that was asked for
//! after the question came, since a turn may have begun just before; that something runs may be a
//! little old, and only makes rows wait a little longer.

use super::{CallError, Gateway};
use crate::ids::{AgentId, SessionKey};
use crate::link::LinkId;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Who knows in which sessions turns run.
pub trait ActiveRuns {
    /// Whether OpenClaw runs a turn in a session; `None` where nobody can be asked.
    fn is_running(&self, link: &LinkId) -> Option<bool>;
}

/// How long a gateway may take to answer: in that time nothing else is done. It takes 4 to 9 ms
/// (`facts/gateway.md` §6).
const ASK_FOR: Duration = Duration::from_secs(1);

/// How long one that did not answer is not asked again.
const SILENT_FOR: Duration = Duration::from_secs(15);

/// How long a turn is taken to go on without asking again: the rows of several sessions wait and are
/// looked at every half second.
const RUNS_FOR: Duration = Duration::from_millis(400);

/// Sessions that an answer holds at most; further ones are asked for with another question.
const PAGE: usize = 100;

/// More pages than anybody's sessions need.
const MOST_PAGES: usize = 100;

/// Asks a gateway.
#[derive(Debug)]
pub struct Runs {
    gateway: Arc<Gateway>,
    listed: RefCell<Option<(Instant, HashSet<LinkId>)>>,
    silent_until: Cell<Option<Instant>>,
}

impl Runs {
    /// Asks this one.
    #[must_use]
    pub fn of(gateway: Arc<Gateway>) -> Self {
        Self { gateway, listed: RefCell::default(), silent_until: Cell::default() }
    }

    fn list(&self) -> Result<HashSet<LinkId>, CallError> {
        let mut running = HashSet::new();
        for page in 0..MOST_PAGES {
            let params = json!({ "activeOnly": true, "limit": PAGE, "offset": page * PAGE });
            let answer = self.gateway.call("sessions.list", params, ASK_FOR)?;
            let sessions = answer.get("sessions").and_then(Value::as_array);
            running.extend(sessions.ok_or(CallError::Protocol)?.iter().filter_map(running_session));
            if answer.get("hasMore") != Some(&Value::Bool(true)) {
                return Ok(running);
            }
        }
        Err(CallError::Protocol)
    }
}

impl ActiveRuns for Runs {
    fn is_running(&self, link: &LinkId) -> Option<bool> {
        let now = Instant::now();
        if let Some((asked, running)) = &*self.listed.borrow()
            && now.duration_since(*asked) < RUNS_FOR
            && running.contains(link)
        {
            return Some(true);
        }
        if self.silent_until.get().is_some_and(|until| now < until) {
            return None;
        }
        match self.list() {
            Ok(running) => {
                self.silent_until.set(None);
                let is_running = running.contains(link);
                self.listed.replace(Some((now, running)));
                Some(is_running)
            }
            Err(error) => {
                if error == CallError::TimedOut {
                    self.silent_until.set(Some(Instant::now() + SILENT_FOR));
                }
                None
            }
        }
    }
}

/// The session of a row of `sessions.list` if a turn runs in it.
fn running_session(row: &Value) -> Option<LinkId> {
    if row.get("hasActiveRun") != Some(&Value::Bool(true)) {
        return None;
    }
    let session_key = SessionKey::new(row.get("key")?.as_str()?);
    let agent_id = match row.get("agentId").and_then(Value::as_str) {
        Some(agent) => AgentId::new(agent),
        None => session_key.agent()?,
    };
    Some(LinkId { session_key, agent_id })
}
