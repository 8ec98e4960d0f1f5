//! One line of a transcript.

/// One line of a transcript, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Offset of its first byte in the file.
    pub start: u64,
    /// The bytes, LF and a CR before it left out.
    pub bytes: &'a [u8],
    /// Offset just after its LF: where the next line begins.
    pub next: u64,
}
