use super::*;
use crate::record::testing::{NOW, all_events, id, key, new_link};
use std::os::unix::fs::PermissionsExt as _;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_new_store_is_its_owners_alone_and_has_the_gateways_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    let log = SignalLog::open(&path).unwrap();
    log.checkpoint(NOW).unwrap();
    for name in names(folder.path()) {
        let mode = fs_err::metadata(folder.path().join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let sql: Vec<String> = log
        .connection
        .prepare("SELECT sql FROM sqlite_schema WHERE name LIKE '%session_%' AND sql IS NOT NULL")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let written: Vec<&str> = SCHEMA.lines().map(|line| line.strip_suffix(';').unwrap()).collect();
    assert_eq!(sql, written);
    let pragma = |name| -> String {
        log.connection
            .query_row(&format!("PRAGMA {name}"), [], |row| {
                row.get::<_, rusqlite::types::Value>(0).map(|value| format!("{value:?}"))
            })
            .unwrap()
    };
    assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
    assert_eq!(pragma("synchronous"), "Integer(1)");
    assert_eq!(pragma("busy_timeout"), "Integer(5000)");
    assert_eq!(pragma("wal_autocheckpoint"), "Integer(0)");
}

#[test]
fn what_was_written_is_there_after_opening_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    SignalLog::open(&path).unwrap().adopt(&new_link(id()), NOW).unwrap();
    assert!(SignalLog::open(&path).unwrap().link(&id()).unwrap().is_some());
    assert_eq!(names(folder.path()), ["signal.sqlite"], "closing tidies up");
}

#[test]
fn what_is_just_being_made_is_none_yet_for_readers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    fs_err::write(&path, "").unwrap();
    assert!(SignalLog::open_read_only(&path).unwrap().is_none());
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    assert!(SignalLog::open_read_only(&path).unwrap().is_none());
    drop(connection);
    SignalLog::open(&path).unwrap();
    assert!(SignalLog::open_read_only(&path).unwrap().is_some());
}

#[test]
fn opening_for_reading_creates_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a store? 100%.sqlite");
    assert!(SignalLog::open_read_only(&path).unwrap().is_none());
    assert_eq!(names(folder.path()), [""; 0]);
    SignalLog::open(&path).unwrap().adopt(&new_link(id()), NOW).unwrap();
    let log = SignalLog::open_read_only(&path).unwrap().unwrap();
    assert!(log.is_frozen());
    assert_eq!(all_events(&log).len(), 1);
    assert_eq!(names(folder.path()), ["a store? 100%.sqlite"]);
}

#[test]
fn a_reader_beside_a_writer_sees_what_it_writes_and_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    let mut writer = SignalLog::open(&path).unwrap();
    writer.adopt(&new_link(id()), NOW).unwrap();
    let mut reader = SignalLog::open_read_only(&path).unwrap().unwrap();
    assert!(!reader.is_frozen());
    let before = reader.data_version().unwrap();
    assert_eq!(reader.data_version().unwrap(), before);
    writer.unlink(&id()).unwrap();
    assert_ne!(reader.data_version().unwrap(), before);
    assert!(reader.link(&id()).unwrap().is_none());
    assert_eq!(reader.unlink(&id()).unwrap_err().exit_code(), 1);
}

#[test]
fn a_copy_in_memory_changes_nothing_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    assert_eq!(SignalLog::copy_in_memory(&path).unwrap().newest_sequence().unwrap().0, 0);
    assert_eq!(names(folder.path()), [""; 0]);
    let mut writer = SignalLog::open(&path).unwrap();
    writer.adopt(&new_link(id()), NOW).unwrap();
    for writer_alive in [true, false] {
        let before = names(folder.path());
        let mut copy = SignalLog::copy_in_memory(&path).unwrap();
        assert!(copy.unlink(&id()).unwrap());
        copy.watch(&key("agent:a:b"), &key("x"), None, NOW).unwrap();
        assert_eq!(names(folder.path()), before);
        let now = SignalLog::open_read_only(&path).unwrap().unwrap();
        assert!(now.link(&id()).unwrap().is_some() && now.watches(None).unwrap().is_empty());
        drop(now);
        if writer_alive {
            drop(std::mem::replace(&mut writer, SignalLog::in_memory().unwrap()));
        }
    }
    assert_eq!(names(folder.path()), ["signal.sqlite"]);
}

#[test]
fn a_foreign_or_unknown_schema_is_refused_and_left_as_it_is() {
    for (name, change, said) in [
        ("version", "PRAGMA user_version = 2", "schema version 2"),
        ("owner", "PRAGMA application_id = 7", "not a signal log"),
        ("column", "ALTER TABLE session_watch_cursors DROP COLUMN provenance", "provenance"),
        ("table", "DROP TABLE session_state_heads", "session_state_heads"),
        ("bare", "PRAGMA application_id = 0; PRAGMA user_version = 0", "not a signal log"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signal.sqlite");
        drop(SignalLog::open(&path).unwrap());
        let connection = Connection::open(&path).unwrap();
        if name == "column" {
            // A CHECK hinders dropping: the table is made anew without the column.
            connection
                .execute_batch(
                    "DROP TABLE session_watch_cursors;
                     CREATE TABLE session_watch_cursors (watcher_session_key TEXT NOT NULL,
                         watcher_store_path TEXT, target_session_key TEXT NOT NULL,
                         last_seen_sequence INTEGER NOT NULL, notified_sequence INTEGER NOT NULL,
                         material_sequence INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;",
                )
                .unwrap();
        } else {
            connection.execute_batch(change).unwrap();
        }
        drop(connection);
        let before = fs_err::read(&path).unwrap();
        for opened in [
            SignalLog::open(&path).map(drop),
            SignalLog::open_read_only(&path).map(drop),
            SignalLog::copy_in_memory(&path).map(drop),
        ] {
            let refused = opened.unwrap_err();
            assert_eq!(refused.exit_code(), 4, "{name}: {refused}");
            assert!(refused.to_string().contains(said), "{name}: {refused}");
        }
        assert_eq!(fs_err::read(&path).unwrap(), before, "{name}");
    }
}

#[test]
fn additional_columns_and_tables_are_no_hindrance() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    let log = SignalLog::open(&path).unwrap();
    log.connection
        .execute_batch(
            "ALTER TABLE session_state_events ADD COLUMN more TEXT; CREATE TABLE session_x (a);",
        )
        .unwrap();
    drop(log);
    SignalLog::open(&path).unwrap().adopt(&new_link(id()), NOW).unwrap();
}

#[test]
fn a_schema_that_changes_under_an_open_store_is_refused_in_the_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    let mut log = SignalLog::open(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 2").unwrap();
    assert_eq!(log.adopt(&new_link(id()), NOW).unwrap_err().exit_code(), 4);
    assert!(log.link(&id()).unwrap().is_none());
}

#[test]
fn a_lock_that_is_kept_means_try_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    let mut log = SignalLog::open(&path).unwrap();
    log.connection.busy_timeout(std::time::Duration::from_millis(1)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = log.adopt(&new_link(id()), NOW).unwrap_err();
    assert_eq!(busy.exit_code(), 75, "{busy}");
    other.execute_batch("ROLLBACK").unwrap();
    log.adopt(&new_link(id()), NOW).unwrap();
}

#[test]
fn two_that_create_the_store_at_once_make_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signal.sqlite");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| SignalLog::open(&path).unwrap().newest_sequence().unwrap());
        }
    });
}
