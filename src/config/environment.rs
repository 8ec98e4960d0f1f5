//! What the process finds around itself, as a value.
//!
//! Always holds: nothing else in the program reads the environment; tests make their own. An empty
//! variable is as good as none.

use super::Origin;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The environment of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// All variables.
    pub variables: BTreeMap<OsString, OsString>,
    /// The user's home folder, absolute.
    pub home: Option<PathBuf>,
    /// The folder from which relative paths of the command line are meant.
    pub working: PathBuf,
    /// The user's number.
    pub uid: u32,
    /// The machine's configuration, `/etc`.
    pub etc: PathBuf,
    /// Folders of running users, each named by the user's number, `/run/user`.
    pub run_user: PathBuf,
    /// The folder of temporary files; not `$TMPDIR`, since all processes of a user must find the
    /// same one.
    pub temp: PathBuf,
}

impl Environment {
    /// Reads the environment of this process.
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    #[must_use]
    pub fn from_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            working: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            uid: rustix::process::geteuid().as_raw(),
            etc: PathBuf::from("/etc"),
            run_user: PathBuf::from("/run/user"),
            temp: PathBuf::from("/tmp"),
        }
    }

    /// The value of a variable that is set to something.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    /// A folder of the XDG standard: the variable's, which counts only if absolute, else this one
    /// under home.
    pub(super) fn xdg(&self, variable: &str, under_home: &str) -> Option<PathBuf> {
        self.get(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| self.home.as_ref().map(|home| home.join(under_home)))
    }

    /// The configuration files that are read where they exist, the machine's before the user's.
    pub(super) fn config_files(&self) -> Vec<PathBuf> {
        let file = Path::new("upstreamd").join("config.toml");
        let user = self.xdg("XDG_CONFIG_HOME", ".config");
        [Some(self.etc.clone()), user].into_iter().flatten().map(|at| at.join(&file)).collect()
    }

    /// The root of Claude Code as Claude Code itself finds it: the variable is taken literally,
    /// without `~`.
    pub(super) fn claude_dirs(&self) -> (Vec<PathBuf>, Origin) {
        const VARIABLE: &str = "CLAUDE_CONFIG_DIR";
        match (self.get(VARIABLE), &self.home) {
            (Some(root), _) => {
                (vec![self.working.join(root)], Origin::Variable(VARIABLE.to_owned()))
            }
            (None, Some(home)) => (vec![home.join(".claude")], Origin::Default),
            (None, None) => (Vec::new(), Origin::Default),
        }
    }
}
