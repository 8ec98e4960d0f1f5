//! `links --backfill`: links and events for what a gateway adopted before it kept them.

use super::Context;
use super::table::{Align, Table, sanitise};
use crate::clock::{Clock as _, SystemClock};
use crate::cycle::{AdoptedSession, Backfill, BackfillReport, EventState, LinkState};
use crate::error::Result;
use crate::ids::ThreadId;
use crate::openclaw::sessions::SessionStores;
use serde_json::json;
use tracing::warn;

pub(super) fn run(apply: bool, mut context: Context) -> Result<()> {
    let store = context.require_gateway(
        "links --backfill",
        "a session is adopted there by its link alone, so that none can lack it; `upstreamd adopt \
         SESSION` adopts one",
    )?;
    let mut log = if apply {
        context.write_log()?
    } else if context.read_log()?.is_some() {
        // The same steps, on a copy that nobody keeps.
        context.store().copy_in_memory()?
    } else {
        return print(&mut context, &BackfillReport::default(), apply);
    };
    let mut sessions = SessionStores::beneath(&store.folder, context.state.hash_key_unsaved()?);
    let places = log.agent_databases()?;
    sessions.set_places(places.into_iter().map(|found| (found.agent_id, found.path)));
    let disk = context.disk();
    let now = SystemClock.now();
    let report = Backfill { log: &mut log, sessions: &sessions, disk: &disk, now }.run()?;
    if report.incomplete {
        warn!("A folder could not be listed; there may be more sessions.");
    }
    for unavailable in &report.unavailable {
        warn!(reason = %unavailable, "The sessions of an agent were left out.");
    }
    print(&mut context, &report, apply)
}

fn print(context: &mut Context, report: &BackfillReport, is_real: bool) -> Result<()> {
    let out = &mut context.out;
    if out.json {
        let sessions: Vec<_> = report.sessions.iter().map(|found| json(found, is_real)).collect();
        return out.json_line(&json!({ "backfill": sessions }));
    }
    let mut told: Vec<_> = report.sessions.iter().filter(|found| !found.is_complete()).collect();
    // By session, as in `links`; at the end those of which only the key is certain.
    told.sort_by_key(|found| (found.thread_id.is_none(), found.thread_id.as_ref()));
    if told.is_empty() {
        return out.line("No adopted session lacks its link or its event.");
    }
    let mut table = Table::new(&[
        ("SESSION", Align::Left),
        ("AGENT", Align::Left),
        ("STATE", Align::Left),
        ("ADOPTED EVENT", Align::Left),
        ("FILE", Align::Left),
    ]);
    let words = |word: &str| word.replace('_', " ");
    for found in &told {
        table.row(vec![
            short(found),
            found.id.agent_id.to_string(),
            words(found.state.word(is_real)),
            found.event.map_or("-".to_owned(), |event| words(event.word(is_real))),
            found.path.as_ref().map_or("-".to_owned(), |path| path.to_string_lossy().into_owned()),
        ]);
    }
    out.text(&table.render())?;
    for found in &told {
        if let Some(error) = &found.error {
            out.line(&format!("{}: {}", sanitise(name(found)), sanitise(error)))?;
        }
    }
    let links = told.iter().filter(|found| found.state == LinkState::Linked).count();
    let events = told.iter().filter(|found| found.event == Some(EventState::Recorded)).count();
    out.line(&match (is_real, links + events) {
        (true, _) => format!("links made: {links}, events recorded: {events}"),
        (false, 0) => "There is nothing that --apply could do.".to_owned(),
        (false, _) => {
            format!("links to make: {links}, events to record: {events}; --apply does it")
        }
    })
}

/// The session's id; its key where that is all that is certain.
fn name(found: &AdoptedSession) -> &str {
    found.thread_id.as_ref().map_or(found.id.session_key.as_str(), ThreadId::as_str)
}

/// The same for a table: of a key the beginning of its hash.
fn short(found: &AdoptedSession) -> String {
    found.thread_id.as_ref().map_or_else(
        || {
            let hash = found.id.session_key.as_str().rsplit(':').next().unwrap_or_default();
            format!("{}…", hash.chars().take(16).collect::<String>())
        },
        ToString::to_string,
    )
}

fn json(found: &AdoptedSession, is_real: bool) -> serde_json::Value {
    json!({
        "sessionKey": found.id.session_key,
        "agentId": found.id.agent_id,
        "threadId": found.thread_id,
        "path": found.path.as_ref().map(|path| path.to_string_lossy()),
        "state": found.state.word(is_real),
        "adoptedEvent": found.event.map(|event| event.word(is_real)),
        "error": found.error,
    })
}
