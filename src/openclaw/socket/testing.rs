//! A gateway for tests: it says what it is told to say.

use super::{Access, GatewayUrl, Token};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::net::TcpListener;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// What a gateway does about a request.
pub(crate) enum Reply {
    /// It does it.
    Done(Value),
    /// It refuses with this code.
    Refused(&'static str),
    /// It sends something else first, and then does it.
    After(Message, Value),
    /// It refuses with this error.
    Error(Value),
    /// It says nothing.
    Silence,
    /// It hangs up.
    Close,
}

/// How it lets us in.
pub(crate) fn hello() -> Reply {
    Reply::Done(json!({"server": {"version": "2026.9.6"}}))
}

/// Whether this asks to be let in.
pub(crate) fn is_connect(request: &Value) -> bool {
    request["method"] == "connect"
}

/// One that listens; it serves one connection after the other.
pub(crate) struct FakeGateway {
    pub(crate) port: u16,
    /// The requests that came, each as it was sent.
    pub(crate) requests: Receiver<Value>,
}

impl FakeGateway {
    /// Starts one; `answer` is asked for each request, the connect request too.
    pub(crate) fn start(answer: impl FnMut(&Value) -> Reply + Send + 'static) -> Self {
        let (to_test, requests) = channel();
        let (to_us, port) = channel();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                to_us.send(listener.local_addr().unwrap().port()).unwrap();
                serve(&listener, answer, &to_test).await;
            });
        });
        Self { port: port.recv().unwrap(), requests }
    }

    /// Starts one that lets us in.
    pub(crate) fn greeting(mut answer: impl FnMut(&Value) -> Reply + Send + 'static) -> Self {
        Self::start(move |request| if is_connect(request) { hello() } else { answer(request) })
    }

    /// How it is reached.
    pub(crate) fn access(&self) -> Access {
        Access {
            url: Some(GatewayUrl::local(self.port)),
            token_file: None,
            token: Token::new("secret"),
            config: PathBuf::from("/none"),
        }
    }
}

async fn serve(
    listener: &TcpListener,
    mut answer: impl FnMut(&Value) -> Reply,
    requests: &Sender<Value>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let Ok(mut socket) = accept_async(stream).await else { continue };
        let challenge = json!({"type": "event", "event": "connect.challenge", "payload": {}});
        drop(socket.send(Message::text(challenge.to_string())).await);
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            let request: Value = serde_json::from_str(&text).unwrap();
            let reply = answer(&request);
            if requests.send(request.clone()).is_err() {
                return;
            }
            let done = |payload: Value| json!({"type": "res", "id": request["id"], "ok": true, "payload": payload});
            let response = match reply {
                Reply::Done(payload) => done(payload),
                Reply::Refused(code) => json!({
                    "type": "res", "id": request["id"], "ok": false,
                    "error": {"code": code, "message": "not now"},
                }),
                Reply::Error(error) => {
                    json!({"type": "res", "id": request["id"], "ok": false, "error": error})
                }
                Reply::After(message, payload) => {
                    drop(socket.send(message).await);
                    done(payload)
                }
                Reply::Silence => continue,
                Reply::Close => break,
            };
            drop(socket.send(Message::text(response.to_string())).await);
        }
    }
}
