//! One event of a transcript: its stored form, and the text that OpenClaw sent with it.

use crate::classify;
use crate::ids::Timestamp;
use rusqlite::Row;
use ruzstd::decoding::FrameDecoder;
use serde_json::Value;

/// What an event may have in bytes when it is stored compressed, and so also the memory that one
/// may ask for (OpenClaw 2026.9.6).
const LONGEST: usize = 4_194_304;

/// The columns that `Payload::read` takes, of the table `transcript_events`.
pub(super) const COLUMNS: &str = "event_json, event_zstd, event_utf8_bytes";

/// An event as it is stored: as it is, or compressed.
#[derive(Debug)]
pub(super) enum Payload {
    Plain(String),
    Compressed { frame: Vec<u8>, length: i64 },
    Neither,
}

impl Payload {
    /// Takes `COLUMNS` from a place in a row on.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        if let Some(json) = row.get(first)? {
            return Ok(Self::Plain(json));
        }
        Ok(match (row.get(first + 1)?, row.get(first + 2)?) {
            (Some(frame), Some(length)) => Self::Compressed { frame, length },
            _ => Self::Neither,
        })
    }

    /// The event; `None` for one that is not what it should be.
    pub(super) fn event(&self) -> Option<Value> {
        match self {
            Self::Plain(json) => serde_json::from_str(json).ok(),
            Self::Compressed { frame, length } => {
                serde_json::from_slice(&decompress(frame, *length)?).ok()
            }
            Self::Neither => None,
        }
    }
}

/// Decompresses a frame to exactly this many bytes.
fn decompress(frame: &[u8], length: i64) -> Option<Vec<u8>> {
    let length = usize::try_from(length).ok().filter(|length| (1..=LONGEST).contains(length))?;
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(LONGEST as u64);
    let mut bytes = vec![0; length];
    let written = decoder.decode_all(frame, &mut bytes).ok()?;
    let sum = decoder.get_checksum_from_data();
    let is_sound = sum.is_none_or(|sum| decoder.get_calculated_checksum() == Some(sum));
    (written == length && is_sound).then_some(bytes)
}

/// Whether an event is a user's message.
pub(super) fn is_of_user(event: &Value) -> bool {
    event.pointer("/message/role").and_then(Value::as_str) == Some("user")
}

/// The text that OpenClaw sent with a user's message, as it compares it with rows of the upstream;
/// `None` where there is none, or where the message was taken over from the upstream.
pub(super) fn own_text(event: &Value) -> Option<&str> {
    let message = event.get("message")?;
    let ours = message.get("__openclaw");
    if let Some(text) = ours.and_then(|ours| ours.get("upstreamUserText")?.as_str()) {
        return Some(text);
    }
    if ours.and_then(|ours| ours.get("mirrorOrigin")).is_some_and(is_truthy) {
        return None;
    }
    match message.get("content")? {
        Value::String(text) => Some(text),
        // The first block alone, whatever its type.
        Value::Array(blocks) => blocks.first()?.get("text")?.as_str(),
        _ => None,
    }
}

/// Whether JavaScript takes a value for true.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// When a message was said: its own time, else its event's.
pub(super) fn time(event: &Value) -> Option<Timestamp> {
    let ms = |value: &Value| {
        #[expect(clippy::cast_possible_truncation, reason = "held at the ends of the range")]
        value.as_i64().or_else(|| value.as_f64().map(|ms| ms as i64)).map(Timestamp)
    };
    event.pointer("/message/timestamp").and_then(ms).or_else(|| {
        let at = event.get("timestamp")?;
        at.as_str().map_or_else(|| ms(at), classify::time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use serde_json::json;

    #[test]
    fn the_text_is_the_one_that_the_gateway_compares() {
        for (message, text) in [
            (json!({"content": " Echo me "}), Some(" Echo me ")),
            (json!({"content": ""}), Some("")),
            (json!({"content": [{"type": "text", "text": "a"}, {"text": "b"}]}), Some("a")),
            (json!({"content": [{"type": "image", "text": "a"}]}), Some("a")),
            (json!({"content": [{"type": "image"}, {"text": "b"}]}), None),
            (json!({"content": ["a"]}), None),
            (json!({"content": []}), None),
            (json!({"content": 7}), None),
            (json!({}), None),
            (json!({"content": "a", "__openclaw": {"upstreamUserText": "b"}}), Some("b")),
            (json!({"content": "a", "__openclaw": {"upstreamUserText": ""}}), Some("")),
            (json!({"content": "a", "__openclaw": {"upstreamUserText": 7}}), Some("a")),
            (json!({"__openclaw": {"upstreamUserText": "b", "mirrorOrigin": "x"}}), Some("b")),
            (json!({"content": "a", "__openclaw": {"mirrorOrigin": "import"}}), None),
            (json!({"content": "a", "__openclaw": {"mirrorOrigin": {}}}), None),
            (json!({"content": "a", "__openclaw": {"mirrorOrigin": ""}}), Some("a")),
            (json!({"content": "a", "__openclaw": {"mirrorOrigin": 0}}), Some("a")),
            (json!({"content": "a", "__openclaw": {"mirrorOrigin": null}}), Some("a")),
            (json!({"content": "a", "__openclaw": "mirrorOrigin"}), Some("a")),
        ] {
            assert_eq!(own_text(&json!({ "message": message })), text, "{message}");
        }
    }

    #[test]
    fn the_time_is_the_messages_else_the_events() {
        let iso = "2026-11-30T19:01:47.416Z";
        for (event, at) in [
            (json!({"message": {"timestamp": 5}, "timestamp": iso}), Some(5)),
            (json!({"message": {"timestamp": 5.7}}), Some(5)),
            (json!({"message": {"timestamp": "5"}, "timestamp": iso}), Some(1_796_065_307_416)),
            (json!({"timestamp": 6}), Some(6)),
            (json!({"timestamp": "yesterday"}), None),
            (json!({}), None),
        ] {
            assert_eq!(time(&event), at.map(Timestamp), "{event}");
        }
    }

    #[test]
    fn only_a_whole_frame_of_the_stated_length_is_an_event() {
        let json = json!({"message": {"role": "user", "content": "word ".repeat(1_000)}});
        let plain = json.to_string().into_bytes();
        let frame = compress_to_vec(plain.as_slice(), CompressionLevel::Fastest);
        let stored = |frame: &[u8], length: usize| Payload::Compressed {
            frame: frame.to_vec(),
            length: i64::try_from(length).unwrap(),
        };
        assert_eq!(stored(&frame, plain.len()).event(), Some(json));
        let mut broken = frame.clone();
        *broken.last_mut().unwrap() ^= 1;
        for (what, payload) in [
            ("shorter", stored(&frame, plain.len() - 1)),
            ("longer", stored(&frame, plain.len() + 1)),
            ("none", stored(&frame, 0)),
            ("another sum", stored(&broken, plain.len())),
            ("cut", stored(&frame[..frame.len() / 2], plain.len())),
            ("no frame", stored(b"no frame", 8)),
            ("nothing", stored(b"", 8)),
            ("neither", Payload::Neither),
            ("no JSON", Payload::Plain("{".to_owned())),
        ] {
            assert_eq!(payload.event(), None, "{what}");
        }
    }

    #[test]
    fn an_event_that_would_be_longer_than_any_is_not_decompressed() {
        for (length, is_read) in [(LONGEST, true), (LONGEST + 1, false)] {
            let plain = format!("\"{}\"", "a".repeat(length - 2));
            let frame = compress_to_vec(plain.as_bytes(), CompressionLevel::Fastest);
            let length = i64::try_from(length).unwrap();
            assert_eq!(decompress(&frame, length).is_some(), is_read, "{length}");
        }
    }

    #[test]
    fn a_frame_that_the_gateway_made_is_read() {
        // Level 1 with a checksum, as OpenClaw 2026.9.6 writes it.
        let frame = include_bytes!("../../../fixtures/openclaw/event.zst");
        let event = Payload::Compressed { frame: frame.to_vec(), length: 1_322 }.event().unwrap();
        assert!(is_of_user(&event) && own_text(&event).unwrap().ends_with("the last one."));
    }
}
