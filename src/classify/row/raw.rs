//! A string of a row as it stands between its quotes, and what is seen of it.
//!
//! Rules see a string's beginning and end only, so that the verdict on a row does not depend on how
//! much of it fits into memory. Who needs all of a text takes it piece by piece.

use memchr::memchr;
use std::borrow::Cow;

/// Source bytes that are seen of the beginning, and of the end, of what somebody said.
pub(crate) const SAID: usize = 64 << 10;

/// The same for a string that is a single word: a name, an id, a time.
pub(crate) const WORD: usize = 2 << 10;

/// Source bytes that are decoded at a time where all of a text is needed.
pub(crate) const STEP: usize = 64 << 10;

/// A string as it stands between its quotes.
#[derive(Clone, Copy)]
pub(crate) struct RawStr<'a> {
    raw: &'a [u8],
    escapes: Escapes,
}

/// Whether a backslash is in a string. As wide as a length: a string is handed on whole words at a
/// time then, which is twice as fast.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Escapes {
    None,
    Some,
}

impl<'a> RawStr<'a> {
    /// A string that was read before; `escaped` where a backslash is in it.
    pub(crate) const fn new(raw: &'a [u8], escaped: bool) -> Self {
        Self { raw, escapes: if escaped { Escapes::Some } else { Escapes::None } }
    }

    /// The bytes between the quotes.
    pub(crate) const fn raw(self) -> &'a [u8] {
        self.raw
    }

    /// Whether a backslash is in it.
    pub(crate) const fn is_escaped(self) -> bool {
        matches!(self.escapes, Escapes::Some)
    }

    /// The text as rules see it: cut in the middle where it is long. Bytes that are no UTF-8 and
    /// lone surrogates become U+FFFD.
    pub(crate) fn text(self) -> Cow<'a, str> {
        self.seen(SAID)
    }

    /// The text of a word, cut in the middle where it is too long for one.
    pub(crate) fn word(self) -> Cow<'a, str> {
        self.seen(WORD)
    }

    /// All of the text.
    pub(crate) fn whole(self) -> Cow<'a, str> {
        decode(self.raw, self.is_escaped())
    }

    fn seen(self, side: usize) -> Cow<'a, str> {
        match excerpt(self.raw, side) {
            None => self.whole(),
            Some((beginning, end)) => {
                Cow::Owned(decode(&[beginning, end].concat(), self.is_escaped()).into_owned())
            }
        }
    }

    /// The beginning of the text, at most about `limit` bytes of its source.
    pub(crate) fn beginning(self, limit: usize) -> Cow<'a, str> {
        let raw = self.raw.get(..limit).unwrap_or(self.raw);
        decode(raw, self.is_escaped())
    }

    /// Whether one of these ASCII characters may be the first; mostly told without decoding.
    pub(crate) fn may_begin_with(self, first: &[u8]) -> bool {
        self.raw.first().is_some_and(|byte| *byte == b'\\' || first.contains(byte))
    }

    /// Whether the text is this plain ASCII name.
    pub(crate) fn is(self, name: &str) -> bool {
        if self.is_escaped() { self.word() == name } else { self.raw == name.as_bytes() }
    }
}

/// What is seen of a string longer than twice `side`: its beginning and its end, neither cut inside
/// an escape. `None` where it is seen whole.
pub(crate) fn excerpt(raw: &[u8], side: usize) -> Option<(&[u8], &[u8])> {
    if raw.len() <= side * 2 {
        return None;
    }
    let beginning = beginning(raw.get(..side).unwrap_or(raw));
    let end = end(raw.get(raw.len() - side - REACH..).unwrap_or(raw));
    Some((beginning, end))
}

/// How far back it shows whether a place is inside an escape.
pub(crate) const REACH: usize = 5;

/// The beginning of a string without the escape that it is cut in.
pub(crate) fn beginning(raw: &[u8]) -> &[u8] {
    raw.get(..whole_escapes(raw)).unwrap_or_default()
}

/// The end of a string, which is known from `REACH` bytes before it on. Where a run of backslashes
/// hides what they mean, nothing of it.
pub(crate) fn end(raw: &[u8]) -> &[u8] {
    let is_outside = |at: &usize| {
        let before = raw.get(at.saturating_sub(REACH)..*at).unwrap_or_default();
        let begins = raw.get(*at) == Some(&b'\\') && before.last() != Some(&b'\\');
        begins || memchr(b'\\', before).is_none()
    };
    let start = (REACH..raw.len()).find(is_outside).unwrap_or(raw.len());
    raw.get(start..).unwrap_or_default()
}

/// Where the escape begins that the bytes end inside; their length where they do not.
fn whole_escapes(raw: &[u8]) -> usize {
    walk(raw).0
}

/// The same, and where the whole escape begins that ends there, if one does.
fn walk(raw: &[u8]) -> (usize, Option<usize>) {
    let (mut at, mut last) = (0, None);
    while let Some(found) = memchr(b'\\', raw.get(at..).unwrap_or_default()) {
        let escape = at + found;
        let end = escape + if raw.get(escape + 1) == Some(&b'u') { 6 } else { 2 };
        if end > raw.len() {
            return (escape, last.filter(|_| found == 0));
        }
        (at, last) = (end, Some(escape));
    }
    (raw.len(), last.filter(|_| at == raw.len()))
}

/// How many of the bytes can be decoded whatever follows them: no escape, no pair of surrogates and
/// no character is cut.
pub(crate) fn decodable(raw: &[u8]) -> usize {
    let (end, last) = walk(raw);
    let is_high = |start: &usize| {
        let digits = raw.get(start + 2..start + 4).unwrap_or_default();
        raw.get(start + 1) == Some(&b'u')
            && matches!(digits, [b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B'])
    };
    if let Some(start) = last.filter(is_high) {
        return start;
    }
    if end < raw.len() {
        return end;
    }
    let tail = raw.len().saturating_sub(3);
    let lead = raw.get(tail..).unwrap_or_default().iter().rposition(|byte| *byte >= 0xc0);
    lead.map_or(raw.len(), |lead| tail + lead)
}

/// Decodes the bytes of a string.
pub(crate) fn decode(raw: &[u8], escaped: bool) -> Cow<'_, str> {
    if escaped { Cow::Owned(unescape(raw)) } else { String::from_utf8_lossy(raw) }
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
