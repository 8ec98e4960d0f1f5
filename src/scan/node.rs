//! The transcript of a paired node, in pages from its end (`facts/gateway.md` §11).
//!
//! Answers: which rows are new since a row that is known, and how far back a reading must go to
//! know. Always holds: a reading gets further with every page, or fails; of rows that are no user's
//! nothing is kept but name, place and time. Deliberately elsewhere: asking the node
//! (`openclaw::nodes`), what the rows come to (`cycle::node`).

use crate::classify::time;
use crate::ids::Timestamp;
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

/// Rows of a page; a node gives no more at a time.
pub const PAGE: usize = 50;

/// Pages of one reading: a hundred thousand rows, far more than come while nobody looks.
const MOST_PAGES: usize = 2_000;

/// What the reader of a node puts behind the text of a row that it cut.
const CUT: &str = "\n\n[oversized Claude item truncated]";

/// A row of a node's transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is known by.
    pub uuid: Option<String>,
    /// Its time.
    pub at: Option<Timestamp>,
    /// Offset just after it in the node's file.
    pub end: u64,
    /// A row of a transcript with what the node tells of it; none of any but user's messages.
    pub row: Option<Vec<u8>>,
}

/// How far back a reading is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// The row up to which everything is known; `None` where nothing is.
    pub uuid: Option<String>,
    /// Where it ended, where that is known: at another place the file is another one.
    pub end: Option<u64>,
    /// The time below which rows are history, for where that row is not to be found.
    pub floor: Option<Timestamp>,
    /// Whether rows before it are wanted too, a page of them.
    pub further: bool,
    /// The link as it is when it is asked (its `updated_at`): where that changes, the gateway's
    /// marker may have, and what was read is too old to tell.
    pub asked_at: Timestamp,
}

/// How a reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the row that was looked for: the item at this index.
    Found(usize),
    /// The row is not in the file; at the start of the file, or where only history was to come.
    NotFound,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The page before this cursor is to be asked for.
    Page(String),
    /// Nothing.
    Done(End),
}

/// A page that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPage {
    /// It has not the form of one.
    #[error("the node's answer is none that this upstreamd knows")]
    Form,
    /// It does not go on where the one before it ended: the file changed meanwhile.
    #[error("the node's transcript changed while it was read")]
    Order,
    /// There are too many before the row that is looked for.
    #[error("the node's transcript is too long to be read back to what is known")]
    Pages,
}

/// A reading under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// How far it is to go.
    pub goal: Goal,
    /// The rows so far, the newest first.
    pub items: Vec<Item>,
    pages: usize,
    found: Option<usize>,
}

impl Walk {
    /// One that has read nothing yet.
    #[must_use]
    pub const fn new(goal: Goal) -> Self {
        Self { goal, items: Vec::new(), pages: 0, found: None }
    }

    /// Takes the next page: the `payload` of `anthropic.claude.sessions.read.v1`.
    pub fn take(&mut self, page: &Value) -> Result<Step, BadPage> {
        let rows = page.get("items").and_then(Value::as_array).ok_or(BadPage::Form)?;
        let first = self.items.len();
        for row in rows {
            let item = item(row).ok_or(BadPage::Form)?;
            if self.items.last().is_some_and(|newer| newer.end <= item.end) {
                return Err(BadPage::Order);
            }
            self.items.push(item);
        }
        self.pages += 1;
        let next = page.get("nextCursor").and_then(Value::as_str).filter(|_| !rows.is_empty());
        if let Some(at) = self.found {
            return Ok(Step::Done(End::Found(at)));
        }
        self.found = self.find(first);
        let end = match (self.found, next) {
            (Some(at), None) => End::Found(at),
            (Some(at), Some(_)) if !self.goal.further => End::Found(at),
            (None, None) => End::NotFound,
            (None, Some(_)) if self.is_all_history(first) => End::NotFound,
            (_, Some(next)) if self.pages < MOST_PAGES => return Ok(Step::Page(next.to_owned())),
            (_, Some(_)) => return Err(BadPage::Pages),
        };
        Ok(Step::Done(end))
    }

    fn find(&self, first: usize) -> Option<usize> {
        let wanted = self.goal.uuid.as_ref()?;
        let is_there = |end: u64| self.goal.end.is_none_or(|expected| expected == end);
        let mut new = self.items.iter().enumerate().skip(first);
        new.find(|(_, item)| item.uuid.as_ref() == Some(wanted) && is_there(item.end))
            .map(|(index, _)| index)
    }

    /// Whether the row that is looked for would have come by now, and the last page is older than
    /// whatever may count.
    fn is_all_history(&self, first: usize) -> bool {
        let is_passed = match (self.goal.end, self.items.last()) {
            (Some(end), Some(oldest)) => oldest.end < end,
            _ => true,
        };
        let mut times = self.items.iter().skip(first).filter_map(|item| item.at).peekable();
        let floor = self.goal.floor;
        is_passed && times.peek().is_some() && times.all(|at| floor.is_some_and(|floor| at < floor))
    }
}

fn item(value: &Value) -> Option<Item> {
    let text = |name| value.get(name).and_then(Value::as_str);
    let kind = text("type")?;
    let timestamp = text("timestamp");
    let uuid = text("uuid").map(str::to_owned);
    let row = (kind == "userMessage").then(|| {
        let content = match value.get("content") {
            Some(content) => content.clone(),
            None => content_of_cut(text("text").unwrap_or_default()),
        };
        let mut row = json!({
            "type": "user",
            "uuid": uuid,
            "timestamp": timestamp,
            "message": { "role": "user", "content": content },
        });
        if let Value::Object(row) = &mut row {
            row.retain(|_, value| !value.is_null());
        }
        row.to_string().into_bytes()
    });
    Some(Item { at: timestamp.and_then(time), end: offset(text("resumeCursor")?)?, uuid, row })
}

/// The content of a row that the node cut: its words; where there are none, it was a picture.
fn content_of_cut(text: &str) -> Value {
    match text.strip_suffix(CUT).unwrap_or(text) {
        "" => json!([{ "type": "image" }]),
        words => json!(words),
    }
}

/// The offset in a cursor: base64url of `{"offset":N}`.
fn offset(cursor: &str) -> Option<u64> {
    let json = BASE64URL_NOPAD.decode(cursor.trim_end_matches('=').as_bytes()).ok()?;
    let value: Value = serde_json::from_slice(&json).ok()?;
    value.get("offset")?.as_u64()
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
