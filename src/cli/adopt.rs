//! `adopt`: begin to follow a session.

use super::Context;
use super::output::Output;
use super::progress::{Progress, Unit};
use super::run::classify_settings;
use super::table::sanitise;
use crate::clock::{Clock as _, SystemClock};
use crate::cycle::{AdoptFrom, AdoptedLink, Adoption, Sighting};
use crate::disk::{Disk, SessionFile};
use crate::error::{Error, Result};
use crate::ids::{AgentId, CatalogId, HostId, SessionKey, ThreadId};
use crate::journal::Journal;
use crate::link::adopt::{CATALOG, DEFAULT_AGENT, LOCAL_HOST, find_session};
use crate::openclaw::catalog;
use crate::openclaw::socket::Access;
use crate::record::{LinkFilter, SignalLog};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::collections::HashSet;
use tracing::warn;

#[derive(Debug, Args)]
pub(super) struct AdoptArgs {
    /// Session ids, or paths of their .jsonl files
    #[arg(value_name = "SESSION", required_unless_present = "all", conflicts_with = "all")]
    sessions: Vec<String>,
    /// Adopt every session below the Claude folders
    #[arg(long)]
    all: bool,
    /// The agent that is responsible for the session [default: main, or the gateway's own]
    #[arg(long)]
    agent: Option<String>,
    /// The machine of the session, of a gateway's paired nodes (`node:ID`)
    #[arg(long, conflicts_with = "all")]
    host: Option<String>,
    /// Count from here on; earlier rows are history
    #[arg(long, value_enum, default_value_t = From::End)]
    from: From,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum From {
    /// The end of the last whole row
    End,
    /// The first row
    Start,
}

pub(super) fn run(args: &AdoptArgs, context: Context) -> Result<()> {
    let agent = args.agent.as_deref().map(agent).transpose()?;
    let Some(access) = context.loaded.access.clone() else {
        return alone(args, &agent.unwrap_or_else(|| AgentId::new(DEFAULT_AGENT)), context);
    };
    beside(args, agent.as_ref(), &access, context)
}

/// The sessions that are meant.
fn wanted(args: &AdoptArgs, disk: &dyn Disk) -> Result<Vec<SessionFile>> {
    let sessions: Vec<SessionFile> = if args.all {
        disk.sessions().files
    } else {
        args.sessions.iter().map(|wanted| find_session(disk, wanted)).collect::<Result<_>>()?
    };
    if sessions.is_empty() {
        return Err(Error::Failed(
            "there is no session below the Claude folders; --claude-dir names other folders"
                .to_owned(),
        ));
    }
    Ok(sessions)
}

/// Has the gateway adopt the sessions: what is adopted is its own business.
fn beside(
    args: &AdoptArgs,
    agent: Option<&AgentId>,
    access: &Access,
    mut context: Context,
) -> Result<()> {
    if args.from == From::Start {
        return Err(Error::Usage(
            "a gateway adopts a session from its end: --from start is for upstreamd's own log \
             (--store embedded)"
                .to_owned(),
        ));
    }
    let host = HostId::new(args.host.as_deref().unwrap_or(LOCAL_HOST));
    let threads: Vec<ThreadId> = if host.as_str() == LOCAL_HOST {
        wanted(args, &context.disk())?.into_iter().map(|session| session.thread_id).collect()
    } else {
        // Which sessions are there, the gateway knows.
        args.sessions.iter().map(ThreadId::new).collect()
    };
    let log = context.read_log()?;
    let owner = log.as_ref().map(SignalLog::owner).transpose()?.flatten();
    let owner = owner.filter(|owner| owner.is_live(SystemClock.now()));
    if access.url.is_none() && owner.is_none() {
        return Err(Error::Busy(
            "the gateway does not run, and adopts its sessions itself: start it, and try again \
             (--store embedded means upstreamd's own log)"
                .to_owned(),
        ));
    }
    let address = access.address(owner.and_then(|owner| owner.port)).map_err(Error::Failed)?;
    let before: HashSet<SessionKey> = match &log {
        Some(log) => log.links(LinkFilter::All)?.into_iter().map(|l| l.id.session_key).collect(),
        None => HashSet::new(),
    };
    let catalog = CatalogId::new(CATALOG);
    let mut adopted = Vec::new();
    let mut progress = Progress::of(threads.len() as u64, Unit::Sessions, &context.out);
    for thread in threads {
        match catalog::adopt(&address, &catalog, &host, &thread, agent) {
            Ok(key) => adopted.push(Adopted {
                agent_id: key.agent().unwrap_or_else(|| AgentId::new(DEFAULT_AGENT)),
                created: !before.contains(&key),
                host_id: host.clone(),
                thread_id: thread,
                key,
            }),
            Err(Error::Failed(reason)) if args.all => {
                progress.step_aside();
                warn!(reason, "A session was left out.");
            }
            Err(error) => return Err(error),
        }
        progress.add(1);
    }
    drop(progress);
    tell(&adopted, args.from, &mut context.out)
}

/// A session that is adopted now.
struct Adopted {
    key: SessionKey,
    agent_id: AgentId,
    host_id: HostId,
    thread_id: ThreadId,
    created: bool,
}

/// Adopts the sessions in our own log.
fn alone(args: &AdoptArgs, agent: &AgentId, mut context: Context) -> Result<()> {
    if args.host.is_some() {
        return Err(Error::Usage(
            "--host is for the paired nodes of a gateway, and there is none".to_owned(),
        ));
    }
    let disk = context.disk();
    let sessions = wanted(args, &disk)?;
    let mut log = context.write_log()?;
    let key = context.state.hash_key()?;
    let mut journal = Journal::open(&context.state.journal(), &key)?;
    let sighting = Sighting {
        key: &key,
        classify: classify_settings(&context.loaded.settings),
        scan_window: context.loaded.settings.scan_window,
        seen: log.last_sequence_ever()?,
        now: SystemClock.now(),
        born: None,
    };
    let mut adoption = Adoption { log: &mut log, journal: &mut journal, disk: &disk, sighting };
    let from = match args.from {
        From::End => AdoptFrom::End,
        From::Start => AdoptFrom::Start,
    };
    let mut adopted = Vec::new();
    let mut progress = Progress::of(sessions.len() as u64, Unit::Sessions, &context.out);
    for session in &sessions {
        match adoption.adopt(session, agent, from) {
            Ok(AdoptedLink { link, created }) => adopted.push(Adopted {
                key: link.id.session_key,
                agent_id: link.id.agent_id,
                host_id: link.host_id,
                thread_id: link.thread_id,
                created,
            }),
            // Nobody named it: the others are still meant.
            Err(Error::Failed(reason)) if args.all => {
                progress.step_aside();
                warn!(reason, "A session was left out.");
            }
            Err(error) => return Err(error),
        }
        progress.add(1);
    }
    drop(progress);
    tell(&adopted, args.from, &mut context.out)
}

fn tell(adopted: &[Adopted], from: From, out: &mut Output) -> Result<()> {
    if out.json {
        let adopted: Vec<_> = adopted
            .iter()
            .map(|one| {
                json!({
                    "sessionKey": one.key,
                    "agentId": one.agent_id,
                    "hostId": one.host_id,
                    "threadId": one.thread_id,
                    "created": one.created,
                })
            })
            .collect();
        return out.json_line(&json!({ "adopted": adopted }));
    }
    for one in adopted {
        let (thread, key) = (sanitise(one.thread_id.as_str()), sanitise(one.key.as_str()));
        let line = match (one.created, from) {
            (true, _) => format!("adopted {thread} as {key}"),
            (false, From::End) => format!("already adopted: {thread} as {key}"),
            (false, From::Start) => format!(
                "already adopted: {thread} as {key}; it goes on from its marker (to count from the start, `unlink` it first)"
            ),
        };
        out.line(&line)?;
    }
    Ok(())
}

/// An agent's id becomes part of session keys, and those of notices.
fn agent(id: &str) -> Result<AgentId> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if (1..=64).contains(&id.len()) && id.chars().all(plain) {
        return Ok(AgentId::new(id));
    }
    Err(Error::Usage(format!(
        "`{id}` is no agent id: letters, digits, `.`, `_` and `-`, at most 64 of them"
    )))
}
