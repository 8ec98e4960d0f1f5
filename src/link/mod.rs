//! Which sources: links, their refs and markers.
//!
//! Answers: which files does an agent rely on, under which session key, read up to where. Always
//! holds: a link's path is used only where it lies beneath a known Claude folder. Deliberately
//! elsewhere: the table of links (`record`), what is new in a file (`probe`).

pub mod adopt;
pub mod backfill;

use crate::ids::{AgentId, CatalogId, HostId, SessionKey, SourceKey, ThreadId, Timestamp};
use std::path::PathBuf;

/// The identity of a link: a session key under one agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId {
    /// The session.
    pub session_key: SessionKey,
    /// The agent it belongs to.
    pub agent_id: AgentId,
}

/// A row of `session_upstream_links` (OpenClaw 2026.9.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Session key and agent.
    pub id: LinkId,
    /// The catalog, `claude`.
    pub catalog_id: CatalogId,
    /// The machine that holds the upstream.
    pub host_id: HostId,
    /// The upstream's own session id.
    pub thread_id: ThreadId,
    /// The upstream's kind, `claude-cli`.
    pub upstream_kind: String,
    /// Where the upstream is, as stored: `{"filePath":"…"}`.
    pub ref_json: Option<String>,
    /// How far it was read, as stored: `{"offset":N}`.
    pub marker_json: Option<String>,
    /// When the marker last moved.
    pub last_scanned_at: Option<Timestamp>,
    /// When the link was made.
    pub created_at: Timestamp,
    /// When the row last changed; changes with every write, since OpenClaw
    /// drops what it found out when it sees another value.
    pub updated_at: Timestamp,
}

/// A Claude session that was forked off a link's, in which OpenClaw goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// Its id.
    pub thread_id: ThreadId,
    /// Where it is, as in a link.
    pub ref_json: String,
}

/// A transcript on a paired node of a gateway, as a link names it:
/// `{"nodeId":"…","threadId":"…"}` (OpenClaw 2026.9.6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OnNode {
    /// The node.
    pub node_id: String,
    /// The session there.
    pub thread_id: ThreadId,
}

/// The marker of a node's transcript (OpenClaw 2026.9.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowMarker {
    /// `{"uuid":"…"}`: it was read up to this row.
    Row(String),
    /// `{"uuid":null}`: it was empty.
    Start,
    /// There is none, or it is no node's.
    Unknown,
}

/// A link to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLink {
    /// Session key and agent.
    pub id: LinkId,
    /// The catalog, `claude`.
    pub catalog_id: CatalogId,
    /// The machine that holds the upstream.
    pub host_id: HostId,
    /// The upstream's own session id.
    pub thread_id: ThreadId,
    /// The upstream's kind, `claude-cli`.
    pub upstream_kind: String,
    /// Where the upstream is, compact JSON: `{"filePath":"…"}`.
    pub ref_json: String,
    /// Where reading begins, just after a line end.
    pub offset: u64,
}

impl NewLink {
    /// The link as it is once it is made at this time.
    #[must_use]
    pub fn made_at(&self, now: Timestamp) -> Link {
        Link {
            id: self.id.clone(),
            catalog_id: self.catalog_id.clone(),
            host_id: self.host_id.clone(),
            thread_id: self.thread_id.clone(),
            upstream_kind: self.upstream_kind.clone(),
            ref_json: Some(self.ref_json.clone()),
            marker_json: Some(marker_json(self.offset)),
            last_scanned_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl Link {
    /// The link as if it named a fork of its session, of which no marker is kept.
    #[must_use]
    pub fn to_fork(&self, fork: Fork) -> Self {
        let Fork { thread_id, ref_json } = fork;
        Self { thread_id, ref_json: Some(ref_json), marker_json: None, ..self.clone() }
    }

    /// The key of the source that the link names.
    #[must_use]
    pub fn source_key(&self) -> SourceKey {
        SourceKey::of(&self.host_id, &self.thread_id, self.ref_json.as_deref().unwrap_or("null"))
    }

    /// The transcript's path, if the ref names one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        path_of(self.ref_json.as_deref()?)
    }

    /// The node's transcript that the link names, if it names one.
    #[must_use]
    pub fn on_node(&self) -> Option<OnNode> {
        self.host_id.as_str().strip_prefix("node:")?;
        let value: serde_json::Value = serde_json::from_str(self.ref_json.as_deref()?).ok()?;
        let text = |name| value.get(name)?.as_str().map(str::to_owned);
        Some(OnNode { node_id: text("nodeId")?, thread_id: ThreadId::new(text("threadId")?) })
    }

    /// Up to which row a node's transcript was read.
    #[must_use]
    pub fn row_marker(&self) -> RowMarker {
        let json = self.marker_json.as_deref().unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
        match value.get("uuid") {
            Some(serde_json::Value::String(uuid)) => RowMarker::Row(uuid.clone()),
            Some(serde_json::Value::Null) => RowMarker::Start,
            _ => RowMarker::Unknown,
        }
    }

    /// The offset that the marker names; `{"size":N}` is its older form (OpenClaw 2026.9.6).
    #[must_use]
    pub fn marker(&self) -> Option<u64> {
        let value: serde_json::Value = serde_json::from_str(self.marker_json.as_deref()?).ok()?;
        value.get("offset").or_else(|| value.get("size"))?.as_u64()
    }
}

impl Fork {
    /// The transcript's path, if the ref names one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        path_of(&self.ref_json)
    }
}

fn path_of(ref_json: &str) -> Option<PathBuf> {
    let value: serde_json::Value = serde_json::from_str(ref_json).ok()?;
    Some(PathBuf::from(value.get("filePath")?.as_str()?))
}

/// A marker as it is stored.
#[must_use]
pub fn marker_json(offset: u64) -> String {
    format!("{{\"offset\":{offset}}}")
}

/// The marker of a node's transcript as it is stored.
#[must_use]
pub fn marker_row_json(uuid: &str) -> String {
    serde_json::json!({ "uuid": uuid }).to_string()
}

/// The ref of a file as it is stored; `None` for a path that is no UTF-8, which JSON cannot hold.
#[must_use]
pub fn file_ref(path: &std::path::Path) -> Option<String> {
    Some(serde_json::json!({ "filePath": path.to_str()? }).to_string())
}
