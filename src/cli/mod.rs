//! The command line: one file a command, arguments in, text or JSON out.
//!
//! Answers: what a person or a script asks of the program. Always holds: commands decide nothing,
//! they ask the modules; machine forms are stable; what comes from files is escaped for the
//! terminal. Deliberately elsewhere: everything that is worth testing without a terminal.

mod adopt;
mod backfill;
mod classify;
mod completions;
mod config;
mod demo;
mod drift;
mod events;
mod follow;
mod forget;
mod links;
mod logging;
mod notices;
mod once;
mod output;
mod progress;
mod run;
mod sent;
mod sessions;
mod status;
mod table;
mod wait;
mod watch;
mod when;

use crate::config::{Choice as _, Environment, Loaded, Overrides, StoreChoice, load};
use crate::error::{Error, Result};
use crate::record::{GatewayStore, SignalLog, Store};
use crate::state::StateFolder;
use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use output::Output;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Notices when a person types into a Claude Code session that an agent is responsible for, records
/// it once, and tells the sessions that watch it.
#[derive(Debug, Parser)]
#[command(
    name = "upstreamd",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 failed, 2 usage or configuration, 4 refused to protect data, \
                  75 try again."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
struct Global {
    /// Configuration file, on top of /etc/upstreamd/config.toml and the user's own
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder for upstreamd's own files
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help = "OpenClaw's state folder [default: $OPENCLAW_STATE_DIR, else ~/.openclaw]"
    )]
    openclaw_dir: Option<PathBuf>,
    /// Which signal log: the gateway's, our own, or the gateway's if there is one
    #[arg(long, global = true, value_name = "STORE",
          value_parser = PossibleValuesParser::new(StoreChoice::words()))]
    store: Option<String>,
    /// Claude Code's folder (holds `projects/`); may be given several times
    #[arg(long, global = true, value_name = "DIR")]
    claude_dir: Vec<PathBuf>,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    /// Log more; twice for everything
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Log errors only
    #[arg(short, long, global = true)]
    quiet: bool,
    /// When to colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the whole thing on a made-up session in a temporary folder, in a few seconds
    Demo,
    /// Follow all adopted sessions, in the foreground, until SIGTERM or Ctrl-C (SIGHUP reads the
    /// configuration again, SIGUSR1 logs a status)
    Run(run::RunArgs),
    /// Run one cycle over all adopted sessions and report
    Once(once::OnceArgs),
    /// Say of each row of a transcript whether a person typed it
    Classify(classify::ClassifyArgs),
    /// List the Claude Code sessions on this machine, adopted or not
    Sessions,
    /// Adopt a session: follow it from now on
    Adopt(adopt::AdoptArgs),
    /// List the adopted sessions
    Links(links::LinksArgs),
    /// Stop following a session; its events stay
    Unlink(links::UnlinkArgs),
    /// Remove a session from the signal log: its events, its version, its link, its watches
    Forget(forget::ForgetArgs),
    /// Show totals, or one session's state version and changes
    Status(status::StatusArgs),
    /// Print the signal log, one event a line; with --follow as it grows
    Events(events::EventsArgs),
    /// Say which session watches which
    #[command(subcommand)]
    Watch(watch::WatchCommand),
    /// Show the notices that wait for a watcher
    Notices(notices::NoticesArgs),
    /// Take note of a text (standard input) that a program is about to send to a session
    Sent(sent::SentArgs),
    /// Check, show or print the configuration
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print a script that completes upstreamd's commands and options in a shell
    Completions(completions::CompletionsArgs),
}

/// What every command is given.
struct Context {
    out: Output,
    loaded: Loaded,
    state: StateFolder,
    runtime: PathBuf,
}

impl Context {
    /// The signal log for a command that reads; `None` where nothing was ever recorded.
    fn read_log(&self) -> Result<Option<SignalLog>> {
        self.store().open_read_only()
    }

    /// The signal log for a command that writes beside a running daemon.
    fn write_log(&self) -> Result<SignalLog> {
        self.state.create()?;
        self.store().open()
    }

    /// Which signal log.
    const fn store(&self) -> &Store {
        &self.loaded.store
    }

    /// Refuses what only the gateway does with its sessions; `instead` says how to have it done.
    fn require_alone(&self, command: &str, instead: &str) -> Result<()> {
        let Store::Gateway(store) = self.store() else { return Ok(()) };
        Err(Error::Failed(format!(
            "`upstreamd {command}` is not for the sessions of a gateway ({}): {instead}. \
             (--store embedded means upstreamd's own log.)",
            store.database.display()
        )))
    }

    /// Refuses what only the sessions of a gateway need; `why` says why ours do not.
    fn require_gateway(&self, command: &str, why: &str) -> Result<&GatewayStore> {
        match self.store() {
            Store::Gateway(store) => Ok(store),
            Store::Embedded(path) => Err(Error::Failed(format!(
                "`upstreamd {command}` is for the sessions of a gateway, and this is upstreamd's own \
                 log ({}): {why}. (--openclaw-dir names a gateway's state folder.)",
                path.display()
            ))),
        }
    }

    /// The transcripts.
    fn disk(&self) -> crate::disk::RealDisk {
        let dirs = self.loaded.settings.claude_dirs.clone();
        let mut disk = crate::disk::RealDisk::new(dirs, Arc::default());
        disk.refresh();
        disk
    }
}

/// Runs the program and gives its exit code.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; clap knows which stream is right.
            let code = if error.use_stderr() { 2 } else { 0 };
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    match run_command(cli) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output had enough of it.
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run_command(cli: Cli) -> Result<()> {
    let Cli { global, command } = cli;
    output::set_color(global.color);
    logging::init(global.verbose, global.quiet, matches!(command, Command::Run(_)), global.json)?;
    let env = Environment::from_process();
    let overrides = Overrides {
        config: global.config.clone(),
        state_dir: global.state_dir.clone(),
        openclaw_dir: global.openclaw_dir.clone(),
        claude_dirs: global.claude_dir.clone(),
        store: global.store.as_deref().and_then(StoreChoice::from_word),
    };
    let mut out = Output::new(global.json, global.quiet);
    // These need no configuration that holds.
    match &command {
        Command::Config(command) => {
            return out.text(&config::run(*command, global.json, &overrides, &env)?);
        }
        Command::Completions(args) => return out.text(&completions::script::<Cli>(args)?),
        Command::Demo => return demo::run(out),
        _ => {}
    }
    let loaded = load(&overrides, &env)?;
    let state = StateFolder::at(loaded.state_dir.clone());
    let context = Context { out, state, runtime: loaded.runtime_dir.clone(), loaded };
    match command {
        Command::Run(args) => run::run(&args, &context, &overrides, &env),
        Command::Once(args) => once::run(&args, context),
        Command::Classify(args) => classify::run(&args, context),
        Command::Sessions => sessions::list(context),
        Command::Adopt(args) => adopt::run(&args, context),
        Command::Links(args) => links::run(&args, context),
        Command::Unlink(args) => links::unlink(&args, context),
        Command::Forget(args) => forget::run(&args, context),
        Command::Status(args) => status::run(&args, context),
        Command::Events(args) => events::run(&args, context),
        Command::Watch(command) => watch::run(&command, context),
        Command::Notices(args) => notices::run(&args, context),
        Command::Sent(args) => sent::run(&args, context),
        Command::Demo | Command::Config(_) | Command::Completions(_) => Ok(()),
    }
}
