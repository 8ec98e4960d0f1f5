use super::*;
use crate::ids::Generation;
use crate::record::testing::{GENERATION, NOW, intent, row};

pub(super) const OTHER: &str = "ffffffff";
pub(super) const DAY_SECONDS: i64 = 86_400;

/// An event of the gateway.
pub(super) fn gateway(sequence: i64, offset: u64, turns: usize, seconds_ago: i64) -> SourceEvent {
    SourceEvent {
        sequence: Sequence(sequence),
        occurred_at: NOW.plus_ms(-seconds_ago * 1000),
        turns,
        offset: Some(offset),
        ours: None,
    }
}

/// An event of ours.
pub(super) fn ours(
    sequence: i64,
    window: (u64, u64),
    generation: &str,
    turns: usize,
    seconds_ago: i64,
) -> SourceEvent {
    let (from, to) = window;
    let extent = Extent { from, to, generation: Generation::new(generation) };
    SourceEvent { ours: Some(extent), ..gateway(sequence, to, turns, seconds_ago) }
}

fn only_ours(row: CountableRow) -> CountableRow {
    CountableRow { gateway: false, ..row }
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
    let extent = Extent { from: 100, to: 400, generation: Generation::new("0a1b2c3d") };
    assert_eq!(ours(r#"{"from":100,"generation":"0a1b2c3d"}"#), Some(extent.clone()));
    assert_eq!(ours(r#"{"turns":3,"from":100,"generation":"0a1b2c3d","x":1}"#), Some(extent));
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
        assert_eq!(SourceEvent::read(Sequence(1), NOW, "400", payload).turns, turns, "{payload:?}");
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
        assert_eq!(SourceEvent::read(Sequence(1), NOW, id, None).offset, offset, "{id}");
    }
}

/// A name, the rows, the events; the turns that remain, the events without a place.
type Case = (&'static str, Vec<CountableRow>, Vec<SourceEvent>, usize, usize);

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_is_covered_and_what_remains() {
    let old = |start: u64, days: i64| row(start, start + 100, days * DAY_SECONDS);
    let cases: Vec<Case> = vec![
        ("no events", three(), vec![], 3, 0),
        ("no rows", vec![], vec![gateway(5, 400, 1, 10)], 0, 1),
        ("only ours counts", vec![only_gateways(row(1, 2, 3)), row(3, 4, 2)], vec![], 1, 0),
        ("the gateway had all", three(), vec![gateway(5, 400, 3, 10)], 0, 0),
        ("the gateway had the first", three(), vec![gateway(5, 200, 1, 30)], 2, 0),
        ("the gateway had two of three", three(), vec![gateway(5, 300, 2, 20)], 1, 0),
        ("it had more before the window", three(), vec![gateway(5, 200, 7, 30)], 2, 0),
        (
            "two events of it, each its own rows",
            three(),
            vec![gateway(5, 200, 1, 30), gateway(6, 400, 2, 10)],
            0,
            0,
        ),
        (
            "it cannot see all rows",
            vec![row(100, 200, 30), only_ours(row(200, 300, 20)), row(300, 400, 10)],
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
        ("it left out an echo by its own list", three(), vec![gateway(5, 400, 1, 20)], 2, 0),
        ("its window was elsewhere", three(), vec![gateway(5, 90, 1, 45)], 3, 1),
        ("its offset is of other content: by time", three(), vec![gateway(5, 90, 1, 20)], 2, 0),
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
            vec![ours(5, (100, 200), GENERATION, 1, 30), gateway(6, 200, 1, 30)],
            2,
            0,
        ),
        ("ours, same window", three(), vec![ours(5, (0, 400), GENERATION, 3, 10)], 0, 0),
        ("ours, a part of it", three(), vec![ours(5, (0, 300), GENERATION, 2, 20)], 1, 0),
        ("ours, a row half in it", three(), vec![ours(5, (150, 350), GENERATION, 9, 20)], 2, 0),
        ("ours, another life of the file", three(), vec![ours(5, (0, 90), OTHER, 1, 20)], 2, 0),
        ("ours, another life, two", three(), vec![ours(5, (0, 90), OTHER, 2, 10)], 1, 0),
        ("ours, another life, no such time", three(), vec![ours(5, (0, 400), OTHER, 1, 15)], 3, 1),
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
        let plan = plan(&intent(0, 400, rows), &events, Some(&[]), NOW);
        assert_eq!((plan.turns, plan.unplaced.len()), (turns, unplaced), "{name}: {plan:?}");
    }
}

#[test]
fn the_event_takes_the_greatest_time_of_what_remains() {
    let rows = vec![row(100, 200, 5), row(200, 300, 20), row(300, 400, 2)];
    let plan = plan(&intent(0, 400, rows), &[gateway(7, 400, 1, 2)], Some(&[]), NOW);
    assert_eq!(plan.turns, 2);
    assert_eq!(plan.occurred_at, Some(NOW.plus_ms(-5000)));
    assert_eq!(plan.newest_seen, Sequence(7));
    assert_eq!(plan.covered, [2]);
}

#[test]
fn seen_never_goes_back() {
    let mut intent = intent(0, 400, three());
    intent.seen = Sequence(9);
    assert_eq!(plan(&intent, &[], Some(&[]), NOW).newest_seen, Sequence(9));
}

#[test]
fn false_turns_of_the_gateway_are_counted() {
    let rows =
        vec![only_gateways(row(100, 200, 30)), row(200, 300, 20), only_ours(row(300, 400, 10))];
    let plan = plan(&intent(0, 400, rows), &[gateway(5, 300, 2, 20)], Some(&[]), NOW);
    assert_eq!((plan.turns, plan.false_turns), (1, 1));
    let own = ours(6, (100, 400), GENERATION, 1, 10);
    let covered = super::plan(
        &intent(100, 400, vec![only_gateways(row(100, 200, 30))]),
        &[own],
        Some(&[]),
        NOW,
    );
    assert_eq!((covered.covered.len(), covered.false_turns), (1, 0), "nobody counted it");
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
    let blind = plan(&intent(400, 600, window.clone()), &events, Some(&[]), NOW);
    assert_eq!((blind.turns, blind.unplaced.len()), (0, 0), "by time alone");
    let informed = plan(&intent(400, 600, window), &events, Some(&[earlier]), NOW);
    assert_eq!((informed.turns, informed.unplaced.len()), (1, 0));
}

#[test]
fn an_event_that_begins_in_the_linked_file_covers_its_rows_in_the_window() {
    // The greatest time stands before the window; the second row of the event in it.
    let (before, within) = (row(100, 200, 5), row(400, 500, 10));
    let events = [gateway(5, 500, 2, 5)];
    let window = intent(400, 600, vec![within.clone(), row(500, 600, 1)]);
    assert_eq!(plan(&window, &events, Some(&[before, within]), NOW).turns, 1);
}

#[test]
fn an_event_with_rows_beyond_the_window_is_kept_for_the_next_one() {
    let file = three();
    let first = intent(100, 200, vec![file[0].clone()]);
    let second = intent(200, 400, vec![file[1].clone(), file[2].clone()]);
    for (name, event, turns) in [
        ("all three rows", gateway(5, 400, 3, 10), (0, 0)),
        ("the two of the second window", gateway(5, 400, 2, 10), (1, 0)),
        ("ours, all three", ours(5, (100, 400), GENERATION, 3, 10), (0, 0)),
        ("ours in another life, two of them", ours(5, (0, 90), OTHER, 2, 20), (0, 1)),
    ] {
        let plan = |intent: &Intent| plan(intent, std::slice::from_ref(&event), Some(&file), NOW);
        let (here, there) = (plan(&first), plan(&second));
        assert_eq!((here.turns, there.turns), turns, "{name}");
        assert!(here.keeps_events && here.newest_seen == Sequence(4), "{name}: {here:?}");
        assert!(!there.keeps_events && there.newest_seen == Sequence(5), "{name}: {there:?}");
    }
}

#[test]
fn the_linked_file_is_asked_for_only_where_it_could_matter() {
    let needs =
        |event: SourceEvent| plan(&intent(100, 400, three()), &[event], None, NOW).needs_linked;
    assert!(!needs(gateway(5, 400, 3, 10)));
    assert!(!needs(gateway(5, 200, 9, 30)), "what is missing stood before the window");
    assert!(needs(gateway(5, 200, 1, 45)), "not in the window");
    assert!(needs(gateway(5, 401, 1, 10)), "its window ended beyond ours");
    assert!(!needs(ours(5, (0, 900), GENERATION, 1, 10)), "it says itself what it covers");
    assert!(needs(ours(5, (0, 900), OTHER, 1, 45)));
    let looked = plan(&intent(100, 400, three()), &[gateway(5, 90, 1, 45)], Some(&[]), NOW);
    assert!(!looked.needs_linked && looked.unplaced == [Sequence(5)]);
}
