//! What must agree with OpenClaw, beside the real package from npm:
//! `cargo test --locked --test interop`.
//!
//! `cargo test` alone leaves it out, since it needs `npm`; where there is none, every test is
//! skipped, and a line says so. Packages are installed once, below the target folder, or where
//! `UPSTREAMD_INTEROP_DIR` says.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test that cannot go on ends; it is outside the program, with real files and time"
)]

mod compat;
mod cost;
mod gateway;
mod monitors;
mod node;
mod packages;
mod rows;
mod times;

use packages::Packages;
use std::process::ExitCode;
use std::time::Instant;

/// A test; what it gives is printed beside its name.
type Test = (&'static str, fn(&Packages) -> String);

const TESTS: [Test; 7] = [
    ("the_gateway_judges_generated_rows_as_the_compat_rule_does", compat::generated_rows),
    ("our_events_are_what_the_gateways_monitor_writes", monitors::same_events),
    ("beside_the_gateways_monitor_each_turn_is_counted_once", monitors::side_by_side),
    ("turns_are_recorded_while_the_gateway_is_away", monitors::gateway_away),
    ("a_node_is_read_back_to_what_is_known_and_holds_up_nobody", node::paired_node),
    ("recording_costs_the_gateway_little", cost::of_recording),
    ("a_schema_that_is_not_known_is_never_written_to", monitors::unknown_schema),
];

fn main() -> ExitCode {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    let tests: Vec<&Test> = TESTS.iter().filter(|(name, _)| is_wanted(name)).collect();
    let packages = match Packages::install() {
        Ok(packages) => packages,
        Err(why) => {
            println!("interop SKIPPED, nothing was compared with OpenClaw: {why}");
            println!("interop result: 0 passed; 0 failed; {} skipped", tests.len());
            return ExitCode::SUCCESS;
        }
    };
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in tests {
        let began = Instant::now();
        // What went wrong was printed where it happened.
        let result = std::panic::catch_unwind(|| test(&packages));
        let took = began.elapsed().as_secs_f64();
        if let Ok(found) = &result {
            passed += 1;
            println!("interop {name} ... ok ({took:.1} s): {found}");
        } else {
            failed += 1;
            println!("interop {name} ... FAILED ({took:.1} s)");
        }
    }
    println!("interop result: {passed} passed; {failed} failed; 0 skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
