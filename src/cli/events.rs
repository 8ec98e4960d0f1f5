//! `events`: the signal log, one event a line.

use super::Context;
use super::links::{is_known, resolve, unknown};
use super::output::Output;
use super::table::sanitise;
use super::when::iso;
use crate::error::Result;
use crate::ids::{Sequence, SessionKey};
use crate::record::{Event, EventFilter, Kind, SignalLog};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

/// Events read at a time.
const PAGE: usize = 1_000;

#[derive(Debug, Args)]
#[command(
    after_help = "Events that retention took before they were seen are told by a line of their own, \
                  with --json {\"gap\":{\"since\":SEQ,\"prunedUpTo\":SEQ}}: state that was built from \
                  earlier events is to be built anew. A reader that keeps the last sequence goes on \
                  with --since."
)]
pub(super) struct EventsArgs {
    /// Go on with new events as they are recorded, until Ctrl-C; waits for a log or a session that is
    /// not there yet
    #[arg(short, long)]
    pub(super) follow: bool,
    /// Only events after this sequence
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: i64,
    /// Only events of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)))]
    kind: Option<String>,
    /// Only events of this session: its key, or its session id
    #[arg(long, value_name = "KEY")]
    pub(super) session: Option<String>,
}

pub(super) fn run(args: &EventsArgs, mut context: Context) -> Result<()> {
    if args.follow {
        return super::follow::run(args, context);
    }
    let Some(log) = context.read_log()? else { return Ok(()) };
    Stream::new(args, session(args, &log)?).print(&log, &mut context.out)
}

/// The session whose events are meant, which must be known; `None` means all.
pub(super) fn session(args: &EventsArgs, log: &SignalLog) -> Result<Option<SessionKey>> {
    let Some(wanted) = &args.session else { return Ok(None) };
    let key = resolve(log, wanted)?;
    if is_known(log, &key)? { Ok(Some(key)) } else { Err(unknown(wanted)) }
}

/// A reader of the log, and how far it has come.
pub(super) struct Stream {
    filter: EventFilter,
    /// Who starts at 0 asks for what there is; who names a sequence may have missed something.
    gap_matters: bool,
}

impl Stream {
    pub(super) fn new(args: &EventsArgs, session_key: Option<SessionKey>) -> Self {
        let since = Sequence(args.since);
        Self {
            filter: EventFilter { since, kind: args.kind.clone(), session_key },
            gap_matters: args.since > 0,
        }
    }

    /// Prints all events that there are after those that were printed.
    pub(super) fn print(&mut self, log: &SignalLog, out: &mut Output) -> Result<()> {
        loop {
            let since = self.filter.since;
            let page = log.events(&self.filter, PAGE)?;
            if let Some(pruned) = page.gap.filter(|_| self.gap_matters) {
                if out.json {
                    out.json_line(&json!({ "gap": { "since": since, "prunedUpTo": pruned } }))?;
                } else {
                    out.line(&format!("Events up to {pruned} are no longer kept."))?;
                }
            }
            self.gap_matters = false;
            for event in &page.events {
                if out.json {
                    out.json_line(event)?;
                } else {
                    out.line(&event_line(event))?;
                }
            }
            self.filter.since = page.next;
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Goes on behind an event, also where it was of another kind or session; what retention takes
    /// from there on before it is read is missed.
    pub(super) fn go_on_after(&mut self, event: Sequence) {
        self.filter.since = self.filter.since.max(event);
        self.gap_matters = true;
    }

    /// Goes on behind an event that comes before those that were printed.
    pub(super) fn go_back_to(&mut self, event: Sequence) {
        self.filter.since = self.filter.since.min(event);
    }
}

/// The turns that an event stands for, where it says so.
pub(super) fn turns(event: &Event) -> Option<u64> {
    let payload: Value = serde_json::from_str(event.payload_json.as_deref()?).ok()?;
    payload.get("turns")?.as_u64()
}

fn event_line(event: &Event) -> String {
    let turns = turns(event).map_or_else(String::new, |turns| format!(" ({turns} turns)"));
    format!(
        "{:>6}  {}  {}{turns}  {}",
        event.sequence.0,
        iso(event.occurred_at),
        sanitise(&event.summary),
        sanitise(event.session_key.as_str()),
    )
}
