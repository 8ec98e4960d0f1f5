//! Row → verdict: did a person type this?
//!
//! Answers, for each row of a transcript: human or not, of which class, by which rule, on what
//! evidence. Always holds: classification never fails; what it does not know it calls `unknown` and
//! names as drift, and no text leaves this folder but as a keyed hash. Deliberately elsewhere: where
//! rows come from (`scan`), whether a human text was our own (`echo`), what was counted before
//! (`journal`).

mod compat;
#[cfg(any(test, fuzzing))]
pub mod door;
mod drift;
mod explain;
pub(crate) mod lines;
mod long;
#[cfg(test)]
mod long_tests;
mod outline;
mod queue;
mod reader;
mod row;
mod rules;
mod shape;
#[cfg(test)]
mod tests;
pub mod text;
mod version;
mod whole;

use crate::ids::{Identity, TextHash, Timestamp};
pub use drift::DriftCounts;
pub use long::LongLine;
pub use queue::QueueState;
pub use reader::{LineReport, Reader, ReaderState};
pub(crate) use row::date::parse as time;
pub(crate) use row::json::Fail;

/// What counts beside messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which commands count (`count_commands`).
    pub commands: CountCommands,
    /// Whether dialog answers and the words of a rejection count (`count_answers`).
    pub answers: bool,
}

/// Which commands count as turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CountCommands {
    /// Custom commands and skills: they start a turn.
    #[default]
    Turns,
    /// Local ones too.
    All,
    /// None.
    None,
}

/// What the classifier says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it counts as a person's turn.
    pub human: bool,
    /// What it is.
    pub class: Class,
    /// The rule that decided, by its name in `rules`.
    pub rule: &'static str,
    /// How sure the rule can be.
    pub evidence: Evidence,
}

impl Verdict {
    /// The verdict on this row where it is known already.
    #[must_use]
    pub const fn known(self) -> Self {
        Self { human: false, class: Class::Copy, rule: "known-identity", ..self }
    }
}

/// How sure a rule can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// A field that the harness wrote decides: origin, turnOrigin, isMeta and the like.
    FirstHand,
    /// A host says that a person typed (`origin: human` under an `sdk-*` entrypoint).
    Claimed,
    /// Structure or an opening tag decides.
    Shape,
    /// Nothing speaks against it.
    Default,
}

impl Evidence {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstHand => "first_hand",
            Self::Claimed => "claimed",
            Self::Shape => "shape",
            Self::Default => "default",
        }
    }
}

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A person's words.
    HumanText,
    /// A person's images without words.
    HumanImage,
    /// A custom command or skill that a person called.
    HumanCommand,
    /// A dialog answer, or a person's words in a rejection (inside a tool row).
    HumanAnswer,
    /// A built-in or local command.
    LocalCommand,
    /// A shell line typed with `!`.
    HumanBash,
    /// The mark that a person interrupted the agent.
    Interrupt,
    /// A plan that a person accepted; the words are the harness's.
    AcceptedPlan,
    /// A prompt suggestion that a person accepted.
    Suggestion,
    /// A tool's result.
    ToolResult,
    /// A background task's notice.
    TaskNotification,
    /// Another agent's message.
    Teammate,
    /// Output of a hook, or a reminder.
    Hook,
    /// A scheduled prompt.
    Scheduled,
    /// A prompt that a program sent.
    SdkPrompt,
    /// A compaction's summary.
    CompactSummary,
    /// Context that the harness wrote.
    Meta,
    /// A sub-agent's row.
    Sidechain,
    /// A row that is known already.
    Copy,
    /// Output of a command.
    CommandOutput,
    /// A continuation that the harness sent by itself.
    AutoContinue,
    /// The agent's own row.
    Assistant,
    /// A row of state: titles, snapshots, queue operations, system rows, attachments.
    State,
    /// No JSON object.
    Invalid,
    /// A row of a kind never seen.
    Unknown,
}

impl Class {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HumanText => "human_text",
            Self::HumanImage => "human_image",
            Self::HumanCommand => "human_command",
            Self::HumanAnswer => "human_answer",
            Self::LocalCommand => "local_command",
            Self::HumanBash => "human_bash",
            Self::Interrupt => "interrupt",
            Self::AcceptedPlan => "accepted_plan",
            Self::Suggestion => "suggestion",
            Self::ToolResult => "tool_result",
            Self::TaskNotification => "task_notification",
            Self::Teammate => "teammate",
            Self::Hook => "hook",
            Self::Scheduled => "scheduled",
            Self::SdkPrompt => "sdk_prompt",
            Self::CompactSummary => "compact_summary",
            Self::Meta => "meta",
            Self::Sidechain => "sidechain",
            Self::Copy => "copy",
            Self::CommandOutput => "command_output",
            Self::AutoContinue => "auto_continue",
            Self::Assistant => "assistant",
            Self::State => "state",
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
        }
    }
}

/// One row with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedRow {
    /// Offset of its first byte in the file.
    pub start: u64,
    /// Offset just after its last byte (its line end not included).
    pub end: u64,
    /// What it is known by; set where the row could ever count.
    pub identity: Option<Identity>,
    /// What a copy of it under another uuid is known by; set where it counts by our rule or by the
    /// gateway's, and its version makes such copies.
    pub aliases: Vec<Identity>,
    /// Its uuid, where that is a plain id.
    pub uuid: Option<String>,
    /// Its own time.
    pub at: Option<Timestamp>,
    /// The verdict of our rule.
    pub verdict: Verdict,
    /// Set where the gateway's rule counts the row (OpenClaw 2026.9.6).
    pub compat: Option<CompatTurn>,
    /// Keyed hash of the normalised text, where our rule or the gateway's counts the row.
    pub text: Option<TextHash>,
    /// Earlier rows that this row proves to be turns: queued messages that were delivered.
    pub proves: Vec<ProvenRow>,
    /// Names never seen before in rows, clamped in length and characters.
    pub drift: Vec<Drift>,
    /// What the row says of its provenance, as `name` or `name=value`, where the reader was asked
    /// to explain itself; no text.
    pub because: Vec<String>,
}

/// What the gateway's rule says of a row that it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompatTurn {
    /// The time that it takes from the row, if it can.
    pub at: Option<Timestamp>,
    /// Keyed hash of the text that it compares with own texts, normalised.
    pub text: TextHash,
}

/// A row passed earlier, of which a later row proves that it was a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenRow {
    /// Offset of its first byte.
    pub start: u64,
    /// Offset just after its last byte.
    pub end: u64,
    /// What it is known by.
    pub identity: Identity,
    /// Its own time.
    pub at: Option<Timestamp>,
    /// Keyed hash of its normalised text.
    pub text: Option<TextHash>,
    /// The verdict that it has now.
    pub verdict: Verdict,
}

/// A name that no rule knows: a row type, an attachment type, an origin and the like.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Drift {
    /// Which kind of name, such as `type` or `origin.kind`; `user-field` is a key of user rows.
    pub field: &'static str,
    /// The name, clamped to 64 plain characters.
    pub name: String,
    /// The program's version of the nearest row, clamped likewise.
    pub version: Option<String>,
}
