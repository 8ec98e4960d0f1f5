//! Events about turns, as a second writer of the same rows has to read them.
//!
//! Answers: what an event in the log says of the rows that it counts, and whether it is ours.
//! Always holds: what is not plainly ours is treated as the gateway's. Deliberately elsewhere:
//! which rows that are (`plan`).

use crate::ids::{Generation, Sequence, Timestamp};

/// An event about turns of a source, by whomever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceEvent {
    /// Its number.
    pub sequence: Sequence,
    /// The greatest time of its turns, as clamped by its writer.
    pub occurred_at: Timestamp,
    /// How many turns it counts, at least 1.
    pub turns: usize,
    /// Where its window ended; none where it names no offset.
    pub offset: Option<u64>,
    /// Set for our own events: what exactly they cover.
    pub ours: Option<Extent>,
}

/// The window that an event of ours covers, in one generation of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Where the window begins.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// The life of the file's content that the offsets belong to.
    pub generation: Generation,
}

impl SourceEvent {
    /// Reads an event: `id` is its dedupe key after the source key, `payload` its payload.
    ///
    /// Ours are known by a payload with an integer `from`, not beyond its `to` or else the event's
    /// offset, and a `generation` of 8 lower-case hex digits. Everything else is treated as the gateway's.
    #[must_use]
    pub fn read(
        sequence: Sequence,
        occurred_at: Timestamp,
        id: &str,
        payload: Option<&str>,
    ) -> Self {
        let payload: Option<serde_json::Value> =
            payload.and_then(|text| serde_json::from_str(text).ok());
        let field = |name| payload.as_ref().and_then(|payload| payload.get(name));
        let turns = field("turns").and_then(serde_json::Value::as_u64).unwrap_or(1).max(1);
        let offset = offset_of(id);
        let ours = (|| {
            let from = field("from")?.as_u64()?;
            let generation = field("generation")?.as_str()?;
            let to = field("to").map_or(offset, serde_json::Value::as_u64);
            let to = to.filter(|to| from <= *to)?;
            let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (generation.len() == 8 && generation.bytes().all(hex)).then(|| Extent {
                from,
                to,
                generation: Generation::new(generation),
            })
        })();
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        Self { sequence, occurred_at, turns, offset, ours }
    }
}

/// The offset that a dedupe id begins with: `5568`, `5568.0a1b2c3d.4473`, `5568:agent:main`. A
/// row's uuid, as for a node's transcript, is none.
fn offset_of(id: &str) -> Option<u64> {
    let (digits, _) = id.split_once(['.', ':']).unwrap_or((id, ""));
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
