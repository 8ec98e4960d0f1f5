//! A reader of one source: line after line, with what must be remembered between them.
//!
//! Answers: the rows of a line, each with its verdict. Always holds: the state is bounded, holds no
//! text, and reading in windows with the state stored in between gives the same verdicts as reading
//! at once. Not here: where lines come from (`scan`), what the verdicts lead to (`record`).

use super::outline::{Said, Span};
use super::queue::{Delivery, QueueRow, QueueState};
use super::row::json::Cursor;
use super::row::raw::RawStr;
use super::row::{Content, Parsed, Row, is};
use super::rules::{self, Context};
use super::version::{REPLAYS, Version};
use super::whole::{InMemory, Whole};
use super::{
    Class, CompatTurn, Evidence, JudgedRow, Settings, Verdict, compat, drift, explain, shape,
};
use crate::classify::text::{Digest, is_js_space, normalise};
use crate::ids::{HashKey, Identity, TextHash, Timestamp, is_plain_id};
use crate::scan::bytes::Bytes;
use crate::scan::line::{self, Line, Parse, Piece, Place, Skipped, Values};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::ControlFlow;

/// What must be remembered of the rows of a source that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderState {
    /// The version of the last row that named one, clamped.
    version: Option<String>,
    /// Whether the last row that named an entrypoint named an SDK's: what goes through the queue
    /// there, a program sent.
    #[serde(default)]
    is_of_program: bool,
    /// The message queue.
    queue: QueueState,
    /// Commands and skills that the agent called since it last spoke, whose rows are to come.
    #[serde(default)]
    launches: u8,
    /// The time of the last row of a person, a program or the agent.
    #[serde(default)]
    spoken_at: Option<Timestamp>,
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
    /// The version of the state, read.
    version: Option<Version>,
    explains: bool,
}

impl Reader {
    /// A reader that goes on from `state`.
    #[must_use]
    pub fn new(key: &HashKey, settings: Settings, state: ReaderState) -> Self {
        let version = state.version.as_deref().and_then(Version::parse);
        Self { key: key.clone(), settings, state, version, explains: false }
    }

    /// The same reader, which says of each row what speaks for its verdict.
    #[must_use]
    pub fn explaining(self, explains: bool) -> Self {
        Self { explains, ..self }
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
        self.read_row(line).unwrap_or_else(|| self.read_pieces(line))
    }

    /// Judges a line that is one row and nothing else, as nearly all are.
    fn read_row(&mut self, line: &Line<'_>) -> Option<LineReport> {
        if line.bytes.first() != Some(&b'{') {
            return None;
        }
        let mut row = Row::default();
        let length = row.read(&mut Cursor::new(line.bytes)).ok()?;
        if length < line.bytes.len() {
            return None;
        }
        let span = Span { from: line.start, to: line.start.saturating_add(length as u64) };
        let Ok(row) = self.judge(&row, &InMemory(line.bytes), span, true);
        Some(LineReport { rows: vec![row], skipped: None })
    }

    /// Judges a line of any kind.
    pub(super) fn read_pieces(&mut self, line: &Line<'_>) -> LineReport {
        let Ok(is_blank) = is_blank(line.bytes);
        if is_blank {
            return LineReport::default();
        }
        let bytes = line.bytes.strip_prefix(BOM).unwrap_or(line.bytes);
        let mark = line.bytes.len() - bytes.len();
        let from = line.start.saturating_add(mark as u64);
        let Ok(pieces) = line::split(bytes, InLine { bytes });
        let Ok(report) = self.report(pieces, from, mark > 0, |reader, value, span, is_whole| {
            let Parsed::Row(row) = value else {
                return Ok(None);
            };
            let place = |offset: u64| usize::try_from(offset - from).unwrap_or(usize::MAX);
            let raw = bytes.get(place(span.from)..place(span.to)).unwrap_or_default();
            reader.judge(&row, &InMemory(raw), span, is_whole).map(Some)
        });
        report
    }

    /// The report on a line whose pieces are placed from an offset on. `judge` judges a value, and
    /// gives nothing where it is no object.
    pub(super) fn report<T, E>(
        &mut self,
        pieces: Vec<Piece<T>>,
        from: u64,
        has_mark: bool,
        mut judge: impl FnMut(&mut Self, T, Span, bool) -> Result<Option<JudgedRow>, E>,
    ) -> Result<LineReport, E> {
        let mut report = LineReport::default();
        let is_whole = pieces.len() == 1 && !has_mark;
        let span = |start: usize, end: usize| Span {
            from: from.saturating_add(start as u64),
            to: from.saturating_add(end as u64),
        };
        for piece in pieces {
            match piece {
                Piece::Value { start, end, value } => {
                    let span = span(start, end);
                    let row = judge(self, value, span, is_whole)?;
                    report.rows.push(row.unwrap_or_else(|| invalid(span, "no-object")));
                }
                Piece::NoJson { start, end, category } => {
                    let span = span(start, end);
                    report.rows.push(invalid(span, "no-json"));
                    let (offset, length) = (span.from, span.length());
                    report.skipped.get_or_insert(Skipped { offset, length, category });
                }
            }
        }
        Ok(report)
    }

    /// Judges a row by what rules see of it; `whole` has the rest.
    pub(super) fn judge<W: Whole>(
        &mut self,
        row: &Row<'_>,
        whole: &W,
        span: Span,
        is_whole: bool,
    ) -> Result<JudgedRow, W::Error> {
        let was_known = self.version.is_some();
        if let Some(version) = row.version.filter(|_| is_conversation(row)) {
            self.note_version(version);
        }
        if row.entrypoint.is_some() && is_conversation(row) {
            self.state.is_of_program = rules::is_sdk_entrypoint(row);
        }
        let version = self.version;
        let mut proves = match version {
            Some(version) if !was_known => self.state.queue.decide(version, self.settings),
            _ => Vec::new(),
        };
        let at = compat::time(row);
        let is_counted_by_gateway = is_whole && compat::counts(row);
        let is_queue_row = row.is_kind("queue-operation");
        let said = said(row, is_queue_row);
        let seen = said.map(|(_, text)| looked_at(row, text));
        // Decoded and hashed only where somebody asks: most rows are the agent's.
        let key = self.key.clone();
        let digest = || said.map(|(said, text)| whole.digest(&key, said, text)).transpose();
        let can_be_delivered = !self.state.queue.is_idle() && !row.is_sidechain;
        let mut text = if is_counted_by_gateway || is_queue_row || can_be_delivered {
            digest()?
        } else {
            None
        };
        let delivery = if can_be_delivered && !is_queue_row {
            self.deliver(row, whole, said, text.as_ref())?
        } else {
            Delivery::default()
        };
        let context = Context {
            text: seen.as_deref(),
            version,
            delivery,
            dequeue: self.state.queue.last_dequeue(),
            is_launched: self.state.launches > 0,
            is_same_moment: at.is_some() && at == self.state.spoken_at,
        };
        let verdict = rules::judge(row, &context, self.settings);
        let because = if self.explains { explain::because(row, &context) } else { Vec::new() };
        let is_typed = row.is_kind("user")
            && matches!(verdict.class, Class::HumanText | Class::HumanImage | Class::Suggestion);
        if is_typed && !delivery.was_queued && text.is_some() {
            self.state.queue.was_empty(at);
        }
        if text.is_none() && verdict.human {
            text = digest()?;
        }
        let lines = text.as_ref().map_or(0, |text| text.lines);
        let text = text.map(|text| text.hash);
        let compat = text
            .clone()
            .filter(|_| is_counted_by_gateway)
            .map(|text| CompatTurn { at: compat::time(row), text });
        let is_kept = is_queue_row && is(row.operation, "enqueue");
        let is_countable = verdict.human || compat.is_some();
        let identity = match row.uuid {
            _ if !is_countable && !is_queue_row => None,
            Some(uuid) => Some(Identity::of_uuid(&self.key, &uuid.word())),
            None => {
                let queued =
                    is_kept.then(|| self.queued_identity(row, at, text.as_ref())).flatten();
                Some(queued.map_or_else(|| whole.identity(&self.key), Ok)?)
            }
        };
        let aliases = match at.filter(|_| is_countable && row.is_kind("user")) {
            Some(at) => self.aliases(row, at, text.as_ref()),
            None => Vec::new(),
        };
        if let Some(identity) = identity.as_ref().filter(|_| is_queue_row) {
            let found = QueueRow {
                row,
                start: span.from,
                end: span.to,
                identity: identity.clone(),
                at,
                text: text.clone(),
                lines,
                is_of_program: self.state.is_of_program,
            };
            proves.extend(self.state.queue.operate(found, version, self.settings));
        }
        self.pass(row, at, verdict);
        Ok(JudgedRow {
            start: span.from,
            end: span.to,
            identity: identity.filter(|_| is_countable || is_kept),
            aliases,
            uuid: row.uuid.and_then(plain_id),
            at,
            verdict,
            compat,
            text: text.filter(|_| is_countable || is_kept),
            proves,
            drift: drift::names(row, self.state.version.as_deref()),
            because,
        })
    }

    /// What a row was in the queue.
    fn deliver<W: Whole>(
        &mut self,
        row: &Row<'_>,
        whole: &W,
        said: Option<(Said, RawStr<'_>)>,
        text: Option<&Digest>,
    ) -> Result<Delivery, W::Error> {
        let queue = &mut self.state.queue;
        let delivery = text.map(|text| queue.deliver(&text.hash)).unwrap_or_default();
        let Some((said, text)) = said.filter(|_| row.is_kind("user") && !delivery.was_queued)
        else {
            return Ok(delivery);
        };
        let hash = |text: &str| self.key.text(&normalise(text));
        Ok(whole.joined(said, text)?.map_or(delivery, |joined| {
            match shape::typed_command(&joined) {
                Some(typed) => queue.deliver(&hash(&typed)),
                None => queue.deliver_joined(&joined, hash),
            }
        }))
    }

    /// What copies of a countable row are known by, where its version copies rows under new uuids:
    /// its words at their time, and its images.
    fn aliases(&self, row: &Row<'_>, at: Timestamp, text: Option<&TextHash>) -> Vec<Identity> {
        if self.version.is_none_or(|version| version >= REPLAYS) {
            return Vec::new();
        }
        let images = row.message.content.has_image().then_some("image");
        let said = text.map(TextHash::as_str).into_iter().chain(images);
        said.map(|said| Identity::of_moment(&self.key, at, said)).collect()
    }

    /// What a message that was put into the queue is known by: such rows have no uuid, and their
    /// bytes change where a file is saved again or copied under another session's name. Without
    /// words, a command or a time there is nothing but the bytes.
    fn queued_identity(
        &self,
        row: &Row<'_>,
        at: Option<Timestamp>,
        text: Option<&TextHash>,
    ) -> Option<Identity> {
        let command = row.command_uuid.and_then(plain_id);
        let said = command.as_deref().or(text.map(TextHash::as_str))?;
        Some(Identity::of_moment(&self.key, at?, &format!("enqueue:{said}")))
    }

    /// Takes the version that a row names; mostly it is the one before.
    fn note_version(&mut self, named: RawStr<'_>) {
        let before = self.state.version.as_deref();
        if before.is_some_and(|before| !named.is_escaped() && before.as_bytes() == named.raw()) {
            return;
        }
        let clamped = drift::plain(&named.beginning(256));
        self.version = Version::parse(&clamped);
        self.state.version = Some(clamped);
    }

    /// Remembers that a row of the conversation went by.
    fn pass(&mut self, row: &Row<'_>, at: Option<Timestamp>, verdict: Verdict) {
        if row.is_sidechain {
            return;
        }
        if row.is_kind("system") && verdict.class == Class::Scheduled {
            self.state.queue.fire(at);
        } else if row.is_kind("user") || row.is_kind("assistant") {
            self.state.queue.pass(row.is_kind("assistant"));
            self.state.spoken_at = at;
            self.note_launch(row, verdict);
            if row.entrypoint.is_none() && row.is_kind("user") {
                self.state.is_of_program = match verdict.class {
                    Class::SdkPrompt => true,
                    _ => self.state.is_of_program && !verdict.human,
                };
            }
        }
    }

    /// Remembers that the agent calls a command itself, until its row or anything else comes.
    fn note_launch(&mut self, row: &Row<'_>, verdict: Verdict) {
        let launches = &mut self.state.launches;
        *launches = match verdict.class {
            Class::ToolResult if is_launch(row) => launches.saturating_add(1),
            Class::Meta if verdict.rule == "command-of-agent" => launches.saturating_sub(1),
            Class::ToolResult | Class::Meta => *launches,
            _ => 0,
        };
    }
}

/// Whether a tool's result says that the agent called a command or a skill.
fn is_launch(row: &Row<'_>) -> bool {
    let Content::Blocks(blocks) = &row.message.content else {
        return false;
    };
    let text = blocks.tool_text.filter(|text| text.may_begin_with(shape::LAUNCH_INITIALS));
    text.is_some_and(|text| shape::is_launch(&text.beginning(64)))
}

/// The text that rules look at: the first one, or where that is context that a harness put before
/// a person's words, these.
fn looked_at<'a>(row: &Row<'a>, first: RawStr<'a>) -> Cow<'a, str> {
    let text = first.text();
    if !row.is_kind("user") || !text.starts_with('<') || !shape::is_context(&text) {
        return text;
    }
    let others = row.message.content.candidates().iter().skip(1).map(|other| other.text());
    others.into_iter().find(|other| !shape::is_beside_words(other)).unwrap_or(text)
}

/// The first text of a row, where the rules look at it, and its place.
fn said<'a>(row: &Row<'a>, is_queue_row: bool) -> Option<(Said, RawStr<'a>)> {
    let (said, content) = if is_queue_row {
        (Said::Content, &row.content)
    } else if row.is_kind("user") {
        (Said::Message, &row.message.content)
    } else {
        let attachment = row.attachment.as_ref().filter(|_| row.is_kind("attachment"))?;
        is(attachment.kind, "queued_command").then_some((Said::Prompt, &attachment.prompt))?
    };
    content.first().map(|text| (said, text))
}

/// What may stand in front of the first row of a line.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The values of a line in memory.
struct InLine<'a> {
    bytes: &'a [u8],
}

impl<'a> Values for InLine<'a> {
    type Value = Parsed<'a>;
    type Error = Infallible;

    fn parse(&mut self, at: usize) -> Result<Parse<Parsed<'a>>, Infallible> {
        Ok(Row::parse(self.bytes.get(at..).unwrap_or_default()))
    }

    fn is_row(&mut self, value: &Parsed<'a>, place: Place) -> Result<bool, Infallible> {
        Ok(matches!(value, Parsed::Row(row) if is_row(row, place)))
    }
}

/// Whether a value behind a torn one is a row.
pub(super) fn is_row(row: &Row<'_>, place: Place) -> bool {
    let is_row = match place {
        Place::BehindTear => row.is_identified(),
        Place::AsValue => row.is_complete(),
    };
    is_row && row.kind.is_some_and(drift::is_known_type)
}

/// Whether a row is one of the conversation's, which name the version that wrote them.
fn is_conversation(row: &Row<'_>) -> bool {
    const TYPES: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];
    TYPES.iter().any(|name| row.is_kind(name))
}

/// A uuid, where it is a plain id.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "without branches, many bytes are compared at once"
)]
fn plain_id(uuid: RawStr<'_>) -> Option<String> {
    if uuid.is_escaped() {
        return Some(uuid.word().into_owned()).filter(|uuid| is_plain_id(uuid));
    }
    // All bytes at once, without a look at each whether it is the last.
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() | (*byte == b'-') | (*byte == b'_');
    let raw = uuid.raw();
    let is_id =
        (1..=64).contains(&raw.len()) && raw.iter().fold(true, |all, byte| all & is_plain(byte));
    std::str::from_utf8(raw).ok().filter(|_| is_id).map(str::to_owned)
}

/// Whether there is nothing on a line but white space, as JavaScript has it.
pub(super) fn is_blank<B: Bytes + ?Sized>(bytes: &B) -> Result<bool, B::Error> {
    // The beginning of a character whose rest is in the next piece.
    let mut left = Vec::new();
    let mut is_blank = true;
    bytes.walk(0, bytes.len(), &mut |start, piece| {
        if start == 0 && piece.first() == Some(&b'{') {
            is_blank = false;
            return ControlFlow::Break(());
        }
        let joined =
            if left.is_empty() { Cow::Borrowed(piece) } else { [&left, piece].concat().into() };
        let whole = match std::str::from_utf8(&joined) {
            Ok(_) => joined.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => 0,
        };
        let text = joined.get(..whole).unwrap_or_default();
        left = joined.get(whole..).unwrap_or_default().to_vec();
        let is_space = std::str::from_utf8(text).is_ok_and(|text| text.chars().all(is_js_space));
        // No character is longer, so these bytes are none.
        is_blank = is_space && left.len() < 4;
        if is_blank { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(is_blank && left.is_empty())
}

fn invalid(span: Span, rule: &'static str) -> JudgedRow {
    JudgedRow {
        start: span.from,
        end: span.to,
        identity: None,
        aliases: Vec::new(),
        uuid: None,
        at: None,
        verdict: Verdict { human: false, class: Class::Invalid, rule, evidence: Evidence::Shape },
        compat: None,
        text: None,
        proves: Vec::new(),
        drift: Vec::new(),
        because: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_id_is_what_it_is_elsewhere() {
        let check = |id: &[u8]| {
            let expected = std::str::from_utf8(id).ok().filter(|id| is_plain_id(id));
            assert_eq!(plain_id(RawStr::new(id, false)).as_deref(), expected, "{id:?}");
        };
        for byte in 0..=u8::MAX {
            check(&[byte]);
            check(&[b"0123456789abcdef-0123", &[byte][..]].concat());
        }
        for length in [0, 1, 63, 64, 65, 5000] {
            check(&vec![b'a'; length]);
        }
    }
}
