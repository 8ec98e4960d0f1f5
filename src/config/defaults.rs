//! The built-in defaults, each with its reason.
//!
//! Always holds: `config/upstreamd.toml` says the same (tested). Defaults that carry on what the
//! gateway's monitor does say so.

use super::{ActiveRun, Adopt, CatchUp, Settings, StoreChoice, Watch};
use crate::classify::CountCommands;
use crate::echo::Mode as EchoMode;
use std::path::PathBuf;
use std::time::Duration;

/// Whoever has a gateway wants its sessions to know; who has none is not asked for one.
const STORE: StoreChoice = StoreChoice::Auto;

/// The gateway's cadence, so that counts of missing sources mean the same time.
const CYCLE: Duration = Duration::from_secs(60);

/// The gateway's: late enough for its start to be over.
const FIRST_CYCLE: Duration = Duration::from_secs(15);

/// Events are there within a millisecond and cost nothing while nothing happens.
const WATCH: Watch = Watch::Auto;

/// A disk that spins up answers sooner, and nobody wants to wait longer for a dead one.
const SOURCE_DEADLINE: Duration = Duration::from_secs(10);

/// Alone, a session that nobody adopts is a session whose person is not heard.
const ADOPT: Adopt = Adopt::Auto;

/// Beside a gateway, which sessions it has is for its people to say.
const ADOPT_BESIDE: Adopt = Adopt::Off;

/// The gateway's window; big enough that nearly every source is caught up with in one pass.
const SCAN_WINDOW: u64 = 1 << 20;

/// A window bounds memory and unfairness; nothing is gained by waiting a cycle for the next.
const CATCH_UP: CatchUp = CatchUp::AtOnce;

/// The gateway's: an editor that replaces a file makes it vanish for one look, not for three.
const MISSES: u32 = 3;

/// Comparing texts alone takes the second "continue" of a person for an echo.
const ECHO: EchoMode = EchoMode::Provenance;

/// A row that says who wrote it need not wait for the end of a turn that may take an hour.
const ACTIVE_RUN: ActiveRun = ActiveRun::Evidence;

/// The gateway's number.
const OWN_TEXTS: usize = 10;

/// A command that starts a turn changes what the agent does; `/cost` does not.
const COUNT_COMMANDS: CountCommands = CountCommands::Turns;

/// The agent asked and gets its answer within its own turn: nothing that it relied on changed.
const COUNT_ANSWERS: bool = false;

/// The gateway's retention.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The gateway's.
const RETENTION_EVENTS: u64 = 50_000;

/// Alone there is no other record of what happened, and a watcher may come later.
const RECORD_UNWATCHED: bool = true;

/// The gateway's: what nobody watches is not looked at.
const RECORD_UNWATCHED_BESIDE: bool = false;

/// The defaults, with the roots that were found.
pub(super) const fn settings(claude_dirs: Vec<PathBuf>) -> Settings {
    Settings {
        store: STORE,
        accept_schema: None,
        gateway_url: None,
        gateway_token_file: None,
        claude_dirs,
        cycle: CYCLE,
        first_cycle: FIRST_CYCLE,
        watch: WATCH,
        source_deadline: SOURCE_DEADLINE,
        adopt: ADOPT,
        scan_window: SCAN_WINDOW,
        catch_up: CATCH_UP,
        misses: MISSES,
        echo: ECHO,
        active_run: ACTIVE_RUN,
        own_texts: OWN_TEXTS,
        count_commands: COUNT_COMMANDS,
        count_answers: COUNT_ANSWERS,
        retention: RETENTION,
        retention_events: RETENTION_EVENTS,
        record_unwatched: RECORD_UNWATCHED,
    }
}

/// What is different beside a gateway, of the keys that nobody set.
pub(super) fn beside_gateway(settings: &mut Settings, is_set: impl Fn(&str) -> bool) {
    if !is_set("adopt") {
        settings.adopt = ADOPT_BESIDE;
    }
    if !is_set("record_unwatched") {
        settings.record_unwatched = RECORD_UNWATCHED_BESIDE;
    }
}
