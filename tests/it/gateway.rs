//! Beside a gateway: its database and its session store, made as OpenClaw 2026.9.6 makes them.

use crate::process::{Daemon, wait_until};
use crate::world::World;
use rusqlite::Connection;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

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
        let connection = Connection::open(self.agent()).unwrap();
        connection
            .execute(
                "INSERT OR REPLACE INTO session_nodes
                     (session_key, current_session_id, entry_json, updated_at)
                 VALUES (?, 's', ?, 1)",
                (KEY, entry.to_string()),
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
        for command in [&["run"][..], &["once"], &["watch", "add", WATCHER, KEY]] {
            let (code, said) = world.fail(command);
            assert_eq!(code, 4, "{command:?}: {said}");
            assert!(said.contains(words), "{command:?}: {said}");
        }
        assert!(world.run(&["status"]).contains(words));
        assert_eq!(fs::read(gateway.database()).unwrap(), before);
    }
}
