//! The names that are known, and those that are not.
//!
//! Answers: which names in a row no rule has ever seen, and how often each was met. Always holds: a
//! name that is reported is short and plain, and so many are counted at most, whatever the file
//! holds. Not here: what a known name means (`rules`), the known keys of user rows (`row::unknown`).

use super::Drift;
use super::row::Row;
use super::row::raw::RawStr;
use super::row::unknown::SEEN;
use std::collections::BTreeMap;

/// Row types, with a uuid and without.
const TYPES: [&str; 26] = [
    "user",
    "assistant",
    "system",
    "attachment",
    "progress",
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "pr-link",
    "last-prompt",
    "permission-mode",
    "custom-title",
    "ai-title",
    "agent-name",
    "agent-setting",
    "mode",
    "worktree-state",
    "bridge-session",
    "relocated",
    "atis-latch",
    "cost-state",
    "api-request",
    "api-request-shape",
    "api-request-blob",
    "tools-used",
    "result",
];

const SUBTYPES: [&str; 11] = [
    "local_command",
    "stop_hook_summary",
    "turn_duration",
    "compact_boundary",
    "microcompact_boundary",
    "informational",
    "api_error",
    "away_summary",
    "bridge_status",
    "scheduled_task_fire",
    "hook_callback",
];

const ATTACHMENTS: [&str; 33] = [
    "queued_command",
    "hook_success",
    "hook_additional_context",
    "hook_system_message",
    "hook_non_blocking_error",
    "task_reminder",
    "todo_reminder",
    "total_tokens_reminder",
    "skill_listing",
    "deferred_tools_delta",
    "agent_listing_delta",
    "mcp_instructions_delta",
    "command_permissions",
    "environment",
    "model",
    "session_context",
    "date",
    "date_change",
    "remote_session_change",
    "prompt_snapshot",
    "plan_mode",
    "plan_mode_exit",
    "auto_mode",
    "auto_mode_exit",
    "file",
    "edited_text_file",
    "nested_memory",
    "invoked_skills",
    "compact_file_reference",
    "session_cron_carry",
    "task_status",
    "goal_status",
    "hook_blocking_error",
];

const ORIGINS: [&str; 9] = [
    "human",
    "task-notification",
    "peer",
    "channel",
    "coordinator",
    "observer",
    "observer-activity",
    "auto-continuation",
    "unclassified",
];

const PROMPT_SOURCES: [&str; 5] = ["typed", "queued", "suggestion_accepted", "sdk", "system"];

const TURN_ORIGINS: [&str; 5] = ["human", "sdk", "task_notification", "scheduled", "peer"];

const OPERATIONS: [&str; 4] = ["enqueue", "dequeue", "remove", "popAll"];

/// Who wrote a row that no person wrote.
const SOURCES: [&str; 4] = ["local", "harness", "hook", "recorded"];

const MODES: [&str; 4] = ["prompt", "task-notification", "bash", "orphaned-permission"];

/// Whether this writer of rows was seen before.
pub(crate) fn is_known_source(name: RawStr<'_>) -> bool {
    SOURCES.iter().any(|known| name.is(known))
}

/// Whether this mode of queued commands was seen before.
pub(crate) fn is_known_mode(name: RawStr<'_>) -> bool {
    MODES.iter().any(|known| name.is(known))
}

/// Whether this is a row type that was seen before.
pub(crate) fn is_known_type(name: RawStr<'_>) -> bool {
    TYPES.iter().any(|known| name.is(known))
}

/// The names in a row that are not known.
pub(crate) fn names(row: &Row<'_>, version: Option<&str>) -> Vec<Drift> {
    let attachment = row.attachment.as_ref().filter(|_| row.is_kind("attachment"));
    let origin = row.origin.or_else(|| attachment.and_then(|attachment| attachment.origin));
    let fields: [(&'static str, Option<RawStr<'_>>, &[&str]); 9] = [
        ("type", row.kind, &TYPES),
        ("subtype", row.subtype.filter(|_| row.is_kind("system")), &SUBTYPES),
        ("attachment.type", attachment.and_then(|attachment| attachment.kind), &ATTACHMENTS),
        ("origin.kind", origin.map(|origin| origin.kind), &ORIGINS),
        ("promptSource", row.prompt_source, &PROMPT_SOURCES),
        ("turnOrigin", row.turn_origin, &TURN_ORIGINS),
        ("rowSource", row.source.or(attachment.and_then(|a| a.source)), &SOURCES),
        ("commandMode", attachment.and_then(|attachment| attachment.command_mode), &MODES),
        ("operation", row.operation.filter(|_| row.is_kind("queue-operation")), &OPERATIONS),
    ];
    let drift = |field: &'static str, name: RawStr<'_>| Drift {
        field,
        name: plain(&name.beginning(SEEN)),
        version: version.map(str::to_owned),
    };
    let mut names: Vec<Drift> = fields
        .into_iter()
        .filter_map(|(field, name, known)| {
            let name = name.filter(|name| !known.iter().any(|known| name.is(known)))?;
            Some(drift(field, name))
        })
        .collect();
    if row.is_kind("user") {
        let mut unknown: Vec<_> = row.unknown.keys().map(|key| drift("user-field", key)).collect();
        // The order of members says nothing, and what stands there twice is one name.
        unknown.sort_unstable();
        unknown.dedup();
        names.append(&mut unknown);
    }
    names
}

/// A name as it may be written down: cut after 64 characters, and before the first that is no
/// letter, digit, or one of `._-`, so that no sentence gets through.
pub(crate) fn plain(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let plain: String = name.chars().take_while(is_plain).take(64).collect();
    if plain.is_empty() { "?".to_owned() } else { plain }
}

/// Names that are counted each by itself; a transcript that has more was made to have them.
const COUNTED: usize = 256;

/// How many rows had each name that is not known, by version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriftCounts {
    rows: BTreeMap<Drift, u64>,
    /// Rows with names for which there was no room.
    others: u64,
}

impl DriftCounts {
    /// Counts the names of a row.
    pub fn note(&mut self, names: &[Drift]) {
        for name in names {
            self.add(name, 1);
        }
    }

    /// Takes over what was counted elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (name, rows) in &other.rows {
            self.add(name, *rows);
        }
        self.others += other.others;
    }

    fn add(&mut self, name: &Drift, rows: u64) {
        if let Some(known) = self.rows.get_mut(name) {
            *known += rows;
        } else if self.rows.len() < COUNTED {
            self.rows.insert(name.clone(), rows);
        } else {
            self.others += rows;
        }
    }

    /// Each name with its rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Drift, u64)> {
        self.rows.iter().map(|(name, rows)| (name, *rows))
    }

    /// How often a name was met for which there was no room.
    #[must_use]
    pub const fn others(&self) -> u64 {
        self.others
    }

    /// Whether nothing unknown was met.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.others == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_bounded_and_nothing_is_lost() {
        let drift = |number: usize| Drift {
            field: "type",
            name: format!("n{}", number % 1000),
            version: Some("1".to_owned()),
        };
        let mut counts = DriftCounts::default();
        assert!(counts.is_empty());
        for number in 0..3000 {
            counts.note(&[drift(number)]);
        }
        let mut twice = counts.clone();
        twice.merge(&counts);
        assert_eq!(counts.iter().count(), COUNTED);
        assert_eq!(counts.iter().map(|(_, rows)| rows).sum::<u64>() + counts.others(), 3000);
        assert_eq!(twice.iter().map(|(_, rows)| rows).sum::<u64>() + twice.others(), 6000);
    }
}
