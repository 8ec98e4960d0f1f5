//! What a person types while the agent works.
//!
//! Answers: which rows of the message queue turn out to be turns, and which user rows came out of
//! it. Always holds: bounded, no text (keyed hashes only), and the same state whether rows are read
//! in one go or with the state stored in between. Not here: the verdicts on user rows and on
//! `queued_command` attachments (`rules`).
//!
//! Before 2.1.97 a message that is typed during a tool call leaves nothing but its `enqueue` and a
//! `remove`, so the `remove` proves the `enqueue` a turn. Later versions write an attachment.

use super::row::raw::RawStr;
use super::row::{Row, is};
use super::version::{KEEPS_QUEUED_MESSAGES, Version};
use super::{Class, Evidence, ProvenRow, Settings, rules, shape};
use crate::ids::{Identity, TextHash, Timestamp, is_plain_id};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Entries that are kept at most; a person does not queue more, so the oldest is lost by an error.
const MAX_ENTRIES: usize = 256;

/// Entries of other processes that are kept at most.
const MAX_LEFT: usize = 32;

/// A program's prompt is taken from the queue within this time (2 to 30 ms were measured); a
/// person's waits for the turn to end.
const AT_ONCE_MS: i64 = 100;

/// A scheduled task fires within this time of its `enqueue` row.
const FIRE_MS: i64 = 1000;

/// The open entries of a source's message queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueState {
    /// Entries that wait, oldest first.
    open: VecDeque<QueueEntry>,
    /// Entries that waited when a person typed at an idle prompt: lost with their process, or still
    /// waiting in another one that writes into the same file. Only what means them takes them.
    #[serde(default)]
    left: VecDeque<QueueEntry>,
    /// Entries that were taken since the agent last spoke.
    taken: VecDeque<QueueEntry>,
    /// User and assistant rows so far.
    rows: u64,
    /// What was taken since the last of them.
    #[serde(default)]
    dequeue: Dequeue,
    /// When something was taken last, by a row that names nothing.
    #[serde(default)]
    dequeued_at: Option<Timestamp>,
}

/// What a row took from the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Dequeue {
    /// No row took anything.
    #[default]
    None,
    /// An entry.
    OfEntry,
    /// What never was put there by a row: 2.1.17 writes so of a program's prompt.
    OfNothing,
}

/// One message in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "answers that do not depend on each other")]
struct QueueEntry {
    start: u64,
    end: u64,
    identity: Identity,
    at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<TextHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command_uuid: Option<String>,
    /// Whether a program put it there.
    is_machine: bool,
    /// Whether it is a command or a shell line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_command: bool,
    /// Whether it is images without words.
    is_image: bool,
    /// Lines of its text, by which a row is told that joins several.
    #[serde(default)]
    lines: u64,
    /// User and assistant rows when it was put there; once it is taken, when it was taken.
    rows: u64,
    /// Whether it went in and out at once, as a program's prompt does.
    is_at_once: bool,
    /// Whether it was counted when it was removed.
    is_counted: bool,
    /// Whether it was removed before any row named a version, which decides on it.
    #[serde(default)]
    is_undecided: bool,
    /// Whether it was taken before an older entry of a program's, by a row that names none.
    #[serde(default)]
    is_guess: bool,
}

/// A queue row, as the reader found it.
pub(crate) struct QueueRow<'a> {
    pub(crate) row: &'a Row<'a>,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) identity: Identity,
    pub(crate) at: Option<Timestamp>,
    pub(crate) text: Option<TextHash>,
    /// Lines of its text.
    pub(crate) lines: u64,
    /// Whether the rows around it are of a program's session.
    pub(crate) is_of_program: bool,
}

/// What a row was in the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four answers that do not depend on each other")]
pub(crate) struct Delivery {
    /// Whether it was there.
    pub(crate) was_queued: bool,
    /// Whether it went in and out at once, as a program's prompt does.
    pub(crate) is_at_once: bool,
    /// Whether it was counted when it was removed.
    pub(crate) is_counted: bool,
    /// Whether no row of the conversation came between.
    pub(crate) is_next: bool,
}

impl QueueState {
    /// Whether nothing waits and nothing was just taken.
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty() && self.taken.is_empty() && self.left.is_empty()
    }

    /// What was taken since the last row of the conversation.
    pub(crate) const fn last_dequeue(&self) -> Dequeue {
        self.dequeue
    }

    /// Takes a queue row; gives the earlier row that it proves to be a turn.
    pub(crate) fn operate(
        &mut self,
        found: QueueRow<'_>,
        version: Option<Version>,
        settings: Settings,
    ) -> Option<ProvenRow> {
        let operation = found.row.operation;
        if is(operation, "enqueue") {
            self.enqueue(found);
        } else if is(operation, "dequeue") {
            self.dequeue(&found);
        } else if is(operation, "popAll") {
            // Pulled back into the editor, by a row for each or by one for all: what comes of it is a
            // row of its own.
            if found.text.is_some() {
                self.find(&found, 0);
            } else {
                self.open.retain(|entry| entry.is_machine);
            }
        } else if is(operation, "remove") {
            return self.remove(&found, version, settings);
        }
        None
    }

    fn enqueue(&mut self, found: QueueRow<'_>) {
        let row = found.row;
        let text = row.content.first_text().unwrap_or_default();
        let is_of_program = found.is_of_program
            || row.is_meta
            || row.has_scheduled_task
            || row.origin.is_some_and(|origin| !origin.kind.is("human"));
        if self.open.len() >= MAX_ENTRIES {
            self.open.pop_front();
        }
        self.open.push_back(QueueEntry {
            start: found.start,
            end: found.end,
            identity: found.identity,
            at: found.at,
            text: found.text.clone(),
            command_uuid: row
                .command_uuid
                .map(|uuid| uuid.word().into_owned())
                .filter(|uuid| is_plain_id(uuid)),
            is_machine: is_of_program || shape::is_machine_entry(&text),
            is_command: shape::is_typed_call(&text),
            is_image: rules::class_of_words(&row.content) == Class::HumanImage,
            lines: found.lines,
            rows: self.rows,
            is_at_once: false,
            is_counted: false,
            is_undecided: false,
            is_guess: false,
        });
    }

    fn dequeue(&mut self, found: &QueueRow<'_>) {
        self.dequeued_at = found.at;
        let Some(mut entry) = self.find(found, 0) else {
            self.dequeue = Dequeue::OfNothing;
            return;
        };
        self.dequeue = Dequeue::OfEntry;
        entry.is_at_once = entry.rows == self.rows && entry.was_taken_at_once(found.at);
        self.take(entry);
    }

    fn remove(
        &mut self,
        found: &QueueRow<'_>,
        version: Option<Version>,
        settings: Settings,
    ) -> Option<ProvenRow> {
        // A person's message goes before a notice that waits for the turn to end; commands and shell
        // lines wait for it themselves.
        let first = self
            .open
            .iter()
            .position(|entry| !entry.is_machine && !entry.is_command)
            .or_else(|| self.open.iter().position(|entry| entry.is_machine))
            .unwrap_or(0);
        // A process removes what it put in; with nothing of its own there, it is not the one that
        // was idle.
        let mut entry = self.find(found, first).or_else(|| self.left.pop_back())?;
        entry.is_guess = first > 0 && found.text.is_none();
        // A reason is given only where the message has a row of its own.
        let may_be_only_copy = !entry.is_machine && !found.row.has_reason;
        entry.is_undecided = may_be_only_copy && version.is_none();
        let is_only_copy = version.is_some_and(|version| version < KEEPS_QUEUED_MESSAGES);
        entry.is_counted = may_be_only_copy && is_only_copy;
        let proven = entry.is_counted.then(|| entry.proven(settings));
        self.take(entry);
        proven
    }

    /// The first version is known: gives the earlier rows that are turns in this version.
    pub(crate) fn decide(&mut self, version: Version, settings: Settings) -> Vec<ProvenRow> {
        let is_only_copy = version < KEEPS_QUEUED_MESSAGES;
        let undecided = self.taken.iter_mut().filter(|entry| entry.is_undecided);
        let decided = undecided.map(|entry| {
            entry.is_undecided = false;
            entry.is_counted = is_only_copy;
            entry.is_counted.then(|| entry.proven(settings))
        });
        decided.flatten().collect()
    }

    /// Takes out the entry that a row means: the same command, the same text, else the one at
    /// `first`.
    fn find(&mut self, found: &QueueRow<'_>, first: usize) -> Option<QueueEntry> {
        let command = found.row.command_uuid.map(RawStr::word);
        let has_command = |entry: &QueueEntry| {
            command.is_some() && entry.command_uuid.as_deref() == command.as_deref()
        };
        let has_text = |entry: &QueueEntry| found.text.is_some() && entry.text == found.text;
        let named = remove_first(&mut self.open, has_command)
            .or_else(|| remove_first(&mut self.open, has_text))
            .or_else(|| remove_first(&mut self.left, has_command))
            .or_else(|| remove_first(&mut self.left, has_text));
        match &found.text {
            _ if named.is_some() => named,
            // Entries with images are written without their content.
            Some(_) => remove_first(&mut self.open, |entry| entry.text.is_none()),
            None => self.open.remove(first),
        }
    }

    fn take(&mut self, mut entry: QueueEntry) {
        entry.rows = self.rows;
        if self.taken.len() >= MAX_ENTRIES {
            self.taken.pop_front();
        }
        self.taken.push_back(entry);
    }

    /// A user row or a queued message with this text was delivered.
    pub(crate) fn deliver(&mut self, text: &TextHash) -> Delivery {
        let has_text = |entry: &QueueEntry| entry.text.as_ref() == Some(text);
        let is_fresh = |entry: &QueueEntry| has_text(entry) && !entry.is_guess;
        let was_dequeued = self.taken.back().is_some_and(|entry| !entry.is_counted);
        let entry = if let Some(index) = self.taken.iter().position(is_fresh) {
            self.taken.remove(index)
        } else if let Some(index) = self.open.iter().position(has_text) {
            let mut entry = self.open.remove(index);
            // Not the oldest entry was taken, as was assumed, but this one.
            if was_dequeued {
                self.put_back();
            }
            if let Some(entry) = &mut entry {
                entry.is_at_once = entry.was_taken_at_once(self.dequeued_at);
            }
            entry
        } else if let Some(index) = self.taken.iter().position(has_text).filter(|_| was_dequeued) {
            // The notice was removed, then, and not this one; it was counted nevertheless.
            let entry = self.taken.remove(index);
            self.put_back();
            entry.map(|entry| QueueEntry { rows: self.rows, ..entry })
        } else if let Some(entry) = remove_first(&mut self.left, has_text) {
            Some(QueueEntry { is_at_once: entry.was_taken_at_once(self.dequeued_at), ..entry })
        } else {
            // Entries with images are written without their content.
            remove_first(&mut self.taken, |entry| entry.text.is_none())
        };
        entry.map_or_else(Delivery::default, |entry| Delivery {
            was_queued: true,
            is_at_once: entry.is_at_once,
            is_counted: entry.is_counted,
            is_next: entry.rows == self.rows,
        })
    }

    /// The entry that was taken last was not the one that was meant.
    fn put_back(&mut self) {
        if let Some(entry) = self.taken.pop_back() {
            self.open.push_front(QueueEntry { is_at_once: false, ..entry });
        }
    }

    /// A row that joins the texts of several entries, one below the other, was delivered (4c).
    pub(crate) fn deliver_joined(
        &mut self,
        text: &str,
        hash: impl Fn(&str) -> TextHash,
    ) -> Delivery {
        let mut joined = Vec::new();
        let mut rest = Some(text);
        let entries = self.taken.iter().chain(&self.open).enumerate();
        for (index, entry) in entries.filter(|(_, entry)| entry.lines > 0) {
            let Some(all) = rest else { break };
            let (beginning, behind) = split_lines(all, entry.lines);
            if joined.is_empty() && behind.is_none() {
                continue;
            }
            if entry.text.as_ref() == Some(&hash(beginning)) {
                joined.push(index);
                rest = behind;
            }
        }
        if rest.is_some() || joined.len() < 2 {
            return Delivery::default();
        }
        let taken = self.taken.len();
        let mut delivery =
            Delivery { was_queued: true, is_at_once: false, is_counted: true, is_next: true };
        for index in joined.into_iter().rev() {
            let entry = match index.checked_sub(taken) {
                Some(index) => self.open.remove(index),
                None => self.taken.remove(index),
            };
            if let Some(entry) = entry {
                delivery.is_counted &= entry.is_counted;
                delivery.is_next &= entry.rows == self.rows;
            }
        }
        delivery
    }

    /// A person typed at an idle prompt: what waited was delivered first, so that whatever is still
    /// open then was lost with its process, was flushed in a way that left no row, or is another
    /// process's.
    pub(crate) fn was_empty(&mut self, at: Option<Timestamp>) {
        if self.taken.iter().any(|entry| !entry.is_counted) {
            // One was just taken, and this may be it in other words.
            return;
        }
        // What was queued while the row was still held back by a hook waits.
        let waits =
            |entry: &QueueEntry| entry.at.zip(at).is_some_and(|(queued, typed)| queued > typed);
        let (open, left) = std::mem::take(&mut self.open).into_iter().partition(waits);
        self.open = open;
        let left: VecDeque<QueueEntry> = left;
        self.left.extend(left.into_iter().filter(|entry| !entry.is_machine));
        let too_many = self.left.len().saturating_sub(MAX_LEFT);
        self.left.drain(..too_many);
    }

    /// A row of the conversation was passed; the agent's own ends what was being delivered.
    pub(crate) fn pass(&mut self, is_assistant: bool) {
        self.rows = self.rows.wrapping_add(1);
        self.dequeue = Dequeue::None;
        if is_assistant {
            // A guess stands until no notice is left that could have been meant.
            let is_open = self.open.iter().any(|entry| entry.is_machine);
            self.taken.retain(|entry| is_open && entry.is_guess && entry.is_counted);
        }
    }

    /// A scheduled task fired: its prompt stands in the queue like a person's.
    pub(crate) fn fire(&mut self, at: Option<Timestamp>) {
        let fired = self.open.iter_mut().chain(&mut self.taken).rev().find(|entry| {
            let waited = entry.at.zip(at).map(|(queued, fired)| queued.ms_since(fired).abs());
            waited.is_some_and(|waited| waited <= FIRE_MS)
        });
        if let Some(entry) = fired {
            entry.is_machine = true;
        }
    }
}

/// Takes out the oldest entry that is so.
fn remove_first(
    entries: &mut VecDeque<QueueEntry>,
    is_so: impl Fn(&QueueEntry) -> bool,
) -> Option<QueueEntry> {
    let index = entries.iter().position(is_so)?;
    entries.remove(index)
}

impl QueueEntry {
    /// Whether it was taken from the queue at this time as soon as it was put there.
    fn was_taken_at_once(&self, taken_at: Option<Timestamp>) -> bool {
        let waited = taken_at.zip(self.at).map(|(now, then)| now.ms_since(then));
        waited.is_some_and(|waited| (0..=AT_ONCE_MS).contains(&waited))
    }

    /// The row that put it there, as a turn.
    fn proven(&self, settings: Settings) -> ProvenRow {
        let class = if self.is_image { Class::HumanImage } else { Class::HumanText };
        ProvenRow {
            start: self.start,
            end: self.end,
            identity: self.identity.clone(),
            at: self.at,
            text: self.text.clone(),
            verdict: rules::verdict(class, "queued-message-removed", Evidence::Shape, settings),
        }
    }
}

/// The first `count` lines, and what stands behind the line end after them, if there is one.
fn split_lines(text: &str, count: u64) -> (&str, Option<&str>) {
    let last = usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    text.match_indices('\n')
        .nth(last)
        .map_or((text, None), |(at, _)| (text.get(..at).unwrap_or_default(), text.get(at + 1..)))
}
