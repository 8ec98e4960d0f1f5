use super::testing::{FakeGateway, Reply, hello, is_connect};
use super::*;
use crate::ids::{AgentId, SessionKey};
use crate::link::LinkId;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

/// Long enough for a thread to be scheduled on any machine.
const LONG: Duration = Duration::from_secs(20);
/// So short that a test does not wait for it.
const SHORT: Duration = Duration::from_millis(200);

/// Asks until there is an answer: a gateway that went is tried again by itself.
fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_call_is_made_after_the_handshake_and_answered() {
    let fake = FakeGateway::greeting(|request| {
        Reply::After(
            Message::text(r#"{"type":"event","event":"tick"}"#),
            json!({"echo": request["params"]}),
        )
    });
    let gateway = Gateway::new(fake.access()).unwrap();
    let answer = gateway.call("sessions.list", json!({"a": 1}), LONG);
    assert_eq!(answer, Ok(json!({"echo": {"a": 1}})));
    let connect = fake.requests.recv().unwrap();
    assert_eq!(connect["params"]["auth"], json!({"token": "secret"}));
    assert_eq!(connect["params"]["minProtocol"], 4);
    assert_eq!(connect["params"]["scopes"], json!(["operator.read", "operator.write"]));
    assert_eq!(fake.requests.recv().unwrap()["method"], "sessions.list");
}

#[test]
fn what_goes_wrong_with_a_call_has_a_name_and_the_next_call_is_answered() {
    let mut asked = 0;
    let fake = FakeGateway::greeting(move |_| {
        asked += 1;
        match asked {
            1 => Reply::Refused("INVALID_REQUEST"),
            2 => Reply::Silence,
            3 => Reply::Close,
            4 => Reply::After(Message::text("no frame"), Value::Null),
            _ => Reply::Done(json!(1)),
        }
    });
    let gateway = Gateway::new(fake.access()).unwrap();
    let call = |within| gateway.call("m", Value::Null, within);
    let Err(CallError::Refused(refusal)) = call(LONG) else { panic!("not refused") };
    assert_eq!((refusal.code.as_str(), refusal.message.as_str()), ("INVALID_REQUEST", "not now"));
    assert_eq!(call(SHORT), Err(CallError::TimedOut));
    assert_eq!(call(LONG), Err(CallError::Closed));
    // It connects again by itself; until then calls are refused.
    let again = || {
        until(|| {
            Some(call(LONG)).filter(|answer| !matches!(answer, Err(CallError::NotConnected(_))))
        })
    };
    assert_eq!(again(), Err(CallError::Closed));
    assert_eq!(again(), Ok(json!(1)));
}

#[test]
fn a_gateway_that_is_just_starting_is_asked_again() {
    let mut asked = 0;
    let fake = FakeGateway::start(move |request| {
        asked += 1;
        match (asked, is_connect(request)) {
            (1, true) => Reply::Refused("UNAVAILABLE"),
            (_, true) => hello(),
            _ => Reply::Done(json!(1)),
        }
    });
    let gateway = Gateway::new(fake.access()).unwrap();
    assert_eq!(until(|| gateway.call("m", Value::Null, LONG).ok()), json!(1));
    let methods: Vec<Value> = fake.requests.try_iter().map(|one| one["method"].clone()).collect();
    assert_eq!(methods, ["connect", "connect", "m"]);
}

#[test]
fn one_that_does_not_want_us_is_not_asked_soon_again() {
    let fake = FakeGateway::start(|_| Reply::Refused("UNAUTHORIZED"));
    let gateway = Gateway::new(fake.access()).unwrap();
    for _ in 0..3 {
        let Err(CallError::NotConnected(why)) = gateway.call("m", Value::Null, LONG) else {
            panic!("connected")
        };
        assert!(why.contains("UNAUTHORIZED") && !why.contains("secret"), "{why}");
    }
    assert_eq!(fake.requests.try_iter().count(), 1);
}

#[test]
fn it_connects_to_the_port_that_it_is_told_of() {
    let fake = FakeGateway::greeting(|_| Reply::Done(json!(1)));
    let gateway = Gateway::new(Access { url: None, ..fake.access() }).unwrap();
    let refused = gateway.call("m", Value::Null, LONG);
    assert!(matches!(refused, Err(CallError::NotConnected(_))), "{refused:?}");
    gateway.listens_on(Some(fake.port));
    assert_eq!(until(|| gateway.call("m", Value::Null, LONG).ok()), json!(1));

    let other = FakeGateway::greeting(|_| Reply::Done(json!(2)));
    gateway.reach_by(&other.access());
    until(|| gateway.call("m", Value::Null, LONG).ok().filter(|answer| *answer == json!(2)));
}

#[test]
fn what_does_not_speak_tls_is_no_gateway_elsewhere() {
    let fake = FakeGateway::greeting(|_| Reply::Silence);
    let url = GatewayUrl::parse(&format!("wss://localhost:{}", fake.port));
    let address = Access { url, ..fake.access() }.address(None).unwrap();
    let answer = call_once(&address, "m", Value::Null, LONG).unwrap();
    assert!(matches!(answer, Err(CallError::NotConnected(_))), "{answer:?}");
}

#[test]
fn a_command_makes_its_call_on_a_connection_of_its_own() {
    let fake = FakeGateway::greeting(|request| Reply::Done(request["params"].clone()));
    let address = fake.access().address(None).unwrap();
    assert_eq!(call_once(&address, "m", json!([2]), LONG).unwrap(), Ok(json!([2])));
    let nobody = FakeGateway::start(|_| Reply::Close).access().address(None).unwrap();
    assert_eq!(call_once(&nobody, "m", json!([2]), LONG).unwrap(), Err(CallError::Closed));
}

fn link(key: &str) -> LinkId {
    LinkId { session_key: SessionKey::new(key), agent_id: AgentId::new("main") }
}

fn row(key: &str, runs: bool) -> Value {
    json!({"key": key, "agentId": "main", "hasActiveRun": runs, "status": "running"})
}

#[test]
fn only_what_the_gateway_says_now_is_believed_of_a_session_where_nothing_runs() {
    let mut asked = 0;
    let fake = FakeGateway::greeting(move |request| {
        asked += 1;
        // A page is full, and the rest comes with the next.
        let page = &request["params"]["offset"];
        match (asked, page.as_u64()) {
            (1, _) => Reply::Done(json!({"sessions": [], "hasMore": false})),
            (_, Some(0)) => {
                let rows = [row("agent:main:idle", false), row("agent:main:a", true)];
                Reply::Done(json!({"sessions": rows, "hasMore": true}))
            }
            _ => Reply::Done(json!({"sessions": [row("agent:main:b", true)], "hasMore": false})),
        }
    });
    let runs = Runs::of(Arc::new(Gateway::new(fake.access()).unwrap()));
    assert_eq!(runs.is_running(&link("agent:main:a")), Some(false));
    // The first answer is no answer to this question.
    assert_eq!(runs.is_running(&link("agent:main:a")), Some(true));
    assert_eq!(runs.is_running(&link("agent:main:b")), Some(true));
    assert_eq!(runs.is_running(&link("agent:main:idle")), Some(false));
    let of_another = LinkId { agent_id: AgentId::new("other"), ..link("agent:main:a") };
    assert_eq!(runs.is_running(&of_another), Some(false));
}

#[test]
fn where_the_gateway_gives_no_answer_there_is_none_and_a_silent_one_costs_its_time_once() {
    let fake = FakeGateway::greeting(|_| Reply::Silence);
    let runs = Runs::of(Arc::new(Gateway::new(fake.access()).unwrap()));
    for _ in 0..3 {
        assert_eq!(runs.is_running(&link("agent:main:a")), None);
    }
    let asked = fake.requests.try_iter().filter(|request| !is_connect(request)).count();
    assert_eq!(asked, 1);

    let other = FakeGateway::greeting(|_| Reply::Done(json!({"unknown": 1})));
    let runs = Runs::of(Arc::new(Gateway::new(other.access()).unwrap()));
    assert_eq!(runs.is_running(&link("agent:main:a")), None);
}
