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

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// Why and where a value could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fail {
    /// Offset of the byte that does not belong there.
    pub(crate) at: usize,
    /// Whether the bytes ended inside the value.
    pub(crate) ended: bool,
}

type Read<T> = Result<T, Fail>;

/// A string as it stands between its quotes.
#[derive(Clone, Copy)]
pub(crate) struct RawStr<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> RawStr<'a> {
    /// The text; bytes that are no UTF-8 and lone surrogates become U+FFFD.
    pub(crate) fn text(self) -> Cow<'a, str> {
        if self.escaped {
            Cow::Owned(unescape(self.raw))
        } else {
            String::from_utf8_lossy(self.raw)
        }
    }

    /// The beginning of the text, at most about `limit` bytes of its source.
    pub(crate) fn beginning(self, limit: usize) -> Cow<'a, str> {
        let raw = self.raw.get(..limit).unwrap_or(self.raw);
        Self { raw, escaped: self.escaped }.text()
    }

    /// Whether the text is this plain ASCII name.
    pub(crate) fn is(self, name: &str) -> bool {
        if self.escaped { self.text() == name } else { self.raw == name.as_bytes() }
    }
}

/// A position in the bytes.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Only then do strings have to be searched for them.
    has_controls: bool,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte. `has_controls` says whether any control character may be there:
    /// found out once a line, not once a value.
    pub(crate) const fn new(bytes: &'a [u8], has_controls: bool) -> Self {
        Self { bytes, at: 0, has_controls }
    }

    /// Where the cursor stands.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// The next byte that is no white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn fail<T>(&self) -> Read<T> {
        Err(Fail { at: self.at.min(self.bytes.len()), ended: self.at >= self.bytes.len() })
    }

    /// Takes this byte, white space before it left out.
    fn take(&mut self, byte: u8) -> Read<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.fail()
    }

    /// Reads an object, calling `member` at each value with its key.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &[u8]) -> Read<()>,
    ) -> Read<()> {
        self.take(b'{')?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.key()?;
            if key.escaped {
                let text = key.text();
                member(self, text.as_bytes())?;
            } else {
                member(self, key.raw)?;
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.fail(),
            }
        }
    }

    /// Reads an array, calling `element` at each value.
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.take(b'[')?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            element(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.fail(),
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
        let mut open = Levels::default();
        loop {
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(true);
                        self.key()?;
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
                Some(b'"') => drop(self.string()?),
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return self.fail(),
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
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => self.at += 1,
                    Some(b']') if !is_object => self.at += 1,
                    _ => return self.fail(),
                }
                open.pop();
            }
        }
    }

    fn key(&mut self) -> Read<RawStr<'a>> {
        if self.peek() != Some(b'"') {
            return self.fail();
        }
        let key = self.string()?;
        self.take(b':')?;
        Ok(key)
    }

    /// Reads the string whose opening quote the cursor is at.
    fn string(&mut self) -> Read<RawStr<'a>> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let found = memchr2(b'"', b'\\', rest);
            let plain = rest.get(..found.unwrap_or(rest.len())).unwrap_or_default();
            if self.has_controls
                && let Some(control) = plain.iter().position(|byte| *byte < 0x20)
            {
                self.at += control;
                return self.fail();
            }
            self.at += plain.len();
            if found.is_none() {
                return self.fail();
            }
            if self.bytes.get(self.at) == Some(&b'"') {
                let raw = self.bytes.get(start..self.at).unwrap_or_default();
                self.at += 1;
                return Ok(RawStr { raw, escaped });
            }
            escaped = true;
            self.at += 1;
            match self.bytes.get(self.at) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                Some(b'u') => {
                    self.at += 1;
                    for _ in 0..4 {
                        if !self.bytes.get(self.at).is_some_and(u8::is_ascii_hexdigit) {
                            return self.fail();
                        }
                        self.at += 1;
                    }
                }
                _ => return self.fail(),
            }
        }
    }

    fn literal(&mut self, word: &[u8]) -> Read<()> {
        for byte in word {
            if self.bytes.get(self.at) != Some(byte) {
                return self.fail();
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
        if self.at == start { self.fail() } else { Ok(()) }
    }
}

/// Which brackets are open, one bit each: `true` is an object.
#[derive(Default)]
struct Levels {
    words: Vec<u64>,
    depth: usize,
}

impl Levels {
    fn push(&mut self, is_object: bool) {
        let bit = self.depth % 64;
        if bit == 0 {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word = (*word & !(1 << bit)) | (u64::from(is_object) << bit);
        }
        self.depth += 1;
    }

    fn top(&self) -> Option<bool> {
        let bit = self.depth.checked_sub(1)? % 64;
        self.words.last().map(|word| word >> bit & 1 == 1)
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(64) {
            self.words.pop();
        }
    }
}

/// Replaces the escapes of a string that was read before. A beginning cut inside an escape loses it.
fn unescape(raw: &[u8]) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest) {
        text.push_str(&String::from_utf8_lossy(rest.get(..at).unwrap_or_default()));
        let escape = rest.get(at + 1).copied().unwrap_or_default();
        rest = rest.get(at + 2..).unwrap_or_default();
        match escape {
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'n' => text.push('\n'),
            b'r' => text.push('\r'),
            b't' => text.push('\t'),
            b'u' => {
                let Some(unit) = take_unit(&mut rest) else {
                    break;
                };
                text.push(join_units(unit, &mut rest));
            }
            plain => text.push(char::from(plain)),
        }
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text
}

/// Takes the four hex digits of a `\u` escape.
fn take_unit(rest: &mut &[u8]) -> Option<u16> {
    let (digits, behind) = rest.split_at_checked(4)?;
    *rest = behind;
    std::str::from_utf8(digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok())
}

/// The character of a UTF-16 unit; takes the second half of a pair where it follows.
fn join_units(unit: u16, rest: &mut &[u8]) -> char {
    if (0xd800..0xdc00).contains(&unit)
        && let Some(mut behind) = rest.strip_prefix(b"\\u")
        && let Some(low) = take_unit(&mut behind)
        && let Some(Ok(joined)) = char::decode_utf16([unit, low]).next()
    {
        *rest = behind;
        return joined;
    }
    char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(bytes: &[u8]) -> bool {
        let mut cursor = Cursor::new(bytes, true);
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
            Cursor::new(json, true)
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
