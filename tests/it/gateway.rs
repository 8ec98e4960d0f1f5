//! Beside a gateway: its database and its session store, made as OpenClaw 2026.9.6 makes them.

use crate::process::{Daemon, wait_until};
use crate::world::World;
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use upstreamd::ids::{AgentId, HostId, ThreadId};
use upstreamd::link::adopt::{session_key, session_key_on};

const KEY: &str = "agent:main:plugin:anthropic:catalog-adopt:claude:1";
const WATCHER: &str = "agent:main:main";

/// A state folder as a gateway leaves it.
struct Gateway<'w> {
    world: &'w World,
}

impl<'w> Gateway<'w> {
    fn new(world: &'w World) -> Self {
        let gateway = Self { world };
        for (path, sql) in [
            (gateway.database(), include_str!("../../src/record/schema.sql")),
            (gateway.database(), include_str!("../../src/record/gateway/state-18.sql")),
            (gateway.agent(), include_str!("../../fixtures/openclaw/agent.sql")),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let connection = Connection::open(path).unwrap();
            connection.execute_batch("PRAGMA journal_mode = wal").unwrap();
            connection.execute_batch(sql).unwrap();
        }
        gateway.sql(
            "INSERT INTO agent_databases VALUES
                 ('main', 'agents/main/agent/openclaw-agent.sqlite', 23, 1, NULL)",
        );
        gateway
    }

    fn database(&self) -> PathBuf {
        self.world.path().join(".openclaw/state/openclaw.sqlite")
    }

    fn agent(&self) -> PathBuf {
        self.world.path().join(".openclaw/agents/main/agent/openclaw-agent.sqlite")
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.database()).unwrap().execute_batch(sql).unwrap();
    }

    /// Adopts the first session, as `sessions.catalog.continue` does.
    fn adopt(&self) {
        let file = self.world.file(1);
        let (size, file) = (fs::metadata(&file).unwrap().len(), json!(file));
        self.sql(&format!(
            r#"INSERT INTO session_upstream_links VALUES ('{KEY}', 'main', 'claude', 'gateway:local',
                 '{thread}', 'claude-cli', '{{"filePath":{file}}}', '{{"offset":{size}}}', NULL, 1, 1)"#,
            thread = World::thread(1),
        ));
        self.enter(&json!({"sessionId": "s"}));
    }

    /// Writes the session's entry.
    fn enter(&self, entry: &serde_json::Value) {
        self.enter_as(KEY, entry);
    }

    /// Writes the entry of the session of this key.
    fn enter_as(&self, key: &str, entry: &serde_json::Value) {
        let connection = Connection::open(self.agent()).unwrap();
        connection
            .execute(
                "INSERT OR REPLACE INTO session_nodes
                     (session_key, current_session_id, entry_json, updated_at)
                 VALUES (?, 's', ?, 1)",
                (key, entry.to_string()),
            )
            .unwrap();
    }

    /// A gateway says that it lives.
    fn live(&self) {
        self.sql(
            "INSERT OR REPLACE INTO state_leases VALUES
                 ('gateway-owner', 'global', 'o', 9000000000000, 1, '{}', 1, 1)",
        );
    }

    fn watch(&self) {
        self.world.run(&["watch", "add", WATCHER, KEY]);
    }

    /// All files below the home folder with their content.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.world.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let content = fs::read(&path).unwrap();
                    found.insert(path, content);
                }
            }
        }
        found
    }

    /// Puts another file in the place of the database, as a restored backup does.
    fn swap(&self) {
        let copy = self.world.path().join("copy.sqlite");
        let sql = format!("VACUUM INTO '{}'", copy.display());
        self.sql(&sql);
        let connection = Connection::open(&copy).unwrap();
        connection.execute_batch("PRAGMA journal_mode = wal").unwrap();
        drop(connection);
        fs::rename(copy, self.database()).unwrap();
        for end in ["-wal", "-shm"] {
            let mut beside = self.database().into_os_string();
            beside.push(end);
            fs::remove_file(beside).unwrap();
        }
    }
}

#[test]
fn what_is_typed_into_an_adopted_session_gets_into_the_gateways_log() {
    let world = World::new();
    let gateway = Gateway::new(&world);
    world.append(1, &world.typed());
    let daemon = Daemon::start_without_cycles(&world, 1, "auto");
    daemon.wait_for("READY=1");
    // Adopted and watched while we run; nobody tells us but the database.
    gateway.adopt();
    world.append(1, &(world.machine() + &world.typed()));
    gateway.watch();
    wait_until("a turn", || world.turns() == 1);
    world.append(1, &world.typed());
    wait_until("another", || world.turns() == 2);
    let marks = Connection::open(gateway.database())
        .unwrap()
        .query_row(
            "SELECT material_sequence - last_seen_sequence,
                 (SELECT last_marker_json ->> 'offset' FROM session_upstream_links)
             FROM session_watch_cursors",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
        )
        .unwrap();
    let size = i64::try_from(fs::metadata(world.file(1)).unwrap().len()).unwrap();
    assert_eq!(marks, (2, size));
    daemon.stop();
}

#[test]
fn a_database_that_is_replaced_is_gone_on_with() {
    let world = World::new();
    let gateway = Gateway::new(&world);
    world.append(1, &world.machine());
    gateway.adopt();
    gateway.watch();
    let daemon = Daemon::start_without_cycles(&world, 1, "auto");
    daemon.wait_for("READY=1");
    world.append(1, &world.typed());
    wait_until("a turn", || world.turns() == 1);
    gateway.swap();
    world.append(1, &world.typed());
    wait_until("in the new file", || world.turns() == 2);
    let log = daemon.stop();
    assert!(log.contains("was replaced"), "{log}");
}

#[test]
fn a_row_that_may_be_openclaws_waits_for_the_end_of_its_turn() {
    let world = World::new();
    let gateway = Gateway::new(&world);
    world.append(1, &world.machine());
    gateway.adopt();
    gateway.watch();
    gateway.live();
    gateway.enter(&json!({"sessionId": "s", "status": "running"}));
    let daemon = Daemon::start_without_cycles(&world, 1, "auto");
    daemon.wait_for("READY=1");
    // Its own mark lets a person's row pass; what stands behind one without a mark waits with it.
    world.append(1, &world.typed());
    wait_until("a turn", || world.turns() == 1);
    world.append(1, &(world.unmarked("go on") + &world.typed()));
    wait_until("seen", || world.json(&["once", "--dry-run"])["links"][0]["outcome"] == "held");
    assert_eq!(world.turns(), 1);
    gateway.enter(&json!({"sessionId": "s"}));
    wait_until("the rest", || world.turns() == 3);
    daemon.stop();
}

#[test]
fn a_schema_that_is_not_known_is_read_and_never_written() {
    for (change, words) in [
        ("PRAGMA user_version = 19", "19"),
        ("ALTER TABLE session_state_events DROP COLUMN run_id", "run_id"),
        ("ALTER TABLE session_state_heads RENAME TO heads", "session_state_heads"),
    ] {
        let world = World::new();
        let gateway = Gateway::new(&world);
        world.append(1, &world.machine());
        gateway.adopt();
        gateway.sql(change);
        let before = fs::read(gateway.database()).unwrap();
        for command in [
            &["run"][..],
            &["once"],
            &["watch", "add", WATCHER, KEY],
            &["links", "--backfill"],
            &["links", "--backfill", "--apply"],
        ] {
            let (code, said) = world.fail(command);
            assert_eq!(code, 4, "{command:?}: {said}");
            assert!(said.contains(words), "{command:?}: {said}");
        }
        assert!(world.run(&["status"]).contains(words));
        assert_eq!(fs::read(gateway.database()).unwrap(), before);
    }
}

#[test]
fn what_was_adopted_before_there_were_links_is_backfilled_once_and_followed_from_its_end() {
    let world = World::new();
    let gateway = Gateway::new(&world);
    let main = AgentId::new("main");
    let key = |n| session_key(&main, &ThreadId::new(World::thread(n))).to_string();
    world.append(1, &(world.typed() + &world.typed()));
    world.append(2, &world.typed());
    gateway.enter_as(&key(1), &json!({"sessionId": "s"}));
    // No file has it; one of a node whose thread has a file here; one that has its link.
    gateway.enter_as(&key(3), &json!({"sessionId": "s"}));
    let node = HostId::new("node:n");
    let of_a_node = session_key_on(&main, &node, &ThreadId::new(World::thread(2))).to_string();
    gateway.enter_as(
        &of_a_node,
        &json!({"sessionId": "s", "pluginExtensions": {"anthropic": {"sessionCatalog":
            {"sourceThreadId": World::thread(2), "sourceHostId": node}}}}),
    );
    gateway.adopt();
    gateway.sql("UPDATE session_upstream_links SET created_at = unixepoch() * 1000");

    let before = gateway.files();
    let states = |report: &serde_json::Value| -> BTreeMap<String, (String, serde_json::Value)> {
        let found = report["backfill"].as_array().unwrap().iter();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        found
            .map(|one| {
                (text(&one["sessionKey"]), (text(&one["state"]), one["adoptedEvent"].clone()))
            })
            .collect()
    };
    let expected = |link: &str, event: &str, has_link: &str| {
        BTreeMap::from([
            (key(1), (link.to_owned(), json!(event))),
            (key(3), ("no_file".to_owned(), json!(null))),
            (of_a_node.clone(), ("of_a_node".to_owned(), json!(null))),
            (KEY.to_owned(), ("has_link".to_owned(), json!(has_link))),
        ])
    };
    let plan = world.json(&["links", "--backfill"]);
    assert_eq!(states(&plan), expected("would_link", "would_record", "would_record"));
    let said = world.run(&["links", "--backfill"]);
    assert!(said.contains("would link") && said.contains("links to make: 1, events to record: 2"));
    assert_eq!(gateway.files(), before, "nothing is written anywhere");
    let (code, said) = world.fail(&["links", "--apply"]);
    assert!(code == 2 && said.contains("--backfill"), "{said}");

    let done = world.json(&["links", "--backfill", "--apply"]);
    assert_eq!(states(&done), expected("linked", "recorded", "recorded"));
    let path = world.file(1).canonicalize().unwrap();
    let linked = done["backfill"].as_array().unwrap().iter().find(|one| one["state"] == "linked");
    assert_eq!(linked.unwrap()["path"], json!(path));
    assert_eq!(linked.unwrap()["threadId"], json!(World::thread(1)));
    let tables = || -> Vec<String> {
        let connection = Connection::open(gateway.database()).unwrap();
        let mut statement = connection
            .prepare(
                "SELECT session_key || thread_id || upstream_ref_json || last_marker_json
                     || ifnull(last_scanned_at, '') || updated_at FROM session_upstream_links
                 UNION ALL SELECT sequence || dedupe_key || summary || payload_json
                 FROM session_state_events ORDER BY 1",
            )
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let after = tables();
    assert_eq!(after.len(), 4, "{after:?}");
    let again = world.json(&["links", "--backfill", "--apply"]);
    assert_eq!(states(&again), expected("has_link", "there", "there"));
    assert_eq!(tables(), after, "again changes nothing");

    // What was typed before is history.
    world.run(&["watch", "add", WATCHER, &key(1)]);
    world.run(&["once"]);
    assert_eq!(world.turns(), 0);
    world.append(1, &world.typed());
    world.run(&["once"]);
    assert_eq!(world.turns(), 1);
}

#[test]
fn without_a_gateway_there_is_nothing_to_backfill() {
    let world = World::new();
    world.append(1, &world.typed());
    for command in [&["links", "--backfill"][..], &["links", "--backfill", "--apply"]] {
        let (code, said) = world.fail(command);
        assert!(code == 1 && said.contains("by its link alone"), "{said}");
    }
    assert!(!world.state().exists());
}
