//! A reader of one source: line after line, with what must be remembered between them.
//!
//! Answers: the rows of a line, each with its verdict. Always holds: the state is bounded, holds no
//! text, and reading in windows with the state stored in between gives the same verdicts as reading
//! at once. Not here: where lines come from (`scan`), what the verdicts lead to (`record`).

use super::queue::{Delivery, QueueRow, QueueState};
use super::row::json::RawStr;
use super::row::{Parsed, Row, date, is};
use super::rules::{self, Context};
use super::version::Version;
use super::{Class, Evidence, JudgedRow, Settings, Verdict, compat, drift};
use crate::classify::text::{is_js_space, normalise};
use crate::ids::{HashKey, Identity, TextHash, Timestamp, is_plain_id};
use crate::scan::line::{self, Line, Piece, Place, Skipped};
use serde::{Deserialize, Serialize};

/// What must be remembered of the rows of a source that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderState {
    /// The version of the last row that named one, clamped.
    version: Option<String>,
    /// The message queue.
    queue: QueueState,
}

/// The rows of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineReport {
    /// Every piece of the line with its verdict, in order; what is no JSON is there as `invalid`.
    pub rows: Vec<JudgedRow>,
    /// The first piece that is no JSON.
    pub skipped: Option<Skipped>,
}

/// Reads the lines of one source in their order.
#[derive(Debug, Clone)]
pub struct Reader {
    key: HashKey,
    settings: Settings,
    state: ReaderState,
}

impl Reader {
    /// A reader that goes on from `state`.
    #[must_use]
    pub fn new(key: &HashKey, settings: Settings, state: ReaderState) -> Self {
        Self { key: key.clone(), settings, state }
    }

    /// What is to be remembered so far.
    #[must_use]
    pub const fn state(&self) -> &ReaderState {
        &self.state
    }

    /// What is to be remembered.
    #[must_use]
    pub fn into_state(self) -> ReaderState {
        self.state
    }

    /// Judges the rows of the next line; a blank line has none.
    pub fn read_line(&mut self, line: &Line<'_>) -> LineReport {
        let mut report = LineReport::default();
        if is_blank(line.bytes) {
            return report;
        }
        let bytes = line.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line.bytes);
        let mark = line.bytes.len() - bytes.len();
        let offset =
            |at: usize| line.start.saturating_add(u64::try_from(mark + at).unwrap_or(u64::MAX));
        let has_controls = bytes.iter().any(|byte| *byte < 0x20);
        let parse = |rest| Row::parse(rest, has_controls);
        let pieces = line::split(bytes, parse, |parsed, place| match parsed {
            Parsed::Row(row) => {
                let is_row = match place {
                    Place::BehindTear => row.is_identified(),
                    Place::AsValue => row.is_complete(),
                };
                is_row && row.kind.is_some_and(drift::is_known_type)
            }
            Parsed::NoObject => false,
        });
        let is_whole = pieces.len() == 1 && mark == 0;
        for piece in pieces {
            match piece {
                Piece::Value { start, end, value: Parsed::Row(row) } => {
                    let raw = bytes.get(start..end).unwrap_or_default();
                    let place = (offset(start), offset(end));
                    report.rows.push(self.judge(&row, raw, place, is_whole));
                }
                Piece::Value { start, end, value: Parsed::NoObject } => {
                    report.rows.push(invalid(offset(start), offset(end), "no-object"));
                }
                Piece::NoJson { start, end, category } => {
                    report.rows.push(invalid(offset(start), offset(end), "no-json"));
                    report.skipped.get_or_insert(Skipped {
                        offset: offset(start),
                        length: u64::try_from(end - start).unwrap_or(u64::MAX),
                        category,
                    });
                }
            }
        }
        report
    }

    fn judge(
        &mut self,
        row: &Row<'_>,
        raw: &[u8],
        (start, end): (u64, u64),
        is_whole: bool,
    ) -> JudgedRow {
        let was_known = self.version().is_some();
        if let Some(version) = row.version.filter(|_| is_conversation(row)) {
            self.state.version = Some(drift::plain(&version.beginning(256)));
        }
        let version = self.version();
        let mut proves = match version {
            Some(version) if !was_known => self.state.queue.decide(version, self.settings),
            _ => Vec::new(),
        };
        let at = row.timestamp.and_then(|time| date::parse(&time.text()));
        let uuid = row.uuid.map(RawStr::text);
        let compat = if is_whole { compat::turn(row, &self.key) } else { None };
        let is_queue_row = row.is_kind("queue-operation");
        let said = said(row, is_queue_row);
        // Decoded and hashed only where somebody asks: most rows are the agent's.
        let hash = || said.as_deref().map(|text| self.key.text(&normalise(text)));
        let mut text = compat.as_ref().map(|compat| compat.text.clone());
        let can_be_delivered = !self.state.queue.is_idle() && !row.is_sidechain;
        if text.is_none() && (is_queue_row || can_be_delivered) {
            text = hash();
        }
        let mut delivery = match &text {
            Some(text) if can_be_delivered && !is_queue_row => self.state.queue.deliver(text),
            _ => Delivery::default(),
        };
        if let Some(said) = said.as_deref().filter(|_| can_be_delivered && row.is_kind("user"))
            && !delivery.was_queued
        {
            let hash = |text: &str| self.key.text(&normalise(text));
            delivery = self.state.queue.deliver_joined(said, hash);
        }
        let context = Context { text: said.as_deref(), version, delivery };
        let verdict = rules::judge(row, &context, self.settings);
        let is_typed = row.is_kind("user")
            && matches!(verdict.class, Class::HumanText | Class::HumanImage | Class::Suggestion);
        if is_typed && !delivery.was_queued && text.is_some() {
            self.state.queue.was_empty(at);
        }
        if text.is_none() && verdict.human {
            text = hash();
        }
        let is_kept = is_queue_row && is(row.operation, "enqueue");
        let is_countable = verdict.human || compat.is_some();
        let identity = (is_countable || is_queue_row)
            .then(|| Identity::of_row(&self.key, uuid.as_deref(), raw));
        if let Some(identity) = identity.as_ref().filter(|_| is_queue_row) {
            let found =
                QueueRow { row, start, end, identity: identity.clone(), at, text: text.clone() };
            proves.extend(self.state.queue.operate(found, version, self.settings));
        }
        self.pass(row, at, verdict.class);
        JudgedRow {
            start,
            end,
            identity: identity.filter(|_| is_countable || is_kept),
            uuid: uuid.filter(|uuid| is_plain_id(uuid)).map(Into::into),
            at,
            verdict,
            compat,
            text: text.filter(|_| is_countable || is_kept),
            proves,
            drift: drift::names(row, self.state.version.as_deref()),
        }
    }

    /// The version that is known so far.
    fn version(&self) -> Option<Version> {
        self.state.version.as_deref().and_then(Version::parse)
    }

    /// Lets the queue know that a row of the conversation went by.
    fn pass(&mut self, row: &Row<'_>, at: Option<Timestamp>, class: Class) {
        if row.is_sidechain {
            return;
        }
        if row.is_kind("system") && class == Class::Scheduled {
            self.state.queue.fire(at);
        } else if row.is_kind("user") || row.is_kind("assistant") {
            self.state.queue.pass(row.is_kind("assistant"));
        }
    }
}

/// The first text of a row, where the rules look at it.
fn said<'a>(row: &'a Row<'a>, is_queue_row: bool) -> Option<std::borrow::Cow<'a, str>> {
    if is_queue_row {
        return row.content.first_text();
    }
    if row.is_kind("user") {
        return row.message.content.first_text();
    }
    let attachment = row.attachment.as_ref().filter(|_| row.is_kind("attachment"))?;
    if is(attachment.kind, "queued_command") { attachment.prompt.first_text() } else { None }
}

/// Whether a row is one of the conversation's, which name the version that wrote them.
fn is_conversation(row: &Row<'_>) -> bool {
    const TYPES: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];
    TYPES.iter().any(|name| row.is_kind(name))
}

/// Whether there is nothing on a line but white space, as JavaScript has it.
fn is_blank(bytes: &[u8]) -> bool {
    match bytes.first() {
        None => true,
        Some(b'{') => false,
        Some(_) => std::str::from_utf8(bytes).is_ok_and(|line| line.chars().all(is_js_space)),
    }
}

fn invalid(start: u64, end: u64, rule: &'static str) -> JudgedRow {
    JudgedRow {
        start,
        end,
        identity: None,
        uuid: None,
        at: None,
        verdict: Verdict { human: false, class: Class::Invalid, rule, evidence: Evidence::Shape },
        compat: None,
        text: None::<TextHash>,
        proves: Vec::new(),
        drift: Vec::new(),
    }
}
