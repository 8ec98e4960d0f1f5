use super::*;
use crate::record::testing::{GENERATION, NOW, intent, row};
use proptest::prelude::*;

const OTHER: &str = "ffffffff";
const DAY_SECONDS: i64 = 86_400;

/// An event of the gateway.
fn gateway(sequence: i64, offset: u64, turns: usize, seconds_ago: i64) -> SourceEvent {
    SourceEvent {
        sequence: Sequence(sequence),
        occurred_at: NOW.plus_ms(-seconds_ago * 1000),
        turns,
        offset: Some(offset),
        ours: None,
    }
}

/// An event of ours.
fn ours(
    sequence: i64,
    window: (u64, u64),
    generation: &str,
    turns: usize,
    seconds_ago: i64,
) -> SourceEvent {
    let (from, to) = window;
    let extent = Extent {
        from,
        to,
        generation: Generation::new(generation),
    };
    SourceEvent {
        ours: Some(extent),
        ..gateway(sequence, to, turns, seconds_ago)
    }
}

fn only_ours(row: CountableRow) -> CountableRow {
    CountableRow {
        gateway: false,
        ..row
    }
}

fn only_gateways(row: CountableRow) -> CountableRow {
    CountableRow { ours: false, ..row }
}

/// Three rows: 30, 20 and 10 seconds ago.
fn three() -> Vec<CountableRow> {
    vec![row(100, 200, 30), row(200, 300, 20), row(300, 400, 10)]
}

#[test]
fn an_event_is_ours_by_a_well_formed_payload_only() {
    let ours = |payload| SourceEvent::read(Sequence(1), NOW, "400", Some(payload)).ours;
    let extent = Extent {
        from: 100,
        to: 400,
        generation: Generation::new("0a1b2c3d"),
    };
    assert_eq!(
        ours(r#"{"from":100,"generation":"0a1b2c3d"}"#),
        Some(extent.clone())
    );
    assert_eq!(
        ours(r#"{"turns":3,"from":100,"generation":"0a1b2c3d","x":1}"#),
        Some(extent)
    );
    for payload in [
        r#"{"turns":3}"#,
        r#"{"from":100}"#,
        r#"{"generation":"0a1b2c3d"}"#,
        r#"{"from":"100","generation":"0a1b2c3d"}"#,
        r#"{"from":1.5,"generation":"0a1b2c3d"}"#,
        r#"{"from":-1,"generation":"0a1b2c3d"}"#,
        r#"{"from":401,"generation":"0a1b2c3d"}"#,
        r#"{"from":100,"generation":"0a1b2c3"}"#,
        r#"{"from":100,"generation":"0A1B2C3D"}"#,
        r#"{"from":100,"generation":7}"#,
        r#"[{"from":100,"generation":"0a1b2c3d"}]"#,
        r#"{"from":100,"generation":"0a1b2c3d""#,
        "null",
        "",
    ] {
        assert_eq!(ours(payload), None, "{payload}");
    }
}

#[test]
fn turns_are_at_least_one() {
    for (payload, turns) in [
        (None, 1),
        (Some("{}"), 1),
        (Some(r#"{"turns":25}"#), 25),
        (Some(r#"{"turns":0}"#), 1),
        (Some(r#"{"turns":-3}"#), 1),
        (Some(r#"{"turns":"2"}"#), 1),
        (Some("no json"), 1),
    ] {
        assert_eq!(
            SourceEvent::read(Sequence(1), NOW, "400", payload).turns,
            turns,
            "{payload:?}"
        );
    }
}

#[test]
fn a_dedupe_id_begins_with_the_offset() {
    for (id, offset) in [
        ("400", Some(400)),
        ("400.0a1b2c3d.100", Some(400)),
        ("400:agent:main", Some(400)),
        ("400.0a1b2c3d.100:agent:main", Some(400)),
        ("25dc4d52-0000-4000-8000-000000000000", None),
        ("", None),
        (":agent:main", None),
        ("-1", None),
        ("99999999999999999999", None),
    ] {
        assert_eq!(
            SourceEvent::read(Sequence(1), NOW, id, None).offset,
            offset,
            "{id}"
        );
    }
}

#[test]
fn what_is_covered_and_what_remains() {
    let old = |start: u64, days: i64| row(start, start + 100, days * DAY_SECONDS);
    // Each: name, rows, events, turns that remain, unplaced events.
    let cases: Vec<(&str, Vec<CountableRow>, Vec<SourceEvent>, usize, usize)> = vec![
        ("no events", three(), vec![], 3, 0),
        ("no rows", vec![], vec![gateway(5, 400, 1, 10)], 0, 1),
        (
            "only ours counts",
            vec![only_gateways(row(1, 2, 3)), row(3, 4, 2)],
            vec![],
            1,
            0,
        ),
        (
            "the gateway had all",
            three(),
            vec![gateway(5, 400, 3, 10)],
            0,
            0,
        ),
        (
            "the gateway had the first",
            three(),
            vec![gateway(5, 200, 1, 30)],
            2,
            0,
        ),
        (
            "the gateway had two of three",
            three(),
            vec![gateway(5, 300, 2, 20)],
            1,
            0,
        ),
        (
            "it had more before the window",
            three(),
            vec![gateway(5, 200, 7, 30)],
            2,
            0,
        ),
        (
            "two events of it, each its own rows",
            three(),
            vec![gateway(5, 200, 1, 30), gateway(6, 400, 2, 10)],
            0,
            0,
        ),
        (
            "it cannot see all rows",
            vec![
                row(100, 200, 30),
                only_ours(row(200, 300, 20)),
                row(300, 400, 10),
            ],
            vec![gateway(5, 400, 2, 10)],
            1,
            0,
        ),
        (
            "it counted a row that is none",
            vec![row(100, 200, 30), only_gateways(row(200, 300, 20))],
            vec![gateway(5, 300, 2, 20)],
            0,
            0,
        ),
        (
            "it left out an echo by its own list",
            three(),
            vec![gateway(5, 400, 1, 20)],
            2,
            0,
        ),
        (
            "its window was elsewhere",
            three(),
            vec![gateway(5, 90, 1, 45)],
            3,
            1,
        ),
        (
            "its offset is of other content: by time",
            three(),
            vec![gateway(5, 90, 1, 20)],
            2,
            0,
        ),
        (
            "two rows of one time, an event each",
            vec![row(100, 200, 10), row(200, 300, 10)],
            vec![gateway(5, 200, 1, 10), gateway(6, 300, 1, 10)],
            0,
            0,
        ),
        (
            "we and the gateway recorded the same row",
            three(),
            vec![
                ours(5, (100, 200), GENERATION, 1, 30),
                gateway(6, 200, 1, 30),
            ],
            2,
            0,
        ),
        (
            "ours, same window",
            three(),
            vec![ours(5, (0, 400), GENERATION, 3, 10)],
            0,
            0,
        ),
        (
            "ours, a part of it",
            three(),
            vec![ours(5, (0, 300), GENERATION, 2, 20)],
            1,
            0,
        ),
        (
            "ours, a row half in it",
            three(),
            vec![ours(5, (150, 350), GENERATION, 9, 20)],
            2,
            0,
        ),
        (
            "ours, another life of the file",
            three(),
            vec![ours(5, (0, 90), OTHER, 1, 20)],
            2,
            0,
        ),
        (
            "ours, another life, two",
            three(),
            vec![ours(5, (0, 90), OTHER, 2, 10)],
            1,
            0,
        ),
        (
            "ours, another life, no such time",
            three(),
            vec![ours(5, (0, 400), OTHER, 1, 15)],
            3,
            1,
        ),
        (
            "ours in another life covers only what our rule counts",
            vec![only_gateways(row(100, 200, 20)), row(200, 300, 20)],
            vec![ours(5, (0, 90), OTHER, 2, 20)],
            0,
            0,
        ),
        (
            "rows older than a day: the gateway dated them a day before it wrote",
            vec![old(100, 5), old(200, 4), old(300, 3)],
            vec![gateway(5, 300, 2, DAY_SECONDS + 60)],
            1,
            0,
        ),
        (
            "not so if that would be later than now",
            vec![old(100, 5), old(200, 4)],
            vec![gateway(5, 300, 2, DAY_SECONDS - 60)],
            2,
            1,
        ),
        (
            "not so if it has more turns than there are rows",
            vec![old(100, 5), old(200, 4)],
            vec![gateway(5, 300, 3, DAY_SECONDS + 60)],
            2,
            1,
        ),
        (
            "not so if a newer row stands among them",
            vec![old(100, 5), row(200, 300, 60)],
            vec![gateway(5, 300, 1, DAY_SECONDS + 60)],
            2,
            1,
        ),
        (
            "ours in another life, of rows older than a day",
            vec![old(100, 5), old(200, 4)],
            vec![ours(5, (0, 300), OTHER, 2, DAY_SECONDS + 60)],
            0,
            0,
        ),
        (
            "a row from the future was dated at the writing",
            vec![row(100, 200, 30), row(200, 300, -3600)],
            vec![gateway(5, 300, 2, 5)],
            0,
            0,
        ),
    ];
    for (name, rows, events, turns, unplaced) in cases {
        let plan = plan(&intent(0, 400, rows), &events, &[], NOW);
        assert_eq!(
            (plan.turns, plan.unplaced.len()),
            (turns, unplaced),
            "{name}: {plan:?}"
        );
    }
}

#[test]
fn the_event_takes_the_greatest_time_of_what_remains() {
    let rows = vec![row(100, 200, 5), row(200, 300, 20), row(300, 400, 2)];
    let plan = plan(&intent(0, 400, rows), &[gateway(7, 400, 1, 2)], &[], NOW);
    assert_eq!(plan.turns, 2);
    assert_eq!(plan.occurred_at, Some(NOW.plus_ms(-5000)));
    assert_eq!(plan.newest_seen, Sequence(7));
    assert_eq!(plan.covered, [2]);
}

#[test]
fn seen_never_goes_back() {
    let mut intent = intent(0, 400, three());
    intent.seen = Sequence(9);
    assert_eq!(plan(&intent, &[], &[], NOW).newest_seen, Sequence(9));
}

#[test]
fn false_turns_of_the_gateway_are_counted() {
    let rows = vec![
        only_gateways(row(100, 200, 30)),
        row(200, 300, 20),
        only_ours(row(300, 400, 10)),
    ];
    let plan = plan(&intent(0, 400, rows), &[gateway(5, 300, 2, 20)], &[], NOW);
    assert_eq!((plan.turns, plan.false_turns), (1, 1));
}

#[test]
fn an_event_that_stands_in_the_linked_file_takes_no_row_of_the_same_time() {
    let window = vec![row(500, 600, 10)];
    let earlier = CountableRow {
        start: 100,
        end: 200,
        identity: Identity::from_stored("e".to_owned()),
        ..row(0, 0, 10)
    };
    let events = [gateway(5, 200, 1, 10)];
    let blind = plan(&intent(400, 600, window.clone()), &events, &[], NOW);
    assert_eq!((blind.turns, blind.unplaced.len()), (0, 0), "by time alone");
    let informed = plan(&intent(400, 600, window), &events, &[earlier], NOW);
    assert_eq!((informed.turns, informed.unplaced.len()), (1, 0));
}

#[test]
fn an_event_that_begins_in_the_linked_file_covers_its_rows_in_the_window() {
    // The greatest time stands before the window; the second row of the event in it.
    let (before, within) = (row(100, 200, 5), row(400, 500, 10));
    let events = [gateway(5, 500, 2, 5)];
    let window = intent(400, 600, vec![within.clone(), row(500, 600, 1)]);
    assert_eq!(plan(&window, &events, &[before, within], NOW).turns, 1);
}

/// Rows in file order with gaps, each with a time and what counts it.
fn rows() -> impl Strategy<Value = Vec<CountableRow>> {
    let one = (
        1_u64..50,
        0_u64..20,
        0_i64..40,
        any::<bool>(),
        any::<bool>(),
    );
    prop::collection::vec(one, 0..12).prop_map(|parts| {
        let mut offset = 100;
        let mut rows = Vec::new();
        for (length, gap, seconds_ago, ours, gateway) in parts {
            let start = offset + gap;
            offset = start + length;
            // What neither rule counts is no countable row.
            let ours = ours || !gateway;
            rows.push(CountableRow {
                ours,
                gateway,
                ..row(start, offset, seconds_ago)
            });
        }
        rows
    })
}

/// Any events, sensible or not.
fn events() -> impl Strategy<Value = Vec<SourceEvent>> {
    let generation = prop::sample::select(vec![GENERATION, OTHER]);
    let one = (
        0_u64..500,
        1_usize..6,
        0_i64..40,
        prop::option::of((0_u64..500, generation)),
    );
    prop::collection::vec(one, 0..6).prop_map(|parts| {
        (1..)
            .zip(parts)
            .map(
                |(sequence, (to, turns, seconds_ago, extent))| match extent {
                    Some((from, generation)) => {
                        ours(sequence, (from.min(to), to), generation, turns, seconds_ago)
                    }
                    None => gateway(sequence, to, turns, seconds_ago),
                },
            )
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
        let plan = plan(&intent, &events, &[], NOW);
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
        let first = plan(&intent, &events, &[], now);
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
        let again = plan(&intent, &events, &[], now.plus_ms(later * 86_400_000));
        prop_assert_eq!(again.turns, 0);
        prop_assert_eq!(again.newest_seen, Sequence(100));
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
        let plan = plan(&intent, &events, &linked, NOW);
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
        let plan = plan(&intent, &events, &[], NOW);
        let covered = plan.covered.iter().filter(|index| rows[**index].ours).count();
        prop_assert_eq!(plan.turns + covered, rows.iter().filter(|row| row.ours).count());
        prop_assert_eq!(plan.occurred_at.is_some(), plan.turns > 0);
    }

    #[test]
    fn neither_the_order_of_the_events_nor_that_of_the_rows_matters(
        rows in rows(), events in events()
    ) {
        let forward = plan(&intent(0, to_of(&rows), rows.clone()), &events, &[], NOW);
        let backward: Vec<_> = events.into_iter().rev().collect();
        let turned: Vec<_> = rows.iter().rev().cloned().collect();
        let turned = plan(&intent(0, to_of(&rows), turned), &backward, &[], NOW);
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
        let plan = plan(&intent(0, to_of(&rows), rows.clone()), &recorded, &[], NOW);
        prop_assert_eq!(plan.turns, expected);
        prop_assert!(plan.unplaced.is_empty());
    }
}
