//! `links`, `unlink`: the adopted sessions.

use super::table::{Align, Table, sanitise};
use super::when::ago;
use super::{Context, backfill};
use crate::clock::{Clock as _, SystemClock};
use crate::cycle;
use crate::disk::{Disk, OpenError};
use crate::error::{Error, Result};
use crate::ids::{AgentId, Sequence, SessionKey, ThreadId, Timestamp};
use crate::journal::{Journal, SourceCursor};
use crate::link::adopt::{DEFAULT_AGENT, session_key};
use crate::link::{Fork, Link};
use crate::probe::successor::Beginnings;
use crate::record::{LinkFilter, SignalLog, Store};
use clap::Args;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(
    after_help = "--backfill is for a gateway's sessions that were adopted before OpenClaw kept links: \
                  each whose key is the hash of exactly one session on this machine is linked, and \
                  followed from the end of its file. Adoptions of which the signal log does not tell \
                  are recorded. Without --apply nothing is written."
)]
pub(super) struct LinksArgs {
    /// Say which adopted sessions of a gateway lack their link or their event
    #[arg(long)]
    backfill: bool,
    /// Make these links and events
    #[arg(long, requires = "backfill")]
    apply: bool,
}

#[derive(Debug, Args)]
pub(super) struct UnlinkArgs {
    /// The session: its key, or its session id
    #[arg(value_name = "KEY")]
    session: String,
}

/// How a link's source stands, without reading it.
struct Standing {
    state: &'static str,
    behind: Option<u64>,
    error: Option<String>,
}

pub(super) fn run(args: &LinksArgs, context: Context) -> Result<()> {
    if args.backfill { backfill::run(args.apply, context) } else { list(context) }
}

/// A link as it is shown.
struct Shown {
    link: Link,
    standing: Standing,
    version: Sequence,
    last_human: Option<Timestamp>,
    forks: Vec<Fork>,
    /// The sessions that go on from it and that nobody follows.
    successors: Vec<ThreadId>,
}

fn list(mut context: Context) -> Result<()> {
    let Some(log) = context.read_log()? else {
        return nothing(&mut context);
    };
    let shown = gather(&context, &log)?;
    if shown.is_empty() {
        return nothing(&mut context);
    }
    if context.out.json {
        let links: Vec<_> = shown.iter().map(as_json).collect();
        return context.out.json_line(&json!({ "links": links }));
    }
    print(&mut context, &shown)
}

/// The links, by session: keys are hashes, and their order would look like none.
fn gather(context: &Context, log: &SignalLog) -> Result<Vec<Shown>> {
    let journal = Journal::open_read_only(&context.state.journal())?;
    let disk = context.disk();
    let misses = context.loaded.settings.misses;
    let parked = journal.as_ref().map(Journal::parked).transpose()?.unwrap_or_default();
    let typed_at = log.last_human_at()?;
    let mut shown = Vec::new();
    for link in log.links(LinkFilter::All)? {
        let (mut cursor, mut forks) = (None, Vec::new());
        if let Some(journal) = &journal {
            cursor = journal.source(&link.id, &link.source_key())?.map(|(_, cursor)| cursor);
            forks = journal.forks(&link.id)?;
        }
        let standing = match link.path().and_then(|path| parked_since(&parked, &path)) {
            Some(since) => Standing::parked(since),
            None => standing(&disk, &link, cursor.as_ref(), misses),
        };
        shown.push(Shown {
            standing,
            version: log.state_version(&link.id.session_key, &link.id.agent_id)?,
            last_human: typed_at.get(&link.id).copied(),
            forks,
            successors: Vec::new(),
            link,
        });
    }
    find_successors(&mut shown, &disk, |path| parked_since(&parked, path).is_some());
    shown.sort_by(|a, b| a.link.thread_id.cmp(&b.link.thread_id));
    Ok(shown)
}

/// Looks for files beside the links' that go on from them and are not followed.
fn find_successors(shown: &mut [Shown], disk: &dyn Disk, is_parked: impl Fn(&Path) -> bool) {
    let files: Vec<PathBuf> = shown.iter().filter_map(|one| one.link.path()).collect();
    let folders: HashSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let beginnings = Beginnings::read(disk, |file| {
        file.parent().is_some_and(|folder| folders.contains(folder)) && !is_parked(file)
    });
    let forks = shown.iter().flat_map(|one| one.forks.iter().filter_map(Fork::path));
    let followed: HashSet<PathBuf> = files.iter().cloned().chain(forks).collect();
    for one in shown {
        let later = one.link.path().map(|path| beginnings.successors(&path)).unwrap_or_default();
        let unknown = later.into_iter().filter(|session| !followed.contains(&session.path));
        one.successors = unknown.map(|session| session.thread_id.clone()).collect();
    }
}

/// A link for programs.
fn as_json(shown: &Shown) -> Value {
    let link = &shown.link;
    let mut sources = vec![json!({
        "source": link.source_key(),
        "path": link.path(),
        "marker": link.marker(),
    })];
    sources.extend(shown.forks.iter().map(|fork| {
        let source = link.to_fork(fork.clone()).source_key();
        json!({"source": source, "path": fork.path(), "threadId": fork.thread_id})
    }));
    json!({
        "sessionKey": link.id.session_key,
        "agentId": link.id.agent_id,
        "catalogId": link.catalog_id,
        "hostId": link.host_id,
        "threadId": link.thread_id,
        "sources": sources,
        "state": shown.standing.state,
        "behindBytes": shown.standing.behind,
        "stateVersion": shown.version,
        "lastHumanAt": shown.last_human,
        "successors": shown.successors,
        "error": shown.standing.error,
    })
}

/// The links for people.
fn print(context: &mut Context, shown: &[Shown]) -> Result<()> {
    let now = SystemClock.now();
    let mut table = Table::new(&[
        ("SESSION", Align::Left),
        ("AGENT", Align::Left),
        ("STATE", Align::Left),
        ("BEHIND", Align::Right),
        ("VERSION", Align::Right),
        ("LAST PERSON", Align::Left),
        ("FILE", Align::Left),
    ]);
    let shown_path = |path: Option<PathBuf>| path.map(|path| sanitise(&path.to_string_lossy()));
    let none = || "-".to_owned();
    for Shown { link, standing, version, last_human, forks, .. } in shown {
        let place = link.on_node().map(|_| sanitise(link.host_id.as_str()));
        table.row(vec![
            sanitise(link.thread_id.as_str()),
            sanitise(link.id.agent_id.as_str()),
            standing.state.to_owned(),
            standing.behind.map_or_else(none, |bytes| bytes.to_string()),
            version.to_string(),
            last_human.map_or_else(none, |at| ago(at, now)),
            shown_path(link.path()).or(place).unwrap_or_else(none),
        ]);
        for fork in forks {
            table.row(vec![
                format!("  {}", sanitise(fork.thread_id.as_str())),
                none(),
                "fork".to_owned(),
                none(),
                none(),
                none(),
                shown_path(fork.path()).unwrap_or_else(none),
            ]);
        }
    }
    context.out.text(&table.render())?;
    for Shown { link, standing, successors, .. } in shown {
        let thread = sanitise(link.thread_id.as_str());
        if let Some(error) = &standing.error {
            context.out.line(&format!("{thread}: {}", sanitise(error)))?;
        }
        for other in successors {
            let other = sanitise(other.as_str());
            context.out.line(&format!(
                "{thread}: goes on in {other}, which is not followed; `upstreamd adopt {other}` does"
            ))?;
        }
    }
    Ok(())
}

fn nothing(context: &mut Context) -> Result<()> {
    if context.out.json {
        return context.out.json_line(&json!({ "links": [] }));
    }
    context.out.line(none_followed(context.store()))
}

/// What to do where no session is followed.
pub(super) const fn none_followed(store: &Store) -> &'static str {
    if store.is_gateway() {
        "No session is followed yet: adopt one in OpenClaw, and let a session watch it."
    } else {
        "No session is followed yet: `upstreamd run` follows all of them, `upstreamd adopt SESSION` one."
    }
}

impl Standing {
    /// Not asked: whoever asks hangs.
    fn parked(since: Timestamp) -> Self {
        let ago = ago(since, SystemClock.now());
        let error = format!("its disk does not answer; the daemon left it alone {ago}");
        Self { state: "parked", behind: None, error: Some(error) }
    }
}

/// Since when the daemon leaves a file alone.
fn parked_since(parked: &BTreeMap<PathBuf, Timestamp>, path: &Path) -> Option<Timestamp> {
    parked.iter().find(|(parked, _)| path.starts_with(parked)).map(|(_, since)| *since)
}

/// How the transcript of a paired node stands, as far as the daemon knows: nobody else asks it.
fn on_node(cursor: Option<&SourceCursor>, misses: u32) -> Standing {
    let misses_seen = cursor.map_or(0, |cursor| cursor.misses);
    let error = (misses_seen > 0)
        .then(|| format!("the node has no such session ({misses_seen} of {misses} sights)"));
    let state = match cursor {
        _ if error.is_some() => "missing",
        Some(cursor) if cursor.sighted_at.is_some() => "on_node",
        _ => "new",
    };
    Standing { state, behind: None, error }
}

fn standing(disk: &dyn Disk, link: &Link, cursor: Option<&SourceCursor>, misses: u32) -> Standing {
    let trouble = |state, error| Standing { state, behind: None, error: Some(error) };
    if link.on_node().is_some() {
        return on_node(cursor, misses);
    }
    let Some(path) = link.path() else {
        return trouble("refused", "the link names no file".to_owned());
    };
    let file = match disk.open(&path) {
        Ok(file) => file,
        Err(OpenError::Missing) => {
            let seen = cursor.map_or(0, |cursor| cursor.misses);
            return trouble("missing", format!("the file is missing ({seen} of {misses} sights)"));
        }
        Err(OpenError::Outside) => {
            return trouble(
                "refused",
                "the file is in no Claude folder; see --claude-dir".to_owned(),
            );
        }
        Err(OpenError::Unreadable(error)) => {
            return trouble("unreadable", format!("the file cannot be read: {error}"));
        }
    };
    let position = cursor.map(|cursor| cursor.position).or(link.marker());
    match (file.stat(), position) {
        (Err(error), _) => trouble("unreadable", format!("the file cannot be read: {error}")),
        (Ok(stat), Some(position)) if stat.size < position => {
            Standing { state: "rewritten", behind: Some(stat.size), error: None }
        }
        (Ok(stat), Some(position)) => {
            let state = if stat.size == position { "current" } else { "behind" };
            Standing { state, behind: Some(stat.size - position), error: None }
        }
        (Ok(stat), None) => Standing { state: "new", behind: Some(stat.size), error: None },
    }
}

pub(super) fn unlink(args: &UnlinkArgs, mut context: Context) -> Result<()> {
    context.require_alone(
        "unlink",
        "a session is followed as long as it is adopted in OpenClaw and somebody watches it; end its \
         watches (`upstreamd watch list`), or delete the session in OpenClaw",
    )?;
    let Some(reading) = context.read_log()? else {
        return Err(no_such(&args.session));
    };
    let key = resolve(&reading, &args.session)?;
    drop(reading);
    let mut log = context.write_log()?;
    let links = log.links_of(&key)?;
    if links.is_empty() {
        return Err(no_such(&args.session));
    }
    let journal = Journal::open(&context.state.journal(), &context.state.hash_key()?)?;
    for link in &links {
        cycle::unlink(&mut log, &journal, &link.id)?;
    }
    if context.out.json {
        return context.out.json_line(&json!({ "unlinked": [key] }));
    }
    context.out.line(&format!("no longer followed: {}", sanitise(key.as_str())))
}

fn no_such(session: &str) -> Error {
    Error::Failed(format!("no adopted session {session}: `upstreamd links` lists them"))
}

/// Whether anything is known of a session: it is adopted, or events tell of it.
pub(super) fn is_known(log: &SignalLog, key: &SessionKey) -> Result<bool> {
    if !log.links_of(key)?.is_empty() {
        return Ok(true);
    }
    match key.agent() {
        Some(agent) => Ok(log.state_version(key, &agent)? > Sequence(0)),
        None => Ok(false),
    }
}

/// The session key that a person means: a key, or the session id of an adopted session.
pub(super) fn resolve(log: &SignalLog, wanted: &str) -> Result<SessionKey> {
    let links = log.links(LinkFilter::All)?;
    let mut by_thread: Vec<&SessionKey> = links
        .iter()
        .filter(|link| link.thread_id.as_str() == wanted)
        .map(|link| &link.id.session_key)
        .collect();
    by_thread.dedup();
    match by_thread.as_slice() {
        [key] => Ok((*key).clone()),
        [] => {
            // A session that was followed once is still known by its id.
            let once = session_key(&AgentId::new(DEFAULT_AGENT), &ThreadId::new(wanted));
            Ok(if is_known(log, &once)? { once } else { SessionKey::new(wanted) })
        }
        _ => Err(Error::Failed(format!(
            "session {wanted} is adopted by more than one agent: give its session key, from `upstreamd links --json`",
        ))),
    }
}

/// The error of a command that needs a session that is known.
pub(super) fn unknown(session: &str) -> Error {
    Error::Failed(format!(
        "nothing is known of a session {session}: `upstreamd links` lists the adopted ones"
    ))
}
