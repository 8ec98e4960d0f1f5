//! The outline of a row: where its fields stand that decide, and nothing of what they say.
//!
//! Answers: what `row::Row` would find in a row that is too big to be held. Always holds: the
//! outline has numbers and flags only, is bounded, and its condensed row gives the same verdict as
//! the row itself. Not here: lines with their line ends (`long`), what the fields mean (`rules`).

mod blocks;
mod chunk;
mod condense;
mod members;
mod scanner;

use crate::classify::row::unknown::{MOST, SEEN};
use crate::disk::{Transcript, read_range};
use crate::scan::bytes::shorter;
pub(crate) use chunk::Chunk;
use members::{Group, MEMBERS};
pub(crate) use scanner::{Fed, Scanner};
use serde::{Deserialize, Serialize};
use std::io;

/// Where something stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    /// Offset of the first byte.
    pub(crate) from: u64,
    /// Offset just after the last.
    pub(crate) to: u64,
}

impl Span {
    pub(crate) const fn length(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// How much is seen of a key that nobody knows.
    fn seen(self) -> u64 {
        self.length().min(SEEN as u64)
    }
}

/// Reads bytes that stood in the file a moment ago.
pub(crate) fn read_again(file: &dyn Transcript, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let bytes = read_range(file, from, to)?;
    if bytes.len() as u64 == to.saturating_sub(from) { Ok(bytes) } else { Err(shorter()) }
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Value {
    /// A string: what stands between its quotes.
    Text(Span),
    /// `true`.
    True,
    /// `null`.
    Null,
    /// An object.
    Object,
    /// A number, an array, `false`.
    Other,
}

/// Which of the three places of a row where something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// `message.content`.
    Message,
    /// `content`.
    Content,
    /// `attachment.prompt`.
    Prompt,
}

/// What was said, as far as rules can tell it apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Content {
    #[default]
    Absent,
    Text(Span),
    Blocks(Blocks),
}

/// An array of blocks: of the text blocks the first one of each kind that rules ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Blocks {
    first: Option<Span>,
    second: Option<Span>,
    /// Begins as the gateway's own prompts do.
    of_gateway: Option<Span>,
    /// Is more than the mark of an image.
    no_mark: Option<Span>,
    /// Has words.
    with_words: Option<Span>,
    has_image: bool,
    has_tool_result: bool,
    tool_text: Option<Span>,
    has_tool_error: bool,
}

/// The fields of a row that decide.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outline {
    /// By their place in `MEMBERS`.
    fields: Vec<(u8, Value)>,
    message: Content,
    content: Content,
    prompt: Content,
    /// The first keys of the row that nobody knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<Span>,
}

impl Outline {
    fn note_unknown(&mut self, key: Span, chunk: &Chunk<'_>) -> io::Result<()> {
        if self.unknown.len() >= MOST {
            return Ok(());
        }
        for known in &self.unknown {
            // Nothing is read for keys of other lengths: a row may have very many short ones.
            if known.seen() == key.seen() && chunk.key(*known)? == chunk.key(key)? {
                return Ok(());
            }
        }
        self.unknown.push(key);
        Ok(())
    }

    const fn said(&self, said: Said) -> &Content {
        match said {
            Said::Message => &self.message,
            Said::Content => &self.content,
            Said::Prompt => &self.prompt,
        }
    }

    const fn said_mut(&mut self, said: Said) -> &mut Content {
        match said {
            Said::Message => &mut self.message,
            Said::Content => &mut self.content,
            Said::Prompt => &mut self.prompt,
        }
    }

    /// Where the first text stands.
    pub(crate) const fn first_text(&self, said: Said) -> Option<Span> {
        match self.said(said) {
            Content::Absent => None,
            Content::Text(span) => Some(*span),
            Content::Blocks(blocks) => blocks.first,
        }
    }

    fn set(&mut self, member: u8, value: Value) {
        match self.fields.iter_mut().find(|(known, _)| *known == member) {
            Some((_, known)) => *known = value,
            None => self.fields.push((member, value)),
        }
    }

    fn get(&self, member: usize) -> Option<Value> {
        self.fields.iter().find(|(known, _)| usize::from(*known) == member).map(|(_, value)| *value)
    }

    /// Forgets an object's members: it stands there again.
    fn forget(&mut self, group: Group) {
        let of_group = |member: u8| MEMBERS.get(usize::from(member)).map(|member| member.group);
        self.fields.retain(|(member, _)| of_group(*member) != Some(group));
        match group {
            Group::Message => self.message = Content::Absent,
            Group::Attachment => {
                self.prompt = Content::Absent;
                self.forget(Group::AttachmentOrigin);
            }
            _ => {}
        }
    }
}
