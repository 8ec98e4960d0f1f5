//! One row, typed: the fields that decide, and nothing else.
//!
//! Answers: what a row says of itself. Always holds: a field of the wrong type is as good as absent,
//! a flag is set by `true` alone, of two equal keys the last one counts, and nothing here can be
//! printed: a row holds text. Not here: what the fields mean (`rules`, `compat`, `queue`).

pub(crate) mod date;
mod date_token;
pub(crate) mod json;
pub(crate) mod raw;
mod strings;
pub(crate) mod unknown;

use json::{Cursor, Fail, Stop};
use raw::RawStr;
use std::borrow::Cow;
use unknown::Unknown;

/// The first value of some bytes.
pub(crate) enum Parsed<'a> {
    /// A row.
    Row(Box<Row<'a>>),
    /// A value that is no object.
    NoObject,
}

impl<'a> Parsed<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Stop> {
        if cursor.peek() != Some(b'{') {
            return cursor.skip().map(|()| Self::NoObject);
        }
        let mut row = Box::<Row<'a>>::default();
        row.read(cursor)?;
        Ok(Self::Row(row))
    }
}

/// The fields of a row that decide. No `Debug`: it holds text.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are the row's own flags, each by itself")]
pub(crate) struct Row<'a> {
    pub(crate) kind: Option<RawStr<'a>>,
    pub(crate) subtype: Option<RawStr<'a>>,
    pub(crate) uuid: Option<RawStr<'a>>,
    pub(crate) timestamp: Option<RawStr<'a>>,
    pub(crate) has_session: bool,
    pub(crate) has_parent: bool,
    pub(crate) version: Option<RawStr<'a>>,
    pub(crate) entrypoint: Option<RawStr<'a>>,
    pub(crate) message: Message<'a>,
    pub(crate) is_meta: bool,
    pub(crate) is_sidechain: bool,
    pub(crate) is_compact_summary: bool,
    pub(crate) is_visible_in_transcript_only: bool,
    pub(crate) is_replay: bool,
    pub(crate) turn_companion: bool,
    pub(crate) hook_text: bool,
    pub(crate) holds_persons_words: bool,
    pub(crate) origin: Option<Origin<'a>>,
    pub(crate) prompt_source: Option<RawStr<'a>>,
    pub(crate) turn_origin: Option<RawStr<'a>>,
    pub(crate) source: Option<RawStr<'a>>,
    pub(crate) has_permission_mode: bool,
    pub(crate) has_thinking_metadata: bool,
    pub(crate) has_scheduled_task: bool,
    pub(crate) has_plan: bool,
    pub(crate) has_tool_use_result: bool,
    pub(crate) has_source_tool_use: bool,
    pub(crate) was_interrupted: bool,
    pub(crate) has_answers: bool,
    pub(crate) user_feedback: Option<RawStr<'a>>,
    /// Who decided whether a tool may run.
    pub(crate) decider: Option<RawStr<'a>>,
    pub(crate) attachment: Option<Attachment<'a>>,
    pub(crate) operation: Option<RawStr<'a>>,
    pub(crate) content: Content<'a>,
    pub(crate) command_uuid: Option<RawStr<'a>>,
    pub(crate) has_reason: bool,
    pub(crate) unknown: Unknown<'a>,
}

/// `message` of a user or assistant row.
#[derive(Default)]
pub(crate) struct Message<'a> {
    pub(crate) role: Option<RawStr<'a>>,
    pub(crate) content: Content<'a>,
}

/// Who a row says it comes from.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) kind: RawStr<'a>,
    pub(crate) subkind: Option<RawStr<'a>>,
}

/// `attachment` of an attachment row.
#[derive(Default)]
pub(crate) struct Attachment<'a> {
    pub(crate) kind: Option<RawStr<'a>>,
    pub(crate) prompt: Content<'a>,
    pub(crate) command_mode: Option<RawStr<'a>>,
    pub(crate) source_uuid: Option<RawStr<'a>>,
    pub(crate) source: Option<RawStr<'a>>,
    pub(crate) origin: Option<Origin<'a>>,
    pub(crate) human_turn: bool,
    pub(crate) is_meta: bool,
}

/// What was said: a string, or blocks.
#[derive(Default)]
pub(crate) enum Content<'a> {
    /// Nothing, or something else.
    #[default]
    Absent,
    /// A string.
    Text(RawStr<'a>),
    /// An array of blocks.
    Blocks(Blocks<'a>),
}

/// What matters of an array of blocks.
#[derive(Default)]
pub(crate) struct Blocks<'a> {
    /// The texts of the text blocks, in order.
    pub(crate) texts: Vec<RawStr<'a>>,
    /// Whether there is a block with an image or a document.
    pub(crate) has_image: bool,
    /// Whether there is a tool result.
    pub(crate) has_tool_result: bool,
    /// The text of the first tool result.
    pub(crate) tool_text: Option<RawStr<'a>>,
    /// Whether a tool result is an error.
    pub(crate) has_tool_error: bool,
}

impl<'a> Content<'a> {
    /// The texts that the gateway looks at, in order: none where a tool result is among the blocks.
    pub(crate) fn candidates(&self) -> &[RawStr<'a>] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::Blocks(blocks) if !blocks.has_tool_result => &blocks.texts,
            Self::Blocks(_) | Self::Absent => &[],
        }
    }

    /// The first of them.
    pub(crate) fn first(&self) -> Option<RawStr<'a>> {
        self.candidates().first().copied()
    }

    /// The first of them, decoded.
    pub(crate) fn first_text(&self) -> Option<Cow<'a, str>> {
        self.first().map(RawStr::text)
    }

    /// Whether an image or a document is among the blocks.
    pub(crate) const fn has_image(&self) -> bool {
        matches!(self, Self::Blocks(blocks) if blocks.has_image)
    }

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Stop> {
        match cursor.peek() {
            Some(b'"') => Ok(cursor.string_or_skip()?.map_or(Self::Absent, Self::Text)),
            Some(b'[') => {
                let mut blocks = Blocks::default();
                cursor.array(|cursor| Block::read(cursor).map(|block| blocks.add(&block)))?;
                Ok(Self::Blocks(blocks))
            }
            _ => cursor.skip().map(|()| Self::Absent),
        }
    }
}

/// One block of an array.
#[derive(Default)]
struct Block<'a> {
    kind: Option<RawStr<'a>>,
    text: Option<RawStr<'a>>,
    tool_text: Option<RawStr<'a>>,
    is_error: bool,
}

impl<'a> Block<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Stop> {
        let mut block = Self::default();
        if cursor.peek() != Some(b'{') {
            return cursor.skip().map(|()| block);
        }
        cursor.object(|cursor, key| {
            match key {
                b"type" => block.kind = cursor.string_or_skip()?,
                b"text" => block.text = cursor.string_or_skip()?,
                b"content" => block.tool_text = read_tool_text(cursor)?,
                b"is_error" => block.is_error = cursor.flag()?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(block)
    }
}

impl<'a> Blocks<'a> {
    fn add(&mut self, block: &Block<'a>) {
        let Some(kind) = block.kind else { return };
        if kind.is("text") {
            self.texts.extend(block.text);
        } else if kind.is("tool_result") {
            self.has_tool_result = true;
            self.has_tool_error |= block.is_error;
            self.tool_text = self.tool_text.or(block.tool_text);
        } else if kind.is("image") || kind.is("document") {
            self.has_image = true;
        }
    }
}

/// The text of a tool result: a string, or the first text among its blocks.
fn read_tool_text<'a>(cursor: &mut Cursor<'a>) -> Result<Option<RawStr<'a>>, Stop> {
    if cursor.peek() != Some(b'[') {
        return cursor.string_or_skip();
    }
    let mut first = None;
    cursor.array(|cursor| {
        if cursor.peek() != Some(b'{') {
            return cursor.skip();
        }
        let mut text = None;
        cursor.object(|cursor, key| {
            if key == b"text" {
                text = cursor.string_or_skip()?;
                return Ok(());
            }
            cursor.skip()
        })?;
        first = first.or(text);
        Ok(())
    })?;
    Ok(first)
}

impl<'a> Row<'a> {
    /// Reads the first value of `bytes`; gives the offset just after it.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<(Parsed<'a>, usize), Fail> {
        let mut cursor = Cursor::new(bytes);
        let parsed = Parsed::read(&mut cursor).map_err(|stop| cursor.why(stop))?;
        Ok((parsed, cursor.position()))
    }

    /// Reads the object that the cursor is at; gives the offset just after it.
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<usize, Stop> {
        cursor.members(|cursor, key| {
            if key.is_escaped() {
                let name = key.word();
                self.member(cursor, name.as_bytes(), key)
            } else {
                self.member(cursor, key.raw(), key)
            }
        })?;
        Ok(cursor.position())
    }

    fn member(
        &mut self,
        cursor: &mut Cursor<'a>,
        name: &[u8],
        key: RawStr<'a>,
    ) -> Result<(), Stop> {
        match name {
            b"type" => self.kind = cursor.string_or_skip()?,
            b"subtype" => self.subtype = cursor.string_or_skip()?,
            b"uuid" => self.uuid = cursor.string_or_skip()?,
            b"timestamp" => self.timestamp = cursor.string_or_skip()?,
            b"sessionId" => self.has_session = cursor.presence()?,
            b"parentUuid" => self.has_parent = cursor.presence()?,
            b"version" => self.version = cursor.string_or_skip()?,
            b"entrypoint" => self.entrypoint = cursor.string_or_skip()?,
            b"message" => self.message = read_message(cursor)?,
            b"isMeta" => self.is_meta = cursor.flag()?,
            b"isSidechain" => self.is_sidechain = cursor.flag()?,
            b"isCompactSummary" => self.is_compact_summary = cursor.flag()?,
            b"isVisibleInTranscriptOnly" => self.is_visible_in_transcript_only = cursor.flag()?,
            b"isReplay" => self.is_replay = cursor.flag()?,
            b"turnCompanion" => self.turn_companion = cursor.flag()?,
            b"hookText" => self.hook_text = cursor.flag()?,
            b"holdsPersonsWords" => self.holds_persons_words = cursor.flag()?,
            b"origin" => self.origin = read_origin(cursor)?,
            b"promptSource" => self.prompt_source = cursor.string_or_skip()?,
            b"turnOrigin" => self.turn_origin = cursor.string_or_skip()?,
            b"rowSource" => self.source = cursor.string_or_skip()?,
            b"permissionMode" => self.has_permission_mode = cursor.presence()?,
            b"thinkingMetadata" => self.has_thinking_metadata = cursor.presence()?,
            b"scheduledTaskId" => self.has_scheduled_task = cursor.presence()?,
            b"planContent" => self.has_plan = cursor.string_or_skip()?.is_some(),
            b"toolUseResult" => self.read_tool_use_result(cursor)?,
            b"sourceToolUseID" => self.has_source_tool_use = cursor.presence()?,
            b"interruptedMessageId" => self.was_interrupted = cursor.presence()?,
            b"userFeedback" => self.user_feedback = cursor.string_or_skip()?,
            b"permissionDecision" => self.decider = read_decider(cursor)?,
            b"attachment" => self.attachment = read_attachment(cursor)?,
            b"operation" => self.operation = cursor.string_or_skip()?,
            b"content" => self.content = Content::read(cursor)?,
            b"commandUuid" => self.command_uuid = cursor.string_or_skip()?,
            b"reason" => self.has_reason = cursor.presence()?,
            _ => {
                self.unknown.note(name, key);
                cursor.skip()?;
            }
        }
        Ok(())
    }

    fn read_tool_use_result(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Stop> {
        self.has_answers = false;
        if cursor.peek() != Some(b'{') {
            self.has_tool_use_result = cursor.presence()?;
            return Ok(());
        }
        self.has_tool_use_result = true;
        let mut has_answers = false;
        cursor.object(|cursor, key| {
            if key == b"answers" {
                has_answers = cursor.peek() == Some(b'{');
            }
            cursor.skip()
        })?;
        self.has_answers = has_answers;
        Ok(())
    }

    /// Whether it names its session, or has a name and a time: rows that could count do.
    pub(crate) const fn is_identified(&self) -> bool {
        self.has_session || (self.timestamp.is_some() && (self.uuid.is_some() || self.has_parent))
    }

    /// Whether it has what stands in whole rows, and not in objects inside of them that may look
    /// like rows otherwise.
    pub(crate) const fn is_complete(&self) -> bool {
        (self.has_session || self.version.is_some())
            && (self.uuid.is_some() || self.timestamp.is_some() || self.has_parent)
    }

    /// Whether this is the row's type.
    pub(crate) fn is_kind(&self, name: &str) -> bool {
        is(self.kind, name)
    }
}

/// Whether a string is there and is this plain name.
pub(crate) fn is(field: Option<RawStr<'_>>, name: &str) -> bool {
    field.is_some_and(|text| text.is(name))
}

fn read_message<'a>(cursor: &mut Cursor<'a>) -> Result<Message<'a>, Stop> {
    let mut message = Message::default();
    if cursor.peek() != Some(b'{') {
        return cursor.skip().map(|()| message);
    }
    cursor.object(|cursor, key| {
        match key {
            b"role" => message.role = cursor.string_or_skip()?,
            b"content" => message.content = Content::read(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(message)
}

fn read_origin<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Origin<'a>>, Stop> {
    if cursor.peek() != Some(b'{') {
        return cursor.skip().map(|()| None);
    }
    let (mut kind, mut subkind) = (None, None);
    cursor.object(|cursor, key| {
        match key {
            b"kind" => kind = cursor.string_or_skip()?,
            b"subkind" => subkind = cursor.string_or_skip()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(kind.map(|kind| Origin { kind, subkind }))
}

fn read_decider<'a>(cursor: &mut Cursor<'a>) -> Result<Option<RawStr<'a>>, Stop> {
    if cursor.peek() != Some(b'{') {
        return cursor.skip().map(|()| None);
    }
    let mut source = None;
    cursor.object(|cursor, key| {
        match key {
            b"source" => source = cursor.string_or_skip()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(source)
}

fn read_attachment<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Attachment<'a>>, Stop> {
    if cursor.peek() != Some(b'{') {
        return cursor.skip().map(|()| None);
    }
    let mut attachment = Attachment::default();
    cursor.object(|cursor, key| {
        match key {
            b"type" => attachment.kind = cursor.string_or_skip()?,
            b"prompt" => attachment.prompt = Content::read(cursor)?,
            b"commandMode" => attachment.command_mode = cursor.string_or_skip()?,
            b"source_uuid" => attachment.source_uuid = cursor.string_or_skip()?,
            b"rowSource" => attachment.source = cursor.string_or_skip()?,
            b"origin" => attachment.origin = read_origin(cursor)?,
            b"humanTurn" => attachment.human_turn = cursor.flag()?,
            b"isMeta" => attachment.is_meta = cursor.flag()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(Some(attachment))
}
