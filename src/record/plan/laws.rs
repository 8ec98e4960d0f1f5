//! What holds of every plan, on made-up rows and events.

use super::tests::{DAY_SECONDS, OTHER, gateway, ours};
use super::*;
use crate::record::testing::{GENERATION, NOW, intent, row};
use proptest::prelude::*;

/// Rows in file order with gaps, each with a time and what counts it.
fn rows() -> impl Strategy<Value = Vec<CountableRow>> {
    let one = (1_u64..50, 0_u64..20, 0_i64..40, any::<bool>(), any::<bool>());
    prop::collection::vec(one, 0..12).prop_map(|parts| {
        let mut offset = 100;
        let mut rows = Vec::new();
        for (length, gap, seconds_ago, ours, gateway) in parts {
            let start = offset + gap;
            offset = start + length;
            // What neither rule counts is no countable row.
            let ours = ours || !gateway;
            rows.push(CountableRow { ours, gateway, ..row(start, offset, seconds_ago) });
        }
        rows
    })
}

/// Any events, sensible or not.
fn events() -> impl Strategy<Value = Vec<SourceEvent>> {
    let generation = prop::sample::select(vec![GENERATION, OTHER]);
    let one = (0_u64..500, 1_usize..6, 0_i64..40, prop::option::of((0_u64..500, generation)));
    prop::collection::vec(one, 0..6).prop_map(|parts| {
        (1..)
            .zip(parts)
            .map(|(sequence, (to, turns, seconds_ago, extent))| match extent {
                Some((from, generation)) => {
                    ours(sequence, (from.min(to), to), generation, turns, seconds_ago)
                }
                None => gateway(sequence, to, turns, seconds_ago),
            })
            .collect()
    })
}

fn to_of(rows: &[CountableRow]) -> u64 {
    rows.last().map_or(100, |row| row.end)
}

proptest! {
    #[test]
    fn what_our_own_event_of_this_generation_covers_is_never_recorded_again(
        rows in rows(), events in events()
    ) {
        let intent = intent(0, to_of(&rows), rows.clone());
        let plan = plan(&intent, &events, Some(&[]), NOW);
        for (index, row) in rows.iter().enumerate() {
            let own = events.iter().filter_map(|event| event.ours.as_ref()).any(|extent| {
                extent.generation == intent.generation
                    && extent.from <= row.start && row.end <= extent.to
            });
            prop_assert!(!own || plan.covered.contains(&index));
        }
    }

    #[test]
    fn after_its_own_event_an_intent_has_nothing_left(
        rows in rows(), events in events(), days in 0_i64..3, later in 0_i64..3
    ) {
        let now = NOW.plus_ms(days * 86_400_000);
        let intent = intent(0, to_of(&rows), rows);
        let first = plan(&intent, &events, Some(&[]), now);
        let Some(occurred_at) = first.occurred_at else { return Ok(()); };
        let mut events = events;
        events.push(SourceEvent {
            sequence: Sequence(100),
            occurred_at: occurred_at.clamp(now.plus_ms(-BACKDATING_MS), now),
            turns: first.turns,
            offset: Some(intent.to),
            ours: Some(Extent {
                from: intent.from,
                to: intent.to,
                generation: intent.generation.clone(),
            }),
        });
        let again = plan(&intent, &events, Some(&[]), now.plus_ms(later * 86_400_000));
        prop_assert_eq!(again.turns, 0);
        prop_assert!(again.keeps_events || again.newest_seen == Sequence(100));
    }

    #[test]
    fn no_foreign_event_withholds_more_rows_than_its_turns(
        rows in rows(), linked in rows(), events in events()
    ) {
        let events: Vec<_> = events
            .into_iter()
            .filter(|event| event.ours.as_ref().is_none_or(|o| o.generation.as_str() == OTHER))
            .collect();
        let intent = intent(0, to_of(&rows), rows);
        let plan = plan(&intent, &events, Some(&linked), NOW);
        let most: usize = events
            .iter()
            .filter(|event| !plan.unplaced.contains(&event.sequence))
            .map(|event| event.turns)
            .sum();
        prop_assert!(plan.covered.len() <= most);
    }

    #[test]
    fn what_remains_and_what_is_covered_is_everything_that_is_ours(
        rows in rows(), events in events()
    ) {
        let intent = intent(0, to_of(&rows), rows.clone());
        let plan = plan(&intent, &events, Some(&[]), NOW);
        let covered = plan.covered.iter().filter(|index| rows[**index].ours).count();
        prop_assert_eq!(plan.turns + covered, rows.iter().filter(|row| row.ours).count());
        prop_assert_eq!(plan.occurred_at.is_some(), plan.turns > 0);
    }

    #[test]
    fn neither_the_order_of_the_events_nor_that_of_the_rows_matters(
        rows in rows(), events in events()
    ) {
        let forward = plan(&intent(0, to_of(&rows), rows.clone()), &events, Some(&[]), NOW);
        let backward: Vec<_> = events.into_iter().rev().collect();
        let turned: Vec<_> = rows.iter().rev().cloned().collect();
        let turned = plan(&intent(0, to_of(&rows), turned), &backward, Some(&[]), NOW);
        prop_assert_eq!((forward.turns, forward.occurred_at), (turned.turns, turned.occurred_at));
        prop_assert_eq!(forward.unplaced, turned.unplaced);
    }

    /// A gateway that reads the same rows in windows of its own, whether its first window began
    /// before ours or not: exactly the rows that it never counted remain.
    #[test]
    fn beside_a_true_gateway_exactly_what_it_did_not_count_remains(
        rows in rows(),
        cuts in prop::collection::vec(0_usize..13, 0..4),
        before in 0_usize..5,
        wrote_ago in 0_i64..1000,
        old in any::<bool>(),
    ) {
        // Times in file order, all different; old ones by days, so that the gateway clamps them.
        let rows: Vec<_> = (0_i64..).zip(rows).map(|(index, row)| {
            let age = if old { 10 * DAY_SECONDS - index } else { 2000 - index };
            CountableRow { at: NOW.plus_ms(-age * 1000), ..row }
        }).collect();
        let mut cuts = cuts;
        cuts.sort_unstable();
        cuts.dedup();
        let mut recorded = Vec::new();
        let mut begin = 0;
        let written = NOW.plus_ms(-wrote_ago * 1000);
        for cut in cuts {
            let cut = cut.min(rows.len());
            let counted: Vec<_> = rows[begin..cut].iter().filter(|row| row.gateway).collect();
            if let Some(greatest) = counted.iter().map(|row| row.at).max() {
                // Rows before the window only where times are told exactly.
                let more = if begin == 0 && !old { before } else { 0 };
                recorded.push(SourceEvent {
                    sequence: Sequence(i64::try_from(cut).unwrap() + 1),
                    occurred_at: greatest.clamp(written.plus_ms(-BACKDATING_MS), written),
                    turns: counted.len() + more,
                    offset: Some(rows[cut - 1].end),
                    ours: None,
                });
            }
            begin = begin.max(cut);
        }
        let expected = rows
            .iter()
            .enumerate()
            .filter(|(index, row)| row.ours && !(row.gateway && *index < begin))
            .count();
        let plan = plan(&intent(0, to_of(&rows), rows.clone()), &recorded, Some(&[]), NOW);
        prop_assert_eq!(plan.turns, expected);
        prop_assert!(plan.unplaced.is_empty());
    }
}
