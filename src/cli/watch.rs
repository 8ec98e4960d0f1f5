//! `watch`: which session watches which.

use super::Context;
use super::links::{is_known, resolve};
use super::table::{Align, Table, sanitise};
use super::when::ago;
use crate::clock::{Clock as _, SystemClock};
use crate::error::{Error, Result};
use crate::ids::SessionKey;
use crate::record::SignalLog;
use clap::{Args, Subcommand};
use serde_json::json;

/// The agent in the keys of Claude Code sessions, which have a door of their own.
const CLAUDE: &str = "claude";

#[derive(Debug, Subcommand)]
pub(super) enum WatchCommand {
    /// Let a session watch another; what happened before never notifies
    Add(AddArgs),
    /// List who watches what
    List,
    /// End a watch
    Remove(Pair),
}

#[derive(Debug, Args)]
pub(super) struct Pair {
    /// The session that is told, `agent:<id>:<rest>`
    watcher: String,
    /// The session that is watched: its key, or its session id
    target: String,
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    #[command(flatten)]
    pair: Pair,
    /// The watcher is no session of the gateway's, but a script or another program that asks for its
    /// notices itself
    #[arg(long)]
    outside: bool,
}

pub(super) fn run(command: &WatchCommand, context: Context) -> Result<()> {
    match command {
        WatchCommand::Add(args) => add(&args.pair, args.outside, context),
        WatchCommand::List => list(context),
        WatchCommand::Remove(pair) => remove(pair, context),
    }
}

fn add(pair: &Pair, outside: bool, mut context: Context) -> Result<()> {
    let mut log = context.write_log()?;
    let watcher = SessionKey::new(pair.watcher.as_str());
    let target = resolve(&log, &pair.target)?;
    if !is_known(&log, &target)? {
        return Err(Error::Failed(format!(
            "nothing is known of a session {}: adopt it first ({})",
            pair.target,
            if log.is_gateways() { "in OpenClaw" } else { "`upstreamd adopt`" }
        )));
    }
    let store_path = if outside { None } else { store_path(&log, &watcher)? };
    let created = log.watch(&watcher, &target, store_path.as_deref(), SystemClock.now())?;
    let cursors = log.watches(Some(&watcher))?;
    let cursor = cursors.iter().find(|watch| watch.target == target);
    let last_seen = cursor.map(|watch| watch.last_seen).unwrap_or_default();
    if context.out.json {
        return context.out.json_line(&json!({
            "watcher": watcher,
            "target": target,
            "lastSeen": last_seen,
            "created": created,
        }));
    }
    let word = if created { "watches" } else { "already watches" };
    context.out.line(&format!(
        "{} {word} {} from version {}",
        sanitise(watcher.as_str()),
        sanitise(target.as_str()),
        last_seen,
    ))
}

/// Where the watcher's sessions are kept, which a gateway compares before it tells a session of its
/// own; none for a watcher that it does not know.
fn store_path(log: &SignalLog, watcher: &SessionKey) -> Result<Option<String>> {
    let Some(agent) = watcher.agent().filter(|_| log.is_gateways()) else { return Ok(None) };
    let known = log.agent_databases()?;
    let of_agent = known.iter().filter(|database| database.agent_id == agent);
    // A database that is not there any more is of an agent's earlier life.
    let mut found = of_agent.filter_map(|database| fs_err::canonicalize(&database.path).ok());
    match found.next() {
        Some(path) => {
            path.into_os_string().into_string().map(Some).map_err(|path| {
                Error::Failed(format!("{} is no UTF-8 path", path.to_string_lossy()))
            })
        }
        None if agent.as_str() == CLAUDE => Ok(None),
        None => {
            let mut agents: Vec<_> = known.iter().map(|known| known.agent_id.as_str()).collect();
            agents.sort_unstable();
            agents.dedup();
            let agents = if agents.is_empty() { "none yet".to_owned() } else { agents.join(", ") };
            Err(Error::Failed(format!(
                "the gateway keeps no sessions of an agent {agent} (those that it knows: {agents}), \
                 and would drop the notices of {watcher}: begin a session of that agent first, or say \
                 --outside for a watcher that asks for its notices itself",
            )))
        }
    }
}

fn list(mut context: Context) -> Result<()> {
    let watches = match context.read_log()? {
        Some(log) => log.watches(None)?,
        None => Vec::new(),
    };
    if context.out.json {
        return context.out.json_line(&json!({ "watches": watches }));
    }
    if watches.is_empty() {
        return context
            .out
            .line("Nobody watches. Add a watch with `upstreamd watch add WATCHER SESSION`.");
    }
    let now = SystemClock.now();
    let mut table = Table::new(&[
        ("WATCHER", Align::Left),
        ("STATE", Align::Left),
        ("SEEN", Align::Right),
        ("NEWEST", Align::Right),
        ("CHANGED", Align::Left),
        ("TARGET", Align::Left),
    ]);
    for watch in &watches {
        let state = if watch.material > watch.last_seen { "notice waits" } else { "current" };
        table.row(vec![
            sanitise(watch.watcher.as_str()),
            state.to_owned(),
            watch.last_seen.to_string(),
            watch.material.to_string(),
            ago(watch.updated_at, now),
            sanitise(watch.target.as_str()),
        ]);
    }
    context.out.text(&table.render())
}

fn remove(pair: &Pair, mut context: Context) -> Result<()> {
    let watcher = SessionKey::new(pair.watcher.as_str());
    let gone = match context.read_log()? {
        Some(reading) => {
            let target = resolve(&reading, &pair.target)?;
            drop(reading);
            let removed = context.write_log()?.unwatch(&watcher, Some(&target))?;
            (removed > 0).then_some(target)
        }
        None => None,
    };
    let Some(target) = gone else {
        return Err(Error::Failed(format!(
            "{} does not watch {}: `upstreamd watch list` shows who watches what",
            pair.watcher, pair.target
        )));
    };
    if context.out.json {
        return context
            .out
            .json_line(&json!({ "removed": { "watcher": watcher, "target": target } }));
    }
    context.out.line(&format!(
        "{} no longer watches {}",
        sanitise(watcher.as_str()),
        sanitise(target.as_str())
    ))
}
