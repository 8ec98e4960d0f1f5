//! The state folder: where our own files lie, and that nobody else reads them.

use crate::error::{Error, Result};
use crate::ids::{HashKey, fill_random};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The state folder; 0700, its files 0600.
#[derive(Debug, Clone)]
pub struct StateFolder(PathBuf);

impl StateFolder {
    /// Takes a folder, which need not exist.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Makes the folder where it is missing, and sees that it is private. A link to a folder is
    /// followed: people put state on another disk, systemd does so too.
    pub fn create(&self) -> Result<()> {
        create(&self.0)?;
        require_private(&self.0, &fs_err::metadata(&self.0)?)
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Our own database.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.0.join("upstreamd.sqlite")
    }

    /// The signal log, where no gateway has one.
    #[must_use]
    pub fn signal_log(&self) -> PathBuf {
        self.0.join("signal.sqlite")
    }

    /// The lock of whoever runs cycles.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.0.join("upstreamd.lock")
    }

    /// The key of all hashes, made at first use.
    pub fn hash_key(&self) -> Result<HashKey> {
        let path = self.0.join("hash.key");
        match fs_err::read(&path) {
            Ok(bytes) => <[u8; 32]>::try_from(bytes).map(HashKey::new).map_err(|_| {
                Error::Refused(format!(
                    "{} is no hash key (32 bytes): put back the one that was there",
                    path.display()
                ))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.journal().exists() => {
                Err(Error::Refused(format!(
                    "{} is missing, and {} was written with it: put it back, or remove the journal \
                     too to start anew from the links' markers",
                    path.display(),
                    self.journal().display()
                )))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create()?;
                let mut bytes = [0; 32];
                fill_random(&mut bytes)?;
                // Written aside and linked, so that two programs at once end up with one key.
                let aside = self.0.join(format!("hash.key.{}", std::process::id()));
                let mut file = fs_err::OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .mode(0o600)
                    .open(&aside)?;
                file.write_all(&bytes)?;
                file.sync_all()?;
                let linked = fs_err::hard_link(&aside, &path);
                fs_err::remove_file(&aside)?;
                match linked {
                    Ok(()) => Ok(HashKey::new(bytes)),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.hash_key(),
                    Err(error) => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The key where there is one, else one that is used once: for runs that must not write.
    pub fn hash_key_unsaved(&self) -> Result<HashKey> {
        if self.0.join("hash.key").exists() {
            return self.hash_key();
        }
        let mut bytes = [0; 32];
        fill_random(&mut bytes)?;
        Ok(HashKey::new(bytes))
    }
}

/// Makes the runtime folder likewise, but follows no link: among the temporary files anybody may
/// have put one there.
pub fn create_runtime(path: &Path) -> Result<()> {
    create(path)?;
    require_private(path, &fs_err::symlink_metadata(path)?)
}

/// Creates the folder, also what is missing above it, without rights for anybody else.
fn create(path: &Path) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
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

/// Makes an empty file that only we can read; an existing file is left as it is.
pub fn create_private(path: &Path) -> Result<()> {
    match fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn create_state(path: &Path) -> Result<()> {
        StateFolder::at(path.to_owned()).create()
    }

    fn mode(path: &Path) -> u32 {
        fs_err::metadata(path).unwrap().permissions().mode() & 0o777
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
