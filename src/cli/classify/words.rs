//! The words of a row that counts, for the terminal of whoever asks for them.
//!
//! The one place of the program where a transcript's text is shown. Always holds: it goes to a
//! terminal only, escaped and cut; it is read again from the file, and nothing else carries it.

use crate::classify::JudgedRow;
use crate::cli::output::Output;
use crate::cli::table::sanitise;
use crate::error::{Error, Result};
use serde_json::Value;
use std::io::IsTerminal as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Characters that are shown of a row.
const SHOWN: usize = 120;

/// Bytes of the longest row that is read again: a few screenshots.
const LONGEST: u64 = 64 << 20;

/// Refuses where the words would go anywhere but to a terminal.
pub(super) fn may_be_shown(out: &Output, paths: &[PathBuf]) -> Result<()> {
    let refused = if out.json {
        "--show-text is not for --json: the JSON of rows holds no text, so that it can be passed on"
    } else if !std::io::stdout().is_terminal() {
        "--show-text prints to a terminal only, and standard output is none"
    } else if paths.iter().any(|path| super::source::is_standard_input(path)) {
        "--show-text reads rows a second time, which standard input does not allow; name a file"
    } else {
        return Ok(());
    };
    Err(Error::Usage(refused.to_owned()))
}

/// The beginning of what was said in a row, safe for a terminal.
pub(super) fn beginning(path: &Path, row: &JudgedRow) -> String {
    let length = row.end.saturating_sub(row.start);
    if length > LONGEST {
        return "(too long to be shown)".to_owned();
    }
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let read =
        fs_err::File::open(path).and_then(|file| file.file().read_exact_at(&mut bytes, row.start));
    match read.ok().and_then(|()| said(&bytes)) {
        Some(text) => cut(&text),
        None => "(cannot be shown)".to_owned(),
    }
}

/// What was said in a row; `None` where it is no row that JSON readers take.
fn said(row: &[u8]) -> Option<String> {
    let row: Value = serde_json::from_slice(row).ok()?;
    let feedback = row.get("userFeedback").filter(|text| text.is_string());
    let places = ["/message/content", "/attachment/prompt", "/content"];
    let content = feedback.or_else(|| places.iter().find_map(|place| row.pointer(place)))?;
    let mut parts = Vec::new();
    match content {
        Value::String(text) => parts.push(text.as_str()),
        Value::Array(blocks) => {
            for block in blocks {
                let inner = |name| block.get(name).and_then(Value::as_str);
                match inner("type") {
                    Some("text") => parts.extend(inner("text")),
                    Some("tool_result") => parts.extend(inner("content")),
                    Some("image") => parts.push("[image]"),
                    Some("document") => parts.push("[document]"),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    Some(parts.join(" "))
}

/// On one line, cut, and escaped.
fn cut(text: &str) -> String {
    let text = text.trim();
    let mut shown = sanitise(&text.chars().take(SHOWN).collect::<String>());
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_persons_leave_them() {
        for (row, text) in [
            (r#"{"message":{"content":"fix it"}}"#, "fix it"),
            (
                r#"{"message":{"content":[{"type":"text","text":"[Image #1]"},{"type":"image"}]}}"#,
                "[Image #1] [image]",
            ),
            (r#"{"attachment":{"prompt":[{"type":"text","text":"later"}]}}"#, "later"),
            (r#"{"type":"queue-operation","content":"queued"}"#, "queued"),
            (r#"{"userFeedback":"no","message":{"content":[]}}"#, "no"),
        ] {
            assert_eq!(said(row.as_bytes()).as_deref(), Some(text), "{row}");
        }
        assert_eq!(said(b"{\"message\":7}"), None);
        assert_eq!(said(b"{\"mess"), None);
    }

    #[test]
    fn what_could_steer_a_terminal_is_escaped_and_length_is_bounded() {
        assert_eq!(cut(" \u{1b}]0;x\u{7} a\nb "), "\\u{1b}]0;x\\u{7} a\\nb");
        assert_eq!(cut(&"ß".repeat(500)).chars().count(), SHOWN + 1);
    }
}
