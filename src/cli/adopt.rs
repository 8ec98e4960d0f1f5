//! `adopt`: begin to follow a session.

use super::Context;
use super::progress::{Progress, Unit};
use super::run::classify_settings;
use super::table::sanitise;
use crate::clock::{Clock as _, SystemClock};
use crate::cycle::{AdoptFrom, AdoptedLink, Adoption, Sighting};
use crate::disk::{Disk as _, SessionFile};
use crate::error::{Error, Result};
use crate::ids::AgentId;
use crate::journal::Journal;
use crate::link::adopt::{DEFAULT_AGENT, find_session};
use clap::{Args, ValueEnum};
use serde_json::json;
use tracing::warn;

#[derive(Debug, Args)]
pub(super) struct AdoptArgs {
    /// Session ids, or paths of their .jsonl files
    #[arg(value_name = "SESSION", required_unless_present = "all", conflicts_with = "all")]
    sessions: Vec<String>,
    /// Adopt every session below the Claude folders
    #[arg(long)]
    all: bool,
    /// The agent that is responsible for the session
    #[arg(long, default_value = DEFAULT_AGENT)]
    agent: String,
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

pub(super) fn run(args: &AdoptArgs, mut context: Context) -> Result<()> {
    context.require_alone(
        "adopt",
        "adopt the session in OpenClaw, where it is listed under Claude Code, or with `openclaw \
         gateway call sessions.catalog.continue --params '{\"catalogId\":\"claude\",\"hostId\":\
         \"gateway:local\",\"threadId\":\"SESSION\"}'`; it is followed as soon as somebody watches it",
    )?;
    let disk = context.disk();
    let agent = agent(&args.agent)?;
    let sessions: Vec<SessionFile> = if args.all {
        disk.sessions().files
    } else {
        args.sessions.iter().map(|wanted| find_session(&disk, wanted)).collect::<Result<_>>()?
    };
    if sessions.is_empty() {
        return Err(Error::Failed(
            "there is no session below the Claude folders; --claude-dir names other folders"
                .to_owned(),
        ));
    }
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
        match adoption.adopt(session, &agent, from) {
            Ok(done) => adopted.push(done),
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
    if context.out.json {
        let adopted: Vec<_> = adopted
            .iter()
            .map(|AdoptedLink { link, created }| {
                json!({
                    "sessionKey": link.id.session_key,
                    "agentId": link.id.agent_id,
                    "hostId": link.host_id,
                    "threadId": link.thread_id,
                    "created": created,
                })
            })
            .collect();
        return context.out.json_line(&json!({ "adopted": adopted }));
    }
    for AdoptedLink { link, created } in &adopted {
        let thread = sanitise(link.thread_id.as_str());
        let key = sanitise(link.id.session_key.as_str());
        let line = match (created, args.from) {
            (true, _) => format!("adopted {thread} as {key}"),
            (false, From::End) => format!("already adopted: {thread} as {key}"),
            (false, From::Start) => format!(
                "already adopted: {thread} as {key}; it goes on from its marker (to count from the start, `unlink` it first)"
            ),
        };
        context.out.line(&line)?;
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
