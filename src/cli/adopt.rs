//! `adopt`: begin to follow a session.

use super::Context;
use super::table::sanitise;
use crate::clock::{Clock as _, SystemClock};
use crate::disk::{Disk as _, SessionFile};
use crate::error::{Error, Result};
use crate::ids::AgentId;
use crate::link::adopt::{find_session, link};
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
    #[arg(long, default_value = "main")]
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
    let disk = context.disk();
    let agent = agent(&args.agent)?;
    let sessions: Vec<SessionFile> = if args.all {
        disk.sessions()
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
    let mut adopted = Vec::new();
    for session in &sessions {
        match link(&disk, session, &agent, args.from == From::Start) {
            Ok(link) => {
                let created = log.adopt(&link, SystemClock.now())?.created;
                adopted.push((link, created));
            }
            // Nobody named it: the others are still meant.
            Err(error) if args.all => warn!(%error, "A session was left out."),
            Err(error) => return Err(error),
        }
    }
    if context.out.json {
        let adopted: Vec<_> = adopted
            .iter()
            .map(|(link, created)| {
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
    for (link, created) in &adopted {
        let word = if *created { "adopted" } else { "already adopted:" };
        let thread = sanitise(link.thread_id.as_str());
        context
            .out
            .line(&format!("{word} {thread} as {}", sanitise(link.id.session_key.as_str())))?;
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
