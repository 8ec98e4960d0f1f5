//! The form in which texts are compared.

use super::row::raw::{STEP, decodable, decode};
use crate::ids::{HashKey, KeyedHash, TextHash};
use memchr::memchr_iter;

/// Trims, and turns every run of JavaScript white space into one space (OpenClaw 2026.9.6).
#[must_use]
pub fn normalise(text: &str) -> String {
    let mut normalised = String::with_capacity(text.len());
    Normaliser::default().push(text, |piece| normalised.push_str(piece));
    normalised
}

/// Normalises a text that comes in pieces.
#[derive(Debug, Default)]
struct Normaliser {
    /// Whether a word was given out.
    has_words: bool,
    /// Whether the text so far ends inside a word.
    in_word: bool,
}

impl Normaliser {
    fn push(&mut self, text: &str, mut give: impl FnMut(&str)) {
        for (index, word) in text.split(is_js_space).enumerate() {
            if index > 0 {
                self.in_word = false;
            }
            if word.is_empty() {
                continue;
            }
            if self.has_words && !self.in_word {
                give(" ");
            }
            give(word);
            (self.has_words, self.in_word) = (true, true);
        }
    }
}

/// What is kept of a text, all of it considered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    /// The keyed hash of the normalised text.
    pub(crate) hash: TextHash,
    /// Its lines.
    pub(crate) lines: u64,
}

/// Makes the digest of a string of a row, whose bytes come in pieces of any length.
pub(crate) struct Digester {
    normaliser: Normaliser,
    hash: KeyedHash,
    line_ends: u64,
    /// Bytes that cannot be decoded before their successors are known.
    left: Vec<u8>,
}

impl Digester {
    pub(crate) fn new(key: &HashKey) -> Self {
        let hash = key.begin_text();
        Self { normaliser: Normaliser::default(), hash, line_ends: 0, left: Vec::new() }
    }

    /// Takes bytes as they stand between the quotes.
    pub(crate) fn push(&mut self, raw: &[u8]) {
        for piece in raw.chunks(STEP) {
            if self.left.is_empty() {
                let count = decodable(piece);
                self.take(piece.get(..count).unwrap_or_default());
                self.left.extend_from_slice(piece.get(count..).unwrap_or_default());
            } else {
                let mut bytes = std::mem::take(&mut self.left);
                bytes.extend_from_slice(piece);
                let count = decodable(&bytes);
                self.take(bytes.get(..count).unwrap_or_default());
                bytes.drain(..count);
                self.left = bytes;
            }
        }
    }

    fn take(&mut self, raw: &[u8]) {
        let text = decode(raw, true);
        self.line_ends += memchr_iter(b'\n', text.as_bytes()).count() as u64;
        let mut normalised = String::with_capacity(text.len() + 1);
        self.normaliser.push(&text, |piece| normalised.push_str(piece));
        self.hash.push(normalised.as_bytes());
    }

    pub(crate) fn finish(mut self) -> Digest {
        let left = std::mem::take(&mut self.left);
        self.take(&left);
        Digest { hash: self.hash.finish(), lines: self.line_ends.saturating_add(1) }
    }
}

/// White space as JavaScript's `\s` has it: with U+FEFF, without U+0085.
#[must_use]
pub fn is_js_space(c: char) -> bool {
    matches!(c, '\u{9}'..='\u{d}' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn white_space_is_javascripts() {
        assert_eq!(normalise("\u{feff} Echo\t\u{a0}me\u{2028}\nplease. "), "Echo me please.");
        assert_eq!(normalise("a\u{85}b"), "a\u{85}b");
        assert_eq!(normalise(" \u{3000}"), "");
    }
}
