//! The verdicts on a line are the same whether it is held or read in chunks.

use super::lines::{JudgedLine, Lines};
use super::tests::{fixtures, hostile};
use super::*;
use crate::disk::memory::MemoryDisk;
use crate::disk::{Disk as _, FileStat, Transcript};
use crate::ids::HashKey;
use crate::scan::line::Line;
use crate::scan::window::Rest;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::cell::Cell;
use std::io;
use std::rc::Rc;

const KEY: HashKey = HashKey::new([7; 32]);

fn file(bytes: &[u8]) -> Box<dyn Transcript> {
    let disk = MemoryDisk::default();
    disk.append("/f", bytes);
    disk.open("/f".as_ref()).unwrap()
}

/// Reads a file in windows of these sizes, one after the other; after each the state is stored and
/// read back where `stops` says so.
fn read(bytes: &[u8], windows: &[u64], stops: bool) -> (Vec<(u64, u64, LineReport)>, ReaderState) {
    let settings = Settings { commands: CountCommands::All, answers: true };
    let (found, state) = door::read_in_windows(bytes, &KEY, settings, windows, |kept| {
        if !stops {
            return kept;
        }
        let stored = serde_json::to_string(&kept).unwrap();
        serde_json::from_str(&stored).unwrap()
    })
    .unwrap();
    let found = found.into_iter().map(|(extent, report)| (extent.start, extent.next, report));
    (found.collect(), state)
}

fn whole(bytes: &[u8]) -> (Vec<(u64, u64, LineReport)>, ReaderState) {
    read(bytes, &[1 << 40], false)
}

/// Values that a member may have.
const VALUES: [&str; 26] = [
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"[Request interrupted by user]\"},{\"type\":\"text\",\"text\":\"x\"}]}",
    "true",
    "false",
    "null",
    "0",
    "-1.5e+9",
    "{}",
    "[]",
    "\"\"",
    "\"user\"",
    "\"hum\\u0061n\"",
    "{\"kind\":\"human\"}",
    "{\"kind\":\"human\",\"kind\":7}",
    "{\"answers\":{}}",
    "{\"decision\":\"accept\",\"source\":\"user_temporary\"}",
    "{\"answers\":{},\"answers\":[]}",
    "{\"role\":\"user\",\"content\":\"\\ud83d\\ude00 said\\nso\"}",
    "{\"content\":[{\"type\":\"text\",\"text\":\" \"},{\"text\":\"[Image #1]\",\"type\":\"text\"},{\"type\":\"image\"}],\"role\":\"user\"}",
    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"content\":[{\"text\":\"User has answered\"},4,{\"text\":\"x\",\"text\":null}],\"is_error\":true}]}",
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"first\"},{\"type\":\"text\",\"text\":\"[Inter-session message] x\"}]}",
    "{\"type\":\"queued_command\",\"prompt\":[{\"type\":\"text\",\"text\":\"p\"}],\"origin\":{\"kind\":\"human\"},\"humanTurn\":true}",
    "{\"type\":\"queued_command\",\"prompt\":\"p\",\"commandMode\":\"prompt\",\"isMeta\":false}",
    "[{\"type\":\"text\",\"text\":\"a\\u2028b\"},{\"type\":\"document\"}]",
    "\"<command-name>/x</command-name>\"",
    "\"2026-01-01T00:00:00.000Z\"",
    "[[{\"a\":[1,2,{}]}],\"\\\\\\\"\\/\\b\"]",
];

const KEYS: [&str; 36] = [
    "type",
    "ty\\u0070e",
    "uuid",
    "timestamp",
    "sessionId",
    "parentUuid",
    "version",
    "message",
    "isMeta",
    "isSidechain",
    "origin",
    "promptSource",
    "turnOrigin",
    "rowSource",
    "permissionMode",
    "toolUseResult",
    "attachment",
    "operation",
    "content",
    "commandUuid",
    "reason",
    "entrypoint",
    "userFeedback",
    "permissionDecision",
    "planContent",
    "thinkingMetadata",
    "isReplay",
    "subtype",
    "role",
    "other",
    "isCompactSummary",
    "brandNew",
    "br\\u0061ndNew",
    "cwd",
    "\\ud83d\\ude00",
    LONG_KEY,
];

/// Longer than what is seen of a key, and cut inside an escape.
const LONG_KEY: &str = "k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041k\\u0041";

/// What is done to the bytes of a line.
#[derive(Debug, Clone)]
enum Change {
    Byte(Index, u8),
    Insert(Index, &'static [u8]),
    Cut(Index),
    Drop(Index, usize),
    Member(&'static str, &'static str, bool),
    Behind(Vec<u8>),
    Front(&'static [u8]),
    End(&'static [u8]),
    Escape(Index),
    Remove(&'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let lines = lines();
    prop_oneof![
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        3 => (any::<Index>(), select(vec![
            &b"\""[..], b"\\", b"{", b"}", b"{\"", b",", b" ", b"\0", b"\x7f", b"\xff", b"\xe2\x80",
            b"\xe2\x80\xa8", b"\\ud83d", b"\\ude00", b"\\u0041", b"\\n", b"\n", b"\r", b"\t", b"[",
            b"]", b"\xef\xbb\xbf", b"0", b"1e5", b"-",
        ])).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => (any::<Index>(), 1..40_usize).prop_map(|(at, count)| Change::Drop(at, count)),
        8 => (select(KEYS.to_vec()), select(VALUES.to_vec()), any::<bool>())
            .prop_map(|(key, value, front)| Change::Member(key, value, front)),
        2 => select(lines).prop_map(Change::Behind),
        1 => select(vec![&b"\xef\xbb\xbf"[..], b" ", b"\t\r", b"\xc2\xa0", b"\0\0", b"{\"a\":[1,", b"7", b"{\"type\":\"assi"])
            .prop_map(Change::Front),
        1 => select(vec![&b"\r"[..], b" ", b"\r\r", b"}", b"{}", b"12", b"\xe2\x80\xa8"])
            .prop_map(Change::End),
        1 => any::<Index>().prop_map(Change::Escape),
        1 => select(vec!["\"uuid\"", "\"type\"", "\"message\"", "\"timestamp\""])
            .prop_map(Change::Remove),
    ]
}

fn lines() -> Vec<Vec<u8>> {
    let split =
        |bytes: Vec<u8>| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    fixtures().into_values().flat_map(split).collect()
}

fn changed(mut line: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let length = line.len();
        match change {
            Change::Byte(at, byte) if length > 0 => line[at.index(length)] = *byte,
            Change::Insert(at, bytes) => {
                let at = at.index(length + 1);
                line.splice(at..at, bytes.iter().copied());
            }
            Change::Cut(at) => line.truncate(at.index(length + 1)),
            Change::Drop(at, count) if length > 0 => {
                let at = at.index(length);
                line.drain(at..(at + count).min(length));
            }
            Change::Member(key, value, true) if line.first() == Some(&b'{') && length > 2 => {
                let member = format!("\"{key}\" :{value},");
                line.splice(1..1, member.into_bytes());
            }
            Change::Member(key, value, false) if line.last() == Some(&b'}') && length > 2 => {
                let member = format!(", \"{key}\":{value}");
                line.splice(length - 1..length - 1, member.into_bytes());
            }
            Change::Behind(bytes) => line.extend(bytes),
            Change::Front(bytes) => drop(line.splice(0..0, bytes.iter().copied())),
            Change::End(bytes) => line.extend_from_slice(bytes),
            Change::Escape(at) if length > 0 => {
                let at = at.index(length);
                if line[at].is_ascii_alphabetic() {
                    let escape = format!("\\u{:04x}", line[at]);
                    line.splice(at..=at, escape.into_bytes());
                }
            }
            Change::Remove(name) => {
                if let Some(at) = memchr::memmem::find(&line, name.as_bytes()) {
                    line[at + 1] = b'x';
                }
            }
            _ => {}
        }
    }
    line
}

fn rows() -> impl Strategy<Value = Vec<u8>> {
    let line = (select(lines()), prop::collection::vec(change(), 0..6));
    let line = line.prop_map(|(line, changes)| changed(line, &changes));
    prop::collection::vec(line, 1..4).prop_map(|lines| lines.join(&b'\n'))
}

proptest! {
    /// Windows of all sizes, so that chunks end anywhere, and a stop after each of them.
    #[test]
    fn a_row_read_in_chunks_is_judged_as_one_that_is_held(
        mut bytes in rows(),
        windows in prop::collection::vec(prop_oneof![4 => 1..40_u64, 1 => 1..4000_u64], 1..6),
        stops in any::<bool>(),
        has_end in any::<bool>(),
    ) {
        if has_end {
            bytes.push(b'\n');
        }
        prop_assert_eq!(read(&bytes, &windows, stops), whole(&bytes));
    }
}

proptest! {
    /// The way that nearly all lines take, beside the one that any line can take.
    #[test]
    fn a_line_that_is_one_row_is_judged_as_a_line_of_pieces(bytes in rows()) {
        let settings = Settings { commands: CountCommands::All, answers: true };
        let new = || Reader::new(&KEY, settings, ReaderState::default());
        let (mut reader, mut plain) = (new(), new());
        let mut start = 0;
        for bytes in bytes.split(|byte| *byte == b'\n') {
            let next = start + bytes.len() as u64 + 1;
            let line = Line { start, bytes, next };
            prop_assert_eq!(reader.read_line(&line), plain.read_pieces(&line));
            prop_assert_eq!(reader.state(), plain.state());
            start = next;
        }
    }
}

#[test]
fn every_fixture_is_judged_the_same_by_every_small_window() {
    for (name, bytes) in fixtures() {
        let expected = whole(&bytes);
        for window in [1, 2, 3, 5, 64, 300] {
            assert_eq!(read(&bytes, &[window], window == 64), expected, "{name} by {window}");
        }
    }
}

/// A user row that says this.
fn said(content: &str) -> String {
    format!(
        r#"{{"type":"user","sessionId":"s","message":{{"role":"user","content":{content}}},"timestamp":"2026-01-01T00:00:00Z"}}"#
    )
}

#[test]
fn blocks_that_rules_tell_apart_are_told_apart_in_parts_too() {
    let texts =
        ["[Request interrupted by user]", "[Image #1]", " ", "words", "[Inter-session message] x"];
    let block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let others =
        ["7", r#"{"type":"image"}"#, r#"{"type":"tool_result","content":"User has answered"}"#];
    let blocks: Vec<String> =
        texts.iter().map(|text| block(text)).chain(others.map(str::to_owned)).collect();
    for first in &blocks {
        for second in &blocks {
            for third in &blocks {
                let line = said(&format!("[{first},{second},{third}]"));
                let line = line + "\n" + &said(&format!("[{first},{second}]"));
                assert_eq!(read(line.as_bytes(), &[20], false), whole(line.as_bytes()), "{line}");
            }
        }
    }
}

#[test]
fn texts_longer_than_rules_see_are_judged_the_same() {
    let sizes = [(128 << 10) - 3, (128 << 10) + 5];
    let units = ["word ", "\\\\", "\\u0431", "\\ud83d\\ude00", "\u{431}", "\\n", "x", "\u{1f600}"];
    let short = units.iter().flat_map(|unit| sizes.map(|bytes| (*unit, bytes)));
    for (number, (unit, bytes)) in short.chain([("word\\n", 1_060_000)]).enumerate() {
        let lead = ["", "y", "yyy"][number % 3];
        let text = format!("\"{lead}{}\"", unit.repeat(bytes / unit.len()));
        let blocks = format!(
            r#"[{{"type":"text","text":" "}},{{"type":"image"}},{{"text":{text},"type":"text"}}]"#
        );
        let queued =
            format!(r#"{{"type":"queue-operation","operation":"enqueue","content":{text}}}"#);
        let tool = format!(r#"[{{"type":"tool_result","content":{text}}}]"#);
        let lines = [
            said(&text),
            queued,
            said(&blocks),
            said(&tool),
            said(&text).replace("\"s\"", &text),
            String::new(),
        ];
        let file = lines.join("\n");
        let expected = whole(file.as_bytes());
        let found = read(file.as_bytes(), &[77_777], true);
        assert!(found == expected, "{unit} {bytes}");
    }
}

#[test]
fn the_stored_state_of_a_row_in_part_holds_no_text_and_is_small() {
    let secret = "topsecret words";
    let row = format!(
        r#"{{"type":"user","uuid":"{secret}","{secret}":{{"{secret}":["{secret}"]}},"message":{{"role":"user","content":[{{"type":"text","text":"{secret}"}},{{"type":"image","source":{{"data":"{}"}}}}]}}}}"#,
        "A".repeat(500)
    );
    let file = file(row.as_bytes());
    let size = row.len() as u64;
    let reader = Reader::new(&KEY, Settings::default(), ReaderState::default());
    let mut lines = Lines::new(file.as_ref(), reader, 1, 0, None);
    while lines.pass(size, |_| Ok::<_, io::Error>(())).unwrap() == Rest::More {
        let stored = serde_json::to_string(&lines.part().unwrap()).unwrap();
        assert!(!stored.contains("secret") && !stored.contains("AAA"), "{stored}");
        assert!(stored.len() < 2000, "{}", stored.len());
    }
}

#[test]
fn nesting_beyond_the_limit_fails_at_the_same_place_in_both() {
    for (depth, closed) in [(1 << 20, true), ((1 << 20) + 1, true), ((1 << 20) + 1, false)] {
        let mut line = format!("{{\"type\":\"user\",\"sessionId\":{}", "[".repeat(depth - 1));
        if closed {
            line.push_str(&"]".repeat(depth - 1));
            line.push('}');
        }
        let expected = whole(line.as_bytes());
        assert_eq!(read(line.as_bytes(), &[300_000], false), expected, "{depth}");
    }
}

#[test]
fn keys_that_nobody_knows_are_kept_once_in_parts_too() {
    let long = |end: &str| "x".repeat(300) + end;
    let keys = ["a".to_owned(), "b".to_owned(), long("1"), long("2"), "n\\u0065w".to_owned()];
    let member = |number: usize| format!("\"{}\":0,", keys[number % keys.len()]);
    let members: String = (0..40).map(member).collect();
    for last in ["\"c\"", "\"new\""] {
        let line = format!("{{{members}{last}:0,\"type\":\"user\"}}");
        let expected = whole(line.as_bytes());
        for window in [1, 7, 400] {
            assert_eq!(read(line.as_bytes(), &[window], window == 7), expected, "{window}");
        }
    }
}

#[test]
fn a_line_of_very_many_values_and_one_of_space_only_are_judged_the_same() {
    let space = "\u{a0} \u{2028}".repeat(400);
    for line in
        ["{}".repeat(3000), "1 ".repeat(1024), "1 ".repeat(1025), space.clone(), space + "x"]
    {
        let expected = whole(line.as_bytes());
        for window in [7, 1000] {
            assert_eq!(read(line.as_bytes(), &[window], false), expected);
        }
    }
}

/// A file that counts the bytes that are read of it.
struct Counted(Box<dyn Transcript>, Rc<Cell<u64>>);

impl Transcript for Counted {
    fn stat(&self) -> io::Result<FileStat> {
        self.0.stat()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read_at(offset, buffer)?;
        self.1.set(self.1.get() + read as u64);
        Ok(read)
    }
}

#[test]
fn a_hostile_line_is_read_a_few_times_only_from_the_file_too() {
    for line in hostile() {
        let line = line.repeat(3) + "\n";
        let (size, read) = (line.len() as u64, Rc::new(Cell::new(0)));
        let file = Counted(file(line.as_bytes()), Rc::clone(&read));
        let reader = Reader::new(&KEY, Settings::default(), ReaderState::default());
        let mut lines = Lines::new(&file, reader, 10_000, 0, None);
        let mut report = None;
        let mut take = |line: JudgedLine| -> io::Result<()> {
            report = Some(line.report);
            Ok(())
        };
        while lines.pass(size, &mut take).unwrap() == Rest::More {}
        assert!(read.get() < 12 * size + (1 << 20), "{} of {size}", read.get());
        assert!(report == whole(line.as_bytes()).0.pop().map(|(_, _, report)| report));
    }
}
