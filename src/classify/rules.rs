//! The rules, in the order in which they are asked: the first that knows a row decides.
//!
//! Answers: what a row is, and by which rule. Always holds: what a row says of its own provenance
//! goes before what its words look like, and words are looked at only where nothing is said. Not
//! here: rows of the message queue that become turns by what follows them (`queue`), whether a turn
//! was ours (`echo`) or known before (`journal`).
//!
//! Each rule names the situations that it is for, by the numbers that the names of the fixtures in
//! `fixtures/rows` begin with. A new rule is one line in a table, one function, and a fixture.

use super::queue::{Delivery, Dequeue};
use super::row::raw::RawStr;
use super::row::{Attachment, Content, Origin, Row, is};
use super::version::{
    HAS_EDITORS, MARKS_NOTICES, MARKS_PROMPTS, MARKS_QUEUED, MARKS_THINKING, REPLAYS_AT_ONCE,
    Version, WRITES_QUEUE,
};
use super::{Class, CountCommands, Evidence, Settings, Verdict, drift, shape};
use Evidence::{Claimed, Default, FirstHand, Shape};

/// What the rules know beside the row.
pub(crate) struct Context<'a> {
    /// The first text of the row (of a queued message: its prompt); where that is context that was
    /// put before a person's words, these.
    pub(crate) text: Option<&'a str>,
    /// The version that wrote the row.
    pub(crate) version: Option<Version>,
    /// What it was in the queue.
    pub(crate) delivery: Delivery,
    /// What was taken from the queue since the last row of the conversation.
    pub(crate) dequeue: Dequeue,
    /// Whether the agent called a command or a skill just before.
    pub(crate) is_launched: bool,
    /// Whether the row before it has the same time to the millisecond.
    pub(crate) is_same_moment: bool,
}

impl Context<'_> {
    fn text(&self) -> &str {
        self.text.unwrap_or_default()
    }

    /// Whether it went through the queue as a program's prompt does: in and out at once, or (2.1.17
    /// to 2.1.30) out without ever having been put in.
    fn came_at_once(&self) -> bool {
        let marks = self.version.is_some_and(|version| version < MARKS_THINKING.1);
        let is_lone = self.dequeue == Dequeue::OfNothing && !self.delivery.was_queued;
        self.delivery.is_at_once || marks && is_lone
    }
}

type Found = Option<(Class, Evidence)>;
type Rule = (&'static str, fn(&Row<'_>, &Context<'_>) -> Found);

/// Rows of every type.
const ROWS: [Rule; 9] = [
    ("unknown-type", unknown_type),
    ("sidechain", sidechain),
    ("assistant", assistant),
    ("queue-operation", queue_operation),
    ("scheduled-task-fire", scheduled_task_fire),
    ("system-local-command", system_local_command),
    ("queued-command", queued_command),
    ("state-row", state_row),
    ("no-user-message", no_user_message),
];

/// User rows: first what the row says of itself, …
const USER_FIELDS: [Rule; 25] = [
    ("replay", replay),
    ("words-in-tool-row", words_in_tool_row),
    ("dialog-answer", dialog_answer),
    ("tool-result", tool_result),
    ("compact-summary", compact_summary),
    ("origin-of-program", origin_of_program),
    ("turn-origin-of-program", turn_origin_of_program),
    ("scheduled-task", scheduled_task),
    ("hook-text", hook_text),
    ("is-meta", is_meta),
    ("transcript-only", transcript_only),
    ("turn-companion", turn_companion),
    ("text-of-tool", text_of_tool),
    ("interrupted-message", interrupted_message),
    ("plan-content", plan_content),
    ("delivered-after-removal", delivered_after_removal),
    ("no-words", no_words),
    ("suggestion-accepted", suggestion_accepted),
    ("origin-human", origin_human),
    ("turn-origin-sdk", turn_origin_sdk),
    ("prompt-source-typed", prompt_source_typed),
    ("prompt-source-system", prompt_source_system),
    ("row-source", row_source),
    ("turn-origin-human", turn_origin_human),
    ("sdk-entrypoint", sdk_entrypoint),
];

/// … then what its words look like, …
const USER_SHAPES: [Rule; 9] = [
    ("command-of-agent", command_of_agent),
    ("command-of-program", command_of_program),
    ("echo-tag", echo_tag),
    ("notice-tag", notice_tag),
    ("agent-message-tag", agent_message_tag),
    ("interrupt-mark", interrupt_mark),
    ("unknown-command", unknown_command),
    ("openclaw-prompt", openclaw_prompt),
    ("editor-context", editor_context),
];

/// … then what is known of its version and its neighbours, and at last: a person.
const USER_REST: [Rule; 7] = [
    ("compact-call", compact_call),
    ("replayed-at-once", replayed_at_once),
    ("editor-prompt", editor_prompt),
    ("queued-by-program", queued_by_program),
    ("no-thinking-mark", no_thinking_mark),
    ("host-of-person", host_of_person),
    ("nothing-against-it", nothing_against_it),
];

/// The verdict on a row.
pub(crate) fn judge(row: &Row<'_>, context: &Context<'_>, settings: Settings) -> Verdict {
    let tables: [&[Rule]; 4] = [&ROWS, &USER_FIELDS, &USER_SHAPES, &USER_REST];
    tables
        .into_iter()
        .flatten()
        .find_map(|(name, rule)| {
            rule(row, context).map(|(class, evidence)| verdict(class, name, evidence, settings))
        })
        .unwrap_or(verdict(Class::Unknown, "no-rule", Default, settings))
}

/// The names of all rules, in their order.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let tables: [&[Rule]; 4] = [&ROWS, &USER_FIELDS, &USER_SHAPES, &USER_REST];
    tables.into_iter().flatten().map(|(name, _)| *name)
}

/// A verdict: the class says whether it counts.
pub(crate) const fn verdict(
    class: Class,
    rule: &'static str,
    evidence: Evidence,
    settings: Settings,
) -> Verdict {
    let human = match class {
        Class::HumanText | Class::HumanImage | Class::Suggestion => true,
        Class::HumanCommand => !matches!(settings.commands, CountCommands::None),
        Class::LocalCommand => matches!(settings.commands, CountCommands::All),
        Class::HumanAnswer => settings.answers,
        _ => false,
    };
    Verdict { human, class, rule, evidence }
}

fn when(condition: bool, class: Class, evidence: Evidence) -> Found {
    condition.then_some((class, evidence))
}

// Rows of every type.

fn unknown_type(row: &Row<'_>, _: &Context<'_>) -> Found {
    let is_known = row.kind.is_some_and(drift::is_known_type);
    when(!is_known, Class::Unknown, Shape)
}

/// Sub-agents, and what helper agents copied of a person's messages.
fn sidechain(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.is_sidechain, Class::Sidechain, FirstHand)
}

fn assistant(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.is_kind("assistant"), Class::Assistant, FirstHand)
}

/// 3 to 6: what is typed while the agent works. The row itself is no turn; see `queue`.
fn queue_operation(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.is_kind("queue-operation"), Class::State, FirstHand)
}

/// 18.
fn scheduled_task_fire(row: &Row<'_>, _: &Context<'_>) -> Found {
    let fires = row.is_kind("system") && is(row.subtype, "scheduled_task_fire");
    when(fires, Class::Scheduled, FirstHand)
}

/// 10: newer built-in commands leave only system rows.
fn system_local_command(row: &Row<'_>, _: &Context<'_>) -> Found {
    if !row.is_kind("system") || !is(row.subtype, "local_command") {
        return None;
    }
    let text = row.content.first_text().unwrap_or_default();
    let is_call = shape::echo(&text) == Some(Class::LocalCommand);
    Some((if is_call { Class::LocalCommand } else { Class::CommandOutput }, FirstHand))
}

/// 4b: typed during a tool call, from 2.1.97 on; 25b: a program's names its writer, or lacks a
/// person's mark in a version that writes one.
fn queued_command(row: &Row<'_>, context: &Context<'_>) -> Found {
    let attachment = row.attachment.as_ref().filter(|_| row.is_kind("attachment"))?;
    if !is(attachment.kind, "queued_command") {
        return None;
    }
    Some(class_of_queued(attachment, row, context))
}

fn class_of_queued(
    attachment: &Attachment<'_>,
    row: &Row<'_>,
    context: &Context<'_>,
) -> (Class, Evidence) {
    let text = context.text();
    if context.delivery.is_counted {
        return (Class::Copy, Shape);
    }
    let mode = attachment.command_mode;
    if is(mode, "task-notification") {
        return (Class::TaskNotification, FirstHand);
    }
    if mode.is_some_and(|mode| !mode.is("prompt") && drift::is_known_mode(mode)) {
        return (Class::State, FirstHand);
    }
    if attachment.is_meta || row.is_meta {
        return (Class::Meta, FirstHand);
    }
    if !has_words(&attachment.prompt) {
        return (Class::Meta, Shape);
    }
    let class = attachment.origin.or(row.origin).map(class_of_origin);
    let is_of_person = match class {
        Some(None) => true,
        Some(Some(Class::Unknown)) | None => attachment.human_turn,
        Some(Some(_)) => false,
    };
    if is_of_person {
        return (class_of_words(&attachment.prompt), claim(row));
    }
    if let Some(Some(class)) = class {
        return (class, FirstHand);
    }
    if mode.is_some_and(|mode| !mode.is("prompt")) {
        return (Class::State, FirstHand);
    }
    let names_writer = attachment.source.is_some_and(drift::is_known_source);
    if names_writer || context.version.is_some_and(|version| version >= MARKS_QUEUED) {
        return (class_of_message(text).unwrap_or(Class::SdkPrompt), FirstHand);
    }
    // Echoes are no prompts: with a prompt's mode the tag was typed (28).
    let class = if mode.is_some() { class_of_message(text) } else { class_of_program_text(text) };
    if let Some(class) = class {
        return (class, Shape);
    }
    if is_sdk_entrypoint(row) {
        return (Class::SdkPrompt, FirstHand);
    }
    (class_of_words(&attachment.prompt), Default)
}

fn state_row(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(!row.is_kind("user"), Class::State, FirstHand)
}

fn no_user_message(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(!is(row.message.role, "user"), Class::Unknown, Shape)
}

// User rows: what the row says of itself.

fn replay(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.is_replay, Class::Copy, FirstHand)
}

/// 16, newest versions; where a person allowed a tool with words, they stand beside its result.
fn words_in_tool_row(row: &Row<'_>, _: &Context<'_>) -> Found {
    let has_words = row.holds_persons_words || row.user_feedback.is_some_and(|words| !words.is(""));
    let is_decided = row.decider.is_some_and(|source| source.beginning(16).starts_with("user_"));
    let is_allowed_with_words = is_decided
        && matches!(&row.message.content, Content::Blocks(blocks)
            if blocks.has_tool_result && blocks.texts.iter().any(is_said_by_person));
    when(has_words || is_allowed_with_words, Class::HumanAnswer, FirstHand)
}

/// 15 and 16: a person's choice or words inside a tool row.
fn dialog_answer(row: &Row<'_>, _: &Context<'_>) -> Found {
    let Content::Blocks(blocks) = &row.message.content else {
        return None;
    };
    if !blocks.has_tool_result {
        return None;
    }
    if row.has_answers {
        return Some((Class::HumanAnswer, FirstHand));
    }
    let text = blocks.tool_text.filter(|text| text.may_begin_with(shape::ANSWER_INITIALS))?;
    let text = text.beginning(1024);
    let has_words =
        shape::is_answer(&text) || blocks.has_tool_error && shape::is_refusal_with_words(&text);
    when(has_words, Class::HumanAnswer, Shape)
}

/// 14.
fn tool_result(row: &Row<'_>, _: &Context<'_>) -> Found {
    let has_block =
        matches!(&row.message.content, Content::Blocks(blocks) if blocks.has_tool_result);
    when(has_block || row.has_tool_use_result, Class::ToolResult, FirstHand)
}

/// The summary quotes what the person said.
fn compact_summary(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.is_compact_summary, Class::CompactSummary, FirstHand)
}

/// 17, 18, 21, 29.
fn origin_of_program(row: &Row<'_>, _: &Context<'_>) -> Found {
    let class = row.origin.and_then(class_of_origin)?;
    // An origin that says nothing gives way to another field that says a person.
    let is_typed = is_prompt_typed(row) || is(row.turn_origin, "human");
    when(class != Class::Unknown || !is_typed, class, FirstHand)
}

/// 17, 18, 21.
fn turn_origin_of_program(row: &Row<'_>, _: &Context<'_>) -> Found {
    let class = match row.turn_origin? {
        origin if origin.is("task_notification") => Class::TaskNotification,
        origin if origin.is("scheduled") => Class::Scheduled,
        origin if origin.is("peer") => Class::Teammate,
        _ => return None,
    };
    Some((class, FirstHand))
}

/// 18.
fn scheduled_task(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.has_scheduled_task, Class::Scheduled, FirstHand)
}

/// 19.
fn hook_text(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.hook_text || is(row.source, "hook"), Class::Hook, FirstHand)
}

/// 8, 10, 11, 18, 19, 20, 29, 30: never a person.
fn is_meta(row: &Row<'_>, context: &Context<'_>) -> Found {
    let class = match context.text() {
        "Continue from where you left off." => Class::AutoContinue,
        text if shape::echo(text) == Some(Class::Hook) => Class::Hook,
        _ if context.delivery.was_queued => Class::Scheduled,
        _ => Class::Meta,
    };
    when(row.is_meta, class, FirstHand)
}

/// 20, in 1.0.x.
fn transcript_only(row: &Row<'_>, context: &Context<'_>) -> Found {
    let is_hook = shape::echo(context.text()) == Some(Class::Hook);
    let class = if is_hook { Class::Hook } else { Class::Meta };
    when(row.is_visible_in_transcript_only, class, FirstHand)
}

/// 11: what a command or a skill unfolds to.
fn turn_companion(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.turn_companion, Class::Meta, FirstHand)
}

/// 11: what the Skill tool wrote.
fn text_of_tool(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.has_source_tool_use, Class::Meta, FirstHand)
}

/// 13, newest versions.
fn interrupted_message(row: &Row<'_>, context: &Context<'_>) -> Found {
    let is_mark = row.was_interrupted && shape::is_interrupt(context.text());
    when(is_mark, Class::Interrupt, FirstHand)
}

/// 22: a click by a person, the words of the harness.
fn plan_content(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(row.has_plan, Class::AcceptedPlan, FirstHand)
}

/// 4a, before 2.1.97: the message was removed from the queue and counted there, and directly behind
/// the removal stands the row that delivers it.
fn delivered_after_removal(_: &Row<'_>, context: &Context<'_>) -> Found {
    when(context.delivery.is_counted && context.delivery.is_next, Class::Copy, Shape)
}

/// 2: the words are not the person's, the decision to send them is.
fn suggestion_accepted(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(is(row.prompt_source, "suggestion_accepted"), Class::Suggestion, FirstHand)
}

/// 1b, 3, 6, 7, 8, 11, 25, 26, 27, 28.
fn origin_human(row: &Row<'_>, context: &Context<'_>) -> Found {
    if !row.origin.is_some_and(|origin| origin.kind.is("human")) {
        return None;
    }
    // A command's row carries no mark of a prompt; that of a person who types the tag does.
    let is_marked = is_prompt_typed(row) || has_prompt_mark(row);
    let is_command = !is_marked && shape::echo(context.text()) == Some(Class::HumanCommand);
    let class = if is_command { Class::HumanCommand } else { class_of_words(&row.message.content) };
    Some((class, claim(row)))
}

/// 1b, 3, 6, before origins were written.
fn prompt_source_typed(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(is_prompt_typed(row), class_of_words(&row.message.content), FirstHand)
}

/// 17, 21.
fn prompt_source_system(row: &Row<'_>, context: &Context<'_>) -> Found {
    let class = class_of_program_text(context.text()).unwrap_or(Class::Meta);
    when(is(row.prompt_source, "system"), class, FirstHand)
}

/// 23, 25b.
fn turn_origin_sdk(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(is(row.turn_origin, "sdk"), Class::SdkPrompt, FirstHand)
}

/// 9, 10, 13, 17: a row that names a writer that is known is not a person's.
fn row_source(row: &Row<'_>, context: &Context<'_>) -> Found {
    row.source.filter(|source| drift::is_known_source(*source))?;
    let text = context.text();
    let class = if shape::is_interrupt(text) {
        Class::Interrupt
    } else {
        class_of_program_text(text).unwrap_or(Class::Meta)
    };
    Some((class, FirstHand))
}

/// A person's turn; on the output of a shell line (9), which has no prompt's mark, it means the line.
fn turn_origin_human(row: &Row<'_>, context: &Context<'_>) -> Found {
    let is_prompt = has_prompt_mark(row) || shape::echo(context.text()).is_none();
    let is_turn = is(row.turn_origin, "human") && is_prompt;
    when(is_turn, class_of_words(&row.message.content), claim(row))
}

/// 23, 24.
fn sdk_entrypoint(row: &Row<'_>, _: &Context<'_>) -> Found {
    when(is_sdk_entrypoint(row), Class::SdkPrompt, FirstHand)
}

/// Whoever it may come from.
fn no_words(row: &Row<'_>, context: &Context<'_>) -> Found {
    let class = if context.text.is_some() { Class::Meta } else { Class::Unknown };
    when(!has_words(&row.message.content), class, Shape)
}

// User rows: what the words look like.

/// 11: the agent's own call, by a tool for skills or slash commands, in versions that say nothing.
fn command_of_agent(row: &Row<'_>, context: &Context<'_>) -> Found {
    let text = context.text();
    let is_call = shape::echo(text) == Some(Class::HumanCommand) && !has_prompt_mark(row);
    let is_of_agent = context.is_launched || shape::is_skill_loading(text);
    when(is_call && is_of_agent, Class::Meta, Shape)
}

/// 11 and 23, before entrypoints were written: a program's call goes through the queue at once.
fn command_of_program(row: &Row<'_>, context: &Context<'_>) -> Found {
    let is_call = shape::echo(context.text()) == Some(Class::HumanCommand);
    let is_of_program = row.entrypoint.is_none() && context.came_at_once();
    when(is_call && is_of_program, Class::SdkPrompt, Shape)
}

/// 9, 10, 11, 12, 19, 20 in versions that say nothing; 28: with a prompt's mark it was typed.
fn echo_tag(row: &Row<'_>, context: &Context<'_>) -> Found {
    let class = shape::echo(context.text())?;
    when(!has_prompt_mark(row), class, Shape)
}

/// 17 in versions that say nothing; 28: later a prompt's mark and words behind the notice say that
/// a person put it there.
fn notice_tag(row: &Row<'_>, context: &Context<'_>) -> Found {
    let marks = context.version.is_some_and(|version| version >= MARKS_NOTICES);
    let is_typed = marks
        && row.has_permission_mode
        && row.origin.is_none()
        && shape::has_words_behind_notice(context.text());
    when(!is_typed && shape::is_notice(context.text()), Class::TaskNotification, Shape)
}

/// 21.
fn agent_message_tag(_: &Row<'_>, context: &Context<'_>) -> Found {
    when(shape::is_message_of_agent(context.text()), Class::Teammate, Shape)
}

/// 13 in versions that say nothing.
fn interrupt_mark(row: &Row<'_>, context: &Context<'_>) -> Found {
    let is_sole = row.message.content.candidates().len() == 1 && !row.message.content.has_image();
    let is_mark = is_sole && shape::is_interrupt(context.text()) && !has_prompt_mark(row);
    when(is_mark, Class::Interrupt, Shape)
}

/// 12.
fn unknown_command(row: &Row<'_>, context: &Context<'_>) -> Found {
    let is_line = shape::is_unknown_command(context.text()) && !has_prompt_mark(row);
    when(is_line, Class::CommandOutput, Shape)
}

/// The gateway's own prompts, in versions without an entrypoint.
fn openclaw_prompt(row: &Row<'_>, context: &Context<'_>) -> Found {
    // The gateway's prompts come the way of the SDK: at a terminal its mark was typed (28).
    let is_typed = is(row.entrypoint, "cli") && shape::is_inter_session(context.text());
    when(!is_typed && shape::is_prompt_of_openclaw(context.text()), Class::SdkPrompt, Shape)
}

/// 25: what an editor says of its files, and nobody's words.
fn editor_context(row: &Row<'_>, context: &Context<'_>) -> Found {
    let is_alone = shape::is_editor_context(context.text()) && !row.message.content.has_image();
    when(is_alone && !has_prompt_mark(row), Class::Meta, Shape)
}

// User rows: version and neighbours.

/// The bare row that newer versions write before a compaction.
fn compact_call(row: &Row<'_>, context: &Context<'_>) -> Found {
    let marks = context.version.is_some_and(|version| version >= MARKS_PROMPTS);
    let is_call = marks && !has_prompt_mark(row) && shape::is_compact_call(context.text());
    when(is_call, Class::LocalCommand, Shape)
}

/// 25, before entrypoints were written: an editor puts its context before what a person types there.
fn editor_prompt(row: &Row<'_>, _: &Context<'_>) -> Found {
    let content = &row.message.content;
    let first = content.first().filter(|text| text.may_begin_with(b"<"));
    let is_context = first.is_some_and(|text| shape::is_editor_context(&text.text()));
    when(is_context && row.entrypoint.is_none(), class_of_words(content), Shape)
}

/// 8, before 2.0.14: what a resumed session with an image gets once more, all at one time.
fn replayed_at_once(row: &Row<'_>, context: &Context<'_>) -> Found {
    let replays = context.version.is_some_and(|version| version < REPLAYS_AT_ONCE);
    let Content::Blocks(blocks) = &row.message.content else {
        return None;
    };
    // From then on what is typed carries a mark, an image alone too.
    let marks = context.version.is_some_and(|version| version >= MARKS_THINKING.0);
    let is_bare_image = blocks.has_image && blocks.texts.is_empty();
    let is_part = context.is_same_moment || marks && is_bare_image;
    when(replays && is_part && !has_prompt_mark(row), Class::Copy, Shape)
}

/// 23, before entrypoints were written.
fn queued_by_program(row: &Row<'_>, context: &Context<'_>) -> Found {
    // Where prompts carry a thinking level, a program's does not.
    let is_bare = row.entrypoint.is_none() && !row.has_thinking_metadata;
    when(is_bare && context.came_at_once(), Class::SdkPrompt, Shape)
}

/// 23, before entrypoints were written; the price is a prompt given on the command line (27).
fn no_thinking_mark(row: &Row<'_>, context: &Context<'_>) -> Found {
    let version = context.version.filter(|version| {
        !row.has_thinking_metadata && (MARKS_THINKING.0..MARKS_THINKING.1).contains(version)
    })?;
    let is_text = matches!(row.message.content, Content::Text(_));
    let is_of_program = if version < HAS_EDITORS {
        true
    } else if version < WRITES_QUEUE {
        is_text
    } else {
        is_text && context.dequeue != Dequeue::None && !context.delivery.was_queued
    };
    when(is_of_program, Class::SdkPrompt, Shape)
}

/// 25.
fn host_of_person(row: &Row<'_>, _: &Context<'_>) -> Found {
    const HOSTS: [&str; 4] = ["claude-desktop", "claude-vscode", "remote_mobile", "remote_cowork"];
    let is_host = HOSTS.iter().any(|host| is(row.entrypoint, host));
    when(is_host, class_of_words(&row.message.content), Default)
}

/// 1, 3, 5, 7, 8, 27, 28.
#[expect(clippy::unnecessary_wraps, reason = "a rule like the others, which may know nothing")]
fn nothing_against_it(row: &Row<'_>, _: &Context<'_>) -> Found {
    Some((class_of_words(&row.message.content), Default))
}

// What the rules share.

/// The class of a row that says it comes from a program; `None` where it says a person.
fn class_of_origin(origin: Origin<'_>) -> Option<Class> {
    let subkind_is = |name| is(origin.subkind, name);
    let kind = |name: &str| origin.kind.is(name);
    Some(if kind("human") {
        return None;
    } else if kind("task-notification") && subkind_is("scheduled-trigger") {
        Class::Scheduled
    } else if kind("task-notification") && subkind_is("peer-send-message") {
        Class::Teammate
    } else if kind("task-notification") {
        Class::TaskNotification
    } else if kind("peer") || kind("coordinator") || kind("channel") {
        Class::Teammate
    } else if kind("observer") || kind("observer-activity") {
        Class::Meta
    } else if kind("auto-continuation") {
        Class::AutoContinue
    } else {
        Class::Unknown
    })
}

/// The class of a program's text by its beginning.
fn class_of_program_text(text: &str) -> Option<Class> {
    class_of_message(text).or_else(|| shape::echo(text))
}

/// The class of what a program sends as a prompt, by its beginning.
fn class_of_message(text: &str) -> Option<Class> {
    if shape::is_notice(text) {
        return Some(Class::TaskNotification);
    }
    if shape::is_message_of_agent(text) {
        return Some(Class::Teammate);
    }
    if shape::is_prompt_of_openclaw(text) {
        return Some(Class::SdkPrompt);
    }
    None
}

/// Whether anything was said, in words or in images.
fn has_words(content: &Content<'_>) -> bool {
    content.has_image() || content.candidates().iter().any(|text| !text.text().trim().is_empty())
}

/// Whether a text beside a tool's result is none that a program puts there.
fn is_said_by_person(text: &RawStr<'_>) -> bool {
    let text = text.text();
    !text.trim().is_empty() && class_of_program_text(&text).is_none() && !shape::is_interrupt(&text)
}

/// Whether the row says that its prompt was typed.
fn is_prompt_typed(row: &Row<'_>) -> bool {
    is(row.prompt_source, "typed") || is(row.prompt_source, "queued")
}

/// A person's words, or images without any.
pub(crate) fn class_of_words(content: &Content<'_>) -> Class {
    let says_nothing = |text: &RawStr<'_>| shape::is_beside_words(&text.text());
    if content.has_image() && content.candidates().iter().all(says_nothing) {
        Class::HumanImage
    } else {
        Class::HumanText
    }
}

/// How much a person's mark is worth: under an SDK's entrypoint a host wrote it.
fn claim(row: &Row<'_>) -> Evidence {
    if is_sdk_entrypoint(row) { Claimed } else { FirstHand }
}

/// Whether a program spawned Claude Code: by an SDK, by `-p`, or in a workflow of GitHub's.
pub(crate) fn is_sdk_entrypoint(row: &Row<'_>) -> bool {
    row.entrypoint.is_some_and(|entrypoint| {
        entrypoint.beginning(16).starts_with("sdk-") || entrypoint.is("claude-code-github-action")
    })
}

/// What stands on prompts and never on echoes of commands, shell lines and interrupts.
const fn has_prompt_mark(row: &Row<'_>) -> bool {
    row.has_permission_mode || row.has_thinking_metadata
}
