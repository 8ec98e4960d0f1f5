use super::*;
use crate::ids::{AgentId, SessionKey, ThreadId, Timestamp};
use crate::openclaw::socket::testing::{FakeGateway, Reply};
use crate::scan::node::testing::{page, row};

const LONG: Duration = Duration::from_secs(20);

fn link(n: usize) -> LinkId {
    let session_key = SessionKey::new(format!("agent:main:{n}"));
    LinkId { session_key, agent_id: AgentId::new("main") }
}

fn on(node: &str, thread: &str) -> OnNode {
    OnNode { node_id: node.to_owned(), thread_id: ThreadId::new(thread) }
}

fn goal(uuid: &str) -> Goal {
    Goal {
        uuid: Some(uuid.to_owned()),
        end: None,
        floor: None,
        further: false,
        asked_at: Timestamp(0),
    }
}

fn transcript(rows: usize) -> Vec<Value> {
    let at = "2026-12-01T00:00:00.000Z";
    let row = |n| row("userMessage", &format!("u{n}"), at, n as u64 * 10, &json!("words"));
    (1..=rows).map(row).collect()
}

fn refused(message: &str, dispatched: bool) -> Reply {
    Reply::Error(json!({
        "code": "INVALID_REQUEST", "message": message,
        "details": {"code": "X", "nodeCommandDispatched": dispatched},
    }))
}

/// Nodes that have a transcript of 120 rows each, but for what their names say.
fn gateway() -> (FakeGateway, NodeReader) {
    let rows = transcript(120);
    let fake = FakeGateway::greeting(move |request| {
        let (node, params) = (&request["params"]["nodeId"], &request["params"]["params"]);
        match (node.as_str().unwrap(), params["threadId"].as_str().unwrap()) {
            ("hung", _) => Reply::Silence,
            ("offline", _) => refused("node not connected", false),
            (_, "gone") => refused("Error: Claude session is unavailable", true),
            (_, "broken") => Reply::Done(json!({"payload": {"items": 1}})),
            _ => Reply::Done(json!({ "payload": page(&rows, params["cursor"].as_str(), PAGE) })),
        }
    });
    let reader = NodeReader::of(Arc::new(Gateway::new(fake.access()).unwrap()));
    (fake, reader)
}

#[test]
fn a_transcript_is_read_back_page_by_page_and_given_once() {
    let (fake, reader) = gateway();
    let read = |goal: &Goal| reader.read(&link(1), &on("n", "t"), goal);
    assert!(matches!(read(&goal("u5")), Reading::UnderWay));
    assert!(reader.have_ended(LONG));
    let Reading::Done(walk, end) = read(&goal("u5")) else { panic!("not done") };
    assert_eq!((walk.items.len(), end), (120, End::Found(115)));
    let requests: Vec<Value> =
        fake.requests.try_iter().filter(|request| request["method"] == "node.invoke").collect();
    assert_eq!(requests.len(), 3);
    let keys: std::collections::HashSet<String> =
        requests.iter().map(|one| one["params"]["idempotencyKey"].to_string()).collect();
    assert_eq!(keys.len(), 3);
    // The next question is a new one; and what was read for another goal is no answer to it.
    assert!(matches!(read(&goal("u6")), Reading::UnderWay));
    assert!(reader.have_ended(LONG));
    assert!(matches!(read(&goal("u7")), Reading::UnderWay));
    assert!(reader.have_ended(LONG));
    assert!(matches!(read(&goal("u7")), Reading::Done(_, End::Found(113))));
}

#[test]
fn that_a_node_has_no_such_session_is_told_from_all_else_that_fails() {
    let (_fake, reader) = gateway();
    for (node, thread, expected) in [
        ("n", "gone", Silence::Missing),
        ("offline", "t", Silence::Unknown("the node gives no answer (X)".to_owned())),
        ("n", "broken", Silence::Unknown(BadPage::Form.to_string())),
    ] {
        let read = || reader.read(&link(1), &on(node, thread), &goal("u1"));
        assert!(matches!(read(), Reading::UnderWay));
        assert!(reader.have_ended(LONG));
        let Reading::Failed(silence) = read() else { panic!("{node} {thread}: read") };
        assert_eq!(silence, expected, "{node} {thread}");
    }
}

#[test]
fn a_node_that_hangs_keeps_only_its_own_links_waiting() {
    let (fake, reader) = gateway();
    let (told, mut ends) = mpsc::channel(8);
    reader.tell(told);
    for n in 0..3 {
        assert!(matches!(reader.read(&link(n), &on("hung", "t"), &goal("u1")), Reading::UnderWay));
    }
    assert!(matches!(reader.read(&link(9), &on("n", "t"), &goal("u1")), Reading::UnderWay));
    assert_eq!(ends.blocking_recv(), Some(link(9)));
    assert!(!reader.have_ended(Duration::ZERO));
    let hung = |request: &Value| request["params"]["nodeId"] == "hung";
    assert_eq!(fake.requests.try_iter().filter(hung).count(), 1, "one request at a time");
}

#[test]
fn the_links_of_a_node_that_is_away_do_not_ask_one_after_the_other() {
    let (fake, reader) = gateway();
    // The first is answered while the others wait; how many do, is a matter of time.
    for n in 0..50 {
        assert!(matches!(
            reader.read(&link(n), &on("offline", "t"), &goal("u1")),
            Reading::UnderWay
        ));
    }
    assert!(reader.have_ended(LONG));
    for n in 0..50 {
        let reading = reader.read(&link(n), &on("offline", "t"), &goal("u1"));
        assert!(matches!(reading, Reading::Failed(Silence::Unknown(_))), "{n}");
    }
    let asked = fake.requests.try_iter().filter(|one| one["method"] == "node.invoke").count();
    assert!(asked < 50, "{asked}");
}
