//! Where commands print.

use super::{Color, table::sanitise};
use crate::error::{Error, Result};
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::io::{Stdout, Write};

/// Standard output, for people or for programs.
pub(super) struct Output {
    pub(super) json: bool,
    /// Whether nothing but errors is to be told beside the output.
    pub(super) quiet: bool,
    stream: AutoStream<Stdout>,
}

impl Output {
    pub(super) fn new(json: bool, quiet: bool) -> Self {
        Self {
            json,
            quiet,
            stream: AutoStream::new(std::io::stdout(), AutoStream::choice(&std::io::stdout())),
        }
    }

    /// Prints one JSON value on a line.
    pub(super) fn json_line(&mut self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value)
            .map_err(|e| Error::Failed(format!("this has no JSON form: {e}")))?;
        self.line(&text)
    }

    /// Prints a line of text that is safe for a terminal.
    pub(super) fn line(&mut self, text: &str) -> Result<()> {
        Ok(writeln!(self.stream, "{text}")?)
    }

    /// Prints text that ends its own lines.
    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        Ok(self.stream.write_all(text.as_bytes())?)
    }

    /// Lets a reader see at once what was printed.
    pub(super) fn flush(&mut self) -> Result<()> {
        Ok(self.stream.flush()?)
    }
}

/// Sets whether anything is coloured.
pub(super) fn set_color(color: Color) {
    match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
}

/// Prints an error to a person.
pub(super) fn complain(error: &Error) {
    let red: Style = AnsiColor::Red.on_default().bold();
    let mut stream = anstream::stderr();
    // Nobody is left to tell if this fails.
    drop(writeln!(stream, "{red}error{red:#}: {}", sanitise(&error.to_string())));
}

/// Tells a person more about an error.
pub(super) fn note(text: &str) {
    drop(writeln!(anstream::stderr(), "  {}", sanitise(text)));
}
