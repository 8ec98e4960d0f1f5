//! A node's transcript for tests.

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

/// A row as a node tells of it, which ends at this offset.
pub(crate) fn row(kind: &str, uuid: &str, at: &str, end: u64, content: &Value) -> Value {
    let cursor = cursor(end);
    json!({
        "type": kind, "uuid": uuid, "timestamp": at, "content": content,
        "text": content.as_str(), "resumeCursor": cursor,
    })
}

pub(crate) fn cursor(offset: u64) -> String {
    BASE64URL_NOPAD.encode(json!({ "offset": offset }).to_string().as_bytes())
}

/// The page of a transcript (oldest row first) before an offset, as a node gives it.
pub(crate) fn page(transcript: &[Value], before: Option<&str>, limit: usize) -> Value {
    let end = |row: &Value| super::offset(row["resumeCursor"].as_str().unwrap()).unwrap();
    let before = before.map_or(u64::MAX, |cursor| super::offset(cursor).unwrap());
    let older: Vec<&Value> = transcript.iter().filter(|row| end(row) <= before).collect();
    let items: Vec<&Value> = older.iter().rev().take(limit).copied().collect();
    let mut page = json!({ "threadId": "t", "items": items });
    // The cursor of a page is where its oldest row begins: the end of the one before it.
    if let Some(next) = older.len().checked_sub(limit + 1).and_then(|at| older.get(at)) {
        page["nextCursor"] = json!(cursor(end(next)));
    }
    page
}
