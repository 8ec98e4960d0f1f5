//! `status`: totals, or one session's state version and changes.

use super::links::{is_known, resolve, unknown};
use super::table::sanitise;
use super::when::ago;
use super::{Context, table::Align, table::Table};
use crate::clock::{Clock as _, SystemClock};
use crate::error::Result;
use crate::ids::Sequence;
use crate::lock;
use crate::record::{LinkFilter, SignalLog};
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// The session: its key, or its session id
    #[arg(value_name = "KEY")]
    session: Option<String>,
    /// The events after this state version
    #[arg(long, value_name = "VERSION", requires = "session")]
    changes_since: Option<i64>,
}

pub(super) fn run(args: &StatusArgs, mut context: Context) -> Result<()> {
    let log = context.read_log()?;
    match (&args.session, log) {
        (None, log) => totals(&mut context, log.as_ref()),
        (Some(session), Some(log)) => of_session(&mut context, &log, session, args.changes_since),
        (Some(session), None) => Err(unknown(session)),
    }
}

fn totals(context: &mut Context, log: Option<&SignalLog>) -> Result<()> {
    let (links, watches, pending, newest) = match log {
        Some(log) => (
            log.links(LinkFilter::All)?.len(),
            log.watches(None)?.len(),
            log.pending(None)?.len(),
            log.newest_sequence()?,
        ),
        None => (0, 0, 0, Sequence::default()),
    };
    let daemon = lock::holder(&context.state)?;
    if context.out.json {
        return context.out.json_line(&json!({
            "running": daemon,
            "version": env!("CARGO_PKG_VERSION"),
            "stateDir": context.state.path(),
            "links": links,
            "watches": watches,
            "pendingNotices": pending,
            "lastSequence": newest,
        }));
    }
    let shown = [
        ("running", daemon.map_or("nobody".to_owned(), |daemon| sanitise(&daemon))),
        ("state folder", sanitise(&context.state.path().to_string_lossy())),
        ("sessions followed", links.to_string()),
        ("watches", format!("{watches}, {pending} with a notice waiting")),
        ("newest event", newest.to_string()),
    ];
    for (what, value) in shown {
        context.out.line(&format!("{what:<18} {value}"))?;
    }
    Ok(())
}

fn of_session(
    context: &mut Context,
    log: &SignalLog,
    session: &str,
    since: Option<i64>,
) -> Result<()> {
    let key = resolve(log, session)?;
    if !is_known(log, &key)? {
        return Err(unknown(session));
    }
    let of_link = log.links_of(&key)?.into_iter().next().map(|link| link.id.agent_id);
    let agent = of_link.or_else(|| key.agent()).ok_or_else(|| unknown(session))?;
    let version = log.state_version(&key, &agent)?;
    let changes =
        since.map(|since| log.changes_since(&key, &agent, Sequence(since))).transpose()?;
    if context.out.json {
        let mut value = json!({ "sessionKey": key, "agentId": agent, "stateVersion": version });
        if let (Some(object), Some(changes)) = (value.as_object_mut(), &changes) {
            object.insert("stateChanges".to_owned(), json!(changes));
        }
        return context.out.json_line(&value);
    }
    context.out.line(&format!("session        {}", sanitise(key.as_str())))?;
    context.out.line(&format!("agent          {}", sanitise(agent.as_str())))?;
    context.out.line(&format!("state version  {version}"))?;
    let Some(changes) = changes else { return Ok(()) };
    if changes.history_gap {
        context.out.line("Events after the version that you gave are no longer kept.")?;
    }
    if changes.events.is_empty() {
        return context.out.line("no changes");
    }
    let now = SystemClock.now();
    let mut table = Table::new(&[
        ("VERSION", Align::Right),
        ("WHEN", Align::Left),
        ("WHO", Align::Left),
        ("WHAT", Align::Left),
    ]);
    for event in &changes.events {
        table.row(vec![
            event.sequence.to_string(),
            ago(event.occurred_at, now),
            sanitise(&event.actor_type),
            sanitise(&event.summary),
        ]);
    }
    context.out.text(&table.render())?;
    if changes.truncated {
        context.out.line("There are more; ask again with the last version shown.")?;
    }
    Ok(())
}
