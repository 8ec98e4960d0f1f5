//! The way through a string, many bytes at a time.
//!
//! Answers: where the next byte of a string is that needs a look: its end, an escape, a control
//! character. Always holds: nothing that needs a look is passed over; blocks pass at once only where
//! each of their escapes is seen to be whole and valid. Not here: what is done at such a byte
//! (`json`).

/// Bytes that are passed at once, or not.
pub(super) const BLOCK: usize = 64;

/// Bytes that are looked at at once.
const HALF: usize = 32;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH_BITS: u64 = ONES << 7;

/// The place of the first quote, backslash or control character from here on; the length where
/// there is none. Half a block at a time: most keys, ids and times are found whole in their first
/// or second one, so that no branch depends on their length.
#[inline]
pub(super) fn special(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let (halves, tail) = rest.as_chunks::<HALF>();
    let mut at = from;
    for half in halves {
        let found = specials_of_half(half);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += HALF;
    }
    at + special_in_tail(tail)
}

/// One bit for each byte that is special.
#[inline]
#[expect(
    clippy::needless_bitwise_bool,
    reason = "without branches, many bytes are compared at once"
)]
fn specials_of_half(half: &[u8; HALF]) -> u32 {
    let flags = half.map(|byte| u8::from((byte == b'"') | (byte == b'\\') | (byte < 0x20)));
    // The multiplication moves the lowest bits of eight bytes next to each other.
    let bits = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let words = flags.as_chunks::<8>().0.iter().rev();
    words.fold(0, |found, word| found << 8 | (bits(word) & 0xff) as u32)
}

/// Only the last strings of a line are there.
#[cold]
#[inline(never)]
fn special_in_tail(tail: &[u8]) -> usize {
    let (words, tail) = tail.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    at + tail.iter().position(is_special).unwrap_or(tail.len())
}

/// The high bits of the bytes of a word that are special. A subtraction may borrow from the byte
/// above a special one, so that only the lowest is sure; and it is the first.
const fn specials(word: u64) -> u64 {
    let quotes = word ^ (ONES * b'"' as u64);
    let backslashes = word ^ (ONES * b'\\' as u64);
    let is_quote = quotes.wrapping_sub(ONES) & !quotes;
    let is_backslash = backslashes.wrapping_sub(ONES) & !backslashes;
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    (is_quote | is_backslash | is_control) & HIGH_BITS
}

/// Passes the blocks from here on that need no look: the only escapes in them are `\n`, `\t` and
/// `\"`, and the string does not end there. Gives the place to go on from, which is in no escape,
/// as the first one must be.
pub(super) fn pass_blocks(bytes: &[u8], from: usize) -> usize {
    if bytes.get(from) == Some(&b'"') {
        return from;
    }
    let blocks = |from: usize| bytes.get(from..).unwrap_or_default().as_chunks::<BLOCK>().0.iter();
    let pairs = blocks(from).zip(blocks(from + 1));
    let passed = pairs.take_while(|(block, behind)| !needs_look(block, behind)).count();
    let at = from + passed * BLOCK;
    let is_inside = passed > 0 && bytes.get(at - 1) == Some(&b'\\');
    at + usize::from(is_inside)
}

/// Whether a block is not passed at once. `behind` has the byte behind each of it: a quote there is
/// the end unless a backslash stands before it, and a backslash must have a simple escape there.
/// The first byte of all is none of these, and no backslash is itself escaped in what passes.
#[inline]
#[expect(
    clippy::needless_bitwise_bool,
    reason = "without branches, many bytes are compared at once"
)]
fn needs_look(block: &[u8; BLOCK], behind: &[u8; BLOCK]) -> bool {
    let mut needs_look = false;
    for (byte, behind) in block.iter().zip(behind) {
        let (is_escape, is_quote) = (*byte == b'\\', *behind == b'"');
        let is_simple = is_quote | (*behind == b'n') | (*behind == b't');
        needs_look |= ((is_escape | is_quote) & !(is_escape & is_simple)) | (*byte < 0x20);
    }
    needs_look
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    /// Where a string ends that begins at the first byte, byte by byte; nothing where it is none.
    fn end(bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            match bytes.get(at)? {
                b'"' => return Some(at),
                ..0x20 => return None,
                b'\\' if bytes.get(at + 1) == Some(&b'u') => at += 6,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    proptest! {
        #[test]
        fn the_first_special_byte_is_found(
            mut bytes in prop::collection::vec(0x20_u8.., 0..150),
            put in any::<Index>(),
            byte in any::<u8>(),
        ) {
            if !bytes.is_empty() {
                let at = put.index(bytes.len());
                bytes[at] = byte;
            }
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
            for from in 0..=bytes.len() {
                let found = bytes[from..].iter().position(is_special);
                let expected = found.map_or(bytes.len(), |found| from + found);
                prop_assert_eq!(special(&bytes, from), expected);
            }
        }

        #[test]
        fn blocks_are_passed_only_within_a_string_and_to_a_place_outside_escapes(
            parts in prop::collection::vec(
                select(vec![
                    &b"word "[..], b"some words", b"\\n", b"\\n", b"\\\"", b"\\t", b"x", b"\xff\xc3\xa9",
                ]),
                40..120,
            ),
            other in select(vec![&b"\""[..], b"\\\\", b"\\u00e9", b"\n", b"\\x", b"\\/"]),
            place in any::<Index>(),
        ) {
            let mut parts = parts;
            parts.insert(place.index(parts.len()), other);
            let mut from = 0;
            let starts: Vec<usize> = parts.iter().map(|part| { from += part.len(); from }).collect();
            let bytes = [&parts.concat()[..], b"\"", b" behind".repeat(30).as_slice()].concat();
            let fault = place.index(parts.len() - 1);
            let before = starts.get(fault.wrapping_sub(1)).copied().unwrap_or(0);
            for start in starts {
                let at = pass_blocks(&bytes, start);
                prop_assert!(at == start || at >= start + BLOCK);
                if start <= before {
                    // It stops before what needs a look, and the end found from there is the same.
                    prop_assert!(at <= before.max(start));
                }
                prop_assert_eq!(end(&bytes[at..]).map(|end| at + end), end(&bytes[start..]).map(|end| start + end));
            }
        }
    }
}
