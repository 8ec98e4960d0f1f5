use super::*;
use crate::link::LinkId;
use crate::record::testing::{KEY, NOW, WATCHER, id, intent, key, marks, row, source, turn_events};
use crate::record::{
    Ahead, Appended, EventFilter, LinkFilter, MarkerOutcome, MissingCause, Retention, Store,
    WindowOutcome,
};
use rusqlite::types::Value;

/// A state folder as a gateway leaves it, with a session that is adopted and watched.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self::bare();
        place.sql(SCHEMA);
        place.sql(include_str!("state-18.sql"));
        place.sql(&format!(
            r#"INSERT INTO session_state_events VALUES (7, 'adopted:{KEY}', '{KEY}', NULL, 'main',
                 'adopted', 'human', NULL, NULL, 1, 'adopted from claude', NULL);
             INSERT INTO session_state_heads VALUES ('{KEY}', 'main', 7, 0, 1);
             INSERT INTO session_upstream_links VALUES ('{KEY}', 'main', 'claude', 'gateway:local',
                 '3f6b0a52-7c1d-4e8e-9a51-0d2f6c1b7a01', 'claude-cli',
                 '{{"filePath":"/home/me/.claude/projects/p/3f6b.jsonl"}}', '{{"offset":100}}', NULL,
                 1, 1);
             INSERT INTO session_watch_cursors (watcher_session_key, target_session_key,
                 last_seen_sequence, notified_sequence, material_sequence, updated_at)
             VALUES ('{WATCHER}', '{KEY}', 7, 7, 7, 1);"#
        ));
        place
    }

    fn bare() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs_err::create_dir(place.folder.path().join("state")).unwrap();
        place.sql("PRAGMA journal_mode = wal");
        place
    }

    fn store(&self) -> Store {
        self.store_that_accepts(None)
    }

    fn store_that_accepts(&self, accept: Option<i64>) -> Store {
        let folder = self.folder.path().to_owned();
        Store::Gateway(GatewayStore { database: self.database(), folder, accept })
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("state/openclaw.sqlite")
    }

    /// Another program's connection.
    fn theirs(&self) -> Connection {
        Connection::open(self.database()).unwrap()
    }

    fn sql(&self, sql: &str) {
        self.theirs().execute_batch(sql).unwrap();
    }

    fn open(&self) -> SignalLog {
        self.store().open().unwrap()
    }

    fn read(&self) -> SignalLog {
        self.store().open_read_only().unwrap().unwrap()
    }

    /// The refusal to write.
    fn refusal(&self) -> String {
        let error = self.store().open().unwrap_err();
        assert_eq!(error.exit_code(), 4, "{error}");
        let error = error.to_string();
        let read = self.read();
        assert!(error.contains(read.obstacle().unwrap()), "{error}");
        assert_eq!(self.store().copy_in_memory().unwrap_err().exit_code(), 4);
        error
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs_err::read_dir(self.folder.path().join("state"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn live_gateway(&self, host: &str) {
        self.sql(&format!(
            r#"INSERT INTO state_leases VALUES ('gateway-owner', 'global', 'x', {}, {}, '{{"owner":
                 {{"pid":42,"host":"{host}","startedAt":5}},"port":18789,"mode":"foreground",
                 "supervisor":null}}', 11, 12)"#,
            NOW.0 + 1000,
            NOW.0
        ));
    }
}

fn one_turn(log: &mut SignalLog, from: u64, to: u64) -> WindowOutcome {
    let rows = vec![row(from + 10, to, 5)];
    log.record_window(&intent(from, to, rows), None, Ahead::Unseen, NOW).unwrap()
}

fn pragma(connection: &Connection, name: &str) -> Value {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap()
}

fn of_file(connection: &Connection) -> Vec<Value> {
    ["journal_mode", "user_version", "application_id", "schema_version", "auto_vacuum"]
        .map(|name| pragma(connection, name))
        .to_vec()
}

#[test]
fn a_turn_gets_into_the_gateways_tables_and_nothing_else_changes() {
    let place = Place::new();
    let theirs = place.theirs();
    let before = of_file(&theirs);
    let mut log = place.open();
    assert!(log.is_gateways() && log.obstacle().is_none());
    assert_eq!(pragma(&log.connection, "busy_timeout"), Value::Integer(5000));
    assert_eq!(pragma(&log.connection, "wal_autocheckpoint"), Value::Integer(0));
    assert_eq!(pragma(&log.connection, "synchronous"), Value::Integer(1));
    assert_eq!(log.links(LinkFilter::Watched).unwrap().len(), 1);
    let WindowOutcome::Recorded(record) = one_turn(&mut log, 100, 200) else { panic!() };
    assert_eq!((record.sequence.unwrap().0, record.turns), (8, 1));
    let event = turn_events(&log).remove(0);
    assert_eq!(event.sequence.0, 8);
    assert_eq!(event.summary, "human message via claude");
    assert_eq!(marks(&log, WATCHER), (7, 8, 8));
    let dedupe: String = theirs
        .query_row("SELECT dedupe_key FROM session_state_events WHERE sequence = 8", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(dedupe, format!("upstream:{KEY}:{}:200", source()));
    assert_eq!(log.link(&id()).unwrap().unwrap().marker(), Some(200));
    assert_eq!(of_file(&theirs), before);
}

#[test]
fn closing_leaves_the_write_ahead_log_where_it_is() {
    let place = Place::new();
    let before = fs_err::read(place.database()).unwrap();
    let mut log = place.open();
    one_turn(&mut log, 100, 200);
    drop(log);
    assert!(place.names().contains(&"openclaw.sqlite-wal".to_owned()), "{:?}", place.names());
    assert!(fs_err::read(place.database()).unwrap() == before, "the database was checkpointed");
    assert_eq!(turn_events(&place.read()).len(), 1);
}

#[test]
fn nothing_is_checkpointed_while_a_gateway_lives() {
    let place = Place::new();
    place.live_gateway("here");
    let theirs = place.theirs();
    theirs.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let before = fs_err::read(place.database()).unwrap();
    let mut log = place.open();
    one_turn(&mut log, 100, 200);
    log.checkpoint(NOW).unwrap();
    let now = || fs_err::read(place.database()).unwrap();
    assert!(now() == before);
    log.checkpoint(NOW.plus_ms(1000)).unwrap();
    assert!(now() != before, "a gateway that is gone needs nobody to wait for it");
}

#[test]
fn a_missing_database_is_not_made() {
    let place = Place::bare();
    fs_err::remove_file(place.database()).unwrap();
    assert_eq!(place.store().open().unwrap_err().exit_code(), 75);
    assert!(place.store().open_read_only().unwrap().is_none());
    assert_eq!(place.store().copy_in_memory().unwrap().links(LinkFilter::All).unwrap(), []);
    assert_eq!(place.names(), [""; 0]);
    fs_err::write(place.database(), "").unwrap();
    assert_eq!(place.store().open().unwrap_err().exit_code(), 75);
    assert!(place.store().open_read_only().unwrap().is_none());
    assert_eq!(fs_err::metadata(place.database()).unwrap().len(), 0);
}

#[test]
fn a_version_that_is_not_known_is_read_and_not_written() {
    let place = Place::new();
    for (change, word) in [
        ("PRAGMA user_version = 19", "version 19"),
        (
            "PRAGMA user_version = 18;
             INSERT INTO config_machine_state VALUES ('state.schema.contentVersion', '20', 0)",
            "version 20",
        ),
        ("UPDATE config_machine_state SET value_json = '{}'", "newer than this program knows"),
        ("DELETE FROM config_machine_state; PRAGMA user_version = 0", "version 0"),
    ] {
        place.sql(change);
        let refusal = place.refusal();
        assert!(refusal.contains(word) && refusal.contains("nothing was written"), "{refusal}");
        assert_eq!(place.read().links(LinkFilter::All).unwrap().len(), 1);
        assert_eq!(place.read().watches(None).unwrap().len(), 1);
    }
    place.sql("PRAGMA user_version = 18");
    place.open();
}

#[test]
fn a_newer_version_is_written_to_where_somebody_accepts_just_that_one() {
    let place = Place::new();
    place.sql("PRAGMA user_version = 19");
    for (accept, fine) in [(19, true), (20, false), (18, false)] {
        assert_eq!(place.store_that_accepts(Some(accept)).open().is_ok(), fine, "{accept}");
    }
    let mut log = place.store_that_accepts(Some(19)).open().unwrap();
    one_turn(&mut log, 100, 200);
    place.sql("ALTER TABLE session_state_heads RENAME COLUMN updated_at TO changed_at");
    assert!(place.store_that_accepts(Some(19)).open().is_err(), "the columns are compared anyway");
}

#[test]
fn what_changes_under_an_open_log_is_noticed_in_the_next_transaction() {
    for change in [
        "PRAGMA user_version = 19",
        "INSERT INTO config_machine_state VALUES ('state.schema.contentVersion', '19', 0)",
        "ALTER TABLE session_state_events RENAME COLUMN summary TO title",
        "ALTER TABLE session_watch_cursors RENAME TO watch_cursors",
    ] {
        let place = Place::new();
        let mut log = place.open();
        one_turn(&mut log, 100, 200);
        place.sql(change);
        let rows = vec![row(210, 300, 1)];
        let error =
            log.record_window(&intent(200, 300, rows), None, Ahead::Unseen, NOW).unwrap_err();
        assert_eq!(error.exit_code(), 4, "{change}: {error}");
        let events: i64 = place
            .theirs()
            .query_row("SELECT count(*) FROM session_state_events", [], |row| row.get(0))
            .unwrap();
        assert_eq!(events, 2, "{change}");
    }
}

#[test]
fn what_columns_there_are_is_looked_at() {
    for (change, word) in [
        (
            "ALTER TABLE session_state_events RENAME COLUMN summary TO title",
            "lacks the column session_state_events.summary TEXT NOT NULL",
        ),
        (
            "ALTER TABLE session_watch_cursors DROP COLUMN provenance",
            "lacks the column session_watch_cursors.provenance",
        ),
        ("ALTER TABLE session_state_heads RENAME TO heads", "lacks the table session_state_heads"),
        (
            "DROP TABLE session_upstream_links;
             CREATE TABLE session_upstream_links (session_key TEXT NOT NULL, agent_id TEXT NOT NULL,
                 catalog_id TEXT NOT NULL, host_id TEXT NOT NULL, thread_id TEXT NOT NULL,
                 upstream_kind TEXT NOT NULL, upstream_ref_json TEXT, last_marker_json BLOB,
                 last_scanned_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
                 PRIMARY KEY (session_key, agent_id)) STRICT",
            "lacks the column session_upstream_links.last_marker_json TEXT",
        ),
        (
            "CREATE TABLE more AS SELECT 1; DROP TABLE session_state_heads;
             CREATE TABLE session_state_heads (session_key TEXT NOT NULL, agent_id TEXT NOT NULL,
                 last_sequence INTEGER NOT NULL, pruned_max_sequence INTEGER NOT NULL DEFAULT 0,
                 updated_at INTEGER NOT NULL, epoch INTEGER NOT NULL,
                 PRIMARY KEY (session_key, agent_id)) STRICT",
            "has the column session_state_heads.epoch",
        ),
    ] {
        let place = Place::new();
        place.sql(change);
        let refusal = place.refusal();
        assert!(refusal.contains(word), "{refusal}");
    }
    let place = Place::new();
    place.sql(
        "ALTER TABLE session_state_events ADD COLUMN note TEXT;
         ALTER TABLE session_state_heads ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
         CREATE TABLE session_other (x TEXT NOT NULL)",
    );
    let mut log = place.open();
    assert!(matches!(one_turn(&mut log, 100, 200), WindowOutcome::Recorded(_)));
}

#[test]
fn what_is_left_of_a_broken_schema_can_still_be_read() {
    let place = Place::new();
    place.sql("ALTER TABLE session_watch_cursors RENAME TO watch_cursors");
    let log = place.read();
    assert_eq!(log.links(LinkFilter::All).unwrap().len(), 1);
    assert_eq!(log.events(&EventFilter::default(), 10).unwrap().events.len(), 1);
    assert_eq!(log.watches(None).unwrap_err().exit_code(), 1);
}

#[test]
fn cursors_of_older_gateways_are_read_and_moved() {
    for (change, version) in [
        ("ALTER TABLE session_watch_cursors DROP COLUMN watcher_store_path", 18),
        (
            "ALTER TABLE session_watch_cursors DROP COLUMN watcher_store_path;
             ALTER TABLE session_watch_cursors DROP COLUMN provenance;
             DROP TABLE config_machine_state; DROP TABLE agent_databases; DROP TABLE state_leases",
            3,
        ),
    ] {
        let place = Place::new();
        place.sql(&format!("{change}; PRAGMA user_version = {version}"));
        let mut log = place.open();
        assert_eq!(log.schema_version(), version);
        let other = key("agent:main:other");
        assert!(log.watch(&other, &key(KEY), Some("/db"), NOW).unwrap());
        assert!(!log.watch(&other, &key(KEY), Some("/db"), NOW).unwrap());
        one_turn(&mut log, 100, 200);
        assert_eq!(marks(&log, other.as_str()), (7, 8, 8));
        let pending = log.pending(Some(&other)).unwrap().remove(0);
        assert_eq!(pending.store_path, None);
        log.acknowledge(&pending, NOW).unwrap();
        let watch = log.watches(Some(&other)).unwrap().remove(0);
        assert_eq!((watch.provenance.as_str(), watch.last_seen.0), ("explicit", 8));
        assert_eq!(log.owner().unwrap(), None);
        assert_eq!(log.agent_databases().unwrap(), []);
        // The gateway is updated, and adds what it lacked: nothing needs to be opened again.
        place.sql("ALTER TABLE session_watch_cursors ADD COLUMN watcher_store_path TEXT");
        log.watch(&key("agent:main:third"), &key(KEY), Some("/db"), NOW).unwrap();
        let third = log.watches(Some(&key("agent:main:third"))).unwrap().remove(0);
        assert_eq!(third.store_path.as_deref(), Some("/db"));
    }
}

#[test]
fn old_marks_of_group_sessions_are_left_alone() {
    let place = Place::new();
    let mark = "ambient-group-watch:6162";
    place.sql(&format!(
        "INSERT INTO session_watch_cursors (watcher_session_key, target_session_key, updated_at)
         VALUES ('{mark}', '{KEY}', 1);
         DELETE FROM session_watch_cursors WHERE watcher_session_key = '{WATCHER}'"
    ));
    let mut log = place.open();
    assert!(log.links(LinkFilter::Watched).unwrap().is_empty(), "nobody watches");
    assert!(log.watches(None).unwrap().is_empty());
    one_turn(&mut log, 100, 200);
    assert!(log.pending(None).unwrap().is_empty());
    assert_eq!(log.unwatch(&key(mark), None).unwrap(), 0);
    log.prune(Retention { events_ms: 0, events: 0, cursors_ms: 0 }, NOW).unwrap();
    let left: (i64, i64) = place
        .theirs()
        .query_row(
            "SELECT material_sequence, updated_at FROM session_watch_cursors
             WHERE watcher_session_key = ?1",
            [mark],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(left, (0, 1));
    assert_eq!(turn_events(&log).len(), 1, "the gateway prunes its own log");
}

#[test]
fn what_is_the_gateways_business_is_refused() {
    let place = Place::new();
    let mut log = place.open();
    let new = crate::record::testing::new_link(LinkId { session_key: key("agent:a:b"), ..id() });
    assert_eq!(log.adopt(&new, NOW).unwrap_err().exit_code(), 1);
    assert_eq!(log.unlink(&id()).unwrap_err().exit_code(), 1);
    assert_eq!(log.forget(&id()).unwrap_err().exit_code(), 1);
    assert_eq!(log.links(LinkFilter::All).unwrap().len(), 1);
    // A file that is gone is told as the gateway tells it.
    assert_eq!(
        log.move_marker(&id(), &source(), 150, Ahead::Unseen, NOW).unwrap(),
        MarkerOutcome::Moved
    );
    let gone: Option<Appended> =
        log.record_missing(&id(), &source(), MissingCause::Deleted, NOW).unwrap();
    assert!(gone.unwrap().fresh);
}

#[test]
fn the_owner_is_told_and_lives_as_long_as_it_says() {
    let place = Place::new();
    assert_eq!(place.read().owner().unwrap(), None);
    place.live_gateway("there");
    let owner = place.read().owner().unwrap().unwrap();
    let wanted = Owner {
        pid: Some(42),
        host: Some("there".to_owned()),
        since: Timestamp(11),
        port: Some(18789),
        expires_at: NOW.plus_ms(1000),
    };
    assert_eq!(owner, wanted);
    assert!(owner.is_live(NOW.plus_ms(999)) && !owner.is_live(NOW.plus_ms(1000)));
    assert!(owner.is_elsewhere("here") && !owner.is_elsewhere("there"));
    place.sql("UPDATE state_leases SET payload_json = 'no JSON', expires_at = NULL");
    let owner = place.read().owner().unwrap().unwrap();
    assert_eq!((owner.pid, owner.host.as_deref(), owner.port), (None, None, None));
    assert!(owner.is_live(NOW), "one without an end holds");
    assert!(!owner.is_elsewhere("here"), "nobody says so");
    let alone = SignalLog::in_memory().unwrap();
    assert_eq!(alone.owner().unwrap(), None);
}

#[test]
fn a_gateway_without_a_write_ahead_log_is_read_with_its_locks() {
    let place = Place::new();
    assert!(place.read().is_frozen());
    place.live_gateway("here");
    place.sql("PRAGMA journal_mode = delete");
    assert!(!place.read().is_frozen());
    assert_eq!(place.names(), ["openclaw.sqlite"]);
}

#[test]
fn agents_databases_are_meant_from_the_state_folder() {
    let place = Place::new();
    place.sql(
        "INSERT INTO agent_databases VALUES
             ('main', 'agents/main/agent/openclaw-agent.sqlite', 23, 5, NULL),
             ('main', '/old/place.sqlite', 23, 4, NULL), ('ops', '/elsewhere/ops.sqlite', 23, 9, 1)",
    );
    let found: Vec<_> = place
        .read()
        .agent_databases()
        .unwrap()
        .into_iter()
        .map(|database| (database.agent_id.to_string(), database.path))
        .collect();
    let main = place.folder.path().join("agents/main/agent/openclaw-agent.sqlite");
    assert_eq!(
        found,
        [
            ("ops".to_owned(), "/elsewhere/ops.sqlite".into()),
            ("main".to_owned(), main),
            ("main".to_owned(), "/old/place.sqlite".into()),
        ]
    );
}

#[test]
fn a_copy_in_memory_goes_on_where_the_log_stands_and_changes_nothing() {
    let place = Place::new();
    place.sql("CREATE TABLE big (x); INSERT INTO big VALUES (1)");
    let theirs = place.theirs();
    for _ in 0..2 {
        let before = (place.names(), fs_err::read(place.database()).unwrap());
        let mut copy = place.store().copy_in_memory().unwrap();
        assert_eq!(copy.last_sequence_ever().unwrap().0, 7);
        let WindowOutcome::Recorded(record) = one_turn(&mut copy, 100, 200) else { panic!() };
        assert_eq!(record.sequence.unwrap().0, 8);
        assert!(!has_table(&copy.connection, "big").unwrap());
        drop(copy);
        assert!((place.names(), fs_err::read(place.database()).unwrap()) == before);
        assert_eq!(turn_events(&place.read()).len(), 0);
        // And again while somebody has it open.
        let _: i64 = theirs.query_row("SELECT count(*) FROM big", [], |row| row.get(0)).unwrap();
    }
}
