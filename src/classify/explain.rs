//! What a row says of its own provenance, in words that can be printed.
//!
//! Answers: which of the fields that rules ask for are there, and with what value. Always holds:
//! names are ours, and a value is one of a closed set or a name cut by `drift::plain`, so that no
//! text gets through; nobody who does not ask pays for it. Not here: which of them decided (the
//! rule's name says so, and `rules` what it looks at).

use super::row::raw::RawStr;
use super::row::unknown::SEEN;
use super::row::{Content, Origin, Row, is};
use super::rules::Context;
use super::{drift, shape};

/// Tags that programs write at the beginning of a text.
const TAGS: [&str; 23] = [
    "command-message",
    "command-name",
    "command-args",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "fork-source",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user-memory-input",
    "user-prompt-submit-hook",
    "session-start-hook",
    "system-reminder",
    "task-notification",
    "agent-notification",
    "bash-notification",
    "teammate-message",
    "agent-message",
    "cross-session-message",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
];

/// What speaks for or against a person, as `name` or `name=value`.
pub(crate) fn because(row: &Row<'_>, context: &Context<'_>) -> Vec<String> {
    let mut found = Vec::new();
    kinds(row, &mut found);
    provenance(row, &mut found);
    flags(row, &mut found);
    let delivery = context.delivery;
    let queue = [
        (delivery.was_queued, "queue=delivered"),
        (delivery.is_counted, "queue=counted-before"),
        (delivery.is_at_once, "queue=in-and-out-at-once"),
        (delivery.was_queued && delivery.is_next, "queue=directly-behind"),
    ];
    found.extend(present(&queue));
    words(row, context.text, &mut found);
    found
}

/// What kind of row it is.
fn kinds(row: &Row<'_>, found: &mut Vec<String>) {
    let attachment = row.attachment.as_ref().filter(|_| row.is_kind("attachment"));
    let is_user = row.is_kind("user") && !is(row.message.role, "user");
    value("type", row.kind, found);
    value("subtype", row.subtype.filter(|_| row.is_kind("system")), found);
    value("attachment.type", attachment.and_then(|attachment| attachment.kind), found);
    value("operation", row.operation.filter(|_| row.is_kind("queue-operation")), found);
    value("commandMode", attachment.and_then(|attachment| attachment.command_mode), found);
    value("message.role", row.message.role.filter(|_| is_user), found);
    found.extend(present(&[(is_user && row.message.role.is_none(), "message.role=none")]));
}

/// What says by name who wrote it.
fn provenance(row: &Row<'_>, found: &mut Vec<String>) {
    origin(["origin.kind", "origin.subkind"], row.origin, found);
    if let Some(attachment) = &row.attachment {
        value("attachment.rowSource", attachment.source, found);
        origin(["attachment.origin.kind", "attachment.origin.subkind"], attachment.origin, found);
        let flags =
            [(attachment.human_turn, "humanTurn"), (attachment.is_meta, "attachment.isMeta")];
        found.extend(present(&flags));
    }
    value("turnOrigin", row.turn_origin, found);
    value("promptSource", row.prompt_source, found);
    value("rowSource", row.source, found);
    value("entrypoint", row.entrypoint, found);
    value("permissionDecision.source", row.decider, found);
    value("version", row.version, found);
}

/// What says something by being there.
fn flags(row: &Row<'_>, found: &mut Vec<String>) {
    let has_feedback = row.user_feedback.is_some_and(|words| !words.is(""));
    found.extend(present(&[
        (row.is_sidechain, "isSidechain"),
        (row.is_meta, "isMeta"),
        (row.is_compact_summary, "isCompactSummary"),
        (row.is_visible_in_transcript_only, "isVisibleInTranscriptOnly"),
        (row.is_replay, "isReplay"),
        (row.turn_companion, "turnCompanion"),
        (row.hook_text, "hookText"),
        (row.holds_persons_words, "holdsPersonsWords"),
        (has_feedback, "userFeedback"),
        (row.has_permission_mode, "permissionMode"),
        (row.has_thinking_metadata, "thinkingMetadata"),
        (row.has_scheduled_task, "scheduledTaskId"),
        (row.has_plan, "planContent"),
        (row.has_tool_use_result, "toolUseResult"),
        (row.has_answers, "toolUseResult.answers"),
        (row.has_source_tool_use, "sourceToolUseID"),
        (row.was_interrupted, "interruptedMessageId"),
        (row.command_uuid.is_some(), "commandUuid"),
        (row.has_reason, "reason"),
    ]));
}

/// What the words look like, where rules look at them.
fn words(row: &Row<'_>, text: Option<&str>, found: &mut Vec<String>) {
    let queued = row.attachment.as_ref().filter(|attachment| is(attachment.kind, "queued_command"));
    let content = match queued {
        _ if row.is_kind("user") => &row.message.content,
        Some(attachment) if row.is_kind("attachment") => &attachment.prompt,
        _ if row.is_kind("queue-operation") || is(row.subtype, "local_command") => &row.content,
        _ => return,
    };
    if let Content::Blocks(blocks) = content {
        let tool_text = blocks.tool_text.map(|text| text.beginning(1024)).unwrap_or_default();
        let is_refusal = blocks.has_tool_error && shape::is_refusal_with_words(&tool_text);
        found.extend(present(&[
            (blocks.has_image, "content=image"),
            (blocks.has_tool_result, "content=tool-result"),
            (shape::is_answer(&tool_text), "tool-result=answer"),
            (is_refusal, "tool-result=refusal-with-words"),
        ]));
    }
    let first = content.first_text();
    let text = text.or(first.as_deref());
    found.extend(present(&[(text.is_none(), "content=no-words")]));
    found.extend(text.and_then(opening));
}

/// What programs write that a text begins with, or is.
fn opening(text: &str) -> Option<String> {
    let tag = text.strip_prefix('<').and_then(|inside| {
        TAGS.iter().find(|tag| {
            let behind = inside.strip_prefix(**tag);
            behind.is_some_and(|b| b.starts_with('>') || b.starts_with(char::is_whitespace))
        })
    });
    if let Some(tag) = tag {
        return Some(format!("opening=<{tag}>"));
    }
    let sentences = [
        (shape::is_interrupt(text), "opening=interrupt-mark"),
        (shape::is_unknown_command(text), "opening=unknown-command"),
        (shape::is_prompt_of_openclaw(text), "opening=prompt-of-openclaw"),
        (shape::is_message_of_agent(text), "opening=message-of-agent"),
        (shape::is_compact_call(text), "opening=compact-call"),
        (shape::echo(text).is_some(), "opening=fixed-sentence"),
    ];
    present(&sentences).next()
}

fn origin(names: [&str; 2], origin: Option<Origin<'_>>, found: &mut Vec<String>) {
    let [kind, subkind] = names;
    value(kind, origin.map(|origin| origin.kind), found);
    value(subkind, origin.and_then(|origin| origin.subkind), found);
}

fn value(name: &str, value: Option<RawStr<'_>>, found: &mut Vec<String>) {
    found.extend(value.map(|value| format!("{name}={}", drift::plain(&value.beginning(SEEN)))));
}

fn present<'a>(facts: &'a [(bool, &'static str)]) -> impl Iterator<Item = String> + 'a {
    facts.iter().filter(|(is_there, _)| *is_there).map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Reader, ReaderState, Settings};
    use crate::ids::HashKey;
    use crate::scan::line::Line;
    use proptest::prelude::*;

    fn explain(line: &str) -> Vec<String> {
        let key = HashKey::new([7; 32]);
        let reader = Reader::new(&key, Settings::default(), ReaderState::default());
        let mut reader = reader.explaining(true);
        let report = reader.read_line(&Line { start: 0, bytes: line.as_bytes(), next: 0 });
        report.rows.into_iter().flat_map(|row| row.because).collect()
    }

    #[test]
    fn every_tag_that_rules_know_has_a_name_here() {
        let source = include_str!("shape.rs");
        let tags = source.split("\"<").skip(1).filter_map(|rest| rest.split(['>', '"']).next());
        let tags: Vec<_> =
            tags.filter(|tag| !tag.is_empty() && !tag.contains(['/', '{'])).collect();
        assert!(tags.len() >= TAGS.len());
        for tag in tags {
            assert!(TAGS.contains(&tag), "{tag}");
        }
    }

    #[test]
    fn a_row_is_explained_by_its_fields() {
        for (line, because) in [
            (
                r#"{"type":"user","origin":{"kind":"human"},"promptSource":"typed","version":"2.1.332","message":{"role":"user","content":"zanzibar"}}"#,
                "type=user origin.kind=human promptSource=typed version=2.1.332",
            ),
            (
                r#"{"type":"user","message":{"role":"user","content":"<task-notification><summary>zanzibar</summary>"}}"#,
                "type=user opening=<task-notification>",
            ),
            (
                r#"{"type":"user","promptSource":"zanzibar pomegranate","toolUseResult":{},"message":{"role":"user","content":[{"type":"tool_result","content":"x"}]}}"#,
                "type=user promptSource=zanzibar toolUseResult content=tool-result content=no-words",
            ),
            (
                r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"zanzibar","commandMode":"prompt","humanTurn":true,"origin":{"kind":"human"}}}"#,
                "type=attachment attachment.type=queued_command commandMode=prompt attachment.origin.kind=human humanTurn",
            ),
            (
                r#"{"type":"queue-operation","operation":"enqueue","content":"zanzibar"}"#,
                "type=queue-operation operation=enqueue",
            ),
            (r#"{"type":"user","message":{}}"#, "type=user message.role=none content=no-words"),
        ] {
            assert_eq!(explain(line).join(" "), because, "{line}");
        }
    }

    proptest! {
        /// Whatever stands in the fields, what is told is short and has no blank.
        #[test]
        fn no_sentence_gets_through(text in "\\PC{0,80}") {
            let row = serde_json::json!({
                "type": "user", "origin": {"kind": text, "subkind": text}, "promptSource": text,
                "turnOrigin": text, "rowSource": text, "entrypoint": text, "version": text,
                "message": {"role": text, "content": text}, "userFeedback": text,
            });
            for fact in explain(&row.to_string()) {
                prop_assert!(fact.len() <= 100 && fact.chars().all(|c| c.is_ascii_graphic()), "{fact}");
            }
        }
    }
}
