//! An array of blocks, folded as it passes: what rules can tell apart stays.

use super::chunk::{Chunk, read_excerpt};
use super::{Blocks, Span};
use crate::classify::compat::{INTER_SESSION, RESEED};
use crate::classify::row::raw::{RawStr, SAID};
use crate::classify::shape;
use serde::{Deserialize, Serialize};
use std::io;

/// The block that is being read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    pub(super) text: Option<Span>,
    pub(super) tool_text: Option<Span>,
    pub(super) is_error: bool,
    /// The text of the element of its content that is being read.
    pub(super) item: Option<Span>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum BlockKind {
    #[default]
    Other,
    Text,
    ToolResult,
    Image,
}

impl Blocks {
    /// Adds a block that was read.
    pub(super) fn add(&mut self, block: &Block, chunk: &Chunk<'_>) -> io::Result<()> {
        match block.kind {
            BlockKind::Text => block.text.map_or(Ok(()), |text| self.add_text(text, chunk)),
            BlockKind::ToolResult => {
                self.has_tool_result = true;
                self.has_tool_error |= block.is_error;
                self.tool_text = self.tool_text.or(block.tool_text);
                Ok(())
            }
            BlockKind::Image => {
                self.has_image = true;
                Ok(())
            }
            BlockKind::Other => Ok(()),
        }
    }

    fn add_text(&mut self, span: Span, chunk: &Chunk<'_>) -> io::Result<()> {
        if self.first.is_none() {
            self.first = Some(span);
        } else {
            self.second.get_or_insert(span);
        }
        if self.of_gateway.is_none() {
            let longest = 6 * RESEED.len() as u64;
            let to = span.to.min(span.from.saturating_add(longest));
            let raw = chunk.read(span.from, to.min(span.from + 1))?;
            if matches!(raw.first(), Some(b'[' | b'C' | b'\\')) {
                let raw = chunk.read(span.from, to)?;
                let text = RawStr::new(&raw, true).whole();
                if text.starts_with(INTER_SESSION) || text.starts_with(RESEED) {
                    self.of_gateway = Some(span);
                }
            }
        }
        if self.no_mark.is_none() || self.with_words.is_none() {
            let seen = read_excerpt(chunk, span, SAID)?;
            let text = RawStr::new(&seen, true).text();
            if !shape::is_beside_words(&text) {
                self.no_mark.get_or_insert(span);
            }
            if !text.trim().is_empty() {
                self.with_words.get_or_insert(span);
            }
        }
        Ok(())
    }
}
