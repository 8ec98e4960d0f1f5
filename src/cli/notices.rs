//! `notices`: what waits for a watcher.

use super::Context;
use super::table::sanitise;
use crate::clock::{Clock as _, SystemClock};
use crate::error::Result;
use crate::ids::SessionKey;
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub(super) struct NoticesArgs {
    /// The watching session, `agent:<id>:<rest>`
    watcher: String,
    /// Acknowledge the notices that are shown
    #[arg(long)]
    ack: bool,
}

pub(super) fn run(args: &NoticesArgs, mut context: Context) -> Result<()> {
    let watcher = SessionKey::new(args.watcher.as_str());
    let pending = match context.read_log()? {
        Some(log) => log.pending(Some(&watcher))?,
        None => Vec::new(),
    };
    let mut shown = Vec::new();
    for watch in pending {
        match watch.text() {
            Ok(text) => shown.push((watch, text)),
            Err(error) => tracing::warn!(%error, "A notice was refused."),
        }
    }
    if context.out.json {
        let notices: Vec<_> = shown
            .iter()
            .map(|(watch, text)| {
                json!({
                    "watcher": watcher,
                    "target": watch.target,
                    "lastSeen": watch.last_seen,
                    "state": if args.ack { "acked" } else { "queued" },
                    "text": text,
                })
            })
            .collect();
        context.out.json_line(&json!({ "notices": notices }))?;
    } else if shown.is_empty() {
        context.out.line("no notices")?;
    } else {
        for (_, text) in &shown {
            context.out.line(&sanitise(text))?;
        }
    }
    if args.ack && !shown.is_empty() {
        // After printing: what could not be shown is not acknowledged.
        let mut log = context.write_log()?;
        for (watch, _) in &shown {
            log.acknowledge(watch, SystemClock.now())?;
        }
    }
    Ok(())
}
