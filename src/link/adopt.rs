//! Adoption: from a thread id or a file to a link.

use super::{LinkId, NewLink, file_ref};
use crate::disk::{Disk, OpenError, SessionFile, Transcript};
use crate::error::{Error, Result};
use crate::ids::{AgentId, CatalogId, HostId, SessionKey, ThreadId, hex};
use crate::scan::window::row_start;
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// The catalog of Claude Code sessions.
pub const CATALOG: &str = "claude";
/// The host of sessions on this machine, as OpenClaw names it.
pub const LOCAL_HOST: &str = "gateway:local";
/// The agent that is responsible where none is named.
pub const DEFAULT_AGENT: &str = "main";
/// The kind of upstream, as OpenClaw names it.
const UPSTREAM_KIND: &str = "claude-cli";

/// The key that OpenClaw 2026.9.6 gives an adopted local session.
#[must_use]
pub fn session_key(agent: &AgentId, thread: &ThreadId) -> SessionKey {
    let digest = Sha256::digest(thread.as_str());
    SessionKey::new(key_prefix(agent) + &hex(&digest))
}

/// The key that it gives an adopted session of another host.
#[must_use]
pub fn session_key_on(agent: &AgentId, host: &HostId, thread: &ThreadId) -> SessionKey {
    let digest = Sha256::new()
        .chain_update(host.as_str())
        .chain_update([0])
        .chain_update(thread.as_str())
        .finalize();
    SessionKey::new(key_prefix(agent) + &hex(&digest))
}

/// How the keys of an agent's adopted sessions begin; 64 hex digits follow.
#[must_use]
pub fn key_prefix(agent: &AgentId) -> String {
    format!("agent:{agent}:plugin:anthropic:catalog-adopt:claude:")
}

/// The session that a person means: a thread id, or a path to its file.
pub fn find_session(disk: &dyn Disk, wanted: &str) -> Result<SessionFile> {
    let sessions = disk.sessions().files;
    let as_path = fs_err::canonicalize(wanted).ok();
    let by_path = as_path.and_then(|path| sessions.iter().find(|session| session.path == path));
    if let Some(session) = by_path {
        return Ok(session.clone());
    }
    let mut by_thread = sessions.iter().filter(|session| session.thread_id.as_str() == wanted);
    match (by_thread.next(), by_thread.next()) {
        (Some(session), None) => Ok(session.clone()),
        (Some(one), Some(other)) => Err(Error::Failed(format!(
            "session {wanted} has two files, {} and {}: name the one you mean by its path",
            one.path.display(),
            other.path.display(),
        ))),
        (None, _) if Path::new(wanted).exists() => Err(Error::Failed(format!(
            "{wanted} is no main session file below a Claude folder (<folder>/projects/<project>/<session>.jsonl): name its folder with --claude-dir",
        ))),
        (None, _) => Err(Error::Failed(format!(
            "no session {wanted} below the Claude folders: give a session id, or the path of its .jsonl file; --claude-dir names other folders",
        ))),
    }
}

/// The link that adopts a session: read from just after the last line end before `end`, or before
/// its own end.
pub fn link(
    disk: &dyn Disk,
    session: &SessionFile,
    agent: &AgentId,
    end: Option<u64>,
) -> Result<NewLink> {
    let ref_json = file_ref(&session.path).ok_or_else(|| {
        Error::Failed(format!("{} is no UTF-8 path and cannot be followed", session.path.display()))
    })?;
    let file = open(disk, session)?;
    let size = file.stat()?.size;
    let offset = row_start(file.as_ref(), end.unwrap_or(size).min(size))?;
    Ok(NewLink {
        id: LinkId { session_key: session_key(agent, &session.thread_id), agent_id: agent.clone() },
        catalog_id: CatalogId::new(CATALOG),
        host_id: HostId::new(LOCAL_HOST),
        thread_id: session.thread_id.clone(),
        upstream_kind: UPSTREAM_KIND.to_owned(),
        ref_json,
        offset,
    })
}

/// Opens a session's file, or says why it cannot be followed.
pub fn open(disk: &dyn Disk, session: &SessionFile) -> Result<Box<dyn Transcript>> {
    let path = session.path.display();
    disk.open(&session.path).map_err(|error| {
        Error::Failed(match error {
            OpenError::Missing => format!("{path} is no regular file"),
            OpenError::Outside => format!("{path} leads out of the Claude folder"),
            OpenError::Unreadable(error) => format!("{path} cannot be read: {error}"),
        })
    })
}
