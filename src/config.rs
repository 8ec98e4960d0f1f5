//! placeholder
use crate::classify::{CountCommands, Settings as ClassifySettings};
use crate::echo::Mode;
use crate::error::{Error, Result};
use crate::record::Retention;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
#[derive(Debug, Clone, Default)]
pub struct Overrides { pub config: Option<PathBuf>, pub state_dir: Option<PathBuf>, pub claude_dirs: Vec<PathBuf> }
#[derive(Debug, Clone)]
pub struct Environment { pub vars: HashMap<String, String> }
impl Environment {
    #[expect(clippy::disallowed_methods, reason = "one place")]
    pub fn from_process() -> Self { Self { vars: std::env::vars().collect() } }
}
#[derive(Debug, Clone)]
pub struct Settings { pub claude_dirs: Vec<PathBuf>, pub cycle: Duration, pub first_cycle: Duration, pub scan_window: u64, pub catch_up_at_once: bool, pub misses: u32, pub echo: Mode, pub own_texts: usize, pub classify: ClassifySettings, pub retention: Retention, pub record_unwatched: bool }
#[derive(Debug, Clone)]
pub struct Loaded { pub settings: Settings, pub state_dir: PathBuf, pub runtime_dir: PathBuf }
pub fn load(o: &Overrides, env: &Environment) -> Result<Loaded> {
    let home = PathBuf::from(env.vars.get("HOME").cloned().unwrap_or_default());
    if let Some(c) = &o.config && !c.exists() { return Err(Error::Usage(format!("{} is missing", c.display()))); }
    let dur = |k: &str, d: u64| env.vars.get(k).map_or(Duration::from_secs(d), |v| humantime::parse_duration(v).unwrap_or_default());
    let claude_dirs = if o.claude_dirs.is_empty() { vec![env.vars.get("CLAUDE_CONFIG_DIR").filter(|v| !v.is_empty()).map_or(home.join(".claude"), PathBuf::from)] } else { o.claude_dirs.clone() };
    Ok(Loaded { settings: Settings { claude_dirs, cycle: dur("UPSTREAMD_CYCLE", 60), first_cycle: dur("UPSTREAMD_FIRST_CYCLE", 15), scan_window: 1 << 20, catch_up_at_once: true, misses: 3, echo: Mode::Provenance, own_texts: 10, classify: ClassifySettings { commands: CountCommands::Turns, answers: false }, retention: Retention::default(), record_unwatched: true },
        state_dir: o.state_dir.clone().unwrap_or(home.join(".local/state/upstreamd")), runtime_dir: env.vars.get("XDG_RUNTIME_DIR").map_or(PathBuf::from("/tmp/upstreamd-x"), |d| PathBuf::from(d).join("upstreamd")) })
}
