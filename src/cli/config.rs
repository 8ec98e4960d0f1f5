//! placeholder
use crate::config::{Environment, Overrides};
use crate::error::Result;
#[derive(Debug, clap::Subcommand)]
pub(super) enum ConfigCommand { /// x
 Check }
pub(super) fn run(_: &ConfigCommand, _: super::output::Output, _: &Overrides, _: &Environment) -> Result<()> { Ok(()) }
