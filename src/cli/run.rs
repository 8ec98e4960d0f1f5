//! `run`: the daemon in the foreground.

use super::Context;
use crate::classify::Settings as ClassifySettings;
use crate::config::{ActiveRun, Adopt, CatchUp, Environment, Loaded, Overrides, Settings, load};
use crate::cycle::Rules;
use crate::daemon::{self, Setup};
use crate::engine::Plan;
use crate::error::{Error, Result};
use crate::record::Retention;
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Wait for another upstreamd on the same state folder to end, instead of giving up
    #[arg(long)]
    standby: bool,
}

pub(super) fn run(
    args: &RunArgs,
    context: &Context,
    overrides: &Overrides,
    env: &Environment,
) -> Result<()> {
    let settings = &context.loaded.settings;
    check(&context.loaded)?;
    let plan = plan(context, &context.loaded, Mode::Daemon);
    daemon::run(plan, args.standby, setup(settings), &|| {
        let loaded = load(overrides, env)?;
        check(&loaded)?;
        if loaded.store != context.loaded.store {
            return Err(Error::Usage(format!(
                "the signal log is another one now ({}): to use it, start again",
                loaded.store.path().display()
            )));
        }
        Ok((setup(&loaded.settings), self::plan(context, &loaded, Mode::Daemon)))
    })
}

/// Refuses what a gateway would not know of: a session without an entry there.
fn check(loaded: &Loaded) -> Result<()> {
    if loaded.store.is_gateway() && loaded.settings.adopt == Adopt::Auto {
        return Err(Error::Usage(
            "`adopt` cannot be \"auto\" beside a gateway, which adopts its sessions itself: set it \
             to \"off\", or use a log of our own with store = \"embedded\""
                .to_owned(),
        ));
    }
    Ok(())
}

/// Who runs cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The daemon: sights of a missing file count at most once per half cycle.
    Daemon,
    /// `once`: each call counts one.
    Once,
}

/// What an engine is made from, by the configuration.
pub(super) fn plan(context: &Context, loaded: &Loaded, mode: Mode) -> Plan {
    let settings = &loaded.settings;
    Plan {
        state: context.state.clone(),
        store: context.loaded.store.clone(),
        access: loaded.access.clone(),
        runtime: context.runtime.clone(),
        claude_dirs: settings.claude_dirs.clone(),
        rules: rules(settings, mode),
        retention: retention(settings),
    }
}

fn rules(settings: &Settings, mode: Mode) -> Rules {
    let half_cycle = i64::try_from(settings.cycle.as_millis() / 2).unwrap_or(i64::MAX);
    Rules {
        scan_window: settings.scan_window,
        at_once: settings.catch_up == CatchUp::AtOnce,
        misses: settings.misses,
        miss_interval_ms: if mode == Mode::Daemon { half_cycle } else { 0 },
        echo: settings.echo,
        own_texts: settings.own_texts,
        classify: classify_settings(settings),
        unwatched: settings.record_unwatched,
        holds_all: settings.active_run == ActiveRun::Hold,
        explain: false,
    }
}

/// What counts as a turn.
pub(super) const fn classify_settings(settings: &Settings) -> ClassifySettings {
    ClassifySettings { commands: settings.count_commands, answers: settings.count_answers }
}

fn retention(settings: &Settings) -> Retention {
    let events_ms = i64::try_from(settings.retention.as_millis()).unwrap_or(i64::MAX);
    Retention { events_ms, events: settings.retention_events, ..Retention::default() }
}

const fn setup(settings: &Settings) -> Setup {
    Setup {
        first_cycle: settings.first_cycle,
        cycle: settings.cycle,
        watch: settings.watch,
        adopt: settings.adopt,
        source_deadline: settings.source_deadline,
    }
}
