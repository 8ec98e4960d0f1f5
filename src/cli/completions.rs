//! `completions`: what a shell needs to complete commands and options.

use crate::error::{Error, Result};
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

#[derive(Debug, Args)]
#[command(after_help = "For example, for bash:\n  \
                  upstreamd completions bash > ~/.local/share/bash-completion/completions/upstreamd")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// The script for a shell.
pub(super) fn script<C: CommandFactory>(args: &CompletionsArgs) -> Result<String> {
    let mut script = Vec::new();
    generate(args.shell, &mut C::command(), "upstreamd", &mut script);
    String::from_utf8(script).map_err(|_| Error::Failed("the script is no UTF-8".to_owned()))
}
