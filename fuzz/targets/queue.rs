//! Queue rows, prompts and answers in any order and of any versions.
//!
//! Laws: a message is proven a turn at most once, by a removal behind it, and never from the version
//! on that writes removed messages down; nothing that a program put into the queue is; reading row by
//! row with the state stored in between gives the same; what is stored is bounded and holds no text.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;
use upstreamd::classify::JudgedRow;
use upstreamd_fuzz::{read_in_steps, read_whole};

/// What is said; no word of it may be stored.
const TEXTS: [&str; 7] = [
    "quince",
    "quince\nmedlar",
    "medlar",
    "quince\nmedlar\nquince",
    "<task-notification>\n<quince>1</quince>\n</task-notification>",
    "{\"task_id\":\"quince\"}",
    " quince ",
];

/// Which of these a program puts into the queue.
const OF_PROGRAM: std::ops::Range<usize> = 4..6;

const VERSIONS: [&str; 7] =
    ["1.0.128", "2.0.42", "2.1.29", "2.1.96", "2.1.97", "2.1.247", "2.1.332"];

/// The first of these that writes a removed message down.
const KEEPS_MESSAGES: usize = 4;

/// Rows that are made at most.
const MOST: usize = 80;

#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    /// Where the messages begin that a person queued.
    messages: BTreeSet<u64>,
    removals: usize,
    /// The oldest version that a row names.
    oldest: usize,
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = make(&mut Unstructured::new(bytes)) else { return };
    let whole = read_whole(&file.bytes);
    let judged: Vec<&JudgedRow> = whole.0.iter().flat_map(|(_, report)| &report.rows).collect();
    let proven: Vec<u64> =
        judged.iter().flat_map(|row| &row.proves).map(|proven| proven.start).collect();
    let once: BTreeSet<u64> = proven.iter().copied().collect();
    assert_eq!(once.len(), proven.len(), "a message is proven twice");
    assert!(once.is_subset(&file.messages), "what is proven is no message of a person");
    assert!(proven.len() <= file.removals, "more is proven than was removed");
    assert!(proven.is_empty() || file.oldest < KEEPS_MESSAGES, "proven in a version that keeps it");
    let in_steps = read_in_steps(&file.bytes, |stored| {
        assert!(stored.len() < 40_000, "{} bytes are stored", stored.len());
        assert!(!stored.contains("quince") && !stored.contains("medlar"), "text is stored");
    });
    assert_eq!(in_steps, whole);
});

fn make(data: &mut Unstructured<'_>) -> Result<File> {
    let mut file = File { oldest: VERSIONS.len(), ..File::default() };
    let mut version = data.choose_index(VERSIONS.len())?;
    for number in 0..MOST {
        if data.is_empty() {
            break;
        }
        if data.ratio(1, 16)? {
            version = data.choose_index(VERSIONS.len())?;
        }
        let row = row(data, number, version, &mut file)?;
        file.bytes.extend(row.to_string().into_bytes());
        file.bytes.push(b'\n');
    }
    Ok(file)
}

fn row(
    data: &mut Unstructured<'_>,
    number: usize,
    version: usize,
    file: &mut File,
) -> Result<serde_json::Value> {
    let which = data.choose_index(TEXTS.len())?;
    let text = TEXTS.get(which).expect("one of them");
    let (minute, milli) = (number / 60, data.int_in_range(0..=999)?);
    let at =
        format!("2026-01-01T{:02}:{:02}:{:02}.{milli:03}Z", minute / 60, minute % 60, number % 60);
    let start = file.bytes.len() as u64;
    let mut row = serde_json::json!({ "timestamp": at, "sessionId": "s" });
    let mut put = |name: &str, value: serde_json::Value| {
        row.as_object_mut().expect("an object").insert(name.to_owned(), value);
    };
    let has_content = data.ratio(3, 4)?;
    let operation = match data.int_in_range(0..=7)? {
        0 | 1 => {
            if !has_content || !OF_PROGRAM.contains(&which) {
                file.messages.insert(start);
            }
            "enqueue"
        }
        2 => "dequeue",
        3 => {
            file.removals += 1;
            "remove"
        }
        4 => "popAll",
        5 => {
            conversation(&mut put, "user", version, number, file);
            put("message", serde_json::json!({ "role": "user", "content": text }));
            return Ok(row);
        }
        6 => {
            conversation(&mut put, "attachment", version, number, file);
            let queued = serde_json::json!({ "type": "queued_command", "prompt": text, "commandMode": "prompt" });
            put("attachment", queued);
            return Ok(row);
        }
        _ => {
            conversation(&mut put, "assistant", version, number, file);
            return Ok(row);
        }
    };
    put("type", "queue-operation".into());
    put("operation", operation.into());
    if has_content {
        put("content", (*text).into());
    }
    if data.ratio(1, 4)? {
        put("commandUuid", format!("c{}", data.int_in_range(0..=3)?).into());
    }
    if operation == "remove" && data.ratio(1, 4)? {
        put("reason", "absorbed_mid_turn".into());
    }
    Ok(row)
}

/// What stands in every row of the conversation.
fn conversation(
    put: &mut impl FnMut(&str, serde_json::Value),
    kind: &str,
    version: usize,
    number: usize,
    file: &mut File,
) {
    file.oldest = file.oldest.min(version);
    put("type", kind.into());
    put("version", (*VERSIONS.get(version).expect("one of them")).into());
    put("uuid", format!("u{number}").into());
}
