//! What the program costs, beside something plain that does a part of it: `cargo bench` prints one
//! table.
//!
//! Both sides of a line are measured in the same rounds; its ratio is the median of the rounds'
//! ratios, which means the same on a fast machine and on a busy one. `UPSTREAMD_BENCH_QUICK=1` only
//! sees that everything runs. `UPSTREAMD_BENCH_GATEWAY=<folder of an installed openclaw>` adds the
//! gateway's own check, by the `node` on the path.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement that cannot go on ends; it is outside the program, with real files, time and output"
)]

mod commit;
mod daemon;
mod data;
mod gateway;
mod giant;
mod home;
mod idle;
mod latency;
mod process;
mod scan;
mod size;
mod table;

use gateway::Gateway;
use home::Home;
use size::Size;
use std::fs;
use std::time::Instant;
use table::Row;

/// The cores, the processor and the kernel.
fn machine() -> String {
    let cores = std::thread::available_parallelism().unwrap();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processor.lines().find_map(|line| line.strip_prefix("model name"));
    let processor = processor.map_or("unknown", |name| name.trim_start_matches(['\t', ' ', ':']));
    format!("{cores} cores of {processor}, Linux {}", kernel.trim())
}

fn main() {
    // Cargo says `--bench` where figures are wanted, and nothing where a test wants to see it run.
    let is_quick = std::env::var_os("UPSTREAMD_BENCH_QUICK").is_some_and(|quick| quick != "0")
        || !std::env::args().any(|argument| argument == "--bench");
    let size = if is_quick { Size::QUICK } else { Size::FULL };
    let gateway = Gateway::from_environment();
    let started = Instant::now();
    let say = |what: &str| eprintln!("{:4} s  {what}", started.elapsed().as_secs());

    let mut rows: Vec<Row> = Vec::new();
    say("adopting the sessions");
    let home = Home::with_sessions(size.sessions, size.folders);
    home.run(&["adopt", "--all"]);
    say("start");
    rows.extend(idle::start(&home, &size));
    say("appends");
    rows.extend(latency::measure(&home, &size));
    say("idle cycles");
    rows.extend(idle::cycles(&home, &size, gateway.as_ref()));
    say("quiet");
    rows.extend(idle::quiet(&home, &size));
    say("removing the sessions");
    drop(home);
    say("commits");
    rows.extend(commit::measure(&size));
    say("a transcript");
    rows.extend(scan::measure(&size, gateway.as_ref()));
    say("giant rows");
    rows.extend(giant::measure(&size));
    say("done");

    println!("{}", machine());
    println!(
        "{} sessions in {} folders. Rounds: {}, both sides in each; a figure is their median.",
        size.sessions, size.folders, size.rounds
    );
    if is_quick {
        println!("Small: it shows that everything runs, and is no measure of anything.");
    }
    if cfg!(debug_assertions) {
        println!("Not optimised: use `cargo bench` for figures.");
    }
    println!("Times, memory: less is better. Bytes per second: more is better.\n");
    print!("{}", table::render(&rows, !is_quick));
}
