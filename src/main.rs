//! The program: parses, runs, says how it ended.

use std::process::ExitCode;

fn main() -> ExitCode {
    upstreamd::cli::main()
}
