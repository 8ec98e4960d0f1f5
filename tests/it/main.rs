//! The real binary in a home of its own.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on ends; it is outside the program, with real files and time"
)]

mod architecture;
mod classify;
mod daemon;
mod demo;
mod follow;
mod gateway;
mod kill;
mod live;
mod process;
mod shell;
mod story;
mod tour;
mod world;
