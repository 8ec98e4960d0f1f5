//! Where our own folders are, and that they are only ours.
//!
//! Answers: the state folder (journal, embedded store, key) and the runtime folder (locks). Always
//! holds: both are 0700 and belong to the user before anything is put there; all processes of a
//! user find the same runtime folder, else two daemons on one database would not see each other's
//! lock. Deliberately elsewhere: what lies in them.

use super::{Environment, Overrides};
use crate::error::{Error, Result};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
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
    given
        .or_else(|| {
            env.xdg("XDG_STATE_HOME", ".local/state")
                .map(|at| at.join(NAME))
        })
        .ok_or_else(|| {
            Error::Usage("there is no home folder to keep state in; give --state-dir".to_owned())
        })
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
        .map_or_else(
            || env.temp.join(format!("{NAME}-{}", env.uid)),
            |at| at.join(NAME),
        )
}

/// Makes the state folder where it is missing, and sees that it is private. A link to a folder is
/// followed: people put state on another disk, systemd does so too.
pub fn create_state(path: &Path) -> Result<()> {
    create(path)?;
    require_private(path, &fs_err::metadata(path)?)
}

/// Makes the runtime folder likewise, but follows no link: among the temporary files anybody may
/// have put one there.
pub fn create_runtime(path: &Path) -> Result<()> {
    create(path)?;
    require_private(path, &fs_err::symlink_metadata(path)?)
}

/// Creates the folder, also what is missing above it, without rights for anybody else.
fn create(path: &Path) -> Result<()> {
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.map_err(|error| {
        let text = format!("failed to create folder `{}`: {error}", path.display());
        io::Error::new(error.kind(), text).into()
    })
}

/// Refuses a folder that is not ours alone. Rights are taken away from an empty one only: another
/// may be a folder that many use, given by mistake.
fn require_private(path: &Path, found: &std::fs::Metadata) -> Result<()> {
    let refuse = |why: &str| Err(Error::Refused(format!("{}: {why}", path.display())));
    if !found.is_dir() {
        return refuse("something else is in the place of our folder; remove it");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refuse("the folder belongs to another user; give another one");
    }
    if found.permissions().mode() & 0o077 != 0 {
        if fs_err::read_dir(path)?.next().is_some() {
            return refuse("others can look into the folder; if it is ours alone, chmod 700 it");
        }
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::os::unix::fs::symlink;

    fn env(root: &Path, variables: &[(&str, &str)]) -> Environment {
        let pairs = variables
            .iter()
            .map(|(k, v)| (OsString::from(k), OsString::from(v)));
        Environment {
            variables: pairs.collect(),
            home: Some(PathBuf::from("/home/me")),
            working: PathBuf::from("/work"),
            uid: rustix::process::geteuid().as_raw(),
            etc: root.join("etc"),
            run_user: root.join("run"),
            temp: root.join("tmp"),
        }
    }

    fn mode(path: &Path) -> u32 {
        fs_err::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_state_folder_is_the_first_that_is_named() {
        let (systemd, xdg) = (
            ("STATE_DIRECTORY", "/s/one:/s/two"),
            ("XDG_STATE_HOME", "/x"),
        );
        for (flag, variables, expected) in [
            (Some("here"), &[systemd, xdg][..], "/work/here"),
            (None, &[systemd, xdg], "/s/one"),
            (None, &[("STATE_DIRECTORY", ""), xdg], "/x/upstreamd"),
            (
                None,
                &[("XDG_STATE_HOME", "relative")],
                "/home/me/.local/state/upstreamd",
            ),
            (None, &[], "/home/me/.local/state/upstreamd"),
        ] {
            let overrides = Overrides {
                state_dir: flag.map(PathBuf::from),
                ..Overrides::default()
            };
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
        let other_user = Environment {
            uid: bare.uid + 1,
            ..bare
        };
        fs_err::create_dir_all(root.path().join("run").join(other_user.uid.to_string())).unwrap();
        assert!(
            runtime(&other_user).starts_with(root.path().join("tmp")),
            "not that user's"
        );
    }

    #[test]
    fn folders_are_made_private() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/c");
        create_state(&deep).unwrap();
        create_state(&deep).unwrap();
        assert_eq!((mode(&deep), mode(deep.parent().unwrap())), (0o700, 0o700));

        let open = root.path().join("open");
        fs_err::create_dir(&open).unwrap();
        fs_err::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        create_runtime(&open).unwrap();
        assert_eq!(mode(&open), 0o700, "an empty folder is closed");
    }

    #[test]
    fn a_folder_that_others_use_is_refused_and_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let open = root.path().join("open");
        fs_err::create_dir_all(open.join("something")).unwrap();
        fs_err::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(create_state(&open).unwrap_err().exit_code(), 4);
        assert_eq!(mode(&open), 0o755);
    }

    #[test]
    fn a_link_is_followed_to_state_but_not_to_locks() {
        let root = tempfile::tempdir().unwrap();
        let (disk, link) = (root.path().join("disk"), root.path().join("link"));
        create_state(&disk).unwrap();
        symlink(&disk, &link).unwrap();
        create_state(&link).unwrap();
        assert_eq!(create_runtime(&link).unwrap_err().exit_code(), 4);
        let file = root.path().join("file");
        fs_err::write(&file, "").unwrap();
        assert!(create_state(&file).is_err());
    }
}
