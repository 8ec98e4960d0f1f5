//! OpenClaw's state folder.
//!
//! Answers: which folder it is, and what lies where in it. Always holds: only names are made here;
//! nothing is opened.

use crate::config::Environment;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The state folder of an OpenClaw, absolute; need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenclawFolder(PathBuf);

impl OpenclawFolder {
    /// The folder that is named (`--openclaw-dir`, meant from the working folder), else
    /// `$OPENCLAW_STATE_DIR`, else `~/.openclaw`; `None` where there is not even a home folder.
    #[must_use]
    pub fn find(named: Option<&Path>, env: &Environment) -> Option<Self> {
        const VARIABLE: &str = "OPENCLAW_STATE_DIR";
        let home = env.home.as_deref();
        let path = match (named, env.get(VARIABLE).map(OsStr::as_bytes).map(<[u8]>::trim_ascii)) {
            (Some(named), _) => env.working.join(named),
            // OpenClaw takes blanks away, and `~` for the home folder.
            (None, Some(variable)) if !variable.is_empty() => {
                let path = Path::new(OsStr::from_bytes(variable));
                match path.strip_prefix("~") {
                    Ok(rest) => home?.join(rest),
                    Err(_) => env.working.join(path),
                }
            }
            (None, _) => home?.join(".openclaw"),
        };
        Some(Self(path))
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The state database, which holds the signal log.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.0.join("state/openclaw.sqlite")
    }

    /// The configuration file.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.0.join("openclaw.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_first_that_is_named() {
        let env = |variable: &str, home: bool| Environment {
            variables: [("OPENCLAW_STATE_DIR".into(), variable.into())].into(),
            home: home.then(|| "/home/me".into()),
            working: "/here".into(),
            uid: 1000,
            etc: "/nowhere".into(),
            run_user: "/nowhere".into(),
            temp: "/tmp".into(),
        };
        for (named, variable, home, expected) in [
            (Some("oc"), "/s", true, Some("/here/oc")),
            (Some("/oc"), "", false, Some("/oc")),
            (None, "/s", true, Some("/s")),
            (None, " /s ", true, Some("/s")),
            (None, "~/s", true, Some("/home/me/s")),
            (None, "~/s", false, None),
            (None, "s", true, Some("/here/s")),
            (None, "  ", true, Some("/home/me/.openclaw")),
            (None, "", true, Some("/home/me/.openclaw")),
            (None, "", false, None),
        ] {
            let found = OpenclawFolder::find(named.map(Path::new), &env(variable, home));
            let expected = expected.map(|path| OpenclawFolder(PathBuf::from(path)));
            assert_eq!(found, expected, "{named:?} {variable:?}");
        }
    }

    #[test]
    fn things_lie_where_openclaw_puts_them() {
        let folder = OpenclawFolder(PathBuf::from("/s"));
        assert_eq!(folder.database(), Path::new("/s/state/openclaw.sqlite"));
        assert_eq!(folder.config(), Path::new("/s/openclaw.json"));
    }
}
