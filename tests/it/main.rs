//! The real binary in a home of its own.

mod daemon;
mod kill;
mod story;
mod tour;
mod world;
