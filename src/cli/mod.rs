//! The command line: one file a command, arguments in, text or JSON out; decides nothing.
#![cfg_attr(
    not(test),
    expect(dead_code, reason = "the commands that use these are not wired yet")
)]

mod config;
mod table;
mod when;
