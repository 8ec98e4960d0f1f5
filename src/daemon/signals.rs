//! Signals as messages.

use crate::error::Result;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::mpsc;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM, SIGINT: end.
    Stop,
    /// SIGHUP: read the configuration again.
    Reload,
    /// SIGUSR1: log a status.
    Status,
}

/// Listens from now on. A second SIGTERM or SIGINT ends the program at once.
pub(super) fn listen() -> Result<mpsc::Receiver<Signal>> {
    let stopping = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        // In this order: the first signal finds the flag unset, the second one set.
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stopping))?;
        signal_hook::flag::register(signal, Arc::clone(&stopping))?;
    }
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1])?;
    let (send, receive) = mpsc::channel(8);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let meaning = match signal {
                SIGHUP => Signal::Reload,
                SIGUSR1 => Signal::Status,
                _ => Signal::Stop,
            };
            if send.blocking_send(meaning).is_err() {
                return;
            }
        }
    })?;
    Ok(receive)
}
