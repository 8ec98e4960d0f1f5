//! The frames of the gateway's protocol 4 (`facts/gateway.md` §1).

use super::address::Token;
use serde::Deserialize;
use serde_json::{Value, json};

/// The name that a gateway gives the frame with which it greets.
pub(super) const CHALLENGE: &str = "connect.challenge";

/// A frame from the gateway.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    /// The answer to a request.
    Answer {
        /// The request's id.
        id: String,
        /// What it says.
        result: Result<Value, Refusal>,
    },
    /// Something that happened.
    Event {
        /// What.
        name: String,
    },
    /// Of a kind that we do not know.
    Other,
}

/// A request that the gateway did not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its word for why, such as `INVALID_REQUEST`.
    pub code: String,
    /// Its sentence for why.
    pub message: String,
    /// Whatever else it says.
    pub details: Value,
}

/// As much of a frame as is read.
#[derive(Deserialize)]
struct Wire {
    r#type: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    ok: bool,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    error: Option<WireError>,
    #[serde(default)]
    event: Option<String>,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Value,
}

/// Reads a frame; `None` where it is none.
pub(super) fn parse(text: &str) -> Option<Frame> {
    let wire: Wire = serde_json::from_str(text).ok()?;
    Some(match (wire.r#type.as_str(), wire.id, wire.event) {
        ("res", Some(id), _) => {
            let result = if wire.ok {
                Ok(wire.payload)
            } else {
                let error = wire.error.unwrap_or_else(|| WireError {
                    code: String::new(),
                    message: String::new(),
                    details: Value::Null,
                });
                let WireError { code, message, details } = error;
                Err(Refusal { code, message, details })
            };
            Frame::Answer { id, result }
        }
        ("event", _, Some(name)) => Frame::Event { name },
        _ => Frame::Other,
    })
}

/// A request as it is sent.
pub(super) fn request(id: &str, method: &str, params: &Value) -> String {
    json!({ "type": "req", "id": id, "method": method, "params": params }).to_string()
}

/// What a backend client says of itself. It asks for no more than it needs.
pub(super) fn connect_params(token: &Token) -> Value {
    json!({
        "minProtocol": 4,
        "maxProtocol": 4,
        "client": {
            "id": "gateway-client",
            "displayName": "upstreamd",
            "version": env!("CARGO_PKG_VERSION"),
            "platform": std::env::consts::OS,
            "mode": "backend",
        },
        "role": "operator",
        "scopes": ["operator.read", "operator.write"],
        "caps": [],
        "auth": { "token": token.reveal() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_what_they_are() {
        let refused = |code: &str, message: &str, details| Frame::Answer {
            id: "1".to_owned(),
            result: Err(Refusal { code: code.into(), message: message.into(), details }),
        };
        for (text, expected) in [
            (
                r#"{"type":"res","id":"1","ok":true,"payload":{"a":1}}"#,
                Some(Frame::Answer { id: "1".to_owned(), result: Ok(json!({"a": 1})) }),
            ),
            (
                r#"{"type":"res","id":"1","ok":true}"#,
                Some(Frame::Answer { id: "1".to_owned(), result: Ok(Value::Null) }),
            ),
            (
                r#"{"type":"res","id":"1","ok":false,"error":{"code":"X","message":"m","details":{"d":1}}}"#,
                Some(refused("X", "m", json!({"d": 1}))),
            ),
            (r#"{"type":"res","id":"1","ok":false}"#, Some(refused("", "", Value::Null))),
            (
                r#"{"type":"event","event":"tick","payload":{"ts":1},"seq":3}"#,
                Some(Frame::Event { name: "tick".to_owned() }),
            ),
            (r#"{"type":"new","id":"1"}"#, Some(Frame::Other)),
            (r#"{"id":"1"}"#, None),
            ("[", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
