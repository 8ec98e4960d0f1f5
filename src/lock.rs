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
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The right to run cycles; ends when it is dropped.
#[derive(Debug)]
pub struct Lock {
    _of_state: fs_err::File,
    of_log: Mutex<OfLog>,
    runtime: PathBuf,
}

/// The right to a signal log.
#[derive(Debug)]
struct OfLog {
    /// The log's device and number.
    number: (u64, u64),
    _file: fs_err::File,
}

impl Lock {
    /// Takes both locks. The signal log is known by its device and number, since two state folders
    /// may name one file; `runtime` is the folder for its lock.
    pub fn take(state: &StateFolder, signal_log: &Path, runtime: &Path) -> Result<Self> {
        let of_state =
            lock(&state.lock(), &format!("the state folder {}", state.path().display()))?;
        create_runtime(runtime)?;
        let of_log = Mutex::new(OfLog::take(signal_log, runtime)?);
        Ok(Self { _of_state: of_state, of_log, runtime: runtime.to_owned() })
    }

    /// Takes the lock of the file that is the signal log now, where that is another one than it was.
    pub fn follow(&self, signal_log: &Path) -> Result<()> {
        let mut of_log = self.of_log.lock().unwrap_or_else(PoisonError::into_inner);
        if number(signal_log)? != of_log.number {
            *of_log = OfLog::take(signal_log, &self.runtime)?;
        }
        Ok(())
    }
}

impl OfLog {
    fn take(signal_log: &Path, runtime: &Path) -> Result<Self> {
        let number = number(signal_log)?;
        let name = format!("signal-{}-{}.lock", number.0, number.1);
        let what = format!("the signal log {}", signal_log.display());
        Ok(Self { number, _file: lock(&runtime.join(name), &what)? })
    }
}

/// A file's device and number there. Asking opens nothing: of a database, that could end locks.
pub fn number(path: &Path) -> Result<(u64, u64)> {
    let meta = fs_err::metadata(path)?;
    Ok((meta.dev(), meta.ino()))
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
