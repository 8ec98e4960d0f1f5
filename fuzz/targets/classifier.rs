//! One user row with any of the fields that say where it comes from.
//!
//! Laws: what a program marked as its own never counts; what is marked as a person's counts, whatever
//! it looks like, unless a program marked it too; whether a row counts follows from its class; what is
//! not known does not count; the order of its members changes nothing.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use upstreamd::classify::{Class, Settings};
use upstreamd_fuzz::read_row;

/// Beginnings that rules know, and words.
const TEXTS: [&str; 14] = [
    "mend it",
    "<task-notification>\n<task-id>1</task-id>\n</task-notification>",
    "<task-notification> mend it",
    "<command-message>a</command-message>\n<command-name>/a</command-name>",
    "<command-name>/a</command-name>",
    "<local-command-stdout>a</local-command-stdout>",
    "<bash-input>a</bash-input>",
    "<bash-stdout>a</bash-stdout>",
    "<system-reminder>a</system-reminder>",
    "<teammate-message teammate_id=\"a\">a</teammate-message>",
    "[Request interrupted by user]",
    "Stop hook feedback:\na",
    "Unknown slash command: a",
    "/compact a",
];

const VERSIONS: [&str; 6] = ["1.0.128", "2.0.42", "2.1.20", "2.1.90", "2.1.200", "2.1.332"];

/// Members by which a program marks a row as its own.
const OF_PROGRAM: [(&str, &str); 19] = [
    ("isMeta", "true"),
    ("isSidechain", "true"),
    ("isCompactSummary", "true"),
    ("isVisibleInTranscriptOnly", "true"),
    ("isReplay", "true"),
    ("turnCompanion", "true"),
    ("hookText", "true"),
    ("toolUseResult", "{}"),
    ("scheduledTaskId", "\"a\""),
    ("planContent", "\"a\""),
    ("sourceToolUseID", "\"a\""),
    ("rowSource", "\"hook\""),
    ("turnOrigin", "\"task_notification\""),
    ("turnOrigin", "\"scheduled\""),
    ("turnOrigin", "\"peer\""),
    ("origin", "{\"kind\":\"task-notification\"}"),
    ("origin", "{\"kind\":\"peer\"}"),
    ("origin", "{\"kind\":\"coordinator\"}"),
    ("origin", "{\"kind\":\"auto-continuation\"}"),
];

/// Members that decide nothing by themselves, or not against a person's mark.
const OTHERS: [(&str, &str); 16] = [
    ("promptSource", "\"sdk\""),
    ("promptSource", "\"typed\""),
    ("promptSource", "\"queued\""),
    ("promptSource", "\"suggestion_accepted\""),
    ("promptSource", "\"new\""),
    ("turnOrigin", "\"human\""),
    ("turnOrigin", "\"sdk\""),
    ("turnOrigin", "\"new\""),
    ("rowSource", "\"local\""),
    ("rowSource", "\"new\""),
    ("entrypoint", "\"sdk-cli\""),
    ("entrypoint", "\"claude-desktop\""),
    ("permissionMode", "\"default\""),
    ("thinkingMetadata", "{}"),
    ("isMeta", "\"true\""),
    ("isSidechain", "1"),
];

fuzz_target!(|bytes: &[u8]| {
    // Bytes that are too few make no row.
    check(&mut Unstructured::new(bytes)).ok();
});

fn check(data: &mut Unstructured<'_>) -> Result<()> {
    let text = *data.choose(&TEXTS)?;
    let mut members = vec![
        ("type", json!("user")),
        ("version", json!(data.choose(&VERSIONS)?)),
        ("uuid", json!("u")),
        ("message", json!({ "role": "user", "content": content(data, text)? })),
    ];
    let is_marked_human = data.ratio(1, 2)?;
    if is_marked_human {
        members.push(("origin", json!({ "kind": "human" })));
    }
    let mut is_of_program = false;
    for _ in 0..data.int_in_range(0..=5)? {
        let is_mark = data.ratio(1, 4)?;
        let (name, value) = *data.choose(if is_mark { &OF_PROGRAM[..] } else { &OTHERS })?;
        if members.iter().all(|(known, _)| *known != name) {
            is_of_program |= is_mark;
            members.push((name, serde_json::from_str(value).expect("JSON")));
        }
    }
    let settings = Settings::default();
    let row = read_row(object(members.iter()).as_bytes(), settings);
    assert_eq!(read_row(object(members.iter().rev()).as_bytes(), settings), row);
    let verdict = row.verdict;
    let counts = [Class::HumanText, Class::HumanImage, Class::HumanCommand, Class::Suggestion];
    assert_eq!(verdict.human, counts.contains(&verdict.class), "{verdict:?}");
    if is_of_program {
        assert!(!verdict.human, "{verdict:?} {members:?}");
    } else if is_marked_human {
        assert!(verdict.human, "{verdict:?} {members:?}");
    }
    Ok(())
}

/// The text as a string or in blocks, with an image or without.
fn content(data: &mut Unstructured<'_>, text: &str) -> Result<Value> {
    let block = json!({ "type": "text", "text": text });
    let image = json!({ "type": "image", "source": { "data": "AAAA" } });
    Ok(match data.int_in_range(0..=3)? {
        0 => json!([block]),
        1 => json!([image, block]),
        2 => json!([block, image]),
        _ => json!(text),
    })
}

fn object<'a>(members: impl Iterator<Item = &'a (&'static str, Value)>) -> String {
    let members: Vec<String> = members.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}
