//! The transcripts of a gateway's paired nodes, read through the gateway (`facts/gateway.md` §11).
//!
//! Answers: what a node has of a transcript, once it has answered. Always holds: nobody waits for a
//! node but who asks to; a node has one request at a time; one that does not answer is not asked by
//! the other links that wait for it either, until they ask anew. Deliberately elsewhere: which rows
//! are wanted (`scan::node`), what they come to (`cycle::node`).

use super::socket::{Answer, CallError, Gateway, Refusal};
use crate::link::{LinkId, OnNode};
use crate::scan::node::{BadPage, End, Goal, PAGE, Step, Walk};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a node may take for a page; the gateway's own bound.
const PAGE_WITHIN: Duration = Duration::from_secs(30);

/// By how much the gateway's word that a node is silent may come later than that.
const GATEWAY_MARGIN: Duration = Duration::from_secs(5);

/// The nodes of a gateway.
pub trait Nodes {
    /// What was read of a link's transcript for this goal since it was asked for. Where nothing is
    /// read yet, reading begins.
    fn read(&self, link: &LinkId, transcript: &OnNode, goal: &Goal) -> Reading;

    /// Waits until nothing is under way; false where something still is after as long as a node may
    /// take for a page.
    fn wait(&self) -> bool;
}

/// How a reading stands.
#[derive(Debug)]
pub enum Reading {
    /// The node has not answered yet.
    UnderWay,
    /// It is done.
    Done(Walk, End),
    /// It has failed.
    Failed(Silence),
}

/// Why a node tells nothing of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// It has no such transcript.
    #[error("the node has no such session")]
    Missing,
    /// Something else is wrong, which says nothing of the transcript.
    #[error("{0}")]
    Unknown(String),
}

/// Reads through a gateway.
#[derive(Debug)]
pub struct NodeReader {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    gateway: Arc<Gateway>,
    state: Mutex<State>,
    /// Rung at every end of a reading.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    readings: HashMap<LinkId, Stored>,
    /// The nodes that have a request, each with the links that wait for it.
    waiting: HashMap<String, VecDeque<LinkId>>,
    /// Who is told of every end.
    told: Option<mpsc::Sender<LinkId>>,
}

#[derive(Debug)]
struct Stored {
    transcript: OnNode,
    goal: Goal,
    walk: Option<Walk>,
    end: Option<Result<End, Silence>>,
}

impl NodeReader {
    /// Reads through this gateway.
    #[must_use]
    pub fn of(gateway: Arc<Gateway>) -> Self {
        let shared = Shared { gateway, state: Mutex::default(), ended: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Says who is told of every link whose reading has ended; who has no room for it hears nothing.
    pub fn tell(&self, told: mpsc::Sender<LinkId>) {
        self.shared.lock().told = Some(told);
    }

    /// Waits until nothing is under way; false where something still is after this time.
    fn have_ended(&self, within: Duration) -> bool {
        let is_busy = |state: &mut State| state.readings.values().any(|one| one.end.is_none());
        let state = self.shared.lock();
        let (_state, waited) = self
            .shared
            .ended
            .wait_timeout_while(state, within, is_busy)
            .unwrap_or_else(PoisonError::into_inner);
        !waited.timed_out()
    }
}

impl Nodes for NodeReader {
    fn read(&self, link: &LinkId, transcript: &OnNode, goal: &Goal) -> Reading {
        let mut state = self.shared.lock();
        if let Some(stored) = state.readings.get(link) {
            if stored.end.is_none() {
                return Reading::UnderWay;
            }
            if let Some(Stored { transcript: of, goal: asked, walk, end: Some(end) }) =
                state.readings.remove(link)
                && of == *transcript
                && asked == *goal
            {
                return match (end, walk) {
                    (Ok(end), Some(walk)) => Reading::Done(walk, end),
                    (Ok(_), None) => {
                        Reading::Failed(Silence::Unknown("nothing was read".to_owned()))
                    }
                    (Err(silence), _) => Reading::Failed(silence),
                };
            }
        }
        let (transcript, goal) = (transcript.clone(), goal.clone());
        let node = transcript.node_id.clone();
        let walk = Some(Walk::new(goal.clone()));
        state.readings.insert(link.clone(), Stored { transcript, goal, walk, end: None });
        if let Some(waiting) = state.waiting.get_mut(&node) {
            waiting.push_back(link.clone());
        } else {
            state.waiting.insert(node, VecDeque::new());
            drop(state);
            Shared::ask(&self.shared, link.clone(), None);
        }
        Reading::UnderWay
    }

    fn wait(&self) -> bool {
        self.have_ended(PAGE_WITHIN + GATEWAY_MARGIN * 2)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a link's node for a page, of which there is no other request.
    fn ask(this: &Arc<Self>, link: LinkId, cursor: Option<String>) {
        let Ok(key) = request_key() else {
            let error = CallError::NotConnected("there are no random numbers".to_owned());
            return Self::answered(this, link, Err(error));
        };
        let state = this.lock();
        let Some(stored) = state.readings.get(&link) else { return };
        let OnNode { node_id, thread_id } = &stored.transcript;
        let mut wanted = json!({ "threadId": thread_id, "limit": PAGE });
        if let Some(cursor) = cursor {
            wanted["cursor"] = json!(cursor);
        }
        let params = json!({
            "nodeId": node_id,
            "command": "anthropic.claude.sessions.read.v1",
            "params": wanted,
            "timeoutMs": PAGE_WITHIN.as_millis(),
            "idempotencyKey": key,
        });
        drop(state);
        let shared = Arc::clone(this);
        let within = PAGE_WITHIN + GATEWAY_MARGIN;
        this.gateway.begin("node.invoke", params, within, move |answer| {
            Self::answered(&shared, link, answer);
        });
    }

    /// Takes an answer, and asks for what comes next.
    fn answered(this: &Arc<Self>, link: LinkId, answer: Answer) {
        let mut state = this.lock();
        let Some(stored) = state.readings.get_mut(&link) else { return };
        let node = stored.transcript.node_id.clone();
        let is_silent = matches!(&answer, Err(error) if is_silent(error));
        let end = match answer {
            Ok(answer) => {
                let page = answer.get("payload").unwrap_or(&Value::Null);
                match stored.walk.as_mut().map_or(Err(BadPage::Form), |walk| walk.take(page)) {
                    Ok(Step::Page(cursor)) => {
                        drop(state);
                        Self::ask(this, link, Some(cursor));
                        return;
                    }
                    Ok(Step::Done(end)) => Ok(end),
                    Err(bad) => Err(Silence::Unknown(bad.to_string())),
                }
            }
            Err(error) => Err(silence(&error)),
        };
        let waiting = state.waiting.remove(&node).unwrap_or_default();
        let mut ended = vec![(link, end.clone())];
        let mut waiting = waiting.into_iter();
        if let (true, Err(silence)) = (is_silent, &end) {
            ended.extend(waiting.by_ref().map(|link| (link, Err(silence.clone()))));
        }
        for (link, end) in ended {
            if let Some(stored) = state.readings.get_mut(&link) {
                stored.end = Some(end);
            }
            if let Some(told) = &state.told {
                // Without room for it, the next cycle finds it.
                drop(told.try_send(link));
            }
        }
        this.ended.notify_all();
        if let Some(next) = waiting.next() {
            state.waiting.insert(node, waiting.collect());
            drop(state);
            Self::ask(this, next, None);
        }
    }
}

/// A key that no other request has: the gateway takes one key for one request, whoever makes it.
fn request_key() -> Result<String, getrandom::Error> {
    Ok(format!("upstreamd-{:016x}{:016x}", getrandom::u64()?, getrandom::u64()?))
}

/// Whether an error is of the node or of the way there, so that another transcript has it too.
fn is_silent(error: &CallError) -> bool {
    match error {
        CallError::Refused(refusal) => !is_missing(refusal) && !was_dispatched(refusal),
        _ => true,
    }
}

fn was_dispatched(refusal: &Refusal) -> bool {
    refusal.details.get("nodeCommandDispatched") == Some(&Value::Bool(true))
}

/// The node's own word that it has no such transcript.
fn is_missing(refusal: &Refusal) -> bool {
    was_dispatched(refusal) && refusal.message.contains("Claude session is unavailable")
}

fn silence(error: &CallError) -> Silence {
    match error {
        CallError::Refused(refusal) if is_missing(refusal) => Silence::Missing,
        CallError::Refused(refusal) => {
            // Its sentence may quote anything; its code is a word.
            let detail = refusal.details.get("code").and_then(Value::as_str);
            let code = detail.unwrap_or(&refusal.code);
            Silence::Unknown(format!("the node gives no answer ({})", word(code)))
        }
        CallError::TimedOut => Silence::Unknown("the node does not answer".to_owned()),
        other => Silence::Unknown(other.to_string()),
    }
}

/// A code as far as it is one.
fn word(code: &str) -> String {
    code.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect()
}

#[cfg(test)]
mod tests;
