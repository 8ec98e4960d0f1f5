//! `sessions`: the Claude Code sessions on this machine, adopted or not.
//!
//! Always holds: no file's content is read, so that no title and no prompt can be shown.

use super::Context;
use super::table::{Align, Table};
use super::when::ago;
use crate::clock::{Clock as _, SystemClock};
use crate::disk::{Disk as _, FileStat, SessionFile};
use crate::error::Result;
use crate::ids::{AgentId, Sequence, SessionKey};
use crate::link::Link;
use crate::link::adopt::{DEFAULT_AGENT, session_key};
use crate::record::{LinkFilter, SignalLog};
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;
use tracing::warn;

/// A session, and what is known of it.
struct Row {
    file: SessionFile,
    stat: FileStat,
    adopted: bool,
    key: Option<SessionKey>,
    version: Sequence,
}

pub(super) fn list(mut context: Context) -> Result<()> {
    let disk = context.disk();
    let found = disk.sessions();
    if found.incomplete {
        warn!("A folder could not be listed; there may be more sessions.");
    }
    let log = context.read_log()?;
    let links = match &log {
        Some(log) => log.links(LinkFilter::All)?,
        None => Vec::new(),
    };
    let links: HashMap<PathBuf, Link> =
        links.into_iter().filter_map(|link| Some((link.path()?, link))).collect();
    let mut rows = Vec::new();
    for file in found.files {
        // What went away since it was listed is no session any more.
        let Some(stat) = disk.open(&file.path).ok().and_then(|file| file.stat().ok()) else {
            continue;
        };
        rows.push(row(file, stat, log.as_ref(), &links)?);
    }
    rows.sort_by(|a, b| {
        b.stat.modified.cmp(&a.stat.modified).then_with(|| a.file.path.cmp(&b.file.path))
    });
    if context.out.json {
        let sessions: Vec<_> = rows.iter().map(json).collect();
        return context.out.json_line(&json!({ "sessions": sessions }));
    }
    if rows.is_empty() {
        return context.out.line(
            "There is no session below the Claude folders; --claude-dir names other folders.",
        );
    }
    context.out.text(&table(&rows).render())
}

fn row(
    file: SessionFile,
    stat: FileStat,
    log: Option<&SignalLog>,
    links: &HashMap<PathBuf, Link>,
) -> Result<Row> {
    let link = links.get(&file.path).map(|link| link.id.clone());
    let adopted = link.is_some();
    let (key, agent) = link.map_or_else(
        || {
            let agent = AgentId::new(DEFAULT_AGENT);
            (session_key(&agent, &file.thread_id), agent)
        },
        |id| (id.session_key, id.agent_id),
    );
    let version = match log {
        Some(log) => log.state_version(&key, &agent)?,
        None => Sequence(0),
    };
    // A session that was followed once is still known by its key.
    let key = (adopted || version > Sequence(0)).then_some(key);
    Ok(Row { file, stat, adopted, key, version })
}

fn json(row: &Row) -> serde_json::Value {
    json!({
        "threadId": row.file.thread_id,
        "filePath": row.file.path.to_string_lossy(),
        "folder": row.file.path.parent().map(|folder| folder.to_string_lossy()),
        "bytes": row.stat.size,
        "modifiedAt": row.stat.modified,
        "adopted": row.adopted,
        "sessionKey": row.key,
        "stateVersion": row.version,
    })
}

fn table(rows: &[Row]) -> Table {
    let now = SystemClock.now();
    let mut table = Table::new(&[
        ("SESSION", Align::Left),
        ("ADOPTED", Align::Left),
        ("VERSION", Align::Right),
        ("SIZE", Align::Right),
        ("CHANGED", Align::Left),
        ("FOLDER", Align::Left),
    ]);
    for row in rows {
        let folder = row.file.path.parent().unwrap_or(&row.file.path);
        table.row(vec![
            row.file.thread_id.to_string(),
            if row.adopted { "yes" } else { "no" }.to_owned(),
            row.key.as_ref().map_or("-".to_owned(), |_| row.version.to_string()),
            size(row.stat.size),
            ago(row.stat.modified, now),
            folder.to_string_lossy().into_owned(),
        ]);
    }
    table
}

/// A size in the biggest unit that it is one or more of, rounded down to a tenth.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_told_in_one_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_048_575, "1023.9 KiB"),
            (5_767_168, "5.5 MiB"),
            (u64::MAX, "17179869183.9 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
