//! Backfill: which session on disk an adoption without a link is of.
//!
//! Always holds: a session's key is the hash of its id, so that one is taken only where the key comes
//! out the same; what an entry says of itself is a hint that must pass that test too.

use super::adopt::{LOCAL_HOST, key_prefix, session_key, session_key_on};
use crate::disk::SessionFile;
use crate::ids::{AgentId, HostId, SessionKey, ThreadId};
use crate::openclaw::sessions::Entry;
use std::collections::{BTreeSet, HashMap};

/// The sessions on disk, by the keys that an agent's adoptions of them have.
#[derive(Debug)]
pub struct Candidates<'a> {
    agent: AgentId,
    by_key: HashMap<SessionKey, Vec<&'a SessionFile>>,
    /// The paired nodes that are known.
    nodes: &'a BTreeSet<HostId>,
}

/// Why an adoption without a link is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmatched<'a> {
    /// It is of a session that has several files: nothing says which of them is meant.
    SeveralFiles(Vec<&'a SessionFile>),
    /// Of a session that is nowhere on disk; its id, where the entry names the one that gives the key.
    NoFile(Option<ThreadId>),
    /// Of a session of a paired node; its id likewise.
    OfANode(Option<ThreadId>),
    /// Not to be followed: it was archived.
    Archived,
    /// Not yet: OpenClaw is just making it, and its link with it.
    Initializing,
}

impl<'a> Candidates<'a> {
    /// The candidates of one agent.
    #[must_use]
    pub fn of(agent: &AgentId, files: &'a [SessionFile], nodes: &'a BTreeSet<HostId>) -> Self {
        let mut by_key: HashMap<_, Vec<_>> = HashMap::new();
        for file in files {
            by_key.entry(session_key(agent, &file.thread_id)).or_default().push(file);
        }
        Self { agent: agent.clone(), by_key, nodes }
    }

    /// The file of the session that was adopted under this key and has this entry.
    pub fn find(&self, key: &SessionKey, entry: &Entry) -> Result<&'a SessionFile, Unmatched<'a>> {
        if entry.initializing {
            return Err(Unmatched::Initializing);
        }
        if entry.archived {
            return Err(Unmatched::Archived);
        }
        let named = entry.source_thread.as_ref();
        let host = entry.source_host.as_ref().filter(|host| host.as_str() != LOCAL_HOST);
        let is_of = |host: &HostId, thread| session_key_on(&self.agent, host, thread) == *key;
        let of_a_node = named.filter(|id| host.into_iter().chain(self.nodes).any(|h| is_of(h, id)));
        if host.is_some() || of_a_node.is_some() {
            return Err(Unmatched::OfANode(of_a_node.cloned()));
        }
        match self.by_key.get(key).map_or(&[][..], Vec::as_slice) {
            [] => {
                let is_it = |id: &&ThreadId| session_key(&self.agent, id) == *key;
                Err(Unmatched::NoFile(named.filter(is_it).cloned()))
            }
            [file] => Ok(*file),
            several => Err(Unmatched::SeveralFiles(several.to_vec())),
        }
    }
}

/// Whether a key is that of an agent's adopted session of Claude Code.
#[must_use]
pub fn is_adoption(agent: &AgentId, key: &SessionKey) -> bool {
    let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    key.as_str()
        .strip_prefix(&key_prefix(agent))
        .is_some_and(|hash| hash.len() == 64 && hash.bytes().all(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = "3f6b0a52-7c1d-4e8e-9a51-0d2f6c1b7a01";
    const NODE: &str = "node:5f0c";

    fn file(path: &str) -> SessionFile {
        let thread_id = ThreadId::new(path.rsplit('/').next().unwrap());
        SessionFile { path: path.into(), thread_id }
    }

    fn entry() -> Entry {
        Entry {
            session_id: "s".to_owned(),
            archived: false,
            initializing: false,
            run: None,
            claude_session: None,
            source_thread: None,
            source_host: None,
            plugin_owner: Some("anthropic".to_owned()),
        }
    }

    fn names(thread: &str, host: Option<&str>) -> Entry {
        let source_thread = Some(ThreadId::new(thread));
        Entry { source_thread, source_host: host.map(HostId::new), ..entry() }
    }

    #[test]
    fn the_keys_of_adoptions_are_the_ones_the_gateway_made() {
        // Measured on OpenClaw 2026.9.6.
        let main = AgentId::new("main");
        let local = session_key(&main, &ThreadId::new(THREAD));
        assert!(
            local.as_str().starts_with("agent:main:plugin:anthropic:catalog-adopt:claude:cf41fb1d"),
            "{local}"
        );
        let of_a_node = session_key_on(&main, &HostId::new(NODE), &ThreadId::new(THREAD));
        let nul = ThreadId::new(format!("{NODE}\0{THREAD}"));
        assert_eq!(of_a_node, session_key(&main, &nul));
    }

    #[test]
    fn a_session_is_matched_by_the_exact_hash_of_its_id_and_by_nothing_else() {
        let main = AgentId::new("main");
        let thread = ThreadId::new(THREAD);
        let files = [file(&format!("/p/{THREAD}")), file("/p/twin"), file("/q/twin"), file("/p/b")];
        let nodes = BTreeSet::from([HostId::new(NODE)]);
        let candidates = Candidates::of(&main, &files, &nodes);
        let local = |id: &str| session_key(&main, &ThreadId::new(id));
        let on =
            |host: &str, id: &str| session_key_on(&main, &HostId::new(host), &ThreadId::new(id));
        let gone = || Some(ThreadId::new("gone"));
        for (what, key, entry, expected) in [
            ("an entry that says nothing", local(THREAD), entry(), Ok(&files[0])),
            ("its own id", local(THREAD), names(THREAD, None), Ok(&files[0])),
            ("its host", local(THREAD), names(THREAD, Some(LOCAL_HOST)), Ok(&files[0])),
            (
                "another id is no proof",
                local("gone"),
                names("b", None),
                Err(Unmatched::NoFile(None)),
            ),
            ("nor against the hash", local(THREAD), names("b", None), Ok(&files[0])),
            (
                "a file that is gone",
                local("gone"),
                names("gone", None),
                Err(Unmatched::NoFile(gone())),
            ),
            (
                "two files",
                local("twin"),
                names("twin", None),
                Err(Unmatched::SeveralFiles(vec![&files[1], &files[2]])),
            ),
            (
                "a node that the entry names",
                on("node:x", THREAD),
                names(THREAD, Some("node:x")),
                Err(Unmatched::OfANode(Some(thread.clone()))),
            ),
            (
                "a node that a link names",
                on(NODE, THREAD),
                names(THREAD, None),
                Err(Unmatched::OfANode(Some(thread))),
            ),
            (
                "a node, and a local file of the same id",
                local(THREAD),
                names(THREAD, Some(NODE)),
                Err(Unmatched::OfANode(None)),
            ),
            (
                "another agent's key",
                session_key(&AgentId::new("b"), &ThreadId::new(THREAD)),
                names(THREAD, None),
                Err(Unmatched::NoFile(None)),
            ),
            (
                "an archived one",
                local(THREAD),
                Entry { archived: true, ..entry() },
                Err(Unmatched::Archived),
            ),
            (
                "one that is just made",
                local(THREAD),
                Entry { initializing: true, ..entry() },
                Err(Unmatched::Initializing),
            ),
        ] {
            assert_eq!(candidates.find(&key, &entry), expected, "{what}");
        }
    }

    #[test]
    fn only_keys_of_the_full_form_are_adoptions() {
        let main = AgentId::new("main");
        let hash = "cf41fb1d".repeat(8);
        let shorter = "cf41fb1d".repeat(7) + "cf41fb1";
        let prefix = "agent:main:plugin:anthropic:catalog-adopt:claude:";
        for (key, expected) in [
            (format!("{prefix}{hash}"), true),
            (format!("{prefix}{shorter}"), false),
            (format!("{prefix}{hash}0"), false),
            (format!("{prefix}{}", hash.to_uppercase()), false),
            (format!("{prefix}{shorter}g"), false),
            (format!("agent:b:plugin:anthropic:catalog-adopt:claude:{hash}"), false),
            (format!("agent:main:plugin:anthropic:catalog-adopt:codex:{hash}"), false),
            ("agent:main:main".to_owned(), false),
        ] {
            assert_eq!(is_adoption(&main, &SessionKey::new(&key)), expected, "{key}");
        }
    }
}
