//! `status`: totals, or one session's state version and changes.

use super::links::{is_known, resolve, unknown};
use super::table::sanitise;
use super::when::ago;
use super::{Context, table::Align, table::Table};
use crate::clock::{Clock as _, SystemClock};
use crate::error::Result;
use crate::ids::Sequence;
use crate::lock;
use crate::openclaw::this_host;
use crate::record::{LinkFilter, Owner, SignalLog};
use clap::Args;
use serde_json::{Value, json};

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
    let owner = log.map(SignalLog::owner).transpose()?.flatten();
    let obstacle = log.and_then(SignalLog::obstacle);
    if context.out.json {
        return context.out.json_line(&json!({
            "running": daemon,
            "version": env!("CARGO_PKG_VERSION"),
            "stateDir": context.state.path(),
            "store": context.store().word(),
            "signalLog": context.store().path().to_string_lossy(),
            "schemaVersion": log.map(SignalLog::schema_version),
            "readOnly": obstacle,
            "gateway": owner.as_ref().map(owner_json),
            "links": links,
            "watches": watches,
            "pendingNotices": pending,
            "lastSequence": newest,
        }));
    }
    let of = if context.store().is_gateway() { "the gateway's" } else { "our own" };
    let path = context.store().path().to_string_lossy();
    let mut shown = vec![
        ("running", daemon.map_or("nobody".to_owned(), |daemon| sanitise(&daemon))),
        ("state folder", sanitise(&context.state.path().to_string_lossy())),
        ("signal log", format!("{} ({of})", sanitise(&path))),
        ("sessions followed", links.to_string()),
        ("watches", format!("{watches}, {pending} with a notice waiting")),
        ("newest event", newest.to_string()),
    ];
    if context.store().is_gateway() {
        shown.push(("gateway", owner_line(owner.as_ref())));
    }
    if let Some(obstacle) = obstacle {
        shown.push(("only read", format!("the signal log {}", sanitise(obstacle))));
    }
    for (what, value) in shown {
        context.out.line(&format!("{what:<18} {value}"))?;
    }
    Ok(())
}

/// A gateway for programs.
fn owner_json(owner: &Owner) -> Value {
    json!({
        "live": owner.is_live(SystemClock.now()),
        "host": owner.host,
        "elsewhere": owner.is_elsewhere(&this_host()),
        "pid": owner.pid,
        "port": owner.port,
        "since": owner.since,
        "expiresAt": owner.expires_at,
    })
}

/// A gateway for people.
fn owner_line(owner: Option<&Owner>) -> String {
    let now = SystemClock.now();
    let Some(owner) = owner.filter(|owner| owner.is_live(now)) else {
        return "none runs".to_owned();
    };
    let number = |number: Option<i64>| number.map_or("?".to_owned(), |number| number.to_string());
    let process = format!(
        "process {}, port {}, since {}",
        number(owner.pid),
        number(owner.port.map(i64::from)),
        ago(owner.since, now)
    );
    match &owner.host {
        Some(host) if owner.is_elsewhere(&this_host()) => {
            format!(
                "on another host, {}: {process}; its sessions get no notices from here",
                sanitise(host)
            )
        }
        _ => process,
    }
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
