//! Where our own folders are.
//!
//! Answers: the state folder (journal, embedded store, key) and the runtime folder (locks). Always
//! holds: all processes of a user find the same runtime folder, else two daemons on one database
//! would not see each other's lock. Deliberately elsewhere: making them, and what lies in them
//! (`state`).

use super::{Environment, Overrides};
use crate::error::{Error, Result};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Our folder's name in other folders.
const NAME: &str = "upstreamd";

/// The state folder: `--state-dir`, `$STATE_DIRECTORY` (systemd's; the first of several),
/// `$XDG_STATE_HOME/upstreamd`, `~/.local/state/upstreamd`.
pub fn state(overrides: &Overrides, env: &Environment) -> Result<PathBuf> {
    if let Some(path) = &overrides.state_dir {
        return Ok(env.working.join(path));
    }
    let given = env
        .get("STATE_DIRECTORY")
        .and_then(|list| std::env::split_paths(list).find(|path| path.is_absolute()));
    given.or_else(|| env.xdg("XDG_STATE_HOME", ".local/state").map(|at| at.join(NAME))).ok_or_else(
        || Error::Usage("there is no home folder to keep state in; give --state-dir".to_owned()),
    )
}

/// The runtime folder: `upstreamd` in `$XDG_RUNTIME_DIR`, else in `/run/user/<uid>` where that is
/// the user's (cron sets no variable), else `upstreamd-<uid>` among the temporary files.
///
/// systemd's `$RUNTIME_DIRECTORY` is not asked: a service would find another folder than the same
/// user's shell.
#[must_use]
pub fn runtime(env: &Environment) -> PathBuf {
    let usual = env.run_user.join(env.uid.to_string());
    let is_ours = |path: &Path| {
        fs_err::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == env.uid)
    };
    env.get("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| is_ours(&usual).then_some(usual))
        .map_or_else(|| env.temp.join(format!("{NAME}-{}", env.uid)), |at| at.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn env(root: &Path, variables: &[(&str, &str)]) -> Environment {
        let pairs = variables.iter().map(|(k, v)| (OsString::from(k), OsString::from(v)));
        Environment {
            variables: pairs.collect(),
            home: Some(PathBuf::from("/home/me")),
            working: PathBuf::from("/somewhere"),
            uid: rustix::process::geteuid().as_raw(),
            etc: root.join("etc"),
            run_user: root.join("run"),
            temp: root.join("tmp"),
        }
    }

    #[test]
    fn the_state_folder_is_the_first_that_is_named() {
        let (systemd, xdg) = (("STATE_DIRECTORY", "/s/one:/s/two"), ("XDG_STATE_HOME", "/x"));
        for (flag, variables, expected) in [
            (Some("here"), &[systemd, xdg][..], "/somewhere/here"),
            (None, &[systemd, xdg], "/s/one"),
            (None, &[("STATE_DIRECTORY", ""), xdg], "/x/upstreamd"),
            (None, &[("XDG_STATE_HOME", "relative")], "/home/me/.local/state/upstreamd"),
            (None, &[], "/home/me/.local/state/upstreamd"),
        ] {
            let overrides =
                Overrides { state_dir: flag.map(PathBuf::from), ..Overrides::default() };
            let found = state(&overrides, &env(Path::new("/none"), variables)).unwrap();
            assert_eq!(found, Path::new(expected));
        }
    }

    #[test]
    fn the_runtime_folder_is_the_same_with_and_without_the_variable() {
        let root = tempfile::tempdir().unwrap();
        let bare = env(root.path(), &[]);
        let at_temp = root.path().join(format!("tmp/upstreamd-{}", bare.uid));
        assert_eq!(runtime(&bare), at_temp);
        let usual = root.path().join("run").join(bare.uid.to_string());
        fs_err::create_dir_all(&usual).unwrap();
        assert_eq!(runtime(&bare), usual.join("upstreamd"));
        let set = env(root.path(), &[("XDG_RUNTIME_DIR", usual.to_str().unwrap())]);
        assert_eq!(runtime(&set), usual.join("upstreamd"));
        let systemd = env(root.path(), &[("RUNTIME_DIRECTORY", "/run/elsewhere")]);
        assert_eq!(runtime(&systemd), usual.join("upstreamd"));
        let other_user = Environment { uid: bare.uid + 1, ..bare };
        fs_err::create_dir_all(root.path().join("run").join(other_user.uid.to_string())).unwrap();
        assert!(runtime(&other_user).starts_with(root.path().join("tmp")), "not that user's");
    }
}
