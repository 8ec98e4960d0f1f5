//! Transcripts made up from numbers: the same on every machine, and no word of anybody.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// Words to make texts of; some need escapes, some are no ASCII.
const WORDS: [&str; 16] = [
    "the",
    "engine",
    "turns",
    "a",
    "wheel",
    "of",
    "numbers",
    "and",
    "prints",
    "tables\\n",
    "ünder",
    "load",
    "\\\"quoted\\\"",
    "path/to/file.rs",
    "0x2f",
    "\\\"user\\\"",
];

/// The first second of 2026.
const START: Duration = Duration::from_secs(1_767_225_600);

/// Numbers that look random and are the same each time (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Makes rows, each a second later than the one before.
pub(crate) struct Rows {
    random: Random,
    made: u32,
    /// Rows among them that a person typed.
    pub(crate) typed: u64,
}

impl Rows {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), made: 0, typed: 0 }
    }

    /// A JSON string's inside of about so many bytes.
    fn words(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            text.push_str(WORDS[self.random.below(WORDS.len())]);
            text.push(' ');
        }
        text
    }

    /// What the rows of a conversation have in common, from `type` on.
    fn row(&mut self, kind: &str, more: &str) -> String {
        self.made += 1;
        let n = self.made;
        let time = SystemTime::UNIX_EPOCH + START + Duration::from_secs(n.into());
        let time = humantime::format_rfc3339_millis(time);
        format!(
            "{{\"parentUuid\":\"0d0e6a3b-0000-4000-8000-{:012}\",\"isSidechain\":false,\
             \"userType\":\"external\",\"cwd\":\"/home/ada/engine\",\
             \"sessionId\":\"5e55104e-0000-4000-8000-000000000001\",\"version\":\"2.1.332\",\
             \"gitBranch\":\"main\",\"type\":\"{kind}\",{more},\
             \"uuid\":\"0d0e6a3b-0000-4000-8000-{n:012}\",\"timestamp\":\"{time}\"}}\n",
            n - 1
        )
    }

    /// What a person typed: about a kilobyte.
    pub(crate) fn typed(&mut self) -> String {
        self.typed += 1;
        let text = self.words(600);
        self.row(
            "user",
            &format!(
                "\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}},\
                 \"promptSource\":\"typed\",\"origin\":{{\"kind\":\"human\"}}"
            ),
        )
    }

    /// What the agent said, or a tool that it called.
    pub(crate) fn assistant(&mut self) -> String {
        let bytes = 200 + self.random.below(3_000);
        let text = self.words(bytes);
        let content = if self.random.below(2) == 0 {
            format!("{{\"type\":\"text\",\"text\":\"{text}\"}}")
        } else {
            format!(
                "{{\"type\":\"tool_use\",\"id\":\"toolu_{}\",\"name\":\"Edit\",\
                 \"input\":{{\"file_path\":\"/home/ada/engine/a.rs\",\"new_string\":\"{text}\"}}}}",
                self.made
            )
        };
        self.row(
            "assistant",
            &format!(
                "\"message\":{{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\
                 \"model\":\"m\",\"content\":[{content}],\
                 \"usage\":{{\"input_tokens\":3,\"output_tokens\":{bytes}}}}},\"requestId\":\"r\""
            ),
        )
    }

    /// What a tool gave back: mostly short, sometimes a whole file.
    fn tool_result(&mut self) -> String {
        let most = if self.random.below(40) == 0 { 60_000 } else { 5_000 };
        let bytes = 50 + self.random.below(most);
        let text = self.words(bytes);
        self.row(
            "user",
            &format!(
                "\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{}\",\
                 \"type\":\"tool_result\",\"content\":\"{text}\"}}]}},\
                 \"toolUseResult\":{{\"stdout\":\"{text}\",\"stderr\":\"\",\"interrupted\":false}}",
                self.made
            ),
        )
    }

    /// What a running tool says meanwhile.
    fn progress(&mut self) -> String {
        let bytes = 50 + self.random.below(900);
        let text = self.words(bytes);
        self.row(
            "progress",
            &format!(
                "\"data\":{{\"type\":\"bash_progress\",\"output\":\"{text}\",\
                 \"elapsedTimeSeconds\":3,\"totalLines\":12}},\"toolUseID\":\"toolu_1\""
            ),
        )
    }

    /// A file's state before an edit, as Claude Code keeps it.
    fn snapshot(&mut self) -> String {
        format!(
            "{{\"type\":\"file-history-snapshot\",\"messageId\":\"m{}\",\"snapshot\":\
             {{\"messageId\":\"m\",\"trackedFileBackups\":{{}},\
             \"timestamp\":\"2026-01-01T00:00:00.000Z\"}},\"isSnapshotUpdate\":false}}\n",
            self.made
        )
    }

    /// The next row of a session at work: one in fifty is a person's.
    pub(crate) fn next(&mut self) -> String {
        match self.random.below(100) {
            0..=1 => self.typed(),
            2..=36 => self.assistant(),
            37..=61 => self.tool_result(),
            62..=87 => self.progress(),
            _ => self.snapshot(),
        }
    }

    /// Writes rows until there are so many bytes; gives how many there are.
    pub(crate) fn write(&mut self, bytes: usize, to: &mut impl Write) -> io::Result<usize> {
        let mut written = 0;
        while written < bytes {
            let row = self.next();
            to.write_all(row.as_bytes())?;
            written += row.len();
        }
        Ok(written)
    }
}

/// The rows that are bigger than any buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Giant {
    /// A person's words and a picture.
    Picture,
    /// A tool's result of many small values.
    Values,
    /// A tool's result that is one text full of escapes.
    Text,
}

impl Giant {
    pub(crate) const ALL: [Self; 3] = [Self::Picture, Self::Values, Self::Text];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Picture => "a person's words and a picture",
            Self::Values => "a tool's result, small values",
            Self::Text => "a tool's result, one text",
        }
    }

    /// How many turns it is.
    pub(crate) fn turns(self) -> u64 {
        u64::from(self == Self::Picture)
    }

    /// Writes the row; gives how many bytes it has.
    pub(crate) fn write(
        self,
        rows: &mut Rows,
        bytes: usize,
        to: &mut impl Write,
    ) -> io::Result<usize> {
        const HOLE: &str = "@@";
        let content = match self {
            Self::Picture => format!(
                "{{\"type\":\"text\",\"text\":\"look at this\"}},{{\"type\":\"image\",\"source\":\
                 {{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"{HOLE}\"}}}}"
            ),
            Self::Values => format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":[{HOLE}{{}}]}}"
            ),
            Self::Text => {
                format!("{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"{HOLE}\"}}")
            }
        };
        let more = format!("\"message\":{{\"role\":\"user\",\"content\":[{content}]}}");
        let row = rows.row("user", &more);
        let (before, after) = row.split_once(HOLE).unwrap();
        to.write_all(before.as_bytes())?;
        let mut written = before.len();
        let mut n = 0_usize;
        let mut part = String::new();
        while written < bytes {
            part.clear();
            while part.len() < 64 << 10 {
                n += 1;
                match self {
                    Self::Picture => write!(part, "{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                    Self::Values => write!(
                        part,
                        "{{\"type\":\"text\",\"n\":{n},\"text\":\"line {n} of ünder\",\"ok\":true,\
                         \"v\":[{n},0.5,null]}},"
                    ),
                    Self::Text => {
                        write!(part, "line {n}:\\t\\\"quoted\\\" and a path\\\\to\\\\it ü\\n")
                    }
                }
                .unwrap();
            }
            to.write_all(part.as_bytes())?;
            written += part.len();
        }
        to.write_all(after.as_bytes())?;
        Ok(written + after.len())
    }
}
