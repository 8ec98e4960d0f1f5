//! Which members of a row are looked at: the same as `row::Row` looks at, as a test sees to.

use super::Said;
use serde::{Deserialize, Serialize};

/// The objects whose members are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Group {
    Row,
    Message,
    Origin,
    ToolUseResult,
    Attachment,
    AttachmentOrigin,
    PermissionDecision,
}

/// What is looked at of a member's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Itself.
    Plain,
    /// Its own members.
    Members(Group),
    /// What was said in it.
    Said(Said),
}

/// One member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) group: Group,
    pub(super) key: &'static str,
    pub(super) kind: Kind,
}

const fn plain(group: Group, key: &'static str) -> Member {
    Member { group, key, kind: Kind::Plain }
}

const fn row(key: &'static str) -> Member {
    plain(Group::Row, key)
}

const fn members(group: Group, key: &'static str, inner: Group) -> Member {
    Member { group, key, kind: Kind::Members(inner) }
}

const fn said(group: Group, key: &'static str, said: Said) -> Member {
    Member { group, key, kind: Kind::Said(said) }
}

/// All of them. A row in part that is stored names them by their place: new ones go to the end.
pub(super) const MEMBERS: [Member; 51] = [
    row("type"),
    row("subtype"),
    row("uuid"),
    row("timestamp"),
    row("sessionId"),
    row("parentUuid"),
    row("version"),
    row("entrypoint"),
    members(Group::Row, "message", Group::Message),
    row("isMeta"),
    row("isSidechain"),
    row("isCompactSummary"),
    row("isVisibleInTranscriptOnly"),
    row("isReplay"),
    row("turnCompanion"),
    row("hookText"),
    row("holdsPersonsWords"),
    members(Group::Row, "origin", Group::Origin),
    row("promptSource"),
    row("turnOrigin"),
    row("rowSource"),
    row("permissionMode"),
    row("thinkingMetadata"),
    row("scheduledTaskId"),
    row("planContent"),
    members(Group::Row, "toolUseResult", Group::ToolUseResult),
    row("sourceToolUseID"),
    row("interruptedMessageId"),
    row("userFeedback"),
    members(Group::Row, "attachment", Group::Attachment),
    row("operation"),
    said(Group::Row, "content", Said::Content),
    row("commandUuid"),
    row("reason"),
    plain(Group::Message, "role"),
    said(Group::Message, "content", Said::Message),
    plain(Group::Origin, "kind"),
    plain(Group::Origin, "subkind"),
    plain(Group::ToolUseResult, "answers"),
    plain(Group::Attachment, "type"),
    said(Group::Attachment, "prompt", Said::Prompt),
    plain(Group::Attachment, "commandMode"),
    plain(Group::Attachment, "source_uuid"),
    members(Group::Attachment, "origin", Group::AttachmentOrigin),
    plain(Group::Attachment, "humanTurn"),
    plain(Group::Attachment, "isMeta"),
    plain(Group::AttachmentOrigin, "kind"),
    plain(Group::AttachmentOrigin, "subkind"),
    members(Group::Row, "permissionDecision", Group::PermissionDecision),
    plain(Group::PermissionDecision, "source"),
    plain(Group::Attachment, "rowSource"),
];

/// The member of an object with this key, by its place.
pub(super) fn find(group: Group, key: &str) -> Option<u8> {
    let found = MEMBERS.iter().position(|member| member.group == group && member.key == key);
    found.and_then(|index| u8::try_from(index).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_looks_at_no_member_that_is_missing_here() {
        let source = include_str!("../row/mod.rs");
        let keys = source.split("b\"").skip(1).filter_map(|rest| rest.split_once("\" =>"));
        let blocks = ["type", "text", "content", "is_error"];
        let mut count = 0;
        for (key, _) in keys.filter(|(key, _)| key.chars().all(|c| c.is_alphanumeric() || c == '_'))
        {
            let is_known = MEMBERS.iter().any(|member| member.key == key) || blocks.contains(&key);
            assert!(is_known, "{key}");
            count += 1;
        }
        assert!(count >= MEMBERS.len() - 3, "{count}");
    }
}
