//! A strict push scanner: one value, in chunks of any size.
//!
//! It accepts what `row::json` accepts and fails where that fails. What it must know between two
//! chunks is numbers, so that it can be stored; of a string it keeps where it began.

use super::blocks::{Block, BlockKind};
use super::chunk::{Chunk, text_end};
use super::members::{Group, Kind, MEMBERS, find};
use super::{Blocks, Content, Outline, Said, Span, Value};
use crate::classify::row::json::{Levels, MAX_DEPTH};
use crate::classify::row::raw::RawStr;
use crate::classify::row::unknown::is_known;
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::ControlFlow::{self, Break, Continue};

/// Source bytes of the longest key or name that is known, each letter an escape.
const LONGEST_NAME: u64 = 6 * 32;

/// What became of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fed {
    /// The value goes on.
    More,
    /// The value ended just before this byte of the chunk.
    Ended(usize),
    /// This byte of the chunk does not belong there.
    Failed(usize),
}

/// The byte to go on with, or what became of the chunk.
type Step = ControlFlow<Fed, usize>;

/// What is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Lex {
    Value,
    /// A value, or the end of the array that was just opened.
    FirstItem,
    /// A key, or the end of the object that was just opened.
    FirstKey,
    Key,
    Colon,
    /// What goes on with the container or closes it.
    After,
    /// The rest of a string.
    Text,
    Escape,
    /// So many hex digits.
    Hex(u8),
    /// The rest of a word, which is so long.
    Word(Word, u8),
    /// The first digit of a number.
    Minus,
    /// What may follow a leading zero.
    Zero,
    Digits,
    Dot,
    Fraction,
    Exponent,
    Sign,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Word {
    True,
    False,
    Null,
}

impl Word {
    const fn letters(self) -> &'static [u8] {
        match self {
            Self::True => b"true",
            Self::False => b"false",
            Self::Null => b"null",
        }
    }
}

/// What a value is to its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Spot {
    /// Nothing that decides.
    Skip,
    /// The row itself.
    Row,
    /// This member.
    Member(u8),
    /// A block of what was said.
    Block(Said),
    BlockType,
    BlockText,
    BlockContent,
    BlockError,
    /// An element of a block's content.
    Item,
    ItemText,
}

/// A known container that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Open {
    Members(Group),
    Blocks(Said),
    Block(Said),
    Items,
    Item,
}

/// A scanner somewhere in a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scanner {
    lex: Lex,
    levels: Levels,
    /// The known containers among the open ones: always the outermost.
    path: Vec<Open>,
    /// What the value is that comes next or is being read, inside the known containers.
    spot: Spot,
    /// Where the string began that is being read.
    string: u64,
    in_key: bool,
    is_object: bool,
    block: Block,
    outline: Outline,
}

impl Scanner {
    /// At the beginning of a value.
    pub(crate) fn new() -> Self {
        Self {
            lex: Lex::Value,
            levels: Levels::default(),
            path: Vec::new(),
            spot: Spot::Row,
            string: 0,
            in_key: false,
            is_object: false,
            block: Block::default(),
            outline: Outline::default(),
        }
    }

    /// The outline of the value, where it is an object.
    pub(crate) fn into_outline(self) -> Option<Box<Outline>> {
        self.is_object.then(|| Box::new(self.outline))
    }

    /// Whether the value may end where the bytes end: only a number does not say so itself.
    pub(crate) const fn can_end(&self) -> bool {
        self.levels.depth() == 0
            && matches!(self.lex, Lex::Zero | Lex::Digits | Lex::Fraction | Lex::Power)
    }

    /// Takes a chunk from this byte on.
    pub(crate) fn feed(&mut self, chunk: &Chunk<'_>, start: usize) -> io::Result<Fed> {
        let mut at = start;
        while let Some(byte) = chunk.bytes.get(at).copied() {
            let step = match self.lex {
                Lex::Text => self.text(chunk, at)?,
                Lex::Escape | Lex::Hex(_) => self.escape(at, byte),
                Lex::Word(word, done) => self.word(chunk, at, word, done),
                Lex::Minus
                | Lex::Zero
                | Lex::Digits
                | Lex::Dot
                | Lex::Fraction
                | Lex::Exponent
                | Lex::Sign
                | Lex::Power => self.number(chunk, at, byte),
                _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => Continue(at + 1),
                Lex::Value | Lex::FirstItem if self.lex == Lex::Value || byte != b']' => {
                    if self.begin_value(byte, chunk.offset(at + 1)) {
                        Continue(at + 1)
                    } else {
                        Break(Fed::Failed(at))
                    }
                }
                _ => self.bracket(chunk, at, byte)?,
            };
            match step {
                Continue(next) => at = next,
                Break(fed) => return Ok(fed),
            }
        }
        Ok(Fed::More)
    }

    /// Inside a string.
    fn text(&mut self, chunk: &Chunk<'_>, at: usize) -> io::Result<Step> {
        let (end, byte) = text_end(chunk, at);
        Ok(match byte {
            Some(b'"') => {
                let span = Span { from: self.string, to: chunk.offset(end) };
                let next = end + 1;
                if self.in_key {
                    if self.is_known() {
                        self.end_key(chunk, span)?;
                    }
                    let has_colon = chunk.bytes.get(next) == Some(&b':');
                    self.lex = if has_colon { Lex::Value } else { Lex::Colon };
                    Continue(next + usize::from(has_colon))
                } else {
                    if self.is_known() && self.spot != Spot::Skip {
                        self.end_text(chunk, span)?;
                    }
                    self.end_value(next)
                }
            }
            Some(b'\\') => {
                self.lex = Lex::Escape;
                Continue(end + 1)
            }
            Some(_) => Break(Fed::Failed(end)),
            None => Break(Fed::More),
        })
    }

    /// Inside an escape.
    const fn escape(&mut self, at: usize, byte: u8) -> Step {
        self.lex = match (self.lex, byte) {
            (Lex::Hex(left), _) if byte.is_ascii_hexdigit() && left > 1 => Lex::Hex(left - 1),
            (Lex::Hex(_), _) if byte.is_ascii_hexdigit() => Lex::Text,
            (Lex::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Lex::Text,
            (Lex::Escape, b'u') => Lex::Hex(4),
            _ => return Break(Fed::Failed(at)),
        };
        Continue(at + 1)
    }

    /// Inside a word of which so much is done.
    fn word(&mut self, chunk: &Chunk<'_>, at: usize, word: Word, done: u8) -> Step {
        let left = word.letters().get(usize::from(done)..).unwrap_or_default();
        let rest = chunk.bytes.get(at..).unwrap_or_default();
        if rest.starts_with(left) {
            return self.end_value(at + left.len());
        }
        if rest.first() != left.first() {
            return Break(Fed::Failed(at));
        }
        self.lex = Lex::Word(word, done + 1);
        Continue(at + 1)
    }

    /// Inside a number.
    fn number(&mut self, chunk: &Chunk<'_>, at: usize, byte: u8) -> Step {
        let is_digit = byte.is_ascii_digit();
        self.lex = match (self.lex, byte) {
            (Lex::Minus, b'0') => Lex::Zero,
            (Lex::Minus | Lex::Digits, _) if is_digit => Lex::Digits,
            (Lex::Zero | Lex::Digits, b'.') => Lex::Dot,
            (Lex::Dot | Lex::Fraction, _) if is_digit => Lex::Fraction,
            (Lex::Zero | Lex::Digits | Lex::Fraction, b'e' | b'E') => Lex::Exponent,
            (Lex::Exponent, b'+' | b'-') => Lex::Sign,
            (Lex::Exponent | Lex::Sign | Lex::Power, _) if is_digit => Lex::Power,
            (Lex::Minus | Lex::Dot | Lex::Exponent | Lex::Sign, _) => {
                return Break(Fed::Failed(at));
            }
            _ => return self.end_value(at),
        };
        Continue(at + 1 + digits(chunk, at + 1, self.lex))
    }

    /// At a bracket, a comma, a colon or the quote of a key.
    fn bracket(&mut self, chunk: &Chunk<'_>, at: usize, byte: u8) -> io::Result<Step> {
        let is_object = self.levels.top() == Some(true);
        match (self.lex, byte) {
            (Lex::Colon, b':') => self.lex = Lex::Value,
            (Lex::FirstKey | Lex::Key, b'"') => self.begin_key(chunk.offset(at + 1)),
            (Lex::After, b',') if is_object => {
                if chunk.bytes.get(at + 1) == Some(&b'"') {
                    self.begin_key(chunk.offset(at + 2));
                    return Ok(Continue(at + 2));
                }
                self.lex = Lex::Key;
            }
            (Lex::After, b',') => {
                self.lex = Lex::Value;
                self.expect_item();
            }
            (Lex::After | Lex::FirstKey, b'}') if is_object => {
                return self.close(chunk, at + 1);
            }
            (Lex::After | Lex::FirstItem, b']') if !is_object => {
                return self.close(chunk, at + 1);
            }
            _ => return Ok(Break(Fed::Failed(at))),
        }
        Ok(Continue(at + 1))
    }

    /// Whether the innermost container is a known one, so that its members matter.
    fn is_known(&self) -> bool {
        self.path.len() == self.levels.depth()
    }

    const fn begin_key(&mut self, at: u64) {
        (self.lex, self.in_key) = (Lex::Text, true);
        self.string = at;
    }

    /// Takes the first byte of a value; says whether it is one.
    fn begin_value(&mut self, byte: u8, next: u64) -> bool {
        let lex = match byte {
            b'{' | b'[' if self.levels.depth() >= MAX_DEPTH => return false,
            b'{' => Lex::FirstKey,
            b'[' => Lex::FirstItem,
            b'"' => Lex::Text,
            b't' => Lex::Word(Word::True, 1),
            b'f' => Lex::Word(Word::False, 1),
            b'n' => Lex::Word(Word::Null, 1),
            b'-' => Lex::Minus,
            b'0' => Lex::Zero,
            b'1'..=b'9' => Lex::Digits,
            _ => return false,
        };
        self.lex = lex;
        if self.is_known() && self.spot != Spot::Skip {
            self.note(byte);
        }
        match lex {
            Lex::FirstKey => self.levels.push(true),
            Lex::FirstItem => {
                self.levels.push(false);
                self.expect_item();
            }
            Lex::Text => {
                self.in_key = false;
                self.string = next;
            }
            _ => {}
        }
        true
    }

    /// Notes a value of a known container by its first byte, which says all of it but a string's
    /// text; what was known of an earlier one in its place is forgotten.
    fn note(&mut self, byte: u8) {
        match self.spot {
            Spot::Skip => {}
            Spot::Row => {
                self.is_object = byte == b'{';
                self.open_if(self.is_object, Open::Members(Group::Row));
            }
            Spot::Member(index) => self.note_member(index, byte),
            Spot::Block(said) => {
                self.block = Block::default();
                self.open_if(byte == b'{', Open::Block(said));
            }
            Spot::BlockType => self.block.kind = BlockKind::Other,
            Spot::BlockText => self.block.text = None,
            Spot::BlockContent => {
                self.block.tool_text = None;
                self.open_if(byte == b'[', Open::Items);
            }
            Spot::BlockError => self.block.is_error = byte == b't',
            Spot::Item => {
                self.block.item = None;
                self.open_if(byte == b'{', Open::Item);
            }
            Spot::ItemText => self.block.item = None,
        }
    }

    fn note_member(&mut self, index: u8, byte: u8) {
        let value = match byte {
            b'{' => Value::Object,
            b't' => Value::True,
            b'n' => Value::Null,
            _ => Value::Other,
        };
        match MEMBERS.get(usize::from(index)).map(|member| member.kind) {
            Some(Kind::Plain) => self.outline.set(index, value),
            Some(Kind::Members(group)) => {
                self.outline.forget(group);
                self.outline.set(index, value);
                self.open_if(value == Value::Object, Open::Members(group));
            }
            Some(Kind::Said(said)) => {
                let blocks = byte == b'[';
                let content = self.outline.said_mut(said);
                *content =
                    if blocks { Content::Blocks(Blocks::default()) } else { Content::Absent };
                self.open_if(blocks, Open::Blocks(said));
            }
            None => {}
        }
    }

    fn open_if(&mut self, condition: bool, open: Open) {
        if condition {
            self.path.push(open);
        }
    }

    /// The next value is an element of the innermost container.
    fn expect_item(&mut self) {
        if self.is_known() {
            self.spot = match self.path.last() {
                Some(Open::Blocks(said)) => Spot::Block(*said),
                Some(Open::Items) => Spot::Item,
                _ => Spot::Skip,
            };
        }
    }

    /// A key of a known object was read.
    fn end_key(&mut self, chunk: &Chunk<'_>, span: Span) -> io::Result<()> {
        self.spot = Spot::Skip;
        if span.length() > LONGEST_NAME {
            if self.path.last() == Some(&Open::Members(Group::Row)) {
                self.outline.note_unknown(span, chunk)?;
            }
            return Ok(());
        }
        let raw = chunk.read(span.from, span.to)?;
        let key = RawStr::new(&raw, raw.contains(&b'\\'));
        self.spot = match self.path.last() {
            Some(Open::Members(group)) => {
                let name = key.whole();
                let member = find(*group, &name);
                if member.is_none() && *group == Group::Row && !is_known(name.as_bytes()) {
                    self.outline.note_unknown(span, chunk)?;
                }
                member.map_or(Spot::Skip, Spot::Member)
            }
            Some(Open::Block(_)) if key.is("type") => Spot::BlockType,
            Some(Open::Block(_)) if key.is("text") => Spot::BlockText,
            Some(Open::Block(_)) if key.is("content") => Spot::BlockContent,
            Some(Open::Block(_)) if key.is("is_error") => Spot::BlockError,
            Some(Open::Item) if key.is("text") => Spot::ItemText,
            _ => Spot::Skip,
        };
        Ok(())
    }

    /// A string was read in a known container.
    fn end_text(&mut self, chunk: &Chunk<'_>, span: Span) -> io::Result<()> {
        match self.spot {
            Spot::Member(index) => {
                match MEMBERS.get(usize::from(index)).map(|member| member.kind) {
                    Some(Kind::Plain) => self.outline.set(index, Value::Text(span)),
                    Some(Kind::Said(said)) => *self.outline.said_mut(said) = Content::Text(span),
                    Some(Kind::Members(_)) | None => {}
                }
            }
            Spot::BlockType if span.length() <= LONGEST_NAME => {
                let raw = chunk.read(span.from, span.to)?;
                let name = RawStr::new(&raw, raw.contains(&b'\\'));
                self.block.kind = if name.is("text") {
                    BlockKind::Text
                } else if name.is("tool_result") {
                    BlockKind::ToolResult
                } else if name.is("image") || name.is("document") {
                    BlockKind::Image
                } else {
                    BlockKind::Other
                };
            }
            Spot::BlockText => self.block.text = Some(span),
            Spot::BlockContent => self.block.tool_text = Some(span),
            Spot::ItemText => self.block.item = Some(span),
            Spot::Skip
            | Spot::Row
            | Spot::Block(_)
            | Spot::BlockType
            | Spot::BlockError
            | Spot::Item => {}
        }
        Ok(())
    }

    /// A value is complete just before this byte.
    const fn end_value(&mut self, at: usize) -> Step {
        self.lex = Lex::After;
        if self.levels.depth() == 0 { Break(Fed::Ended(at)) } else { Continue(at) }
    }

    /// Takes a closing bracket just before this byte.
    fn close(&mut self, chunk: &Chunk<'_>, at: usize) -> io::Result<Step> {
        if self.is_known() {
            match self.path.pop() {
                Some(Open::Block(said)) => {
                    let block = self.block;
                    if let Content::Blocks(blocks) = self.outline.said_mut(said) {
                        blocks.add(&block, chunk)?;
                    }
                }
                Some(Open::Item) => {
                    self.block.tool_text = self.block.tool_text.or(self.block.item);
                }
                _ => {}
            }
        }
        self.levels.pop();
        Ok(self.end_value(at))
    }
}

/// How many digits follow that do not change what is expected.
fn digits(chunk: &Chunk<'_>, from: usize, lex: Lex) -> usize {
    if !matches!(lex, Lex::Digits | Lex::Fraction | Lex::Power) {
        return 0;
    }
    let rest = chunk.bytes.get(from..).unwrap_or_default();
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
