//! `once`: one cycle over all links, and a report.

use super::classify::{verdict_json, verdict_line};
use super::links::none_followed;
use super::run::{Mode, plan};
use super::table::{Align, Table, sanitise};
use super::{Context, drift, output::Output};
use crate::classify::DriftCounts;
use crate::clock::{Clock as _, SystemClock};
use crate::cycle::{CycleReport, LinkReport};
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::Sequence;
use crate::record::{Event, EventFilter};
use clap::Args;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(super) struct OnceArgs {
    /// Say what a cycle would do; nothing is written anywhere
    #[arg(long)]
    dry_run: bool,
    /// Add the verdict on each row that was read (no text)
    #[arg(long)]
    explain: bool,
}

pub(super) fn run(args: &OnceArgs, context: Context) -> Result<()> {
    let mut plan = plan(&context, &context.loaded, Mode::Once);
    plan.rules.explain = args.explain;
    let clock = SystemClock;
    let mut engine = if args.dry_run { Engine::rehearse(plan)? } else { Engine::open(plan)? };
    let started = clock.now();
    let report = engine.cycle()?;
    if !args.dry_run {
        engine.prune()?;
    }
    let elapsed_ms = clock.now().ms_since(started);
    let events = match report.events.first() {
        Some(first) => {
            let filter = EventFilter { since: Sequence(first.0 - 1), ..EventFilter::default() };
            let mut events = engine.log().events(&filter, usize::MAX)?.events;
            events.retain(|event| report.events.contains(&event.sequence));
            events
        }
        None => Vec::new(),
    };
    let none = none_followed(&context.loaded.store);
    let mut out = context.out;
    if out.json {
        return out.json_line(&json!({
            "links": sources(&report).map(|link| link_json(link, args.explain)).collect::<Vec<_>>(),
            "events": events,
            "elapsedMs": elapsed_ms,
            "drift": drift::json(&all_drift(&report)),
        }));
    }
    if report.links.is_empty() {
        return out.line(none);
    }
    print(&mut out, &report, &events, elapsed_ms, args)
}

/// What was read: the file that each link names, and the forks of it.
fn sources(report: &CycleReport) -> impl Iterator<Item = &LinkReport> {
    report.links.iter().flat_map(LinkReport::each)
}

/// The names in all links' rows that no rule knows.
fn all_drift(report: &CycleReport) -> DriftCounts {
    let mut all = DriftCounts::default();
    for link in sources(report) {
        all.merge(&link.drift);
    }
    all
}

fn link_json(report: &LinkReport, explain: bool) -> Value {
    let link = &report.link;
    let rows: serde_json::Map<String, Value> =
        report.rows.iter().map(|(class, count)| (class.name().to_owned(), json!(count))).collect();
    let mut value = json!({
        "sessionKey": link.id.session_key,
        "agentId": link.id.agent_id,
        "catalogId": link.catalog_id,
        "hostId": link.host_id,
        "threadId": link.thread_id,
        "source": report.source,
        "outcome": report.outcome.as_str(),
        "rows": rows,
        "turns": report.turns,
        "echoes": report.echoes,
        "eventSequence": report.event,
        "markerBefore": link.marker(),
        "markerAfter": report.marker_after,
        "error": report.error,
    });
    if explain && let Some(object) = value.as_object_mut() {
        let verdicts = report.verdicts.iter().map(|row| verdict_json(row, true)).collect();
        object.insert("verdicts".to_owned(), Value::Array(verdicts));
    }
    value
}

fn print(
    out: &mut Output,
    report: &CycleReport,
    events: &[Event],
    elapsed_ms: i64,
    args: &OnceArgs,
) -> Result<()> {
    let mut table = Table::new(&[
        ("SESSION", Align::Left),
        ("OUTCOME", Align::Left),
        ("ROWS", Align::Right),
        ("TURNS", Align::Right),
        ("ECHOES", Align::Right),
        ("EVENT", Align::Right),
        ("MARKER", Align::Left),
    ]);
    for link in sources(report) {
        let offset =
            |marker: Option<u64>| marker.map_or("-".to_owned(), |offset| offset.to_string());
        let (before, after) = (link.link.marker(), link.marker_after);
        table.row(vec![
            sanitise(link.link.thread_id.as_str()),
            link.outcome.as_str().to_owned(),
            link.rows.values().sum::<u64>().to_string(),
            link.turns.to_string(),
            link.echoes.to_string(),
            link.event.map_or("-".to_owned(), |sequence| sequence.to_string()),
            if before == after {
                offset(after)
            } else {
                format!("{} → {}", offset(before), offset(after))
            },
        ]);
    }
    out.text(&table.render())?;
    for link in sources(report) {
        let thread = sanitise(link.link.thread_id.as_str());
        if let Some(error) = &link.error {
            out.line(&format!("{thread}: {}", sanitise(error)))?;
        }
        if link.skipped > 0 {
            out.line(&format!(
                "{thread}: {} places hold no rows and were stepped over",
                link.skipped
            ))?;
        }
        for row in &link.verdicts {
            out.line(&format!("{thread}  {}", verdict_line(row)))?;
        }
    }
    if let Some(list) = drift::listed(&all_drift(report)) {
        out.text(&list)?;
    }
    let recorded = match events.len() {
        0 => "no event".to_owned(),
        1 => "1 event".to_owned(),
        count => format!("{count} events"),
    };
    let would = if args.dry_run { " would be recorded (dry run: nothing was written)" } else { "" };
    out.line(&format!("{recorded}{would}, {elapsed_ms} ms"))
}
