//! Rows of every kind, and what is nearly one, from a seed.
//!
//! Half are written member by member, with odd types, doubled and escaped keys and odd times; the
//! other half are the fixtures' rows, changed in a member or in a few bytes. None holds a line feed.

use crate::times;
use fastrand::Rng;
use std::path::Path;

/// Makes rows.
pub(crate) struct Generator {
    rng: Rng,
    fixtures: Vec<Vec<u8>>,
}

/// Values of any type.
const VALUES: [&str; 24] = [
    "true",
    "false",
    "null",
    "\"true\"",
    "1",
    "0",
    "-0",
    "1e999",
    "-1.5e+9",
    "[]",
    "{}",
    "\"\"",
    "\"user\"",
    "\"human\"",
    "[null]",
    "[\"text\"]",
    "{\"kind\":\"human\"}",
    "[{\"type\":\"text\"}]",
    "\"us\\u0065r\"",
    "{\"role\":\"user\",\"content\":\"x\"}",
    "1796065207415",
    "[[[[]]]]",
    "\"\\ud800\"",
    "{\"__proto__\":{\"role\":\"user\"}}",
];

/// What is no JSON value.
const FAULTS: [&str; 16] = [
    "True",
    "undefined",
    "NaN",
    "01",
    "1.",
    ".5",
    "+1",
    "'x'",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\u{1}\"",
    "\"",
    "[1,]",
    "{,}",
    "{\"a\"}",
    "",
];

/// Members that somebody looks at, and some that nobody does.
const KEYS: [&str; 26] = [
    "type",
    "message",
    "isMeta",
    "isSidechain",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "timestamp",
    "uuid",
    "version",
    "origin",
    "promptSource",
    "turnOrigin",
    "entrypoint",
    "userType",
    "sessionId",
    "parentUuid",
    "toolUseResult",
    "content",
    "role",
    "text",
    "__proto__",
    "constructor",
    "toString",
    "",
    "é",
    "isMeta ",
];

/// White space as JavaScript has it, and what is none there.
const SPACES: [&str; 14] = [
    " ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{a0}", "\u{feff}", "\u{2028}", "\u{2029}",
    "\u{3000}", "\u{85}", "\u{180e}", "\u{200b}",
];

/// Beginnings that the gateway knows, whole and nearly so.
const BEGINNINGS: [&str; 12] = [
    "[Inter-session message]",
    "[Inter-session message",
    " [Inter-session message]",
    "[inter-session message]",
    "Continue this conversation using the OpenClaw transcript below as prior session history.\nTreat it as authoritative context for this fresh CLI session.\n\n<conversation_history>",
    "Continue this conversation using the OpenClaw transcript below as prior session history.\nTreat it as authoritative context for this fresh CLI session.\n\n<conversation_history",
    "Continue this conversation using the OpenClaw transcript below as prior session history.\r\nTreat it as authoritative context for this fresh CLI session.\r\n\r\n<conversation_history>",
    "Continue this conversation using the OpenClaw transcript below as prior session history.",
    "<task-notification>",
    "<command-name>/x</command-name>",
    "[Request interrupted by user]",
    "Caveat: ",
];

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rows");
        let mut files: Vec<_> = fs_err::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .collect();
        files.sort();
        let lines = files.iter().flat_map(|path| {
            let bytes = fs_err::read(path).unwrap();
            bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
        });
        let fixtures = lines.filter(|line| !line.is_empty()).collect();
        Self { rng: Rng::with_seed(seed), fixtures }
    }

    pub(crate) fn row(&mut self) -> Vec<u8> {
        let mut row = match self.rng.u8(0..20) {
            0..8 => self.object().into_bytes(),
            8..12 => self.timed(),
            12..17 => self.changed(),
            17 => self.fixture(),
            18 => [self.fixture(), self.fixture()].concat(),
            _ => self.value().into_bytes(),
        };
        if self.rng.u8(0..5) == 0 {
            self.damage(&mut row);
        }
        if self.rng.u8(0..40) == 0 {
            row.push(b'\r');
        }
        for byte in &mut row {
            if *byte == b'\n' {
                *byte = b' ';
            }
        }
        row
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.rng.usize(..from.len())]
    }

    fn often(&mut self) -> bool {
        self.rng.u8(0..10) > 0
    }

    fn seldom(&mut self) -> bool {
        self.rng.u8(0..12) == 0
    }

    fn fixture(&mut self) -> Vec<u8> {
        let at = self.rng.usize(..self.fixtures.len());
        self.fixtures[at].clone()
    }

    /// A row that counts but for what is odd about its time.
    fn timed(&mut self) -> Vec<u8> {
        let time = serde_json::Value::from(times::time(&mut self.rng));
        format!(r#"{{"type":"user","message":{{"role":"user","content":"x"}},"timestamp":{time}}}"#)
            .into_bytes()
    }

    /// A fixture's row with another value in a member.
    fn changed(&mut self) -> Vec<u8> {
        let fixture = self.fixture();
        let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(&fixture) else {
            return fixture;
        };
        let (at, key) = (self.rng.usize(..object.len().max(1)), self.pick(&KEYS));
        let mut members: Vec<String> = object
            .iter()
            .enumerate()
            .map(|(index, (name, value))| {
                let value = if index == at { self.value() } else { value.to_string() };
                format!("{}:{value}", serde_json::Value::from(name.as_str()))
            })
            .collect();
        if self.rng.bool() {
            let member = format!("{}:{}", self.key(key), self.value());
            members.insert(self.rng.usize(..=members.len()), member);
        }
        format!("{{{}}}", members.join(",")).into_bytes()
    }

    /// A user row, written member by member.
    fn object(&mut self) -> String {
        let mut members = Vec::new();
        let kind = if self.often() { "\"user\"".to_owned() } else { self.value() };
        let message = if self.often() { self.message() } else { self.value() };
        let time = serde_json::Value::from(times::time(&mut self.rng)).to_string();
        for (key, value) in [("type", kind), ("message", message), ("timestamp", time)] {
            if self.often() {
                members.push(format!("{}{}{value}", self.key(key), self.colon()));
            }
        }
        for _ in 0..self.rng.u8(0..5) {
            let key = self.pick(&KEYS);
            let key = if self.seldom() { self.key(key) } else { format!("\"{key}\"") };
            let value =
                if key.contains("is") && self.often() { "false".to_owned() } else { self.value() };
            members.push(format!("{key}:{value}"));
        }
        self.rng.shuffle(&mut members);
        let comma = if self.seldom() { format!("{},", self.space()) } else { ",".to_owned() };
        format!("{{{}}}", members.join(&comma))
    }

    fn message(&mut self) -> String {
        let role = if self.often() { "\"user\"".to_owned() } else { self.value() };
        let content = match self.rng.u8(0..10) {
            0..5 => self.text(),
            5..9 => {
                let blocks: Vec<String> = (0..self.rng.u8(0..4)).map(|_| self.block()).collect();
                format!("[{}]", blocks.join(","))
            }
            _ => self.value(),
        };
        let mut members =
            [format!("{}:{role}", self.key("role")), format!("{}:{content}", self.key("content"))];
        self.rng.shuffle(&mut members);
        format!("{{{}}}", members.join(","))
    }

    fn block(&mut self) -> String {
        if self.seldom() {
            return self.value();
        }
        let kind = match self.rng.u8(0..8) {
            0..5 => "text",
            5 => "image",
            6 => "thinking",
            _ => "tool_result",
        };
        let text = if self.often() { self.text() } else { self.value() };
        format!("{{{}:\"{kind}\",{}:{text}}}", self.key("type"), self.key("text"))
    }

    /// A string's source, with odd beginnings, spaces and escapes.
    fn text(&mut self) -> String {
        let mut text = String::new();
        if self.rng.u8(0..4) == 0 {
            text += self.pick(&BEGINNINGS);
        }
        for _ in 0..self.rng.u8(0..6) {
            let piece = match self.rng.u8(0..8) {
                0..3 => self.pick(&SPACES),
                3 => self.pick(&["ß", "日本", "😀", "\u{0}", "\u{7f}", "\u{fffd}"]),
                _ => self.pick(&["mend", "it", "\"", "\\", "/", "</x>"]),
            };
            text += piece;
        }
        if self.rng.u8(0..200) == 0 {
            text += &"very long ".repeat(self.rng.usize(1..20_000));
        }
        let mut source = serde_json::Value::from(text).to_string();
        if self.rng.u8(0..6) == 0 {
            let escape = self.pick(&[
                "\\u0041",
                "\\ud83d\\ude00",
                "\\ud800",
                "\\udc00x",
                "\\/",
                "\\u005bInter",
                "\\n",
            ]);
            source.insert_str(1, escape);
        }
        source
    }

    /// A key's source, now and then with an escape.
    fn key(&mut self, key: &str) -> String {
        let mut rest = key.chars();
        if let Some(first) = rest.next().filter(char::is_ascii)
            && self.seldom()
        {
            return format!("\"\\u{:04x}{}\"", u32::from(first), rest.as_str());
        }
        format!("\"{key}\"")
    }

    fn colon(&mut self) -> String {
        if self.seldom() { format!("{}:{}", self.space(), self.space()) } else { ":".to_owned() }
    }

    fn space(&mut self) -> String {
        (0..self.rng.u8(0..3)).map(|_| self.pick(&SPACES)).collect()
    }

    fn value(&mut self) -> String {
        match self.rng.u8(0..24) {
            0 => self.pick(&FAULTS).to_owned(),
            1 => {
                let depth = self.rng.usize(1..300);
                "[".repeat(depth) + &"]".repeat(depth)
            }
            2..5 => self.text(),
            5 => self.message(),
            _ => self.pick(&VALUES).to_owned(),
        }
    }

    /// Changes a few bytes.
    fn damage(&mut self, row: &mut Vec<u8>) {
        for _ in 0..self.rng.u8(1..3) {
            let at = self.rng.usize(..=row.len());
            match self.rng.u8(0..8) {
                0 => row.truncate(at),
                1 => {
                    let behind = self.fixture();
                    row.truncate(at);
                    row.extend(behind);
                }
                2 => drop(row.splice(at..at, self.pick(&SPACES).bytes())),
                3 => row.splice(0..0, self.pick(&SPACES).bytes()).for_each(drop),
                4 => row.extend(self.pick(&SPACES).bytes()),
                5 => row.insert(at, self.rng.u8(..)),
                _ if at < row.len() => row[at] = self.rng.u8(..),
                _ => {}
            }
        }
    }
}
