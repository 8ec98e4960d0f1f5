//! The table of situations, and the laws.
//!
//! A situation is a file in `fixtures/rows`; what is expected of each of its rows stands in
//! `EXPECTED.tsv` beside it. Tests also hold each file's verdicts to any cut into windows.

use super::*;
use crate::ids::HashKey;
use crate::scan::line::{Line, SkipCategory};
use CountCommands::{All, Turns};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const KEY: HashKey = HashKey::new([7; 32]);

/// A row with what makes it a whole one.
const WHOLE: &str =
    r#"{"type":"user","message":{"role":"user","content":"x"},"uuid":"1","sessionId":"2"}"#;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rows")
}

/// Reads bytes line by line; after the lines in `cuts` the state is stored and read back.
fn read_with(bytes: &[u8], settings: Settings, cuts: &[usize]) -> Vec<LineReport> {
    let mut reader = Reader::new(&KEY, settings, ReaderState::default());
    let mut at = 0;
    let mut reports = Vec::new();
    for (number, raw) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line = raw.strip_suffix(b"\n").unwrap_or(raw);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let next = at + raw.len() as u64;
        reports.push(reader.read_line(&Line { start: at, bytes: line, next }));
        at = next;
        if cuts.contains(&number) {
            let stored = serde_json::to_string(&reader.into_state()).unwrap();
            reader = Reader::new(&KEY, settings, serde_json::from_str(&stored).unwrap());
        }
    }
    reports
}

fn read(bytes: &[u8]) -> Vec<LineReport> {
    read_with(bytes, Settings::default(), &[])
}

fn rows(bytes: &[u8]) -> Vec<JudgedRow> {
    read(bytes).into_iter().flat_map(|report| report.rows).collect()
}

pub(super) fn fixtures() -> BTreeMap<String, Vec<u8>> {
    fs_err::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), fs_err::read(entry.path()).unwrap())
        })
        .filter(|(name, _)| name != "EXPECTED.tsv")
        .collect()
}

/// One line of the table for a row as it was judged.
fn describe(file: &str, line: usize, row: &JudgedRow, starts: &[u64]) -> String {
    let yes = |is: bool| if is { "yes" } else { "no" };
    let proves: Vec<String> = row
        .proves
        .iter()
        .map(|proven| {
            let line = starts.iter().position(|start| *start == proven.start).unwrap() + 1;
            format!("{line}:{}:{}", proven.verdict.class.name(), proven.verdict.rule)
        })
        .collect();
    let columns = [
        file.to_owned(),
        line.to_string(),
        row.verdict.class.name().to_owned(),
        yes(row.verdict.human).to_owned(),
        row.verdict.rule.to_owned(),
        row.verdict.evidence.name().to_owned(),
        yes(row.compat.is_some()).to_owned(),
        if proves.is_empty() { "-".to_owned() } else { proves.join(",") },
    ];
    columns.join("\t")
}

#[test]
fn each_situation_gets_its_verdict() {
    let table = fs_err::read_to_string(folder().join("EXPECTED.tsv")).unwrap();
    let expected: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    let mut found = Vec::new();
    for (file, bytes) in fixtures() {
        assert!(
            expected.iter().any(|line| line.starts_with(&format!("{file}\t"))),
            "{file} is not in EXPECTED.tsv"
        );
        let reports = read(&bytes);
        let starts: Vec<u64> = reports
            .iter()
            .map(|report| report.rows.first().map_or(u64::MAX, |row| row.start))
            .collect();
        for (number, report) in reports.iter().enumerate() {
            found.extend(report.rows.iter().map(|row| describe(&file, number + 1, row, &starts)));
        }
    }
    let (wanted, got): (BTreeSet<&str>, BTreeSet<&str>) =
        (expected.iter().copied().collect(), found.iter().map(String::as_str).collect());
    let missing: Vec<_> = wanted.difference(&got).collect();
    let surplus: Vec<_> = got.difference(&wanted).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "expected {missing:#?}\nfound {surplus:#?}");
    assert_eq!(expected.len(), found.len(), "a row of the table is there twice, or one is missing");
}

#[test]
fn every_rule_has_a_fixture() {
    let table = fs_err::read_to_string(folder().join("EXPECTED.tsv")).unwrap();
    let seen: BTreeSet<&str> = table.lines().filter_map(|line| line.split('\t').nth(4)).collect();
    let unseen: Vec<_> = rules::names().filter(|name| !seen.contains(name)).collect();
    assert!(unseen.is_empty(), "no fixture reaches {unseen:?}");
}

#[test]
fn what_can_count_is_known_by_something() {
    for (file, bytes) in fixtures() {
        for row in rows(&bytes) {
            let can_count = row.verdict.human || row.compat.is_some();
            let is_kept = row.verdict.rule == "queue-operation";
            assert!(row.identity.is_some() || !can_count, "{file}");
            assert!(row.identity.is_none() || can_count || is_kept, "{file}");
        }
    }
}

#[test]
fn settings_decide_on_commands_and_answers() {
    let count = |file: &str, commands, answers| {
        let bytes = fs_err::read(folder().join(file)).unwrap();
        let settings = Settings { commands, answers };
        let reports = read_with(&bytes, settings, &[]);
        reports.iter().flat_map(|report| &report.rows).filter(|row| row.verdict.human).count()
    };
    for (file, commands, answers, turns) in [
        ("11-custom-command-2.0.42.jsonl", Turns, false, 1),
        ("11-custom-command-2.0.42.jsonl", All, false, 1),
        ("11-custom-command-2.0.42.jsonl", CountCommands::None, false, 0),
        ("10-built-in-1.0.128.jsonl", Turns, false, 0),
        ("10-built-in-1.0.128.jsonl", All, false, 1),
        ("15-dialog-answer-2.0.42.jsonl", Turns, false, 0),
        ("15-dialog-answer-2.0.42.jsonl", Turns, true, 1),
        ("16-rejection-2.1.332.jsonl", Turns, true, 1),
    ] {
        assert_eq!(count(file, commands, answers), turns, "{file} {commands:?} {answers}");
    }
}

#[test]
fn a_skipped_piece_is_placed() {
    let whole = WHOLE;
    let torn = r#"{"type":"assistant","message":{"content":"hal"#;
    let bytes = format!("\n{torn}{whole}\n\0\0\0{whole}\n\u{feff}{whole}}}\n");
    let reports = read(bytes.as_bytes());
    let skipped: Vec<_> = reports
        .iter()
        .filter_map(|report| report.skipped)
        .map(|skipped| (skipped.offset, skipped.length, skipped.category))
        .collect();
    let second = (1 + torn.len() + whole.len() + 1) as u64;
    let third = second + 3 + whole.len() as u64 + 1;
    assert_eq!(
        skipped,
        [
            (1, torn.len() as u64, SkipCategory::Torn),
            (second, 3, SkipCategory::Zeros),
            (third + 3 + whole.len() as u64, 1, SkipCategory::Syntax),
        ]
    );
    assert_eq!(
        reports.iter().flat_map(|report| &report.rows).filter(|row| row.verdict.human).count(),
        3
    );
}

/// How many rows on a line are a person's.
fn humans(line: &str) -> usize {
    rows(line.as_bytes()).iter().filter(|row| row.verdict.human).count()
}

#[test]
fn objects_inside_a_torn_row_are_no_rows() {
    let inner = r#"{"type":"user","message":{"role":"user","content":"quoted"},"uuid":"3"}"#;
    for (front, back) in [
        (r#"{"type":"progress","data":{"message":"#, r#","more":"#),
        (r#"{"type":"progress","data":{"message":"#, ""),
        (r#"{"type":"progress","data":{"message":"#, " "),
        (r#"ogress","data":{"message":"#, ""),
        (r#"{"type":"progress","data":{"messages":["#, ""),
        (r#"{"type":"progress","data":{"messages":["#, r#","hal"#),
    ] {
        for (tail, count) in [("", 0), (WHOLE, 1), (&WHOLE.repeat(2), 2), (inner, 0)] {
            let line = format!("{front}{inner}{back}{tail}\n");
            assert_eq!(humans(&line), count, "{line}");
        }
    }
}

#[test]
fn a_row_behind_a_torn_one_is_found_whatever_the_torn_one_holds() {
    let objects = r#"{"a":{"b":1}},"#.repeat(200);
    let levels = r#"{"a":"#.repeat(200);
    for torn in [
        format!(r#"{{"list":[{objects}"#),
        format!(r#"{{"list":[{objects}"hal"#),
        format!(r#"{{"list":[{objects}{levels}"#),
        format!(r#"{{"list":[{objects}{levels}"hal"#),
        format!(r#"{{"list":[{objects}{levels}"hal\"#),
        format!(r#"al","list":[{objects}{levels}"#),
        levels.repeat(2) + r#"{"x":tr"#,
        format!(r#"{levels}{{"x":"hal{{"x":"hal"#),
    ] {
        let line = format!("{torn}{WHOLE}\n");
        assert_eq!(humans(&line), 1, "{line}");
    }
}

#[test]
fn unknown_names_are_reported_and_clamped() {
    let line = |rest: &str| format!("{{\"version\":\"9.1.0\",{rest}}}\n");
    let drift = |rest: &str| {
        let names = rows(line(rest).as_bytes()).remove(0).drift;
        names.into_iter().map(|drift| (drift.field, drift.name)).collect::<Vec<_>>()
    };
    let long = "x".repeat(500);
    assert_eq!(drift(&format!("\"type\":\"{long}\"")), [("type", "x".repeat(64))]);
    assert_eq!(drift("\"type\":\"a secret sentence\""), [("type", "a".to_owned())]);
    assert_eq!(drift("\"type\":\"\u{442}\""), [("type", "?".to_owned())]);
    assert_eq!(drift("\"type\":\"system\",\"subtype\":\"new\""), [("subtype", "new".to_owned())]);
    assert_eq!(
        drift("\"type\":\"attachment\",\"attachment\":{\"type\":\"new\"}"),
        [("attachment.type", "new".to_owned())]
    );
    assert_eq!(
        drift("\"type\":\"user\",\"origin\":{\"kind\":\"new\"}"),
        [("origin.kind", "new".to_owned())]
    );
    assert_eq!(
        drift("\"type\":\"user\",\"promptSource\":\"new\""),
        [("promptSource", "new".to_owned())]
    );
    assert_eq!(
        drift("\"type\":\"user\",\"turnOrigin\":\"new\""),
        [("turnOrigin", "new".to_owned())]
    );
    assert_eq!(drift("\"type\":\"user\",\"rowSource\":\"new\""), [("rowSource", "new".to_owned())]);
    assert_eq!(
        drift(
            "\"type\":\"attachment\",\"attachment\":{\"type\":\"queued_command\",\"commandMode\":\"new\"}"
        ),
        [("commandMode", "new".to_owned())]
    );
    assert_eq!(
        drift("\"type\":\"queue-operation\",\"operation\":\"new\""),
        [("operation", "new".to_owned())]
    );
    assert_eq!(drift("\"type\":\"user\""), []);
}

#[test]
fn new_fields_of_user_rows_are_reported_in_bounds() {
    let fields = |rest: &str| {
        let line = format!("{{\"version\":\"9.1.0\",{rest}}}\n");
        let names = rows(line.as_bytes()).remove(0).drift;
        names.into_iter().map(|drift| (drift.field, drift.name)).collect::<Vec<_>>()
    };
    let field = |name: &str| ("user-field", name.to_owned());
    assert_eq!(fields(r#""new":1,"cwd":2,"type":"user","old":{}"#), [field("new"), field("old")]);
    assert_eq!(fields(r#""new":1,"type":"user","n\u0065w":2"#), [field("new")]);
    assert_eq!(fields(r#""a secret sentence":1,"type":"user""#), [field("a")]);
    assert_eq!(fields(r#""new":1,"type":"assistant""#), []);
    assert_eq!(fields(r#""message":{"new":1},"type":"user""#), []);
    let many: Vec<_> = (0..1000).map(|number| format!("\"n{number}\":0")).collect();
    assert_eq!(fields(&format!("{},\"type\":\"user\"", many.join(","))).len(), 8);
    let long = "x".repeat(500);
    assert_eq!(fields(&format!("\"{long}\":0,\"type\":\"user\"")), [field(&"x".repeat(64))]);
}

#[test]
fn a_new_field_that_stands_there_often_leaves_room_for_others() {
    let line = format!(r#"{{{}"other":1,"type":"user"}}"#, r#""new":1,"#.repeat(20));
    let names: Vec<_> = rows(line.as_bytes()).remove(0).drift;
    let names: Vec<_> = names.iter().map(|drift| drift.name.as_str()).collect();
    assert_eq!(names, ["new", "other"]);
}

/// Fixtures with names that were made up to be new.
const NEW: [&str; 2] = ["58-numbers-and-nesting.jsonl", "46-new-fields-2.4.0.jsonl"];

#[test]
fn no_fixture_has_a_field_that_is_not_known() {
    for (file, bytes) in fixtures().into_iter().filter(|(file, _)| !NEW.contains(&file.as_str())) {
        for row in rows(&bytes) {
            let new: Vec<_> = row.drift.iter().filter(|name| name.field == "user-field").collect();
            assert!(new.is_empty(), "{file}: {new:?}");
        }
    }
}

#[test]
fn nothing_that_is_kept_or_shown_holds_text() {
    for (file, bytes) in fixtures() {
        let mut reader = Reader::new(&KEY, Settings::default(), ReaderState::default());
        for line in bytes.split(|byte| *byte == b'\n') {
            let report = reader.read_line(&Line { start: 0, bytes: line, next: 0 });
            let state = serde_json::to_string(reader.state()).unwrap();
            let shown = format!("{report:?}{state}");
            for word in ["cogs", "Stop after", "oil it", "task-id", "polish", "secret"] {
                assert!(!shown.contains(word), "{file} shows {word}");
            }
        }
    }
}

#[test]
fn the_state_is_bounded() {
    let mut reader = Reader::new(&KEY, Settings::default(), ReaderState::default());
    for number in 0..2000 {
        let uuid = "u".repeat(1000);
        let row = format!(
            r#"{{"type":"queue-operation","operation":"enqueue","content":"{number}","commandUuid":"{uuid}"}}"#
        );
        reader.read_line(&Line { start: 0, bytes: row.as_bytes(), next: 0 });
    }
    assert!(serde_json::to_string(reader.state()).unwrap().len() < 256 * 256);
}

/// Lines that took minutes if a line were read again from each of its braces.
pub(super) fn hostile() -> Vec<String> {
    vec![
        "{\"".repeat(50_000),
        "{\"a\":".repeat(30_000),
        "{\"a\":".repeat(30_000) + "x",
        "{\"a\":".repeat(30_000) + &"}".repeat(20_000),
        "{\"a\":{}".repeat(20_000),
        "{\"a\":\"".repeat(20_000),
        "{\"a\":[{\"b\":1}x".repeat(10_000),
        "[".repeat(100_000),
        format!("{{\"a\":\"{}", "\\u0041".repeat(20_000)),
        "{}".repeat(40_000),
        format!("{{\"x{}", "{\"type\":\"user\"}".repeat(6_000)),
    ]
}

#[test]
fn a_hostile_line_is_read_a_few_times_only() {
    for line in hostile() {
        let parsed = door::bytes_parsed(line.as_bytes());
        assert!(parsed <= 4 * line.len(), "{parsed} of {}", line.len());
        assert!(!rows(line.as_bytes()).is_empty());
        assert!(rows(line.as_bytes()).iter().all(|row| !row.verdict.human));
    }
}

/// A row, or something that is nearly one.
fn line_strategy() -> impl Strategy<Value = Vec<u8>> {
    let texts = fixtures().into_values().flat_map(|bytes| {
        bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
    });
    let lines: Vec<Vec<u8>> = texts.collect();
    let whole = proptest::sample::select(lines);
    let damaged = (whole.clone(), any::<proptest::sample::Index>(), any::<u8>()).prop_map(
        |(mut line, index, byte)| {
            if !line.is_empty() {
                let at = index.index(line.len());
                line[at] = if byte == b'\n' { b' ' } else { byte };
            }
            line
        },
    );
    let cut = (whole.clone(), whole.clone(), any::<proptest::sample::Index>()).prop_map(
        |(mut line, behind, index)| {
            line.truncate(index.index(line.len() + 1));
            line.extend(behind);
            line
        },
    );
    let bytes = proptest::collection::vec(any::<u8>(), 0..200).prop_map(|mut bytes| {
        bytes.retain(|byte| *byte != b'\n');
        bytes
    });
    prop_oneof![6 => whole, 2 => damaged, 1 => cut, 1 => bytes]
}

fn file_strategy() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(line_strategy(), 0..24).prop_map(|lines| lines.join(&b'\n'))
}

proptest! {
    #[test]
    fn any_cut_into_windows_gives_the_same(
        file in file_strategy(),
        cuts in proptest::collection::vec(0_usize..24, 0..8),
    ) {
        let settings = Settings::default();
        prop_assert_eq!(read_with(&file, settings, &[]), read_with(&file, settings, &cuts));
    }

    #[test]
    fn pieces_lie_in_order_inside_their_line(file in file_strategy()) {
        let mut at = 0;
        for row in rows(&file) {
            prop_assert!(at <= row.start && row.start < row.end);
            at = row.end;
        }
        prop_assert!(at <= file.len() as u64);
    }

    #[test]
    fn keys_may_stand_in_any_order(line in line_strategy(), seed in any::<u64>()) {
        let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(&line) else {
            return Ok(());
        };
        let mut members: Vec<_> = object.into_iter().collect();
        members.sort_by_key(|(key, _)| key.bytes().fold(seed, |sum, byte| sum.rotate_left(7) ^ u64::from(byte)));
        let shuffled = serde_json::Value::Object(members.clone().into_iter().collect());
        // Every key once more in front, with a value that must not count.
        let doubled = members.iter().map(|(key, _)| format!("{}:true,", serde_json::json!(key)));
        let shuffled = shuffled.to_string();
        let tail = shuffled.strip_prefix('{').unwrap_or_default();
        let doubled = format!("{{{}{tail}", doubled.collect::<String>());
        let verdict = |bytes: &[u8]| {
            let row = rows(bytes).remove(0);
            (row.verdict, row.compat.map(|compat| compat.at), row.at, row.uuid, row.drift)
        };
        if !members.is_empty() {
            prop_assert_eq!(verdict(shuffled.as_bytes()), verdict(doubled.as_bytes()));
            prop_assert_eq!(verdict(shuffled.as_bytes()), verdict(&line));
        }
    }

    #[test]
    fn a_name_in_any_value_never_gets_through(text in "\\PC{0,80}") {
        let row = serde_json::json!({"type": text, "version": text, "uuid": text, "promptSource": text});
        let keyed = serde_json::json!({"type": "user", "message": {}, text: 1});
        for judged in rows(format!("{row}\n{keyed}").as_bytes()) {
            for drift in judged.drift {
                for name in [Some(drift.name), drift.version].into_iter().flatten() {
                    prop_assert!(name.len() <= 64 && name.chars().all(|c| c.is_ascii_graphic()));
                }
            }
        }
    }
}
