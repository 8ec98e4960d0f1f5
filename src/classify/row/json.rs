//! A strict pull parser over the bytes of one line.
//!
//! Answers: the keys, strings and flags of a JSON value, in one pass, without a tree. Always holds:
//! it accepts exactly what JavaScript's `JSON.parse` accepts; it never recurses into what it skips,
//! so nesting costs one bit a level; it never panics and its errors hold a position, never a word.
//! Not here: what the keys mean (`row`).
//!
//! Why not `serde_json`: rows must be read as the gateway reads them. It refuses numbers beyond the
//! range of `f64` and lone surrogate escapes, it accepts raw control characters where strings are
//! taken as bytes, and it does not say where a value ended that has another behind it.

use super::raw::RawStr;
use super::strings::{BLOCK, pass_blocks, special};
use serde::{Deserialize, Serialize};

/// Why and where a value could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fail {
    /// Offset of the byte that does not belong there.
    pub(crate) at: usize,
    /// Whether the bytes ended inside the value.
    pub(crate) ended: bool,
}

/// There is no value; the cursor has the `Fail`. Nothing in itself, so that what is read, strings
/// above all, is handed on as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop;

type Read<T> = Result<T, Stop>;

/// A position in the bytes.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Brackets that are open around a value that is read member by member.
    depth: usize,
    /// Why reading stopped, where it did.
    fail: Fail,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, fail: Fail { at: 0, ended: false } }
    }

    /// Where the cursor stands.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is no white space.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Why reading stopped.
    pub(crate) const fn why(&self, _: Stop) -> Fail {
        self.fail
    }

    #[cold]
    fn stop<T>(&mut self) -> Read<T> {
        let length = self.bytes.len();
        self.fail = Fail { at: self.at.min(length), ended: self.at >= length };
        Err(Stop)
    }

    /// Takes this byte, white space before it left out.
    fn take(&mut self, byte: u8) -> Read<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.stop()
    }

    /// Reads an object, calling `member` at each value with its key, decoded.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &[u8]) -> Read<()>,
    ) -> Read<()> {
        self.members(|cursor, key| {
            if key.is_escaped() {
                let text = key.word();
                member(cursor, text.as_bytes())
            } else {
                member(cursor, key.raw())
            }
        })
    }

    /// Reads an object, calling `member` at each value with its key as it stands there.
    pub(crate) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, RawStr<'a>) -> Read<()>,
    ) -> Read<()> {
        self.enter(b'{')?;
        if self.peek() == Some(b'}') {
            return self.leave();
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => return self.leave(),
                _ => return self.stop(),
            }
        }
    }

    /// Opens a container that is read member by member.
    fn enter(&mut self, bracket: u8) -> Read<()> {
        if self.peek() == Some(bracket) && self.depth >= MAX_DEPTH {
            return self.stop();
        }
        self.take(bracket)?;
        self.depth += 1;
        Ok(())
    }

    /// Takes the closing bracket of such a container.
    #[expect(clippy::unnecessary_wraps, reason = "the last step of what can fail")]
    const fn leave(&mut self) -> Read<()> {
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    /// Reads an array, calling `element` at each value.
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.enter(b'[')?;
        if self.peek() == Some(b']') {
            return self.leave();
        }
        loop {
            element(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => return self.leave(),
                _ => return self.stop(),
            }
        }
    }

    /// Reads a value; gives it where it is a string.
    pub(crate) fn string_or_skip(&mut self) -> Read<Option<RawStr<'a>>> {
        if self.peek() == Some(b'"') {
            return self.string().map(Some);
        }
        self.skip().map(|()| None)
    }

    /// Reads a value; says whether it is `true` itself, not a string or a number that means it.
    pub(crate) fn flag(&mut self) -> Read<bool> {
        let is_true = self.peek() == Some(b't');
        self.skip().map(|()| is_true)
    }

    /// Reads a value; says whether it is anything but `null`.
    pub(crate) fn presence(&mut self) -> Read<bool> {
        let is_null = self.peek() == Some(b'n');
        self.skip().map(|()| !is_null)
    }

    /// Reads a value of any kind and depth.
    pub(crate) fn skip(&mut self) -> Read<()> {
        let mut open = Open::default();
        loop {
            match self.peek() {
                Some(b'{' | b'[') if self.depth + open.depth() >= MAX_DEPTH => {
                    return self.stop();
                }
                Some(b'{') => {
                    self.at += 1;
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(true);
                        self.pass_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(false);
                        continue;
                    }
                }
                Some(b'"') => {
                    self.pass_string()?;
                }
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return self.stop(),
            }
            // A value is complete: what stands around it goes on or closes.
            loop {
                let Some(is_object) = open.top() else {
                    return Ok(());
                };
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if is_object {
                            self.pass_key()?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => self.at += 1,
                    Some(b']') if !is_object => self.at += 1,
                    _ => return self.stop(),
                }
                open.pop();
            }
        }
    }

    #[inline]
    fn key(&mut self) -> Read<RawStr<'a>> {
        if self.peek() != Some(b'"') {
            return self.stop();
        }
        let key = self.string()?;
        self.take(b':')?;
        Ok(key)
    }

    fn pass_key(&mut self) -> Read<()> {
        self.key().map(drop)
    }

    /// Reads the string whose opening quote the cursor is at.
    #[inline]
    fn string(&mut self) -> Read<RawStr<'a>> {
        let start = self.at + 1;
        let escaped = self.pass_string()?;
        let raw = self.bytes.get(start..self.at - 1).unwrap_or_default();
        Ok(RawStr::new(raw, escaped))
    }

    /// Passes the same; says whether there were escapes.
    fn pass_string(&mut self) -> Read<bool> {
        self.at = special(self.bytes, self.at + 1);
        if self.bytes.get(self.at) != Some(&b'"') {
            return self.pass_escapes().map(|()| true);
        }
        self.at += 1;
        Ok(false)
    }

    /// Passes the rest of a string, from the first byte that is not plain.
    #[inline(never)]
    fn pass_escapes(&mut self) -> Read<()> {
        let mut near = self.at + BLOCK;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                _ => return self.stop(),
            }
            if self.at >= near {
                // It is long: most of it needs no look.
                self.at = pass_blocks(self.bytes, self.at);
                near = self.at + BLOCK;
            }
            self.at = special(self.bytes, self.at);
        }
    }

    /// Takes the escape that the cursor is at.
    fn escape(&mut self) -> Read<()> {
        self.at += 1;
        match self.bytes.get(self.at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.bytes.get(self.at).is_some_and(u8::is_ascii_hexdigit) {
                        return self.stop();
                    }
                    self.at += 1;
                }
            }
            _ => return self.stop(),
        }
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Read<()> {
        for byte in word {
            if self.bytes.get(self.at) != Some(byte) {
                return self.stop();
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Read<()> {
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Read<()> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { self.stop() } else { Ok(()) }
    }
}

/// Brackets that may be open at once: deeper is no JSON that anybody wrote, and memory is bounded.
pub(crate) const MAX_DEPTH: usize = 1 << 20;

/// The same as `Levels`, but nothing is allocated for the levels that people's data has.
#[derive(Default)]
struct Open {
    deep: Levels,
    bits: u64,
    depth: usize,
}

impl Open {
    const fn depth(&self) -> usize {
        self.depth
    }

    fn push(&mut self, is_object: bool) {
        if self.depth < 64 {
            self.bits = self.bits << 1 | u64::from(is_object);
        } else {
            self.deep.push(is_object);
        }
        self.depth += 1;
    }

    fn top(&self) -> Option<bool> {
        match self.depth {
            0 => None,
            1..=64 => Some(self.bits & 1 == 1),
            _ => self.deep.top(),
        }
    }

    fn pop(&mut self) {
        if self.depth <= 64 {
            self.bits >>= 1;
        } else {
            self.deep.pop();
        }
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Which brackets are open, one bit each: `true` is an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Levels {
    words: Vec<u64>,
    depth: usize,
}

impl Levels {
    /// How many are open.
    pub(crate) const fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn push(&mut self, is_object: bool) {
        let bit = self.depth % 64;
        if bit == 0 {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word = (*word & !(1 << bit)) | (u64::from(is_object) << bit);
        }
        self.depth += 1;
    }

    pub(crate) fn top(&self) -> Option<bool> {
        let bit = self.depth.checked_sub(1)? % 64;
        self.words.last().map(|word| word >> bit & 1 == 1)
    }

    pub(crate) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(64) {
            self.words.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(bytes: &[u8]) -> bool {
        let mut cursor = Cursor::new(bytes);
        cursor.skip().is_ok() && cursor.peek().is_none()
    }

    #[test]
    fn accepts_what_json_parse_accepts() {
        for text in [
            "{}",
            "[]",
            " {\"a\" : [1, -0.5e+9, 1e999, true, false, null, \"x\\u00e9\\\"\"]}\t",
            "\"\\ud83d\"",
            "[[[]],{\"a\":{}}]",
            "0",
            "\"\u{7f}\"",
        ] {
            assert!(valid(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "{",
            "{\"a\":1,}",
            "[1,]",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "1e",
            "tru",
            "nul",
            "{a:1}",
            "'a'",
            "\"\\x\"",
            "\"\\u12\"",
            "\"tab\there\"",
            "{\"a\" 1}",
            "[1 2]",
            "{}{}",
            "NaN",
            "]",
            "[}",
            "{\"a\":}",
        ] {
            assert!(!valid(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn nesting_is_a_bit_a_level() {
        let deep = 1_000_000;
        let mut text = "[".repeat(deep);
        text.push_str(&"]".repeat(deep));
        assert!(valid(text.as_bytes()));
        assert!(!valid("{\"a\":[".repeat(100_000).as_bytes()));
        let mixed = format!("{}{}", "[{\"a\":".repeat(500), "}]".repeat(500));
        assert!(!valid(mixed.as_bytes()));
        let mixed = format!("{}1{}", "[{\"a\":".repeat(500), "}]".repeat(500));
        assert!(valid(mixed.as_bytes()));
    }

    #[test]
    fn strings_are_decoded_as_javascript_does() {
        let text = |json: &[u8]| {
            Cursor::new(json)
                .string_or_skip()
                .unwrap()
                .map(|text| text.text().into_owned())
                .unwrap()
        };
        assert_eq!(text(br#""a\n\u0041\/\\""#), "a\nA/\\");
        assert_eq!(text(br#""\ud83d\ude00""#), "\u{1f600}");
        assert_eq!(text(br#""\ud83d""#), "\u{fffd}");
        assert_eq!(text(br#""\ud83d\u0041\ude00""#), "\u{fffd}A\u{fffd}");
        assert_eq!(text(b"\"a\xffb\xe2\x82\""), "a\u{fffd}b\u{fffd}");
    }
}
