//! Logs: to standard error, for people or as JSON, each line with its time.

use crate::error::{Error, Result};
use std::io::IsTerminal as _;
use tracing::level_filters::LevelFilter;

/// Begins to log.
pub(super) fn init(verbose: u8, quiet: bool, daemon: bool, json: bool) -> Result<()> {
    // The daemon's life is worth a line each; of other commands only trouble is.
    let level = match verbose.saturating_add(u8::from(daemon)) {
        _ if quiet => LevelFilter::ERROR,
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
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
