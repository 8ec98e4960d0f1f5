//! `watch`: which session watches which.

use super::Context;
use super::links::{is_known, resolve};
use super::table::{Align, Table, sanitise};
use super::when::ago;
use crate::clock::{Clock as _, SystemClock};
use crate::error::{Error, Result};
use crate::ids::SessionKey;
use clap::{Args, Subcommand};
use serde_json::json;

#[derive(Debug, Subcommand)]
pub(super) enum WatchCommand {
    /// Let a session watch another; what happened before never notifies
    Add(Pair),
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

pub(super) fn run(command: &WatchCommand, context: Context) -> Result<()> {
    match command {
        WatchCommand::Add(pair) => add(pair, context),
        WatchCommand::List => list(context),
        WatchCommand::Remove(pair) => remove(pair, context),
    }
}

fn add(pair: &Pair, mut context: Context) -> Result<()> {
    let mut log = context.write_log()?;
    let watcher = SessionKey::new(pair.watcher.as_str());
    let target = resolve(&log, &pair.target)?;
    if !is_known(&log, &target)? {
        return Err(Error::Failed(format!(
            "nothing is known of a session {}: adopt it first (`upstreamd adopt`)",
            pair.target
        )));
    }
    let created = log.watch(&watcher, &target, None, SystemClock.now())?;
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
