//! OpenClaw's catalog of Claude sessions: adoption by the gateway itself (`facts/gateway.md` §4).

use super::socket::{Address, CallError, call_once};
use crate::error::{Error, Result};
use crate::ids::{AgentId, CatalogId, HostId, SessionKey, ThreadId};
use serde_json::json;
use std::time::Duration;

/// How long a gateway may take to adopt a session: it reads its history.
const ADOPT_WITHIN: Duration = Duration::from_secs(60);

/// Has a gateway adopt a session, for an agent or else for its default one; gives the session's key.
/// One that is adopted already keeps its key.
pub fn adopt(
    address: &Address,
    catalog: &CatalogId,
    host: &HostId,
    thread: &ThreadId,
    agent: Option<&AgentId>,
) -> Result<SessionKey> {
    let mut params = json!({ "catalogId": catalog, "hostId": host, "threadId": thread });
    if let Some(agent) = agent {
        params["agentId"] = json!(agent);
    }
    let answer = call_once(address, "sessions.catalog.continue", params, ADOPT_WITHIN)?;
    let answer = answer.map_err(|error| refused(thread, &error))?;
    let key = answer.get("sessionKey").and_then(serde_json::Value::as_str);
    key.map(SessionKey::new).ok_or_else(|| refused(thread, &CallError::Protocol))
}

/// Why a session was not adopted, for a person. What the gateway says is shown on one line.
fn refused(thread: &ThreadId, error: &CallError) -> Error {
    let why: String = error.to_string().chars().filter(|c| !c.is_control()).take(300).collect();
    let text = format!("session {thread} was not adopted: {why}");
    match error {
        CallError::Protocol => Error::Failed(text),
        _ if error.is_for_now() => Error::Busy(format!("{text}; try again")),
        // It is so for every session, until another token is given.
        CallError::Unwelcome(_) => Error::Usage(text),
        _ => Error::Failed(text),
    }
}
