//! Any bytes as lines: the rows on each of them, beside what `serde_json` makes of it.
//!
//! Laws: the pieces of a line are in order and leave out nothing but white space; a line is one row
//! exactly where it is one JSON object; of two equal keys the last one counts; a line that is one
//! row is judged like a line of pieces; no byte is parsed more than a few times.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use upstreamd::classify::{Class, door};
use upstreamd_fuzz::{ALL, check_pieces, read_line, read_line_at, read_row};

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        check(line);
    }
});

fn check(line: &[u8]) {
    let (report, state) = read_line_at(1, line, ALL);
    check_pieces(1, line, &report);
    // As much as a line of this length may cost, and a little for short ones.
    assert!(door::bytes_parsed(line) <= 4 * line.len() + 64, "{}", door::bytes_parsed(line));

    // Checks the grammar alone: neither the range of numbers nor what strings hold.
    let is_json = serde_json::from_slice::<IgnoredAny>(line).is_ok();
    let is_one = matches!(&*report.rows, [row] if row.verdict.rule != "no-json");
    let has_mark = line.starts_with(b"\xef\xbb\xbf");
    assert!(is_json == is_one || has_mark, "JSON: {is_json}, one value: {is_one}");
    if !is_json {
        return;
    }
    let is_object = line.trim_ascii_start().first() == Some(&b'{');
    assert_eq!(is_object, report.rows.iter().all(|row| row.verdict.class != Class::Invalid));

    // The one way for nearly all lines, the other one for any.
    assert_eq!(read_line_at(0, &[b" ", line].concat(), ALL), (report, state));
    check_against_serde(line);
}

/// What `serde_json` reads is the same row; it keeps the last of equal keys too.
fn check_against_serde(line: &[u8]) {
    // Beginnings are cut in bytes of the source, which escapes make longer.
    let escapes = line.windows(2).filter(|two| two == b"\\u").count();
    let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(line) else {
        return;
    };
    if escapes > 2 || object.is_empty() {
        return;
    }
    // New names are kept by their source.
    let is_escaped = line.contains(&b'\\');
    let read_row = |bytes: &[u8]| {
        let mut row = read_row(bytes, ALL);
        row.drift.retain(|drift| !is_escaped || drift.field != "user-field");
        row
    };
    let row = read_row(line);
    let plain = serde_json::Value::Object(object.clone()).to_string();
    assert_eq!(read_row(plain.as_bytes()), row);
    let (_, members) = plain.split_at(1);
    let doubled: String =
        object.keys().map(|key| serde_json::Value::from(&**key).to_string() + ":true,").collect();
    assert_eq!(read_row(format!("{{{doubled}{members}").as_bytes()), row);
    assert_eq!(read_line(plain.as_bytes(), ALL).0.rows.len(), 1);
}
