//! What of a window is still to be recorded, where two programs record the same rows.
//!
//! Answers: given the rows of a window and the events of its source that were not accounted for
//! yet, which rows are covered by them, what remains, and which events are accounted for now.
//! Always holds: it is a pure function; a row within the extent of our own event of this generation
//! is never recorded again; any other event withholds at most as many rows as its turns, and one
//! that finds no row withholds none; an event with rows beyond the window is kept for the next one.
//! Deliberately elsewhere: reading the events and writing what remains (`window`).
//!
//! The gateway's monitor writes no extents: its event names the offset at which its window ended,
//! the number of turns and the greatest of their times. Its windows are contiguous, so its rows are
//! those last before that offset, the one with that time among them; where that offset lies beyond
//! our window, only the file itself tells which of them are in it. Times are compared as the
//! event's writer clamped them: a row older than a day was dated a day before the writing, a row
//! from the future was dated at the writing.

use super::append::BACKDATING_MS;
use super::source_event::{Extent, SourceEvent};
use crate::ids::{Identity, Sequence, Timestamp};
use crate::journal::{CountableRow, Intent};
use std::collections::BTreeSet;

/// What is to be done about a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// How many turns are still to be recorded.
    pub turns: usize,
    /// The greatest of their times; none where there are none.
    pub occurred_at: Option<Timestamp>,
    /// With this window, events up to here are accounted for. Before an event that has rows beyond
    /// the window: the next window has to see it again.
    pub newest_seen: Sequence,
    /// Whether there is such an event.
    pub keeps_events: bool,
    /// Rows of the intent that events cover, by their index in it, whichever rule counts them.
    pub covered: Vec<usize>,
    /// Rows that an event of the gateway covers and our rule does not count: its false turns.
    pub false_turns: usize,
    /// Events that found none of their rows.
    pub unplaced: Vec<Sequence>,
    /// Whether rows of the linked file could change the answer, and were not given.
    pub needs_linked: bool,
}

/// Decides what of an intent's rows is covered by `events` (those of its source newer than `seen`)
/// and what remains.
///
/// `linked` are the countable rows of the linked file as it is now, in file order, known ones too;
/// `None` where nobody has looked. They tell where an event belongs whose rows are not all in the
/// window: before it, beyond it, or on both sides of its end. Rows are told apart by their
/// identity, which is unique among an intent's rows.
#[must_use]
pub fn plan(
    intent: &Intent,
    events: &[SourceEvent],
    linked: Option<&[CountableRow]>,
    now: Timestamp,
) -> Plan {
    let mut events: Vec<&SourceEvent> = events.iter().collect();
    events.sort_by_key(|event| event.sequence);
    let mut placing = Placing::new(intent, linked.unwrap_or_default(), now);
    let mut plan = Plan {
        turns: 0,
        occurred_at: None,
        newest_seen: events.last().map_or(intent.seen, |event| event.sequence.max(intent.seen)),
        keeps_events: false,
        covered: Vec::new(),
        false_turns: 0,
        unplaced: Vec::new(),
        needs_linked: false,
    };
    for event in events {
        let place = placing.place(event);
        plan.needs_linked |= linked.is_none() && placing.would_look_further(event, place);
        match place {
            Place::Within => {}
            Place::Beyond => {
                plan.keeps_events = true;
                plan.newest_seen = plan.newest_seen.min(Sequence(event.sequence.0 - 1));
            }
            Place::Nowhere => plan.unplaced.push(event.sequence),
        }
    }
    for (index, row) in intent.rows.iter().enumerate() {
        if placing.is_covered(row) {
            plan.covered.push(index);
            let is_false = !row.ours && placing.by_gateway.contains(&row.identity);
            plan.false_turns += usize::from(is_false);
        } else if row.ours {
            plan.turns += 1;
            plan.occurred_at = plan.occurred_at.max(Some(row.at));
        }
    }
    plan
}

/// Where the rows of an event are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the window or before it.
    Within,
    /// Some are, or may be, beyond the window.
    Beyond,
    /// In nothing that is known.
    Nowhere,
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
        Self { intent, window, linked, now, by_us: BTreeSet::new(), by_gateway: BTreeSet::new() }
    }

    fn is_covered(&self, row: &CountableRow) -> bool {
        self.by_us.contains(&row.identity) || self.by_gateway.contains(&row.identity)
    }

    /// Gives an event its rows.
    fn place(&mut self, event: &SourceEvent) -> Place {
        let found = match &event.ours {
            Some(extent) if extent.generation == self.intent.generation => {
                let within = |row: &&&CountableRow| within(extent, row);
                self.by_us.extend(self.window.iter().filter(within).map(|row| &row.identity));
                let beyond = extent.to > self.intent.to;
                return if beyond { Place::Beyond } else { Place::Within };
            }
            Some(extent) => self.find_ours(event, extent),
            None => self.find_gateways(event),
        };
        let Some(found) = found else {
            return Place::Nowhere;
        };
        let covering = if event.ours.is_some() { &mut self.by_us } else { &mut self.by_gateway };
        covering.extend(found.iter().map(|row| &row.identity));
        let within = |row: &&CountableRow| {
            row.end <= self.intent.to || self.window.iter().any(|w| w.identity == row.identity)
        };
        if found.iter().all(within) { Place::Within } else { Place::Beyond }
    }

    /// Whether rows of the linked file could place an event otherwise.
    fn would_look_further(&self, event: &SourceEvent, place: Place) -> bool {
        match &event.ours {
            Some(extent) if extent.generation == self.intent.generation => false,
            Some(_) => place != Place::Within,
            None => place != Place::Within || self.is_longer(event),
        }
    }

    /// Whether an event's window ended beyond ours.
    fn is_longer(&self, event: &SourceEvent) -> bool {
        event.offset.is_some_and(|offset| offset > self.intent.to)
    }

    /// The rows of an event that we wrote in another generation. Its offsets are only a hint, since
    /// the content may be another one; where its time fits too, they tell which rows it had.
    fn find_ours(&self, event: &SourceEvent, extent: &Extent) -> Option<Vec<&'a CountableRow>> {
        let its = |row: &&CountableRow| row.ours && !self.is_covered(row);
        let hinted = |row: &&CountableRow| within(extent, row);
        let rows: Vec<_> = self.window.iter().copied().filter(its).collect();
        let window: Vec<_> = rows.iter().copied().filter(hinted).collect();
        let linked: Vec<_> = self.linked.iter().filter(its).collect();
        by_time(&window, event)
            .filter(|found| found.len() == event.turns)
            .or_else(|| by_time(&rows, event))
            .or_else(|| by_time(&linked, event))
            .or_else(|| by_clamped_time(&window, event, self.now))
    }

    /// The rows of an event of the gateway: in the window, else in the linked file, else by time;
    /// if its window ended beyond ours, first in the linked file, which has all of them.
    ///
    /// A row that we recorded may be the gateway's too (each can commit between the other's check
    /// and commit); a row is the gateway's only once.
    fn find_gateways(&self, event: &SourceEvent) -> Option<Vec<&'a CountableRow>> {
        let its = |row: &&CountableRow| row.gateway && !self.by_gateway.contains(&row.identity);
        let before = |row: &&CountableRow| event.offset.is_some_and(|offset| row.end <= offset);
        let rows: Vec<_> = self.window.iter().copied().filter(its).collect();
        let window: Vec<_> = rows.iter().copied().filter(before).collect();
        let linked: Vec<_> = self.linked.iter().filter(its).filter(before).collect();
        let (first, second) =
            if self.is_longer(event) { (&linked, &window) } else { (&window, &linked) };
        by_time(first, event)
            .or_else(|| by_time(second, event))
            .or_else(|| by_time(&rows, event))
            .or_else(|| by_clamped_time(first, event, self.now))
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
fn by_time<'a>(rows: &[&'a CountableRow], event: &SourceEvent) -> Option<Vec<&'a CountableRow>> {
    let newest = rows.iter().rposition(|row| row.at == event.occurred_at)?;
    let others = rows
        .iter()
        .enumerate()
        .rev()
        .filter(|(index, row)| *index != newest && row.at <= event.occurred_at)
        .take(event.turns - 1)
        .map(|(_, row)| *row);
    Some(rows.get(newest).copied().into_iter().chain(others).collect())
}

/// The last rows, as many as the event has turns, if the greatest of their times can have become
/// the event's by clamping. Here time proves little, so all of them must be there.
fn by_clamped_time<'a>(
    rows: &[&'a CountableRow],
    event: &SourceEvent,
    now: Timestamp,
) -> Option<Vec<&'a CountableRow>> {
    let last = rows.get(rows.len().checked_sub(event.turns)?..)?;
    let greatest = last.iter().map(|row| row.at).max()?;
    let moved_up = greatest < event.occurred_at && event.occurred_at.plus_ms(BACKDATING_MS) <= now;
    let moved_down = greatest > now;
    (moved_up || moved_down).then(|| last.to_vec())
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
