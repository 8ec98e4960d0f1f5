//! Bytes → rows, and the pages of a node → rows.
//!
//! Answers: which whole lines come next in a file, and which rows stand on a line. Always holds: a
//! window ends just after a line end or inside its first line, and the same bytes give the same rows
//! however they are cut. Deliberately elsewhere: opening files (`disk`), what a row means and how a
//! row longer than a window is read (`classify`).

pub(crate) mod bytes;
pub mod line;
pub mod node;
pub mod window;
