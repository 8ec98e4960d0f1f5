//! The state folder: where our own files lie, and that nobody else reads them.

use crate::error::{Error, Result};
use crate::ids::{HashKey, fill_random};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
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

    /// Makes the folder where it is missing, and closes it to others.
    pub fn create(&self) -> Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(|e| {
            Error::Failed(format!(
                "cannot make the state folder {}: {e}; name another with --state-dir",
                self.0.display()
            ))
        })?;
        let mode = fs_err::metadata(&self.0)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs_err::set_permissions(&self.0, std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
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

/// Makes an empty file that only we can read, in a folder that only we can enter; an existing file
/// is left as it is.
pub fn create_private(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        StateFolder::at(folder.to_owned()).create()?;
    }
    match fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.into()),
    }
}
