//! What of a window is still to be recorded, where two programs record the same rows.
//!
//! Answers: given the rows of a window and the events of its source that were not accounted for yet,
//! which rows are covered by them, and what remains. Always holds: it is a pure function; a row
//! within the extent of our own event of this generation is never recorded again; any other event
//! withholds at most as many rows as its turns, and one that finds no row withholds none.
//! Deliberately elsewhere: reading the events and writing what remains (`window`).
//!
//! The gateway's monitor writes no extents: its event names the offset at which its window ended, the
//! number of turns and the greatest of their times. Its windows are contiguous, so its rows are those
//! last before that offset, the one with that time among them. Times are compared as the event's
//! writer clamped them: a row older than a day was dated a day before the writing, a row from the
//! future was dated at the writing.

use super::append::BACKDATING_MS;
use crate::ids::{Generation, Identity, Sequence, Timestamp};
use crate::journal::{CountableRow, Intent};
use std::collections::BTreeSet;

/// An event about turns of a source, by whomever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceEvent {
    /// Its number.
    pub sequence: Sequence,
    /// The greatest time of its turns, as clamped by its writer.
    pub occurred_at: Timestamp,
    /// How many turns it counts, at least 1.
    pub turns: usize,
    /// Where its window ended; none where it names no offset.
    pub offset: Option<u64>,
    /// Set for our own events: what exactly they cover.
    pub ours: Option<Extent>,
}

/// The window that an event of ours covers, in one generation of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Where the window begins.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// The life of the file's content that the offsets belong to.
    pub generation: Generation,
}

impl SourceEvent {
    /// Reads an event: `id` is its dedupe key after the source key, `payload` its payload.
    ///
    /// Ours are known by a payload with an integer `from`, not beyond the event's offset, and a
    /// `generation` of 8 lower-case hex digits. Everything else is treated as the gateway's.
    #[must_use]
    pub fn read(
        sequence: Sequence,
        occurred_at: Timestamp,
        id: &str,
        payload: Option<&str>,
    ) -> Self {
        let payload: Option<serde_json::Value> =
            payload.and_then(|text| serde_json::from_str(text).ok());
        let field = |name| payload.as_ref().and_then(|payload| payload.get(name));
        let turns = field("turns")
            .and_then(serde_json::Value::as_u64)
            .unwrap_or(1)
            .max(1);
        let offset = offset_of(id);
        let ours = (|| {
            let from = field("from")?.as_u64()?;
            let generation = field("generation")?.as_str()?;
            let to = offset.filter(|to| from <= *to)?;
            let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            (generation.len() == 8 && generation.bytes().all(hex)).then(|| Extent {
                from,
                to,
                generation: Generation::new(generation),
            })
        })();
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        Self {
            sequence,
            occurred_at,
            turns,
            offset,
            ours,
        }
    }
}

/// The offset that a dedupe id begins with: `5568`, `5568.0a1b2c3d.4473`, `5568:agent:main`. A row's
/// uuid, as for a node's transcript, is none.
fn offset_of(id: &str) -> Option<u64> {
    let (digits, _) = id.split_once(['.', ':']).unwrap_or((id, ""));
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

/// What is to be done about a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// How many turns are still to be recorded.
    pub turns: usize,
    /// The greatest of their times; none where there are none.
    pub occurred_at: Option<Timestamp>,
    /// With this window, events up to here are accounted for.
    pub newest_seen: Sequence,
    /// Rows of the intent that events cover, by their index in it, whichever rule counts them.
    pub covered: Vec<usize>,
    /// Covered rows that only the gateway's rule counts: its false turns.
    pub false_turns: usize,
    /// Events that found none of their rows.
    pub unplaced: Vec<Sequence>,
}

/// Decides what of an intent's rows is covered by `events` (those of its source newer than `seen`)
/// and what remains.
///
/// `linked` are the rows of the linked file as it is now, in file order, where the caller has read
/// them: an event that is placed there is accounted for, and covers a row of the window only where it
/// is the same row. Rows are told apart by their identity, which is unique among an intent's rows.
#[must_use]
pub fn plan(
    intent: &Intent,
    events: &[SourceEvent],
    linked: &[CountableRow],
    now: Timestamp,
) -> Plan {
    let mut events: Vec<&SourceEvent> = events.iter().collect();
    events.sort_by_key(|event| event.sequence);
    let mut placing = Placing::new(intent, linked, now);
    let unplaced: Vec<Sequence> = events
        .iter()
        .filter(|event| !placing.place(event))
        .map(|event| event.sequence)
        .collect();
    let is_covered = |row: &CountableRow| placing.is_covered(row);
    let remaining = || {
        intent
            .rows
            .iter()
            .filter(|row| row.ours && !is_covered(row))
    };
    let by_gateway = |row: &&CountableRow| placing.by_gateway.contains(&row.identity);
    Plan {
        turns: remaining().count(),
        occurred_at: remaining().map(|row| row.at).max(),
        newest_seen: events
            .last()
            .map_or(intent.seen, |event| event.sequence.max(intent.seen)),
        covered: (0..)
            .zip(&intent.rows)
            .filter(|(_, row)| is_covered(row))
            .map(|(index, _)| index)
            .collect(),
        false_turns: intent
            .rows
            .iter()
            .filter(|row| !row.ours)
            .filter(by_gateway)
            .count(),
        unplaced,
    }
}

/// Events being given their rows, in the order in which they were written.
struct Placing<'a> {
    intent: &'a Intent,
    /// The window's rows in file order.
    window: Vec<&'a CountableRow>,
    linked: &'a [CountableRow],
    now: Timestamp,
    by_us: BTreeSet<&'a Identity>,
    by_gateway: BTreeSet<&'a Identity>,
}

impl<'a> Placing<'a> {
    fn new(intent: &'a Intent, linked: &'a [CountableRow], now: Timestamp) -> Self {
        let mut window: Vec<_> = intent.rows.iter().collect();
        window.sort_by_key(|row| (row.end, row.start));
        Self {
            intent,
            window,
            linked,
            now,
            by_us: BTreeSet::new(),
            by_gateway: BTreeSet::new(),
        }
    }

    fn is_covered(&self, row: &CountableRow) -> bool {
        self.by_us.contains(&row.identity) || self.by_gateway.contains(&row.identity)
    }

    /// Gives an event its rows; false where it has none.
    fn place(&mut self, event: &SourceEvent) -> bool {
        match &event.ours {
            Some(extent) if extent.generation == self.intent.generation => {
                let within = |row: &&&CountableRow| within(extent, row);
                self.by_us
                    .extend(self.window.iter().filter(within).map(|row| &row.identity));
                true
            }
            Some(extent) => match self.find_ours(event, extent) {
                Some(rows) => {
                    self.by_us.extend(rows);
                    true
                }
                None => false,
            },
            None => match self.find_gateways(event) {
                Some(rows) => {
                    self.by_gateway.extend(rows);
                    true
                }
                None => false,
            },
        }
    }

    /// The rows of an event that we wrote in another generation. Its offsets are only a hint, since
    /// the content may be another one; where its time fits too, they tell which rows it had.
    fn find_ours(&self, event: &SourceEvent, extent: &Extent) -> Option<Vec<&'a Identity>> {
        let rows: Vec<_> = self
            .window
            .iter()
            .filter(|row| row.ours && !self.is_covered(row))
            .copied()
            .collect();
        let hinted: Vec<_> = rows
            .iter()
            .filter(|row| within(extent, row))
            .copied()
            .collect();
        by_time(&hinted, event)
            .filter(|found| found.len() == event.turns)
            .or_else(|| by_time(&rows, event))
            .or_else(|| by_clamped_time(&hinted, event, self.now))
    }

    /// The rows of an event of the gateway: in the window, else in the linked file, else by time.
    ///
    /// A row that we recorded may be the gateway's too (each can commit between the other's check and
    /// commit); a row is the gateway's only once.
    fn find_gateways(&self, event: &SourceEvent) -> Option<Vec<&'a Identity>> {
        let its = |row: &&CountableRow| row.gateway && !self.by_gateway.contains(&row.identity);
        let before = |row: &&CountableRow| event.offset.is_some_and(|offset| row.end <= offset);
        let rows: Vec<_> = self.window.iter().copied().filter(its).collect();
        let window: Vec<_> = rows.iter().copied().filter(before).collect();
        let linked: Vec<_> = self.linked.iter().filter(its).filter(before).collect();
        by_time(&window, event)
            .or_else(|| by_time(&linked, event))
            .or_else(|| by_time(&rows, event))
            .or_else(|| by_clamped_time(&window, event, self.now))
            .or_else(|| by_clamped_time(&linked, event, self.now))
    }
}

/// Whether a row lies in the window of an event of ours.
fn within(extent: &Extent, row: &CountableRow) -> bool {
    extent.from <= row.start && row.end <= extent.to
}

/// The newest row with the event's very time, and as many of the last rows that are no later as the
/// event has turns beside; fewer, where some of its rows are not among these (they stood before the
/// window).
fn by_time<'a>(rows: &[&'a CountableRow], event: &SourceEvent) -> Option<Vec<&'a Identity>> {
    let newest = rows.iter().rposition(|row| row.at == event.occurred_at)?;
    let others = rows
        .iter()
        .enumerate()
        .rev()
        .filter(|(index, row)| *index != newest && row.at <= event.occurred_at)
        .take(event.turns - 1)
        .map(|(_, row)| &row.identity);
    let newest = rows.get(newest).map(|row| &row.identity);
    Some(newest.into_iter().chain(others).collect())
}

/// The last rows, as many as the event has turns, if the greatest of their times can have become the
/// event's by clamping. Here time proves little, so all of them must be there.
fn by_clamped_time<'a>(
    rows: &[&'a CountableRow],
    event: &SourceEvent,
    now: Timestamp,
) -> Option<Vec<&'a Identity>> {
    let last = rows.get(rows.len().checked_sub(event.turns)?..)?;
    let greatest = last.iter().map(|row| row.at).max()?;
    let moved_up = greatest < event.occurred_at && event.occurred_at.plus_ms(BACKDATING_MS) <= now;
    let moved_down = greatest > now;
    (moved_up || moved_down).then(|| last.iter().map(|row| &row.identity).collect())
}

#[cfg(test)]
mod tests;
