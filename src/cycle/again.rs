//! A rewritten file is read again a window a pass, and recorded as one.
//!
//! Always holds: what was read of it so far is in memory alone; the journal has the file at its start
//! until the end is reached, so that a life that ends in between begins again.

use super::sift::Sift;
use crate::ids::Generation;
use crate::journal::{SourceCursor, SourceRow};
use std::collections::HashMap;

/// The files that are being read again.
#[derive(Debug, Default)]
pub struct ReadingAgain(HashMap<SourceRow, Again>);

/// How far one was read.
#[derive(Debug)]
pub(super) struct Again {
    /// Where the next pass begins.
    pub(super) at: SourceCursor,
    /// The rows so far.
    pub(super) sift: Sift,
}

impl ReadingAgain {
    /// How far a file was read in this life of its content.
    pub(super) fn take(&mut self, source: SourceRow, generation: &Generation) -> Option<Again> {
        self.0.remove(&source).filter(|again| again.at.generation == *generation)
    }

    pub(super) fn keep(&mut self, source: SourceRow, again: Again) {
        self.0.insert(source, again);
    }
}
