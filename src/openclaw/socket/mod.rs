//! The gateway's WebSocket.
//!
//! Answers: calls of the gateway's methods, over one connection that is made again whenever it ends.
//! Always holds: a thread of its own waits for the network, so that nobody else does for longer than
//! he said; a call has exactly one answer; what was on its way when the connection ended is not
//! sent again; the token is in no message. Deliberately elsewhere: what is asked, and what follows
//! from it (`runs`, `cli`).

mod address;
mod call;
mod connection;
mod frame;
mod runs;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::observe::{Contact, Fact, LogObserver, Observer as _};
pub use address::{Access, Address, GatewayUrl, TOKEN_VARIABLE, Token};
use call::Call;
pub use call::{Answer, CallError};
use connection::Connection;
pub use frame::Refusal;
pub use runs::{ActiveRuns, Runs};
use serde_json::Value;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

/// Calls that can wait for the connection.
const CALLS: usize = 256;

/// How long to wait until the next try to connect: doubled from the first to the last.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LAST_WAIT: Duration = Duration::from_secs(30);

/// How long where the gateway does not want us: it counts failed tries, and locks out who makes many.
const REFUSED_WAIT: Duration = Duration::from_secs(60);

/// A gateway, connected to as long as somebody holds this.
#[derive(Debug)]
pub struct Gateway {
    calls: mpsc::Sender<Call>,
    place: watch::Sender<Place>,
    observer: Arc<LogObserver>,
}

/// Where a gateway is, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    access: Access,
    /// On which port of this host one says that it listens.
    port: Option<u16>,
}

impl Place {
    /// Whether there should be a gateway to connect to.
    const fn is_known(&self) -> bool {
        self.access.url.is_some() || self.port.is_some()
    }
}

impl Gateway {
    /// Begins to connect: at once where the access says where to, else once it is known on which
    /// port a gateway of this host listens.
    pub fn new(access: Access) -> Result<Self> {
        let (calls, to_make) = mpsc::channel(CALLS);
        let (place, places) = watch::channel(Place { access, port: None });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let observer = Arc::<LogObserver>::default();
        let of_thread = Arc::clone(&observer);
        std::thread::Builder::new()
            .name("gateway".to_owned())
            .spawn(move || runtime.block_on(stay_connected(&of_thread, places, to_make)))?;
        Ok(Self { calls, place, observer })
    }

    /// Says how it is reached from now on.
    pub fn reach_by(&self, access: &Access) {
        self.place.send_if_modified(|place| {
            let is_new = place.access != *access;
            place.access.clone_from(access);
            is_new
        });
    }

    /// Says on which port of this host a gateway listens; `None` where none does.
    pub fn listens_on(&self, port: Option<u16>) {
        self.place.send_if_modified(|place| std::mem::replace(&mut place.port, port) != port);
    }

    /// Makes a call and waits for the answer. Not for use on an asynchronous thread.
    pub fn call(&self, method: &'static str, params: Value, within: Duration) -> Answer {
        let (reply, answer) = sync_channel(1);
        self.begin(method, params, within, move |answer| drop(reply.send(answer)));
        match answer.recv_timeout(within) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(CallError::TimedOut),
            Err(RecvTimeoutError::Disconnected) => Err(CallError::Closed),
        }
    }

    /// Makes a call; the answer is given to `reply` on another thread.
    pub fn begin(
        &self,
        method: &'static str,
        params: Value,
        within: Duration,
        reply: impl FnOnce(Answer) + Send + 'static,
    ) {
        let (began, observer) = (Instant::now(), Arc::clone(&self.observer));
        let reply = move |answer: Answer| {
            let outcome = answer.as_ref().map_or_else(CallError::as_str, |_| "ok");
            observer.observe(&Fact::Gateway(Contact::Call {
                method,
                outcome,
                took: began.elapsed(),
            }));
            reply(answer);
        };
        let call = Call::new(method, params, began + within, reply);
        if let Err(error) = self.calls.try_send(call) {
            let (mpsc::error::TrySendError::Full(call) | mpsc::error::TrySendError::Closed(call)) =
                error;
            call.answer(Err(CallError::NotConnected("too many calls wait".to_owned())));
        }
    }
}

/// Connects for a single call, for commands.
pub fn call_once(
    address: &Address,
    method: &'static str,
    params: Value,
    within: Duration,
) -> Result<Answer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        let mut connection = Connection::open(address).await?;
        let (calls, mut to_make) = mpsc::channel(1);
        let (reply, answer) = oneshot::channel();
        let deadline = Instant::now() + within;
        let call = Call::new(method, params, deadline, move |answer| drop(reply.send(answer)));
        drop(calls.send(call).await);
        tokio::select! {
            answer = answer => answer.unwrap_or(Err(CallError::Closed)),
            end = connection.serve(&mut to_make) => Err(end.err().unwrap_or(CallError::Closed)),
        }
    }))
}

/// The life of the thread: ends once nobody is left to call.
async fn stay_connected(
    observer: &LogObserver,
    mut places: watch::Receiver<Place>,
    mut calls: mpsc::Receiver<Call>,
) {
    let mut wait = FIRST_WAIT;
    loop {
        let place = places.borrow_and_update().clone();
        let error = match place.access.address(place.port) {
            Ok(address) => match Connection::open(&address).await {
                Ok(mut connection) => {
                    let (url, version) = (address.url.as_str(), &connection.version);
                    observer.observe(&Fact::Gateway(Contact::Made { url, version }));
                    wait = FIRST_WAIT;
                    let end = tokio::select! {
                        end = connection.serve(&mut calls) => end,
                        // It is elsewhere now.
                        changed = places.changed() => match changed {
                            Ok(()) => continue,
                            Err(_) => Ok(()),
                        },
                    };
                    let Err(error) = end else { return };
                    error
                }
                Err(error) => error,
            },
            Err(reason) => CallError::NotConnected(reason),
        };
        if place.is_known() {
            observer.observe(&Fact::Gateway(Contact::Lost { reason: &error }));
        }
        let next = if error.is_for_now() { wait } else { REFUSED_WAIT };
        wait = (wait * 2).min(LAST_WAIT);
        let next = place.is_known().then(|| jittered(next));
        if !rest(next, &error, &mut places, &mut calls).await {
            return;
        }
    }
}

/// Waits until it is time for another try, or there is another place to try it; calls are refused
/// meanwhile. False where nobody is left to call.
async fn rest(
    time: Option<Duration>,
    error: &CallError,
    places: &mut watch::Receiver<Place>,
    calls: &mut mpsc::Receiver<Call>,
) -> bool {
    let why = match error {
        CallError::NotConnected(why) => why.clone(),
        other => other.to_string(),
    };
    let mut over = pin!(sleep_until(Instant::now() + time.unwrap_or_default()));
    loop {
        tokio::select! {
            () = &mut over, if time.is_some() => return true,
            changed = places.changed() => return changed.is_ok(),
            call = calls.recv() => match call {
                Some(call) => call.answer(Err(CallError::NotConnected(why.clone()))),
                None => return false,
            },
        }
    }
}

/// From a half of the time to all of it, so that those whom a gateway left do not come back as one.
fn jittered(wait: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or(u32::MAX);
    wait / 2 + (wait / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}
