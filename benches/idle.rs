//! What many sessions cost while nothing happens.

use crate::daemon::{Daemon, Tail};
use crate::gateway::Gateway;
use crate::home::{Home, session_files};
use crate::process::{cpu, memory, own_cpu, sleeps};
use crate::size::Size;
use crate::table::{Rounds, Row, Target, Unit, number};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

/// What a look at each file costs, on the clock and on the core.
fn statx(files: &[PathBuf]) -> (Duration, Duration) {
    let (began, core) = (Instant::now(), own_cpu());
    for file in files {
        std::fs::metadata(file).unwrap();
    }
    (began.elapsed(), own_cpu().checked_sub(core).unwrap())
}

/// From the start of the process to the first complete pass.
pub(crate) fn start(home: &Home, size: &Size) -> [Row; 1] {
    // What adoption left to do is done once.
    let daemon = Daemon::start(home, &[]);
    daemon.wait_for("READY=1");
    daemon.stop();
    let mut rounds = Rounds::default();
    for _ in 0..size.rounds {
        let began = Instant::now();
        let daemon = Daemon::start(home, &[]);
        daemon.wait_for("READY=1");
        let ready = began.elapsed();
        daemon.stop();
        let began = Instant::now();
        statx(&session_files(home));
        rounds.add_times(ready, began.elapsed());
    }
    [rounds.row(
        "start → READY, all sessions at rest",
        Unit::Seconds,
        "listing and statx of the files",
        Target::OursAtMost(1.0, Unit::Seconds),
    )]
}

/// Counted cycles without anything new.
pub(crate) fn cycles(home: &Home, size: &Size, gateway: Option<&Gateway>) -> [Row; 3] {
    let files = session_files(home);
    let every = [("UPSTREAMD_CYCLE", "200ms"), ("UPSTREAMD_FIRST_CYCLE", "100ms")];
    let daemon = Daemon::start(home, &every);
    daemon.wait_for("READY=1");
    daemon.wait_for("STATUS=");
    let (mut core, mut clock) = (Rounds::default(), Rounds::default());
    let mut beside_gateway = Rounds::default();
    for _ in 0..size.rounds {
        let (mut statx_clock, mut statx_core) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..size.cycles {
            let (clock, core) = statx(&files);
            statx_clock += clock / size.cycles;
            statx_core += core / size.cycles;
        }
        let checked = gateway.map(|gateway| gateway.idle(home));
        daemon.forget_messages();
        daemon.wait_for("STATUS=");
        let (before, mut took) = (cpu(&daemon.process), Vec::new());
        for _ in 0..size.cycles {
            took.push(milliseconds(&daemon.wait_for("STATUS=")));
        }
        let cycle = cpu(&daemon.process).checked_sub(before).unwrap() / size.cycles;
        core.add_times(cycle, statx_core);
        clock.add_times(took.iter().sum::<Duration>() / size.cycles, statx_clock);
        if let Some(checked) = checked {
            beside_gateway.add_times(cycle, checked);
        }
    }
    daemon.stop();
    let (beside, name) = ("statx of the files", "  the same beside the gateway");
    [
        clock.row("an idle cycle, on the clock", Unit::Seconds, beside, Target::None),
        core.row("an idle cycle, time on a core", Unit::Seconds, beside, Target::None),
        if gateway.is_some() {
            let target = Target::RatioAtMost(0.01);
            beside_gateway.row(name, Unit::Seconds, "its check of the files", target)
        } else {
            let target = "not asked for (≤ 0.010 x)";
            Row::without_ratio(name, "-", "its check of the files", target, None)
        },
    ]
}

/// How long the last pass took, in the words of `STATUS`.
fn milliseconds(status: &str) -> Duration {
    let number = status.split(" events in ").nth(1).unwrap().split(' ').next().unwrap();
    Duration::from_millis(number.parse().unwrap())
}

/// Between cycles: memory, and whether anything wakes.
pub(crate) fn quiet(home: &Home, size: &Size) -> [Row; 3] {
    let daemon = Daemon::start(home, &[]);
    daemon.wait_for("READY=1");
    let tail = Tail::start(home.path(), &session_files(home));
    // Both are to be at rest.
    let (mut last, mut at_rest) = (Duration::ZERO, false);
    while !at_rest {
        std::thread::sleep(Duration::from_millis(300));
        let now = cpu(&daemon.process) + cpu(&tail.process);
        at_rest = now == last;
        last = now;
    }
    let (ours, theirs) = (sleeps(&daemon.process), sleeps(&tail.process));
    let (our_core, their_core) = (cpu(&daemon.process), cpu(&tail.process));
    std::thread::sleep(size.quiet);
    let part = |process: &Child, before: Duration| {
        let core = cpu(process).checked_sub(before).unwrap();
        100.0 * core.as_secs_f64() / size.quiet.as_secs_f64()
    };
    let (mut part_of_core, mut rss) = (Rounds::default(), Rounds::default());
    part_of_core.add(part(&daemon.process, our_core), part(&tail.process, their_core));
    rss.add(number(memory(&daemon.process)), number(memory(&tail.process)));
    let (ours_after, theirs_after) = (sleeps(&daemon.process), sleeps(&tail.process));
    let woken =
        format!("{} (all threads {})", ours_after.worker - ours.worker, ours_after.all - ours.all);
    let beside = format!("{}  tail -F on the files", theirs_after.all - theirs.all);
    daemon.stop();
    let is_met = ours_after.worker == ours.worker;
    [
        Row::without_ratio(
            &format!("wake-ups of the worker in {} s of quiet", size.quiet.as_secs_f32()),
            &woken,
            &beside,
            "0",
            Some(is_met),
        ),
        part_of_core.row(
            "between cycles, part of a core",
            Unit::Percent,
            "tail -F on the files",
            Target::OursAtMost(0.05, Unit::Percent),
        ),
        rss.row(
            "memory, idle",
            Unit::Bytes,
            "tail -F on the files",
            Target::OursAtMost(20e6, Unit::Bytes),
        ),
    ]
}
