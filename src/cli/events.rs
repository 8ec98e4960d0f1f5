//! `events`: the signal log, one event a line.

use super::Context;
use super::links::resolve;
use super::table::sanitise;
use super::when::iso;
use crate::error::Result;
use crate::ids::Sequence;
use crate::record::{Event, EventQuery};
use clap::Args;
use serde_json::{Value, json};

/// Events read at a time.
const PAGE: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct EventsArgs {
    /// Only events after this sequence
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: i64,
    /// Only events of this kind, such as `human_direct_message`
    #[arg(long)]
    kind: Option<String>,
    /// Only events of this session: its key, or its session id
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
}

pub(super) fn run(args: &EventsArgs, mut context: Context) -> Result<()> {
    let Some(log) = context.read_log()? else { return Ok(()) };
    let session = args.session.as_deref().map(|wanted| resolve(&log, wanted)).transpose()?;
    let mut query = EventQuery {
        since: Sequence(args.since),
        kind: args.kind.clone(),
        session,
        limit: PAGE,
    };
    loop {
        let page = log.events(&query)?;
        for event in &page {
            if context.out.json {
                context.out.json_line(&event_json(event))?;
            } else {
                context.out.line(&event_line(event))?;
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE => query.since = last.sequence,
            _ => return Ok(()),
        }
    }
}

/// The machine form of an event.
pub(super) fn event_json(event: &Event) -> Value {
    let payload = event.payload_json.as_deref().map(|text| {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    });
    json!({
        "sequence": event.sequence,
        "sessionKey": event.session_key,
        "agentId": event.agent_id,
        "sessionId": event.session_id,
        "kind": event.kind,
        "actorType": event.actor_type,
        "actorId": event.actor_id,
        "runId": event.run_id,
        "occurredAt": event.occurred_at,
        "summary": event.summary,
        "payload": payload,
    })
}

fn event_line(event: &Event) -> String {
    let turns = event
        .payload_json
        .as_deref()
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .and_then(|payload| payload.get("turns")?.as_u64())
        .map_or_else(String::new, |turns| format!(" ({turns} turns)"));
    format!(
        "{:>6}  {}  {}{turns}  {}",
        event.sequence.0,
        iso(event.occurred_at),
        sanitise(&event.summary),
        sanitise(event.session_key.as_str()),
    )
}
