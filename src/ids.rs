//! The newtypes that everything uses: keys, positions in time, names of rows and of generations.
//!
//! They keep one kind of name from being taken for another; what a key may hold is checked where it
//! matters (a watcher's in `record`, a notice's in `notice`). Texts of rows are never among them.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// Defines a newtype over `String` for a name whose inside is OpenClaw's or the user's business.
macro_rules! name {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(String);

        impl $type {
            /// Takes the name as it is.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// OpenClaw's name of a session, `agent:<id>:<rest>`.
    SessionKey
}
name! {
    /// OpenClaw's name of an agent, such as `main`.
    AgentId
}
name! {
    /// A catalog of upstream sessions, such as `claude`.
    CatalogId
}
name! {
    /// The machine that holds the upstream, `gateway:local` or `node:<id>`.
    HostId
}
name! {
    /// The upstream's own session id; for Claude Code the stem of the transcript's file name.
    ThreadId
}
name! {
    /// First 16 hex digits of SHA-256 over host NUL thread NUL compact ref (OpenClaw 2026.9.6).
    SourceKey
}
name! {
    /// One life of a file's content: 8 random hex digits, never derived from the content.
    Generation
}

impl Generation {
    /// A new one.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 4];
        fill_random(&mut bytes)?;
        Ok(Self(hex(&bytes)))
    }
}

/// Fills a buffer from the system's random source.
pub fn fill_random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|e| Error::Failed(format!("the system gives no random bytes: {e}")))
}

impl SessionKey {
    /// The agent of a key `agent:<id>:<rest>`; `None` for any other form.
    #[must_use]
    pub fn agent(&self) -> Option<AgentId> {
        let (agent, rest) = self.0.strip_prefix("agent:")?.split_once(':')?;
        (!agent.is_empty() && !rest.is_empty()).then(|| AgentId::new(agent))
    }
}

impl SourceKey {
    /// The key of the source that a link names: its ref is parsed and written compactly again, keys
    /// in the order as stored. A ref that is no JSON is hashed as it stands.
    #[must_use]
    pub fn of(host: &HostId, thread: &ThreadId, ref_json: &str) -> Self {
        let compact = serde_json::from_str::<serde_json::Value>(ref_json)
            .map_or_else(|_| ref_json.to_owned(), |value| value.to_string());
        let digest = Sha256::new()
            .chain_update(host.as_str())
            .chain_update([0])
            .chain_update(thread.as_str())
            .chain_update([0])
            .chain_update(compact)
            .finalize();
        Self(hex(&digest[..8]))
    }

    /// Reads a source key back from the journal.
    #[must_use]
    pub const fn from_stored(text: String) -> Self {
        Self(text)
    }
}

/// A sequence number of the signal log; 0 is before the first event.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Sequence(pub i64);

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Milliseconds since 1970-01-01 UTC.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This time moved by so many milliseconds, held at the ends of the range.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this time, negative where it is later.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// What a row is known by in the journal: its uuid, or a keyed hash where it has none (or one that
/// could be text).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(String);

impl Identity {
    /// The identity of the row with these bytes (without its line end) and this uuid.
    #[must_use]
    pub fn of_row(key: &HashKey, uuid: Option<&str>, bytes: &[u8]) -> Self {
        match uuid {
            Some(uuid) => Self::of_uuid(key, uuid),
            None => Self::of_hash(&key.hash(b"row", bytes)),
        }
    }

    /// The identity of a row with this uuid.
    pub(crate) fn of_uuid(key: &HashKey, uuid: &str) -> Self {
        if is_plain_id(uuid) {
            return Self(uuid.to_owned());
        }
        Self::of_hash(&key.hash(b"uuid", uuid.as_bytes()))
    }

    /// The identity of a row whose bytes have this hash (`HashKey::begin_row`).
    pub(crate) fn of_hash(hash: &TextHash) -> Self {
        Self(format!("#{hash}"))
    }

    /// What was said at a moment, whatever the row's uuid.
    pub(crate) fn of_moment(key: &HashKey, at: Timestamp, said: &str) -> Self {
        Self::of_hash(&key.hash(b"moment", format!("{}:{said}", at.0).as_bytes()))
    }

    /// Reads an identity back from the journal.
    #[must_use]
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// As it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name that is short and plain enough to be written down as it is: it cannot be a sentence.
#[must_use]
pub fn is_plain_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// A keyed hash of a text: 32 hex digits. Without the key of the state folder it says nothing about
/// the text, not even to somebody who guesses it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TextHash(String);

impl TextHash {
    /// Reads a hash back from the journal.
    #[must_use]
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// As it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key of all hashes of texts and rows; lies in the state folder, never in a database.
#[derive(Clone)]
pub struct HashKey([u8; 32]);

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(secret)")
    }
}

impl HashKey {
    /// Takes the bytes of a key.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The keyed hash of a text that `classify::text::normalise` has been over.
    #[must_use]
    pub fn text(&self, normalised: &str) -> TextHash {
        self.hash(b"text", normalised.as_bytes())
    }

    /// The keyed hash of some of a file's content.
    #[must_use]
    pub fn content(&self, bytes: &[u8]) -> TextHash {
        self.hash(b"content", bytes)
    }

    /// The same as `text`, for a normalised text that comes in pieces.
    pub(crate) fn begin_text(&self) -> KeyedHash {
        self.begin(b"text")
    }

    /// What `Identity::of_row` makes of the bytes of a row without a uuid, for bytes in pieces.
    pub(crate) fn begin_row(&self) -> KeyedHash {
        self.begin(b"row")
    }

    fn hash(&self, purpose: &[u8], bytes: &[u8]) -> TextHash {
        let mut hash = self.begin(purpose);
        hash.push(bytes);
        hash.finish()
    }

    fn begin(&self, purpose: &[u8]) -> KeyedHash {
        KeyedHash(Sha256::new().chain_update(self.0).chain_update(purpose).chain_update([0]))
    }
}

/// SHA-256 over key, purpose and bytes, cut to 128 bits (which also rules out extension).
pub(crate) struct KeyedHash(Sha256);

impl KeyedHash {
    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes that it took.
    pub(crate) fn finish(self) -> TextHash {
        TextHash(hex(&self.0.finalize()[..16]))
    }
}

/// Lower-case hex digits of some bytes.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let written = write!(text, "{byte:02x}");
        debug_assert!(written.is_ok(), "writing to a String does not fail");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_key_is_the_one_the_gateway_made() {
        // Measured on OpenClaw 2026.9.6.
        let key = SourceKey::of(
            &HostId::new("gateway:local"),
            &ThreadId::new("3f6b0a52-7c1d-4e8e-9a51-0d2f6c1b7a01"),
            r#"{ "filePath": "/home/me/.claude/projects/-home-me-proj/3f6b0a52-7c1d-4e8e-9a51-0d2f6c1b7a01.jsonl" }"#,
        );
        assert_eq!(key.as_str(), "3727cf290099b159");
    }

    #[test]
    fn only_a_full_key_names_an_agent() {
        for (key, agent) in [
            ("agent:main:main", Some("main")),
            ("agent:main:a:b", Some("main")),
            ("agent:main:", None),
            ("agent::x", None),
            ("agent:main", None),
            ("main", None),
        ] {
            assert_eq!(SessionKey::new(key).agent(), agent.map(AgentId::new), "{key}");
        }
    }

    #[test]
    fn an_identity_never_shows_text() {
        let key = HashKey::new([7; 32]);
        let plain = Identity::of_row(&key, Some("0b0c6c1e-1111-4222-8333-444455556666"), b"{}");
        assert_eq!(plain.as_str(), "0b0c6c1e-1111-4222-8333-444455556666");
        let sentence = Identity::of_row(&key, Some("my secret sentence"), b"{}");
        assert!(sentence.as_str().starts_with('#') && !sentence.as_str().contains("secret"));
        let none = Identity::of_row(&key, None, b"{}");
        assert_ne!(none, Identity::of_row(&HashKey::new([8; 32]), None, b"{}"));
    }
}
