//! Who runs cycles: one for each state folder, and one for each signal log.
//!
//! The locks are advisory and end with their process. A lock file holds its owner's process id and
//! version, for whoever finds it taken.

use crate::error::{Error, Result};
use crate::state::{StateFolder, create_private, create_runtime};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::io::Errno;
use std::fs::TryLockError;
use std::io::ErrorKind;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The right to run cycles; ends when it is dropped.
#[derive(Debug)]
pub struct Lock {
    _files: Vec<fs_err::File>,
}

impl Lock {
    /// Takes both locks. The signal log is known by its device and number, since two state folders
    /// may name one file; `runtime` is the folder for its lock.
    pub fn take(state: &StateFolder, signal_log: &Path, runtime: &Path) -> Result<Self> {
        let of_state =
            lock(&state.lock(), &format!("the state folder {}", state.path().display()))?;
        let meta = fs_err::metadata(signal_log)?;
        create_runtime(runtime)?;
        let name = format!("signal-{}-{}.lock", meta.dev(), meta.ino());
        let of_log =
            lock(&runtime.join(name), &format!("the signal log {}", signal_log.display()))?;
        Ok(Self { _files: vec![of_state, of_log] })
    }
}

/// Who runs cycles on a state folder now, in words; `None` where nobody does.
pub fn holder(state: &StateFolder) -> Result<Option<String>> {
    let mut file = match fs_err::File::open(state.lock()) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let owner = owner(&mut file);
    // To ask takes the lock for a moment, which could turn a starting daemon away; so the dead are
    // told by their number.
    let number = owner.rsplit(' ').next().and_then(|word| word.parse().ok());
    let process = number.and_then(rustix::process::Pid::from_raw);
    let lives = process
        .is_some_and(|process| rustix::process::test_kill_process(process) != Err(Errno::SRCH));
    if !lives {
        return Ok(None);
    }
    match file.file().try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(owner)),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// What a lock file says of its owner.
fn owner(file: &mut fs_err::File) -> String {
    let mut owner = String::new();
    // Bounded: the file is ours, but anybody's mistake could have filled it.
    match file.take(200).read_to_string(&mut owner) {
        Ok(_) if !owner.trim().is_empty() => owner.trim().to_owned(),
        _ => "another upstreamd".to_owned(),
    }
}

fn lock(path: &Path, what: &str) -> Result<fs_err::File> {
    create_private(path)?;
    let mut file = fs_err::OpenOptions::new().read(true).write(true).mode(0o600).open(path)?;
    match file.file().try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let owner = owner(&mut file);
            return Err(Error::Busy(format!(
                "{owner} already works on {what}: stop it first; `run --standby` waits for it",
            )));
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "upstreamd {} with process id {}", env!("CARGO_PKG_VERSION"), std::process::id())?;
    Ok(file)
}
