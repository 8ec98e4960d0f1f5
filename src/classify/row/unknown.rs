//! Members that a user row never had before.
//!
//! Answers: which keys of a row nobody knows, so that a new version of Claude Code is noticed by
//! what it adds. Always holds: at most `MOST` of them are kept, each once, in the order of the row.
//! Not here: the keys that decide, which `Row` itself reads.

use super::raw::RawStr;

/// Keys that are kept of a row: new versions add a few, and whoever adds many is no version.
pub(crate) const MOST: usize = 8;

/// Source bytes that are seen of such a key.
pub(crate) const SEEN: usize = 256;

/// The first unknown keys of a row. No `Debug`: a key is whatever somebody wrote.
#[derive(Default)]
pub(crate) struct Unknown<'a> {
    keys: [Option<RawStr<'a>>; MOST],
    count: usize,
}

impl<'a> Unknown<'a> {
    /// Takes a key that decides nothing.
    pub(super) fn note(&mut self, name: &[u8], key: RawStr<'a>) {
        if is_known(name) {
            return;
        }
        if self.keys().any(|known| seen(known.raw()) == seen(key.raw())) {
            return;
        }
        if let Some(free) = self.keys.get_mut(self.count) {
            *free = Some(key);
            self.count += 1;
        }
    }

    /// The keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = RawStr<'a>> {
        self.keys.iter().map_while(|key| *key)
    }
}

/// What is seen of a key, as it stands between its quotes.
fn seen(raw: &[u8]) -> &[u8] {
    raw.get(..SEEN).unwrap_or(raw)
}

/// Whether user rows were seen with this key, among those that decide nothing. By its length first:
/// every row is asked several times.
pub(crate) fn is_known(name: &[u8]) -> bool {
    match name.len() {
        3 => name == b"cwd",
        4 => name == b"slug",
        5 => name == b"todos",
        7 => matches!(name, b"agentId" | b"mcpMeta"),
        8 => matches!(name, b"userType" | b"promptId" | b"sentAtMs" | b"teamName"),
        9 => matches!(name, b"gitBranch" | b"agentName" | b"sandboxed" | b"isVirtual"),
        10 => matches!(name, b"session_id" | b"forkedFrom"),
        11 => name == b"sessionKind",
        12 => matches!(name, b"turnPosition" | b"hookTextLead" | b"wakeupSource"),
        13 => matches!(name, b"imagePasteIds" | b"queuePriority"),
        14 => name == b"toolDenialKind",
        15 => name == b"scheduledFireId",
        17 => name == b"summarizeMetadata",
        19 => matches!(name, b"toolDenialBeforeRun" | b"queueTranscriptOnly"),
        20 => name == b"queueSkipAttachments",
        22 => name == b"queueSkipSlashCommands",
        23 => name == b"sourceToolAssistantUUID",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_key_stands_at_its_length() {
        let source = include_str!("unknown.rs");
        let list = source.split("match name.len() {").nth(1).unwrap();
        let list = list.split("_ => false").next().unwrap();
        let names = list.split("b\"").skip(1).filter_map(|rest| rest.split_once('"'));
        let names: Vec<_> = names.map(|(name, _)| name).collect();
        assert!(names.len() > 20);
        for name in names {
            assert!(is_known(name.as_bytes()), "{name}");
        }
        assert!(!is_known(b"cwb") && !is_known(b""));
    }
}
