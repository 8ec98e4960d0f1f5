//! What the program is set to, and who set it.
//!
//! Answers: which settings hold, and for each whether a default, a file, a variable or a flag gave
//! it; also where our folders are (`folders`). Always holds: later sources win in the order
//! `/etc`, the user's file, `--config`, `UPSTREAMD_*`, flags; what cannot be followed is an error
//! that names place, key and what is allowed, never a silent default; everything but `load`'s
//! reading of files and `Environment::from_process` is a function of values. Deliberately elsewhere:
//! what a setting means is told where it acts; making folders is for `state`.

mod defaults;
mod environment;
mod file;
pub mod folders;
mod keys;
#[cfg(test)]
mod tests;
mod units;
mod value;

use crate::classify::CountCommands;
use crate::echo::Mode as EchoMode;
use crate::error::{Error, Result};
use crate::openclaw::OpenclawFolder;
use crate::openclaw::socket::{Access, GatewayUrl, TOKEN_VARIABLE, Token};
use crate::record::{GatewayStore, Store};
use crate::state::StateFolder;
pub use environment::Environment;
pub use keys::{KEYS, Key};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
pub use value::Shown;

/// The commented default of the configuration file.
pub const DEFAULT_FILE: &str = include_str!("../../config/upstreamd.toml");

/// Which signal log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreChoice {
    /// The gateway's, if there is one.
    Auto,
    /// One of our own.
    Embedded,
    /// The gateway's.
    Gateway,
}

/// How a source that is behind is caught up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CatchUp {
    /// Window after window, round robin with the others.
    AtOnce,
    /// One window per source and cycle, the gateway's budget.
    NextCycle,
}

/// Which rows wait while OpenClaw runs a turn in their session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActiveRun {
    /// Those that do not say who wrote them.
    Evidence,
    /// All.
    Hold,
}

/// A setting that is one of a few words.
pub(crate) trait Choice: Sized + Copy + PartialEq + 'static {
    /// What it can be, each with its word, in the order of the documentation.
    const ALL: &'static [(&'static str, Self)];

    /// The words that can be written.
    fn words() -> Vec<&'static str> {
        Self::ALL.iter().map(|(word, _)| *word).collect()
    }

    /// The choice that this word means.
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice)
    }

    /// Its word.
    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or("", |(word, _)| word)
    }
}

/// How new rows are noticed between cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Watch {
    /// File events; a folder that cannot be watched is looked at every two seconds.
    Auto,
    /// File events alone; what cannot be watched waits for the next cycle.
    Native,
    /// No file events: every folder is looked at in this interval.
    Poll(Duration),
}

/// Which sessions are adopted without being named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Adopt {
    /// Every session below the Claude folders.
    Auto,
    /// None.
    Off,
}

impl Choice for Adopt {
    const ALL: &[(&str, Self)] = &[("auto", Self::Auto), ("off", Self::Off)];
}

impl Choice for StoreChoice {
    const ALL: &[(&str, Self)] =
        &[("auto", Self::Auto), ("embedded", Self::Embedded), ("gateway", Self::Gateway)];
}

impl Choice for ActiveRun {
    const ALL: &[(&str, Self)] = &[("evidence", Self::Evidence), ("hold", Self::Hold)];
}

impl Choice for CatchUp {
    const ALL: &[(&str, Self)] = &[("at_once", Self::AtOnce), ("next_cycle", Self::NextCycle)];
}

impl Choice for EchoMode {
    const ALL: &[(&str, Self)] = &[("provenance", Self::Provenance), ("compat", Self::Compat)];
}

impl Choice for CountCommands {
    const ALL: &[(&str, Self)] =
        &[("turns", Self::Turns), ("all", Self::All), ("none", Self::None)];
}

/// The settings that hold, each already checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Which signal log; `Loaded::store` says which one that is.
    pub store: StoreChoice,
    /// A version of the gateway's schema that is written to though it is not known.
    pub accept_schema: Option<u32>,
    /// Where the gateway's WebSocket is, if it is not to be found by its state folder.
    pub gateway_url: Option<GatewayUrl>,
    /// The file with the gateway's token, absolute.
    pub gateway_token_file: Option<PathBuf>,
    /// Roots of Claude Code, absolute, each once; empty only where there is not even a home folder.
    pub claude_dirs: Vec<PathBuf>,
    /// From one counted cycle to the next.
    pub cycle: Duration,
    /// From the start to the first counted cycle.
    pub first_cycle: Duration,
    /// How new rows are noticed between cycles.
    pub watch: Watch,
    /// How long a source may keep us waiting before it is left alone.
    pub source_deadline: Duration,
    /// Which sessions are adopted without being named.
    pub adopt: Adopt,
    /// Bytes that one pass reads of one source; at least 1.
    pub scan_window: u64,
    /// How a source that is behind is caught up with.
    pub catch_up: CatchUp,
    /// Consecutive looks that must find a source missing before it counts as gone; at least 1.
    pub misses: u32,
    /// What makes a row the echo of an own text.
    pub echo: EchoMode,
    /// Which rows wait while OpenClaw runs a turn in their session.
    pub active_run: ActiveRun,
    /// How many of the newest own texts a row is compared with.
    pub own_texts: usize,
    /// Which commands count as turns.
    pub count_commands: CountCommands,
    /// Whether an answer to a dialog counts as a turn.
    pub count_answers: bool,
    /// How old an event gets in the embedded store.
    pub retention: Duration,
    /// How many events the embedded store keeps; at least 1.
    pub retention_events: u64,
    /// Whether sessions are recorded that nobody watches.
    pub record_unwatched: bool,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// This file.
    File(PathBuf),
    /// The environment variable of this name.
    Variable(String),
    /// This flag of the command line.
    Flag(&'static str),
}

/// What the command line says about configuration and folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--config`: one more file, which must exist.
    pub config: Option<PathBuf>,
    /// `--state-dir`.
    pub state_dir: Option<PathBuf>,
    /// `--openclaw-dir`.
    pub openclaw_dir: Option<PathBuf>,
    /// `--claude-dir`, in place of all other roots.
    pub claude_dirs: Vec<PathBuf>,
    /// `--store`.
    pub store: Option<StoreChoice>,
}

/// Settings and how they came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What holds.
    pub settings: Settings,
    /// Where each key's value came from; holds every key of `KEYS`.
    pub origins: BTreeMap<&'static str, Origin>,
    /// The state folder (journal, embedded store, key); need not exist yet.
    pub state_dir: PathBuf,
    /// OpenClaw's state folder, which need not exist; `None` where there is no home folder either.
    pub openclaw: Option<OpenclawFolder>,
    /// The signal log that is meant.
    pub store: Store,
    /// How the gateway of that log is reached; none where it is our own.
    pub access: Option<Access>,
    /// The runtime folder (locks); need not exist yet.
    pub runtime_dir: PathBuf,
    /// The files that were read, in order.
    pub files: Vec<PathBuf>,
    /// Names of `UPSTREAMD_*` variables that are no key and resemble none.
    pub ignored_variables: Vec<String>,
}

/// What all variables of ours begin with.
const PREFIX: &str = "UPSTREAMD_";

/// Reads the files, the variables and the flags.
pub fn load(overrides: &Overrides, env: &Environment) -> Result<Loaded> {
    let (claude_dirs, origin) = env.claude_dirs();
    let state_dir = folders::state(overrides, env)?;
    let embedded = Store::Embedded(StateFolder::at(state_dir.clone()).signal_log());
    let mut loaded = Loaded {
        settings: defaults::settings(claude_dirs),
        origins: KEYS.iter().map(|key| (key.name, Origin::Default)).collect(),
        state_dir,
        openclaw: OpenclawFolder::find(overrides.openclaw_dir.as_deref(), env),
        store: embedded,
        access: None,
        runtime_dir: folders::runtime(env),
        files: Vec::new(),
        ignored_variables: Vec::new(),
    };
    loaded.origins.insert(keys::CLAUDE_DIRS, origin);
    for path in env.config_files() {
        match fs_err::read_to_string(&path) {
            Ok(text) => loaded.take_file(&path, &text, env)?,
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(Error::Usage(error.to_string())),
        }
    }
    if let Some(path) = &overrides.config {
        let path = env.working.join(path);
        match fs_err::read_to_string(&path) {
            Ok(text) => loaded.take_file(&path, &text, env)?,
            Err(error) if is_absent(&error) => {
                return Err(Error::Usage(format!(
                    "{}: no such file (given by --config); `upstreamd config default` prints one \
                     to start from",
                    path.display()
                )));
            }
            Err(error) => return Err(Error::Usage(error.to_string())),
        }
    }
    loaded.take_variables(env)?;
    loaded.take_flags(overrides, env);
    loaded.choose_store(overrides, env)?;
    Ok(loaded)
}

/// Whether there is no such file; a folder of the path that is a file is no folder either.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

impl Loaded {
    /// Takes all keys of one file.
    fn take_file(&mut self, path: &Path, text: &str, env: &Environment) -> Result<()> {
        for entry in file::entries(path, text)? {
            entry.key.set(&mut self.settings, &entry.value, env).map_err(|allowed| {
                let (name, written) = (entry.key.name, units::clip(&entry.written));
                Error::Usage(format!(
                    "{}:{}: `{name}` cannot be {written}; allowed: {allowed}",
                    path.display(),
                    entry.line,
                ))
            })?;
            self.origins.insert(entry.key.name, Origin::File(path.to_owned()));
        }
        self.files.push(path.to_owned());
        Ok(())
    }

    /// Takes the variables that are keys. An empty one is as good as unset. One that resembles a
    /// key is taken for a slip; any other is somebody else's (Kubernetes makes some for a service
    /// of our name).
    fn take_variables(&mut self, env: &Environment) -> Result<()> {
        for (variable, word) in &env.variables {
            let variable = variable.to_string_lossy();
            let Some(upper) = variable.strip_prefix(PREFIX) else {
                continue;
            };
            if word.is_empty() {
                continue;
            }
            let name = upper.to_ascii_lowercase();
            let key =
                KEYS.iter().find(|key| key.name == name && upper == name.to_ascii_uppercase());
            if let Some(key) = key {
                let value = value::Raw::Word(word);
                key.set(&mut self.settings, &value, env).map_err(|allowed| {
                    let written = units::clip(&word.to_string_lossy());
                    Error::Usage(format!(
                        "${variable}: `{}` cannot be \"{written}\"; allowed: {allowed}",
                        key.name
                    ))
                })?;
                self.origins.insert(key.name, Origin::Variable(variable.into_owned()));
            } else if let Some(near) = keys::nearest(&name) {
                return Err(Error::Usage(format!(
                    "${variable}: there is no key `{name}`; did you mean {PREFIX}{}?",
                    near.to_ascii_uppercase()
                )));
            } else {
                self.ignored_variables.push(variable.into_owned());
            }
        }
        Ok(())
    }

    /// Takes the flags. A relative path is meant from the working folder.
    fn take_flags(&mut self, overrides: &Overrides, env: &Environment) {
        if !overrides.claude_dirs.is_empty() {
            let folders = overrides.claude_dirs.iter().map(|path| env.working.join(path));
            self.settings.claude_dirs = value::each_once(folders);
            self.origins.insert(keys::CLAUDE_DIRS, Origin::Flag("--claude-dir"));
        }
        if let Some(store) = overrides.store {
            self.settings.store = store;
            self.origins.insert(keys::STORE, Origin::Flag("--store"));
        }
    }

    /// Says which signal log is meant, and takes the defaults that depend on it.
    fn choose_store(&mut self, overrides: &Overrides, env: &Environment) -> Result<()> {
        let is_there = |path: &Path| match fs_err::metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            // Nobody's wish is guessed: the wrong log would look like an empty one.
            Err(error) => Err(Error::Usage(format!(
                "{error}; whether a gateway keeps its log there cannot be told: say which log is \
                 meant with --store"
            ))),
        };
        let folder = match (self.settings.store, &self.openclaw) {
            (StoreChoice::Embedded, _) | (StoreChoice::Auto, None) => return Ok(()),
            (StoreChoice::Auto, Some(folder)) if !is_there(&folder.database())? => {
                if overrides.openclaw_dir.is_none() {
                    return Ok(());
                }
                return Err(Error::Usage(format!(
                    "{}: no such file; --openclaw-dir names OpenClaw's state folder, and a gateway \
                     must have run there once (or say --store gateway to wait for it)",
                    folder.database().display()
                )));
            }
            (StoreChoice::Gateway, None) => {
                return Err(Error::Usage(
                    "there is no home folder to find OpenClaw's state in; give --openclaw-dir"
                        .to_owned(),
                ));
            }
            (StoreChoice::Auto | StoreChoice::Gateway, Some(folder)) => folder,
        };
        self.store = Store::Gateway(GatewayStore {
            folder: folder.path().to_owned(),
            database: folder.database(),
            accept: self.settings.accept_schema.map(i64::from),
        });
        self.access = Some(Access {
            url: self.settings.gateway_url.clone(),
            token_file: self.settings.gateway_token_file.clone(),
            token: env.get(TOKEN_VARIABLE).and_then(|text| Token::new(text.to_str()?)),
            config: folder.config(),
        });
        let origins = &self.origins;
        defaults::beside_gateway(&mut self.settings, |key| {
            origins.get(key).is_some_and(|origin| *origin != Origin::Default)
        });
        Ok(())
    }
}
