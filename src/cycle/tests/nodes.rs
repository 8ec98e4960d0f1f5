//! Transcripts of paired nodes.

use super::{Said, World};
use crate::clock::Clock as _;
use crate::cycle::Outcome;
use crate::ids::{AgentId, CatalogId, HostId, ThreadId};
use crate::killpoint::KillPoint;
use crate::link::{LinkId, NewLink, OnNode, RowMarker, marker_row_json};
use crate::openclaw::nodes::{Nodes, Reading, Silence};
use crate::openclaw::sessions::testing::MadeUp as Session;
use crate::record::EventFilter;
use crate::scan::node::testing::{page, row};
use crate::scan::node::{Goal, PAGE, Step, Walk};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};

/// A node with one transcript.
#[derive(Default)]
pub(super) struct MadeUp {
    transcript: RefCell<Vec<Value>>,
    silence: RefCell<Option<Silence>>,
    /// Whether it takes its time: what is asked is answered at the next question.
    is_slow: Cell<bool>,
    is_asked: Cell<bool>,
}

impl Nodes for MadeUp {
    fn read(&self, _: &LinkId, transcript: &OnNode, goal: &Goal) -> Reading {
        assert_eq!(transcript.node_id, "n1");
        if self.is_slow.get() && !self.is_asked.replace(!self.is_asked.get()) {
            return Reading::UnderWay;
        }
        if let Some(silence) = self.silence.borrow().clone() {
            return Reading::Failed(silence);
        }
        let mut walk = Walk::new(goal.clone());
        let mut cursor = None;
        loop {
            match walk.take(&page(&self.transcript.borrow(), cursor.as_deref(), PAGE)) {
                Ok(Step::Page(next)) => cursor = Some(next),
                Ok(Step::Done(end)) => return Reading::Done(walk, end),
                Err(bad) => return Reading::Failed(Silence::Unknown(bad.to_string())),
            }
        }
    }

    fn wait(&self) -> bool {
        true
    }
}

impl World {
    /// A world with a transcript on a node, adopted at its end.
    fn on_node(history: usize) -> Self {
        let mut world = Self::new();
        world.nodes = Some(MadeUp::default());
        for n in 0..history {
            world.node_types(&format!("history {n}"));
        }
        world.adopt_on_node();
        world
    }

    fn node(&self) -> &MadeUp {
        self.nodes.as_ref().unwrap()
    }

    /// Makes a link as the gateway does.
    fn adopt_on_node(&mut self) {
        let newest = self.node().transcript.borrow().last().map(|row| row["uuid"].clone());
        let new = NewLink {
            id: LinkId { session_key: Self::session(), agent_id: AgentId::new("main") },
            catalog_id: CatalogId::new("claude"),
            host_id: HostId::new("node:n1"),
            thread_id: ThreadId::new("t1"),
            upstream_kind: "claude-cli".to_owned(),
            ref_json: r#"{"nodeId":"n1","threadId":"t1"}"#.to_owned(),
            offset: 0,
        };
        let now = self.tick();
        self.log.adopt(&new, now).unwrap();
        self.set_node_marker(&json!({ "uuid": newest }).to_string());
    }

    fn set_node_marker(&self, json: &str) {
        let link = self.link().unwrap();
        self.log.set_marker(&link.id, json, link.updated_at);
    }

    /// A row of the node's transcript; gives its uuid.
    fn on_node_writes(&mut self, kind: &str, content: &Value) -> String {
        let (at, uuid) = (self.tick(), self.uuid());
        let at = humantime::format_rfc3339_millis(
            std::time::UNIX_EPOCH + std::time::Duration::from_millis(u64::try_from(at.0).unwrap()),
        );
        let mut transcript = self.node().transcript.borrow_mut();
        let end = (transcript.len() as u64 + 1) * 100;
        transcript.push(row(kind, &uuid, &at.to_string(), end, content));
        uuid
    }

    fn node_types(&mut self, words: &str) -> String {
        self.on_node_writes("userMessage", &json!(words))
    }

    fn payloads(&self) -> Vec<(Option<String>, Value)> {
        let events = self.log.events(&EventFilter::default(), 1_000).unwrap().events;
        events
            .into_iter()
            .filter(|event| event.kind == "human_direct_message")
            .map(|event| {
                let payload = event.payload_json.as_deref().unwrap_or("null");
                (event.dedupe_key, serde_json::from_str(payload).unwrap())
            })
            .collect()
    }

    /// An event as the gateway's monitor writes it, with the marker moved to this row.
    fn gateway_records(&mut self, newest: &str, turns: usize) {
        let link = self.link().unwrap();
        let now = self.tick();
        let at = {
            let transcript = self.node().transcript.borrow();
            let row = transcript.iter().find(|row| row["uuid"] == newest).unwrap();
            crate::classify::time(row["timestamp"].as_str().unwrap()).unwrap()
        };
        let source = link.source_key();
        self.log.record_as_gateway(&link.id, &format!("{source}:{newest}"), at, turns);
        self.log.set_marker(&link.id, &marker_row_json(newest), now);
    }
}

#[test]
fn turns_on_a_node_are_recorded_once_under_the_gateways_name() {
    let mut world = World::on_node(3);
    assert_eq!(world.outcome(), Outcome::Unchanged);
    world.node_types("one");
    world.on_node_writes("agentMessage", &json!("an answer"));
    let newest = world.node_types("two");
    assert_eq!(world.outcome(), Outcome::Read);
    let link = world.link().unwrap();
    assert_eq!(link.row_marker(), RowMarker::Row(newest.clone()));
    let (key, payload) = world.payloads().pop().unwrap();
    assert!(key.unwrap().ends_with(&format!(":{}:{newest}", link.source_key())));
    assert_eq!(
        (&payload["turns"], &payload["from"], &payload["to"]),
        (&json!(2), &json!(300), &json!(600))
    );
    assert_eq!(world.outcome(), Outcome::Unchanged);
    assert_eq!(world.turns(), 2);
}

#[test]
fn a_burst_of_many_pages_is_counted_exactly_and_so_is_a_transcript_that_was_empty() {
    for history in [0, 1, 120] {
        let mut world = World::on_node(history);
        if history != 1 {
            world.cycle();
        }
        for n in 0..300 {
            world.node_types(&format!("words {n}"));
            world.on_node_writes("toolResult", &json!([{"type": "tool_result"}]));
        }
        world.cycle();
        assert_eq!(world.turns(), 300, "{history}");
        assert_eq!(world.payloads().len(), 1, "{history}");
    }
}

#[test]
fn a_link_without_a_marker_is_followed_from_its_end() {
    let mut world = World::on_node(70);
    world.set_node_marker("{}");
    world.cycle();
    world.node_types("new");
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn what_no_person_typed_moves_the_marker_and_counts_for_nothing() {
    let mut world = World::on_node(1);
    world.cycle();
    world.on_node_writes("agentMessage", &json!("an answer"));
    world.on_node_writes(
        "userMessage",
        &json!([{"type": "text", "text": "[Request interrupted by user]"}]),
    );
    let newest = world.on_node_writes(
        "userMessage",
        &json!(
            "This session is being continued from a previous conversation that ran out of \
             context. The summary below covers the earlier portion of the conversation."
        ),
    );
    world.cycle();
    assert_eq!(world.turns(), 0);
    assert_eq!(world.link().unwrap().row_marker(), RowMarker::Row(newest));
    world.on_node_writes("userMessage", &json!([{"type": "image", "source": {}}]));
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn rows_wait_while_openclaw_runs_a_turn_and_what_stands_before_them_too() {
    let mut world = World::on_node(1);
    world.cycle();
    world.sessions = Some(Session::session());
    world.runs = Some(Said(Some(true)));
    world.on_node_writes("agentMessage", &json!("an answer"));
    world.node_types("perhaps OpenClaw's");
    assert_eq!(world.outcome(), Outcome::Held);
    assert_eq!(world.turns(), 0);
    world.runs = Some(Said(Some(false)));
    let now = world.tick();
    let hash = world.key.text(&crate::classify::text::normalise("perhaps OpenClaw's"));
    world.journal.add_own_text(&World::session(), &hash, now).unwrap();
    world.node_types("a person's");
    assert_eq!(world.outcome(), Outcome::Read);
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_window_that_the_gateway_recorded_first_is_counted_once() {
    for (mine, turns) in [(0, 0), (2, 2)] {
        let mut world = World::on_node(2);
        world.cycle();
        world.node_types("one");
        let newest = world.node_types("two");
        world.gateway_records(&newest, 2);
        for n in 0..mine {
            world.node_types(&format!("later {n}"));
        }
        world.cycle();
        let ours: u64 = world
            .payloads()
            .iter()
            .filter(|(_, payload)| payload["from"].is_u64())
            .map(|(_, payload)| payload["turns"].as_u64().unwrap_or(1))
            .sum();
        assert_eq!(ours, turns, "{mine}");
    }
}

#[test]
fn a_window_of_which_the_gateway_had_but_the_newest_rows_is_recorded_as_the_rest() {
    let mut world = World::on_node(2);
    world.cycle();
    let mut newest = String::new();
    for n in 0..80 {
        newest = world.node_types(&format!("words {n}"));
    }
    // It reads one page.
    world.gateway_records(&newest, 50);
    world.cycle();
    let turns: u64 = world
        .payloads()
        .iter()
        .map(|(_, payload)| payload.get("turns").map_or(1, |turns| turns.as_u64().unwrap()))
        .sum();
    assert_eq!(turns, 80);
    assert_eq!(world.link().unwrap().row_marker(), RowMarker::Row(newest));
}

#[test]
fn a_marker_that_the_gateway_moved_on_meanwhile_stays() {
    let mut world = World::on_node(1);
    world.cycle();
    world.node_types("one");
    world.cycle_until(Some(KillPoint::IntentCommitted));
    let newest = world.on_node_writes("agentMessage", &json!("an answer"));
    world.clock.0.set(world.clock.0.get() + 1);
    let id = world.link().unwrap().id;
    world.log.set_marker(&id, &marker_row_json(&newest), world.clock.now());
    world.means().tidy().unwrap();
    assert_eq!(world.link().unwrap().row_marker(), RowMarker::Row(newest));
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn wherever_a_life_ends_each_turn_is_recorded_once() {
    for point in [
        KillPoint::IntentCommitted,
        KillPoint::EventWritten,
        KillPoint::EventCommitted,
        KillPoint::IntentApplied,
    ] {
        let mut world = World::on_node(1);
        world.cycle();
        world.node_types("one");
        world.node_types("two");
        assert!(world.cycle_until(Some(point)).is_none(), "{point:?}");
        world.node_types("three");
        world.cycle();
        world.cycle();
        assert_eq!(world.turns(), 3, "{point:?}");
    }
}

#[test]
fn a_transcript_that_was_rewritten_counts_what_is_new_in_it() {
    let mut world = World::on_node(3);
    world.cycle();
    world.node_types("counted");
    world.cycle();
    world.node().transcript.borrow_mut().remove(0);
    for (n, row) in world.node().transcript.borrow_mut().iter_mut().enumerate() {
        row["resumeCursor"] = json!(crate::scan::node::testing::cursor((n as u64 + 1) * 90));
    }
    world.node_types("new");
    assert_eq!(world.outcome(), Outcome::Rewritten);
    assert_eq!(world.turns(), 2);
    world.node_types("newer");
    world.cycle();
    assert_eq!(world.turns(), 3);
}

#[test]
fn only_a_nodes_own_word_makes_a_transcript_missing_and_only_three_times_in_a_row() {
    let mut world = World::on_node(1);
    world.cycle();
    let unknown = Silence::Unknown("the node does not answer".to_owned());
    for silence in [Silence::Missing, Silence::Missing, unknown.clone(), unknown.clone(), unknown] {
        let is_missing = silence == Silence::Missing;
        *world.node().silence.borrow_mut() = Some(silence);
        let expected = if is_missing { Outcome::Missing } else { Outcome::Unreadable };
        assert_eq!(world.outcome(), expected);
    }
    *world.node().silence.borrow_mut() = None;
    world.cycle();
    *world.node().silence.borrow_mut() = Some(Silence::Missing);
    for outcome in [Outcome::Missing, Outcome::Missing, Outcome::Deleted] {
        assert_eq!(world.outcome(), outcome);
    }
    assert!(world.link().is_none());
    let events = world.log.events(&EventFilter::default(), 9).unwrap().events;
    assert_eq!(events.last().unwrap().kind, "upstream_missing");
}

#[test]
fn a_slow_node_is_waited_for_by_a_cycle_and_by_no_pass() {
    let mut world = World::on_node(1);
    world.cycle();
    world.node().is_slow.set(true);
    world.node_types("one");
    assert_eq!(world.look().outcome, Outcome::Asked);
    assert_eq!(world.look().outcome, Outcome::Read);
    world.node_types("two");
    assert_eq!(world.outcome(), Outcome::Read);
    assert_eq!(world.turns(), 2);
}

#[test]
fn a_row_that_the_node_cut_for_its_length_counts_by_its_words() {
    let mut world = World::on_node(1);
    world.cycle();
    for (text, turns) in [("long words", 1), ("", 2)] {
        world.node_types("replaced");
        let mut transcript = world.node().transcript.borrow_mut();
        let row = transcript.last_mut().unwrap().as_object_mut().unwrap();
        row.remove("content");
        row.insert("truncated".to_owned(), json!(true));
        row.insert(
            "text".to_owned(),
            json!(format!("{text}\n\n[oversized Claude item truncated]")),
        );
        drop(transcript);
        world.cycle();
        assert_eq!(world.turns(), turns);
    }
}
