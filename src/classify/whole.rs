//! What needs all bytes of a row: hashes, and texts that may be several joined.
//!
//! Everything else about a row is told by what rules see of it.

use super::outline::{Outline, Said, Span, read_again};
use super::row::raw::{RawStr, decode};
use super::text::{Digest, Digester};
use crate::disk::Transcript;
use crate::ids::{HashKey, Identity};
use crate::scan::bytes::FileRange;
use std::borrow::Cow;
use std::convert::Infallible;
use std::io;
use std::ops::ControlFlow;

/// Source bytes of a text that may be several joined: nobody types more into the queue.
const JOINED: usize = 1 << 20;

/// All of a row.
pub(super) trait Whole {
    /// What can go wrong.
    type Error;

    /// The digest of the first text that was said there.
    fn digest(&self, key: &HashKey, said: Said, text: RawStr<'_>) -> Result<Digest, Self::Error>;

    /// That text, where it may be several joined.
    fn joined<'t>(&self, said: Said, text: RawStr<'t>)
    -> Result<Option<Cow<'t, str>>, Self::Error>;

    /// What the row is known by where it has no uuid.
    fn identity(&self, key: &HashKey) -> Result<Identity, Self::Error>;
}

/// A row in memory.
pub(super) struct InMemory<'a>(pub(super) &'a [u8]);

impl Whole for InMemory<'_> {
    type Error = Infallible;

    fn digest(&self, key: &HashKey, _: Said, text: RawStr<'_>) -> Result<Digest, Infallible> {
        let mut digester = Digester::new(key);
        digester.push(text.raw());
        Ok(digester.finish())
    }

    fn joined<'t>(&self, _: Said, text: RawStr<'t>) -> Result<Option<Cow<'t, str>>, Infallible> {
        Ok((text.raw().len() <= JOINED).then(|| text.whole()))
    }

    fn identity(&self, key: &HashKey) -> Result<Identity, Infallible> {
        Ok(Identity::of_row(key, None, self.0))
    }
}

/// A row in the file still.
pub(super) struct InFile<'a> {
    pub(super) file: &'a dyn Transcript,
    pub(super) outline: &'a Outline,
    /// Where the row stands.
    pub(super) span: Span,
}

impl InFile<'_> {
    fn walk(&self, span: Span, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let range = FileRange::new(self.file, span.from, span.to)?;
        range.pieces(0, usize::MAX, &mut |_, piece, _| {
            take(piece);
            Ok(ControlFlow::Continue(()))
        })
    }
}

impl Whole for InFile<'_> {
    type Error = io::Error;

    fn digest(&self, key: &HashKey, said: Said, _: RawStr<'_>) -> io::Result<Digest> {
        let mut digester = Digester::new(key);
        if let Some(span) = self.outline.first_text(said) {
            self.walk(span, |piece| digester.push(piece))?;
        }
        Ok(digester.finish())
    }

    fn joined<'t>(&self, said: Said, _: RawStr<'t>) -> io::Result<Option<Cow<'t, str>>> {
        match self.outline.first_text(said) {
            Some(span) if span.length() <= JOINED as u64 => {
                let raw = read_again(self.file, span.from, span.to)?;
                Ok(Some(Cow::Owned(decode(&raw, true).into_owned())))
            }
            _ => Ok(None),
        }
    }

    fn identity(&self, key: &HashKey) -> io::Result<Identity> {
        let mut hash = key.begin_row();
        self.walk(self.span, |piece| hash.push(piece))?;
        Ok(Identity::of_hash(&hash.finish()))
    }
}
