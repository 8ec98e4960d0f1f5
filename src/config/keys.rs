//! The table of keys: name, what is allowed, how a value gets into `Settings` and out again.
//!
//! Always holds: one entry a setting; a file, a variable, `config show` and the error messages all
//! read this table, so that they cannot differ.

use super::value::{self, Raw, Shown};
use super::{ActiveRun, Adopt, CatchUp, Choice, Environment, Settings, StoreChoice, Watch, units};
use crate::classify::CountCommands;
use crate::echo::Mode as EchoMode;
use crate::openclaw::socket::GatewayUrl;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The key whose default is found and not built in.
pub(super) const CLAUDE_DIRS: &str = "claude_dirs";

/// The key that a flag sets too.
pub(super) const STORE: &str = "store";

/// A shorter cycle only burns time; a longer one hides failures.
const CYCLES: RangeInclusive<Duration> = Duration::from_millis(100)..=A_DAY;

/// Shorter and a busy machine is taken for a dead disk; longer and one dead disk is felt by all.
const DEADLINES: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(600);

/// A look at ten thousand files takes about ten milliseconds.
const POLLS: RangeInclusive<Duration> = Duration::from_millis(100)..=A_DAY;

/// Nought: the first pass is the first counted cycle.
const FIRST_CYCLES: RangeInclusive<Duration> = Duration::ZERO..=A_DAY;

/// A second is for tests; a hundred years keep milliseconds far from the end of their range.
const RETENTIONS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(36_500 * 24 * 60 * 60);

/// A window is held in memory.
const SCAN_WINDOWS: RangeInclusive<u64> = 1..=1 << 30;

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// One key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// As it stands in the file; the variable is `UPSTREAMD_` and this in upper case.
    pub name: &'static str,
    kind: Kind,
}

/// How a value is read, kept within bounds and shown.
#[derive(Debug)]
enum Kind {
    Folders {
        set: fn(&mut Settings, Vec<PathBuf>),
        get: fn(&Settings) -> &[PathBuf],
    },
    Duration {
        range: RangeInclusive<Duration>,
        set: fn(&mut Settings, Duration),
        get: fn(&Settings) -> Duration,
    },
    Size {
        range: RangeInclusive<u64>,
        set: fn(&mut Settings, u64),
        get: fn(&Settings) -> u64,
    },
    Number {
        range: RangeInclusive<u32>,
        set: fn(&mut Settings, u32),
        get: fn(&Settings) -> u32,
    },
    Switch {
        set: fn(&mut Settings, bool),
        get: fn(&Settings) -> bool,
    },
    Watch {
        set: fn(&mut Settings, Watch),
        get: fn(&Settings) -> Watch,
    },
    /// Where a gateway is, or nothing.
    Url {
        set: fn(&mut Settings, Option<GatewayUrl>),
        get: fn(&Settings) -> Option<&GatewayUrl>,
    },
    /// A file, or none.
    File {
        set: fn(&mut Settings, Option<PathBuf>),
        get: fn(&Settings) -> Option<&Path>,
    },
    /// A version, or none.
    Version {
        set: fn(&mut Settings, Option<u32>),
        get: fn(&Settings) -> Option<u32>,
    },
    Choice {
        words: fn() -> Vec<&'static str>,
        set: fn(&mut Settings, &str) -> Option<()>,
        get: fn(&Settings) -> &'static str,
    },
}

/// All keys, in the order of the documentation.
pub static KEYS: &[Key] = &[
    Key {
        name: STORE,
        kind: Kind::Choice {
            words: StoreChoice::words,
            set: |s, word| StoreChoice::from_word(word).map(|v| s.store = v),
            get: |s| s.store.word(),
        },
    },
    Key {
        name: "accept_schema",
        kind: Kind::Version { set: |s, v| s.accept_schema = v, get: |s| s.accept_schema },
    },
    Key {
        name: "gateway_url",
        kind: Kind::Url { set: |s, v| s.gateway_url = v, get: |s| s.gateway_url.as_ref() },
    },
    Key {
        name: "gateway_token_file",
        kind: Kind::File {
            set: |s, v| s.gateway_token_file = v,
            get: |s| s.gateway_token_file.as_deref(),
        },
    },
    Key {
        name: CLAUDE_DIRS,
        kind: Kind::Folders { set: |s, v| s.claude_dirs = v, get: |s| &s.claude_dirs },
    },
    Key {
        name: "cycle",
        kind: Kind::Duration { range: CYCLES, set: |s, v| s.cycle = v, get: |s| s.cycle },
    },
    Key {
        name: "first_cycle",
        kind: Kind::Duration {
            range: FIRST_CYCLES,
            set: |s, v| s.first_cycle = v,
            get: |s| s.first_cycle,
        },
    },
    Key { name: "watch", kind: Kind::Watch { set: |s, v| s.watch = v, get: |s| s.watch } },
    Key {
        name: "source_deadline",
        kind: Kind::Duration {
            range: DEADLINES,
            set: |s, v| s.source_deadline = v,
            get: |s| s.source_deadline,
        },
    },
    Key {
        name: "adopt",
        kind: Kind::Choice {
            words: Adopt::words,
            set: |s, word| Adopt::from_word(word).map(|v| s.adopt = v),
            get: |s| s.adopt.word(),
        },
    },
    Key {
        name: "scan_window",
        kind: Kind::Size {
            range: SCAN_WINDOWS,
            set: |s, v| s.scan_window = v,
            get: |s| s.scan_window,
        },
    },
    Key {
        name: "catch_up",
        kind: Kind::Choice {
            words: CatchUp::words,
            set: |s, word| CatchUp::from_word(word).map(|v| s.catch_up = v),
            get: |s| s.catch_up.word(),
        },
    },
    Key {
        name: "misses",
        kind: Kind::Number { range: 1..=1000, set: |s, v| s.misses = v, get: |s| s.misses },
    },
    Key {
        name: "echo",
        kind: Kind::Choice {
            words: EchoMode::words,
            set: |s, word| EchoMode::from_word(word).map(|v| s.echo = v),
            get: |s| s.echo.word(),
        },
    },
    Key {
        name: "active_run",
        kind: Kind::Choice {
            words: ActiveRun::words,
            set: |s, word| ActiveRun::from_word(word).map(|v| s.active_run = v),
            get: |s| s.active_run.word(),
        },
    },
    Key {
        name: "own_texts",
        kind: Kind::Number {
            range: 0..=1000,
            set: |s, v| s.own_texts = usize::try_from(v).unwrap_or(usize::MAX),
            get: |s| u32::try_from(s.own_texts).unwrap_or(u32::MAX),
        },
    },
    Key {
        name: "count_commands",
        kind: Kind::Choice {
            words: CountCommands::words,
            set: |s, word| CountCommands::from_word(word).map(|v| s.count_commands = v),
            get: |s| s.count_commands.word(),
        },
    },
    Key {
        name: "count_answers",
        kind: Kind::Switch { set: |s, v| s.count_answers = v, get: |s| s.count_answers },
    },
    Key {
        name: "retention",
        kind: Kind::Duration {
            range: RETENTIONS,
            set: |s, v| s.retention = v,
            get: |s| s.retention,
        },
    },
    Key {
        name: "retention_events",
        kind: Kind::Number {
            range: 1..=1_000_000_000,
            set: |s, v| s.retention_events = u64::from(v),
            get: |s| u32::try_from(s.retention_events).unwrap_or(u32::MAX),
        },
    },
    Key {
        name: "record_unwatched",
        kind: Kind::Switch { set: |s, v| s.record_unwatched = v, get: |s| s.record_unwatched },
    },
];

impl Key {
    /// Puts a value in its place, or says what would be allowed.
    pub(super) fn set(
        &self,
        settings: &mut Settings,
        raw: &Raw<'_>,
        env: &Environment,
    ) -> Result<(), String> {
        let done = match &self.kind {
            Kind::Folders { set, .. } => {
                value::folders(raw, env.home.as_deref()).map(|v| set(settings, v))
            }
            Kind::Duration { range, set, .. } => {
                value::within(value::duration(raw), range).map(|v| set(settings, v))
            }
            Kind::Size { range, set, .. } => {
                value::within(value::size(raw), range).map(|v| set(settings, v))
            }
            Kind::Number { range, set, .. } => {
                value::within(value::number(raw), range).map(|v| set(settings, v))
            }
            Kind::Switch { set, .. } => value::switch(raw).map(|v| set(settings, v)),
            Kind::Watch { set, .. } => value::word(raw).and_then(watch).map(|v| set(settings, v)),
            Kind::Url { set, .. } => {
                value::optional(raw, GatewayUrl::parse).map(|v| set(settings, v))
            }
            Kind::File { set, .. } => {
                value::optional(raw, |text| value::from_home(Path::new(text), env.home.as_deref()))
                    .map(|v| set(settings, v))
            }
            Kind::Version { set, .. } => value::version(raw).map(|v| set(settings, v)),
            Kind::Choice { set, .. } => value::word(raw).and_then(|word| set(settings, word)),
        };
        done.ok_or_else(|| self.allowed())
    }

    /// What may stand there, in words.
    #[must_use]
    pub fn allowed(&self) -> String {
        match &self.kind {
            Kind::Folders { .. } => {
                "a list of one or more folders, each absolute or beginning with \"~/\"".to_owned()
            }
            Kind::Duration { range, .. } => format!(
                "a duration such as \"60s\" or \"5min\", from {} to {}",
                units::write_duration(*range.start()),
                units::write_duration(*range.end())
            ),
            Kind::Size { range, .. } => format!(
                "a size such as \"1MiB\" or a number of bytes, from {} to {}",
                units::write_size(*range.start()),
                units::write_size(*range.end())
            ),
            Kind::Number { range, .. } => {
                format!("a whole number from {} to {}", range.start(), range.end())
            }
            Kind::Switch { .. } => "true, false".to_owned(),
            Kind::Watch { .. } => format!(
                "\"auto\", \"native\", or \"poll:\" and a duration from {} to {}, such as \"poll:2s\"",
                units::write_duration(*POLLS.start()),
                units::write_duration(*POLLS.end())
            ),
            Kind::Url { .. } => {
                "\"wss://\" and a host, or \"ws://\" and this host (127.0.0.1, [::1], localhost), \
                 since a token goes there; \"\" for none"
                    .to_owned()
            }
            Kind::File { .. } => {
                "one file, absolute or beginning with \"~/\", or \"\" for none".to_owned()
            }
            Kind::Version { .. } => "one version, such as \"19\", or \"\" for none".to_owned(),
            Kind::Choice { words, .. } => {
                let quoted: Vec<_> = words().iter().map(|word| format!("\"{word}\"")).collect();
                quoted.join(", ")
            }
        }
    }

    /// The value that holds, in the form of the configuration file.
    #[must_use]
    pub fn show(&self, settings: &Settings) -> Shown {
        match &self.kind {
            Kind::Folders { get, .. } => {
                let folders = get(settings).iter();
                Shown::List(folders.map(|path| path.to_string_lossy().into_owned()).collect())
            }
            Kind::Duration { get, .. } => Shown::Text(units::write_duration(get(settings))),
            Kind::Size { get, .. } => Shown::Text(units::write_size(get(settings))),
            Kind::Number { get, .. } => Shown::Number(get(settings)),
            Kind::Switch { get, .. } => Shown::Switch(get(settings)),
            Kind::Watch { get, .. } => Shown::Text(match get(settings) {
                Watch::Auto => "auto".to_owned(),
                Watch::Native => "native".to_owned(),
                Watch::Poll(every) => format!("poll:{}", units::write_duration(every)),
            }),
            Kind::Url { get, .. } => {
                Shown::Text(get(settings).map_or_else(String::new, ToString::to_string))
            }
            Kind::File { get, .. } => Shown::Text(
                get(settings).map_or_else(String::new, |path| path.to_string_lossy().into_owned()),
            ),
            Kind::Version { get, .. } => {
                Shown::Text(get(settings).map_or_else(String::new, |version| version.to_string()))
            }
            Kind::Choice { get, .. } => Shown::Text(get(settings).to_owned()),
        }
    }
}

/// How new rows are noticed, from its word.
fn watch(word: &str) -> Option<Watch> {
    match word {
        "auto" => Some(Watch::Auto),
        "native" => Some(Watch::Native),
        _ => {
            let every = humantime::parse_duration(word.strip_prefix("poll:")?.trim()).ok();
            value::within(every, &POLLS).map(Watch::Poll)
        }
    }
}

/// The known key that an unknown one resembles: at most a third of its letters differ.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let written = name.to_ascii_lowercase().replace('-', "_");
    KEYS.iter()
        .map(|key| (strsim::damerau_levenshtein(&written, key.name), key.name))
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .min()
        .map(|(_, known)| known)
}
