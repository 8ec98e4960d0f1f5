//! `events`: the signal log, one event a line.

use super::Context;
use super::links::{is_known, resolve, unknown};
use super::table::sanitise;
use super::when::iso;
use crate::error::Result;
use crate::ids::Sequence;
use crate::record::{Event, EventFilter, Kind};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

/// Events read at a time.
const PAGE: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct EventsArgs {
    /// Only events after this sequence
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: i64,
    /// Only events of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)))]
    kind: Option<String>,
    /// Only events of this session: its key, or its session id
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
}

pub(super) fn run(args: &EventsArgs, mut context: Context) -> Result<()> {
    let Some(log) = context.read_log()? else { return Ok(()) };
    let session_key = match &args.session {
        Some(wanted) => {
            let key = resolve(&log, wanted)?;
            if !is_known(&log, &key)? {
                return Err(unknown(wanted));
            }
            Some(key)
        }
        None => None,
    };
    let since = Sequence(args.since);
    let mut filter = EventFilter { since, kind: args.kind.clone(), session_key };
    // Who starts at 0 asks for what there is; who names a sequence may have missed something.
    let mut gap_matters = args.since > 0;
    loop {
        let page = log.events(&filter, PAGE)?;
        if let Some(pruned) = page.gap.filter(|_| gap_matters) {
            if context.out.json {
                context
                    .out
                    .json_line(&json!({ "gap": { "since": since, "prunedUpTo": pruned } }))?;
            } else {
                context.out.line(&format!("Events up to {pruned} are no longer kept."))?;
            }
        }
        gap_matters = false;
        for event in &page.events {
            if context.out.json {
                context.out.json_line(event)?;
            } else {
                context.out.line(&event_line(event))?;
            }
        }
        if !page.more {
            return Ok(());
        }
        filter.since = page.next;
    }
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
