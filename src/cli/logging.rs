//! Logs: to standard error, for people or as JSON; the service manager adds the time by itself.

use crate::error::{Error, Result};
use std::io::IsTerminal as _;
use tracing::level_filters::LevelFilter;

/// Begins to log. Only the daemon speaks of its life; other commands speak of trouble.
pub(super) fn init(verbose: u8, quiet: bool, daemon: bool, json: bool) -> Result<()> {
    let level = match (quiet, verbose, daemon) {
        (true, ..) => LevelFilter::ERROR,
        (false, 0, true) => LevelFilter::INFO,
        (false, 0, false) => LevelFilter::WARN,
        (false, 1, true) => LevelFilter::DEBUG,
        (false, 1, false) => LevelFilter::INFO,
        (false, 2, false) => LevelFilter::DEBUG,
        (false, ..) => LevelFilter::TRACE,
    };
    let ansi = match anstream::ColorChoice::global() {
        anstream::ColorChoice::Auto => std::io::stderr().is_terminal(),
        choice => choice != anstream::ColorChoice::Never,
    };
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(ansi);
    let begun = if json && daemon { log.json().try_init() } else { log.try_init() };
    begun.map_err(|e| Error::Failed(format!("logging cannot begin: {e}")))
}
