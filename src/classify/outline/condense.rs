//! From an outline to a row of bounded size that means the same.

use super::chunk::{Chunk, read_excerpt};
use super::members::{Group, Kind, MEMBERS};
use super::{Blocks, Content, Outline, Span, Value};
use crate::classify::row::raw::{SAID, WORD, beginning};
use crate::disk::Transcript;
use std::io;

impl Outline {
    /// A row that means the same to `row::Row` and to the rules: the members that decide, their
    /// strings as rules see them.
    pub(crate) fn condensed(&self, file: &dyn Transcript) -> io::Result<Vec<u8>> {
        let file = Chunk { file, bytes: &[], from: 0, has_controls: false };
        let mut row = Vec::new();
        self.write_members(Group::Row, &file, &mut row)?;
        Ok(row)
    }

    fn write_members(&self, group: Group, file: &Chunk<'_>, row: &mut Vec<u8>) -> io::Result<()> {
        row.push(b'{');
        let mut is_first = true;
        for (index, member) in MEMBERS.iter().enumerate() {
            if member.group != group {
                continue;
            }
            let value = self.get(index);
            let said = match member.kind {
                Kind::Said(said) => Some(self.said(said)),
                Kind::Plain | Kind::Members(_) => None,
            };
            if value.is_none() && said.is_none_or(|said| *said == Content::Absent) {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                row.push(b',');
            }
            row.push(b'"');
            row.extend_from_slice(member.key.as_bytes());
            row.extend_from_slice(b"\":");
            match (said, member.kind, value) {
                (Some(said), _, _) => write_said(said, file, row)?,
                (None, Kind::Members(group), Some(Value::Object)) => {
                    self.write_members(group, file, row)?;
                }
                (None, _, value) => write_value(value.unwrap_or(Value::Null), file, row)?,
            }
        }
        if group == Group::Row {
            self.write_unknown(is_first, file, row)?;
        }
        row.push(b'}');
        Ok(())
    }

    /// The keys that nobody knows, as much as is seen of them.
    fn write_unknown(
        &self,
        mut is_first: bool,
        file: &Chunk<'_>,
        row: &mut Vec<u8>,
    ) -> io::Result<()> {
        for key in &self.unknown {
            if !std::mem::take(&mut is_first) {
                row.push(b',');
            }
            let raw = file.key(*key)?;
            row.push(b'"');
            row.extend_from_slice(beginning(&raw));
            row.extend_from_slice(b"\":0");
        }
        Ok(())
    }
}

fn write_value(value: Value, file: &Chunk<'_>, row: &mut Vec<u8>) -> io::Result<()> {
    match value {
        Value::Text(span) => return write_text(span, WORD, file, row),
        Value::True => row.extend_from_slice(b"true"),
        Value::Null => row.extend_from_slice(b"null"),
        Value::Object => row.extend_from_slice(b"{}"),
        Value::Other => row.push(b'0'),
    }
    Ok(())
}

fn write_said(content: &Content, file: &Chunk<'_>, row: &mut Vec<u8>) -> io::Result<()> {
    match content {
        Content::Absent => row.extend_from_slice(b"null"),
        Content::Text(span) => write_text(*span, SAID, file, row)?,
        Content::Blocks(blocks) => blocks.write(file, row)?,
    }
    Ok(())
}

impl Blocks {
    fn write(&self, file: &Chunk<'_>, row: &mut Vec<u8>) -> io::Result<()> {
        let mut texts: Vec<Span> = Vec::new();
        let kinds = [self.first, self.second, self.of_gateway, self.no_mark, self.with_words];
        for span in kinds.into_iter().flatten() {
            if !texts.contains(&span) {
                texts.push(span);
            }
        }
        row.extend_from_slice(b"[0");
        for text in texts {
            row.extend_from_slice(b",{\"type\":\"text\",\"text\":");
            write_text(text, SAID, file, row)?;
            row.push(b'}');
        }
        if self.has_image {
            row.extend_from_slice(b",{\"type\":\"image\"}");
        }
        if self.has_tool_result {
            row.extend_from_slice(b",{\"type\":\"tool_result\"");
            if self.has_tool_error {
                row.extend_from_slice(b",\"is_error\":true");
            }
            if let Some(text) = self.tool_text {
                row.extend_from_slice(b",\"content\":");
                write_text(text, WORD, file, row)?;
            }
            row.push(b'}');
        }
        row.push(b']');
        Ok(())
    }
}

fn write_text(span: Span, side: usize, file: &Chunk<'_>, row: &mut Vec<u8>) -> io::Result<()> {
    row.push(b'"');
    row.extend_from_slice(&read_excerpt(file, span, side)?);
    row.push(b'"');
    Ok(())
}
