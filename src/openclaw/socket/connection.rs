//! One connection to a gateway: the handshake, then many calls at a time.

use super::address::Address;
use super::call::{Call, CallError};
use super::frame::{self, CHALLENGE, Frame};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// How long the way and the handshake may take: a gateway that is just starting answers late.
const OPEN_WITHIN: Duration = Duration::from_secs(15);

/// The gateway's own bound is 25 MiB (`policy.maxPayload`).
const LARGEST_FRAME: usize = 32 << 20;

/// How often it is looked whether the other side lives, and which calls have waited too long.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// After so long without a word it is asked for one, and after twice as long it is taken for gone. A
/// gateway speaks every 30 s by itself.
const QUIET_FOR: Duration = Duration::from_secs(40);

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The gateway's version.
    pub(super) version: String,
    /// Numbers the requests.
    last_id: u64,
}

impl Connection {
    /// Connects and says who we are.
    pub(super) async fn open(address: &Address) -> Result<Self, CallError> {
        let opening = async {
            let config = WebSocketConfig::default()
                .max_message_size(Some(LARGEST_FRAME))
                .max_frame_size(Some(LARGEST_FRAME));
            let url = address.url.as_str();
            let (socket, _) = connect_async_with_config(url, Some(config), true)
                .await
                .map_err(|error| CallError::NotConnected(reason(&error)))?;
            let mut connection = Self { socket, version: String::new(), last_id: 0 };
            connection.version = connection.greet(address).await?;
            Ok(connection)
        };
        timeout(OPEN_WITHIN, opening).await.unwrap_or(Err(CallError::TimedOut))
    }

    /// Answers the greeting; gives the gateway's version.
    async fn greet(&mut self, address: &Address) -> Result<String, CallError> {
        loop {
            match self.receive().await? {
                Frame::Event { name } if name == CHALLENGE => {
                    let params = frame::connect_params(&address.token);
                    let hello = frame::request("connect", "connect", &params);
                    self.send(Message::text(hello)).await?;
                }
                Frame::Answer { id, result } if id == "connect" => {
                    let hello = result.map_err(CallError::Unwelcome)?;
                    let version = hello.pointer("/server/version").and_then(Value::as_str);
                    return Ok(version.unwrap_or("unknown").to_owned());
                }
                Frame::Event { .. } | Frame::Answer { .. } | Frame::Other => {}
            }
        }
    }

    /// Makes the calls that come, until the connection ends, which is the error, or nobody is left
    /// to call.
    pub(super) async fn serve(
        &mut self,
        calls: &mut mpsc::Receiver<Call>,
    ) -> Result<(), CallError> {
        let mut waiting: HashMap<String, Call> = HashMap::new();
        let end = self.serve_waiting(calls, &mut waiting).await;
        for (_, call) in waiting {
            call.answer(Err(CallError::Closed));
        }
        end
    }

    async fn serve_waiting(
        &mut self,
        calls: &mut mpsc::Receiver<Call>,
        waiting: &mut HashMap<String, Call>,
    ) -> Result<(), CallError> {
        let mut looks = interval(LOOK_EVERY);
        let mut heard = Instant::now();
        let mut is_asked = false;
        loop {
            tokio::select! {
                frame = self.socket.next() => {
                    heard = Instant::now();
                    is_asked = false;
                    if let Some(Frame::Answer { id, result }) = read(frame)?
                        && let Some(call) = waiting.remove(&id)
                    {
                        call.answer(result.map_err(CallError::Refused));
                    }
                }
                call = calls.recv() => {
                    let Some(call) = call else { return Ok(()) };
                    if call.deadline <= Instant::now() {
                        call.answer(Err(CallError::TimedOut));
                        continue;
                    }
                    self.last_id += 1;
                    let id = self.last_id.to_string();
                    let request = frame::request(&id, call.method, &call.params);
                    waiting.insert(id, call);
                    self.send(Message::text(request)).await?;
                }
                _ = looks.tick() => {
                    let now = Instant::now();
                    for (_, call) in waiting.extract_if(|_, call| call.deadline <= now) {
                        call.answer(Err(CallError::TimedOut));
                    }
                    let quiet = now.duration_since(heard);
                    if quiet > 2 * QUIET_FOR {
                        return Err(CallError::Closed);
                    }
                    if quiet > QUIET_FOR && !is_asked {
                        is_asked = true;
                        self.send(Message::Ping(Vec::new().into())).await?;
                    }
                }
            }
        }
    }

    /// The next frame that is one.
    async fn receive(&mut self) -> Result<Frame, CallError> {
        loop {
            if let Some(frame) = read(self.socket.next().await)? {
                return Ok(frame);
            }
        }
    }

    /// Sends, unless the other side takes nothing for long.
    async fn send(&mut self, message: Message) -> Result<(), CallError> {
        match timeout(OPEN_WITHIN, self.socket.send(message)).await {
            Ok(sent) => sent.map_err(|_| CallError::Closed),
            Err(_) => Err(CallError::Closed),
        }
    }
}

/// The frame of a message; `None` where it holds none.
fn read(message: Option<Result<Message, tungstenite::Error>>) -> Result<Option<Frame>, CallError> {
    match message {
        Some(Ok(Message::Text(text))) => frame::parse(&text).map(Some).ok_or(CallError::Protocol),
        Some(Ok(Message::Binary(_))) => Err(CallError::Protocol),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
        Some(Ok(Message::Close(_)) | Err(_)) | None => Err(CallError::Closed),
    }
}

/// Why there is no connection, in a few words and without what the other side says.
fn reason(error: &tungstenite::Error) -> String {
    match error {
        tungstenite::Error::Io(error) => error.kind().to_string(),
        tungstenite::Error::Tls(error) => format!("TLS failed: {error}"),
        tungstenite::Error::Http(answer) => format!("it answers HTTP {}", answer.status().as_u16()),
        _ => "no WebSocket answers there".to_owned(),
    }
}
