//! `events --follow`: the signal log as a stream, as it grows.
//!
//! Always holds: it only reads, and makes no file; between two looks no transaction is open. The log
//! may be missing, stand still, be replaced or be restored at any time: the stream goes on with what
//! is there then.

use super::Context;
use super::events::{EventsArgs, Stream, session};
use super::links::{is_known, resolve};
use super::wait::Stop;
use crate::error::{Error, Result};
use crate::ids::Sequence;
use crate::record::{SignalLog, Store};
use crate::sqlite::is_open_somewhere;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;
use tracing::warn;

/// From one look to the next.
const EVERY: Duration = Duration::from_millis(100);

/// Prints what there is and then what comes, until a signal or until nobody reads any more.
pub(super) fn run(args: &EventsArgs, mut context: Context) -> Result<()> {
    let stop = Stop::listen()?;
    let mut file = LogFile::new(context.store().clone());
    let mut reader = Reader::default();
    loop {
        match reader.look(args, &mut file, &mut context) {
            // Somebody holds the log for long: there is always another look.
            Err(Error::Busy(_)) => file.read = None,
            done => done?,
        }
        if stop.pause_while_read(EVERY)? {
            return Ok(());
        }
    }
}

/// Who reads, and how far.
#[derive(Default)]
struct Reader {
    stream: Option<Stream>,
    newest: Sequence,
    /// Whether it was said that the session is waited for.
    waits: bool,
}

impl Reader {
    /// Prints what is new.
    fn look(&mut self, args: &EventsArgs, file: &mut LogFile, context: &mut Context) -> Result<()> {
        let Some(log) = file.if_changed()? else { return Ok(()) };
        if self.stream.is_none()
            && let Some(wanted) = &args.session
            && !is_known(log, &resolve(log, wanted)?)?
        {
            if !std::mem::replace(&mut self.waits, true) {
                warn!("Nothing is known of the session yet; waiting for it.");
            }
            return Ok(());
        }
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(Stream::new(args, session(args, log)?)),
        };
        // First the number, then the events: none comes between them that is passed over.
        let now = log.last_sequence_ever()?;
        if now < self.newest {
            warn!(was = self.newest.0, is = now.0, "The signal log is older than it was.");
            stream.go_back_to(now);
        }
        stream.print(log, &mut context.out)?;
        stream.go_on_after(now);
        self.newest = now;
        context.out.flush()
    }
}

/// The log's file, opened again whenever that shows more.
struct LogFile {
    store: Store,
    log: Option<SignalLog>,
    /// What the file was like when it was opened.
    seen: Option<Stat>,
    /// The version of its content that was read last.
    read: Option<i64>,
}

/// What tells that another file is there, or that somebody has it open now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    device: u64,
    number: u64,
    size: u64,
    changed: (i64, i64),
    open_somewhere: bool,
}

impl LogFile {
    const fn new(store: Store) -> Self {
        Self { store, log: None, seen: None, read: None }
    }

    /// The log, where there may be something new in it.
    fn if_changed(&mut self) -> Result<Option<&SignalLog>> {
        let stat = stat(self.store.path())?;
        if !stat.is_some_and(|stat| self.is_still(stat)) {
            (self.log, self.seen, self.read) = (None, stat, None);
        }
        if self.log.is_none() && stat.is_some() {
            self.log = self.store.open_read_only()?;
        }
        let Some(log) = &self.log else { return Ok(None) };
        let version = Some(log.data_version()?);
        if self.read == version {
            return Ok(None);
        }
        self.read = version;
        Ok(Some(log))
    }

    /// Whether what was opened is what is there. Where the log stood still its connection shows no
    /// change, so that the file must not have changed in any way.
    fn is_still(&self, stat: Stat) -> bool {
        let frozen = self.log.as_ref().is_some_and(SignalLog::is_frozen);
        self.seen.is_some_and(|seen| {
            seen == stat || !frozen && (seen.device, seen.number) == (stat.device, stat.number)
        })
    }
}

fn stat(path: &Path) -> Result<Option<Stat>> {
    // Asked first: who opens it in between is found at the next look.
    let open_somewhere = is_open_somewhere(path)?;
    match fs_err::metadata(path) {
        Ok(found) => Ok(Some(Stat {
            device: found.dev(),
            number: found.ino(),
            size: found.size(),
            changed: (found.ctime(), found.ctime_nsec()),
            open_somewhere,
        })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
