//! Bytes → rows.

pub mod line;
