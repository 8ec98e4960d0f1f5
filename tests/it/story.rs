//! What a user does, and sees.

use crate::world::{SECRET, World};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in one place")]
fn the_whole_job_from_adoption_to_a_missing_upstream() {
    let world = World::new();
    world.append(1, &(world.typed() + &world.machine()));
    let before = std::fs::metadata(world.file(1)).unwrap().len();
    let key = world.adopt(1);
    world.run(&["watch", "add", "agent:main:main", &key]);

    let rows =
        world.machine() + &world.typed() + &world.machine() + &world.typed() + &world.machine();
    let last: Value = serde_json::from_str(rows.lines().nth(3).unwrap()).unwrap();
    world.append(1, &rows);
    let after = std::fs::metadata(world.file(1)).unwrap().len();

    let report = world.json(&["once"]);
    let link = &report["links"][0];
    for (field, value) in [
        ("sessionKey", json!(key)),
        ("agentId", json!("main")),
        ("catalogId", json!("claude")),
        ("hostId", json!("gateway:local")),
        ("threadId", json!(World::thread(1))),
        ("outcome", json!("read")),
        ("turns", json!(2)),
        ("echoes", json!(0)),
        ("eventSequence", json!(2)),
        ("markerBefore", json!(before)),
        ("markerAfter", json!(after)),
        ("error", Value::Null),
    ] {
        assert_eq!(link[field], value, "{field}");
    }
    assert_eq!(report["events"].as_array().unwrap().len(), 1);

    let log = world.signal_log();
    let source = link["source"].as_str().unwrap();
    let (dedupe, actor, actor_id, session_id, summary, payload, at): (
        String,
        String,
        Option<String>,
        Option<String>,
        String,
        String,
        i64,
    ) = log
        .query_row(
            "SELECT dedupe_key, actor_type, actor_id, session_id, summary, payload_json, occurred_at
             FROM session_state_events WHERE kind = 'human_direct_message'",
            [],
            |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                    row.get(5)?,
                    row.get(6)?,
                ))
            },
        )
        .unwrap();
    assert_eq!(dedupe, format!("upstream:{key}:{source}:{after}"));
    assert_eq!((actor.as_str(), actor_id, session_id), ("human", None, None));
    assert_eq!(summary, "human message via claude");
    let payload: Value = serde_json::from_str(&payload).unwrap();
    assert_eq!(
        payload.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["turns", "from", "generation"]
    );
    assert_eq!((&payload["turns"], &payload["from"]), (&json!(2), &json!(before)));
    assert_eq!(payload["generation"].as_str().unwrap().len(), 8);
    let typed_at = humantime::parse_rfc3339(last["timestamp"].as_str().unwrap()).unwrap();
    let typed_at = typed_at.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    assert_eq!(u128::try_from(at).unwrap(), typed_at);

    let cursor: (i64, i64, i64, String) = log
        .query_row(
            "SELECT last_seen_sequence, notified_sequence, material_sequence, provenance
             FROM session_watch_cursors",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(cursor, (1, 2, 2, "explicit".to_owned()));
    let head: (i64, i64) = log
        .query_row(
            "SELECT last_sequence, pruned_max_sequence FROM session_state_heads",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(head, (2, 0));
    let marker: String = log
        .query_row("SELECT last_marker_json FROM session_upstream_links", [], |row| row.get(0))
        .unwrap();
    assert_eq!(marker, format!("{{\"offset\":{after}}}"));

    let again = world.json(&["once"]);
    assert_eq!(
        (&again["links"][0]["outcome"], &again["events"]),
        (&json!("unchanged"), &json!([]))
    );

    let notices = world.json(&["notices", "agent:main:main", "--ack"]);
    assert_eq!(
        notices["notices"][0]["text"],
        json!(format!(
            "Session \"{key}\" changed (other actor). Reconcile before acting: session_status sessionKey \"{key}\" changesSince 1."
        ))
    );
    assert_eq!(world.json(&["notices", "agent:main:main"])["notices"], json!([]));
    let status = world.json(&["status", &key, "--changes-since", "1"]);
    assert_eq!((&status["stateVersion"], &status["agentId"]), (&json!(2), &json!("main")));
    assert_eq!(
        status["stateChanges"],
        json!({
            "events": [{
                "sequence": 2,
                "kind": "human_direct_message",
                "actorType": "human",
                "occurredAt": at,
                "summary": "human message via claude",
            }],
            "truncated": false,
            "earliestAvailableSequence": 1,
            "historyGap": false,
        })
    );

    std::fs::remove_file(world.file(1)).unwrap();
    for outcome in ["missing", "missing", "deleted"] {
        assert_eq!(world.json(&["once"])["links"][0]["outcome"], json!(outcome));
    }
    let events = world.run(&["events", "--json", "--kind", "upstream_missing"]);
    let event: Value = serde_json::from_str(&events).unwrap();
    assert_eq!(event["payload"], json!({ "channel": "claude", "cause": "deleted" }));
    assert_eq!(
        (&event["actorType"], &event["summary"]),
        (&json!("system"), &json!("upstream missing via claude"))
    );
    assert_eq!(world.json(&["links"]), json!({ "links": [] }));
    assert_eq!(world.json(&["once"])["links"], json!([]));
}

#[test]
fn a_text_that_a_program_sent_is_no_turn_and_the_same_text_typed_is() {
    let world = World::new();
    world.append(1, &world.machine());
    let key = world.adopt(1);
    let mut sent = world.command(&["sent", &key]).stdin(Stdio::piped()).spawn().unwrap();
    sent.stdin.take().unwrap().write_all(b" go   on\n").unwrap();
    assert!(sent.wait().unwrap().success());
    world.append(1, &(world.unmarked("go on") + &world.unmarked("go on")));
    let report = world.json(&["once"]);
    assert_eq!(
        (&report["links"][0]["echoes"], &report["links"][0]["turns"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn a_dry_run_says_what_would_happen_and_writes_nothing() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    world.json(&["once"]);
    world.append(1, &world.typed());
    let before = snapshot(&world.state());
    let report = world.json(&["once", "--dry-run", "--explain"]);
    assert_eq!(report["links"][0]["turns"], json!(1));
    let verdict = &report["links"][0]["verdicts"][0];
    assert_eq!(verdict["class"], json!("human_text"));
    assert!(verdict["because"].as_array().unwrap().contains(&json!("type=user")));
    assert_eq!(snapshot(&world.state()), before);
    let empty = World::new();
    assert_eq!(empty.json(&["once", "--dry-run"])["links"], json!([]));
    assert!(!empty.state().exists());
}

/// Names, contents and modes of a folder.
fn snapshot(folder: &Path) -> Vec<(String, Vec<u8>, u32)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap(), mode)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn no_text_is_kept_and_nobody_else_can_read_our_files() {
    let world = World::new();
    world.append(1, &world.machine());
    let key = world.adopt(1);
    let mut sent = world.command(&["sent", &key]).stdin(Stdio::piped()).spawn().unwrap();
    sent.stdin.take().unwrap().write_all(SECRET.as_bytes()).unwrap();
    assert!(sent.wait().unwrap().success());
    let broken = format!("{{\"type\":\"user\",\"message\":\"{SECRET}\n");
    world.append(1, &(world.typed() + &world.unmarked(SECRET) + &broken));
    world.run(&["once", "--explain"]);
    world.run(&["once", "--json", "--explain", "-vvv"]);
    for (name, content, mode) in snapshot(&world.state()) {
        let text = String::from_utf8_lossy(&content);
        assert!(!text.contains("zanzibar"), "{name} holds text");
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let mode = std::fs::metadata(world.state()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn errors_say_what_to_do_and_exit_codes_say_how_bad() {
    let world = World::new();
    world.append(1, &world.machine());
    for (args, code, word) in [
        (&["adopt", "no-such-session"][..], 1, "--claude-dir"),
        (&["adopt", "/etc/passwd"], 1, "no main session file"),
        (&["adopt"], 2, "SESSION"),
        (&["adopt", "x", "--agent", "a b"], 2, "agent id"),
        (&["unlink", "agent:main:none"], 1, "links"),
        (&["status", "agent:main:none"], 1, "links"),
        (&["watch", "add", "agent:main:main", "agent:main:none"], 1, "adopt"),
        (&["frobnicate"], 2, "frobnicate"),
        (&["sent", "agent:main:none"], 2, "standard input"),
        (&["events", "--kind", "none"], 2, "human_direct_message"),
        (&["--config", "none.toml", "links"], 2, "none.toml"),
    ] {
        let (got, err) = world.fail(args);
        assert_eq!(got, code, "{args:?}: {err}");
        assert!(err.contains(word), "{args:?}: {err}");
    }
    let key = world.adopt(1);
    let (code, err) = world.fail(&["events", "--session", "none"]);
    assert!(code == 1 && err.contains("links"), "{err}");
    let mut sent = world.command(&["sent", "none"]).stdin(Stdio::piped()).spawn().unwrap();
    sent.stdin.take().unwrap().write_all(b"go on").unwrap();
    assert_eq!(sent.wait().unwrap().code(), Some(1));
    for watcher in ["main", "agent:main:", key.as_str()] {
        let (code, err) = world.fail(&["watch", "add", watcher, &key]);
        assert_eq!(code, 2, "{watcher}: {err}");
    }
}

#[test]
fn adopt_all_leaves_out_what_is_no_session_and_takes_the_rest() {
    let world = World::new();
    world.append(1, &world.machine());
    world.append(2, &world.machine());
    let project = world.file(1).parent().unwrap().to_owned();
    std::fs::create_dir(project.join("folder.jsonl")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", project.join("outside.jsonl")).unwrap();
    std::os::unix::fs::symlink("nowhere", project.join("dangling.jsonl")).unwrap();
    std::fs::write(project.join("agent-1.jsonl"), world.machine()).unwrap();
    let adopted = world.json(&["adopt", "--all"]);
    assert_eq!(adopted["adopted"].as_array().unwrap().len(), 2);
    assert_eq!(world.json(&["adopt", "--all"])["adopted"][0]["created"], json!(false));
}

#[test]
fn a_row_bigger_than_the_window_counts_like_any_other() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let huge = world
        .typed()
        .replace("\"message\":", &format!("\"x\":\"{}\",\"message\":", "x".repeat(9 << 20)));
    let rows = world.typed() + &huge + &world.typed();
    let (front, back) = rows.split_at(rows.len() / 2);
    world.append(1, front);
    assert_eq!(world.json(&["once"])["links"][0]["turns"], json!(1));
    assert_eq!(world.json(&["links"])["links"][0]["state"], json!("behind"));
    world.append(1, back);
    assert_eq!(world.json(&["once"])["links"][0]["turns"], json!(2));
    assert_eq!(world.json(&["links"])["links"][0]["state"], json!("current"));
    let file = world.file(1);
    let verdicts = world.run(&["classify", "--json", file.to_str().unwrap()]);
    let rules: Vec<Value> = verdicts
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["rule"].clone())
        .collect();
    assert_eq!(rules.len(), 4);
    assert!(rules[1] == rules[2] && rules[2] == rules[3]);
}

#[test]
fn a_copy_of_a_followed_file_is_not_followed_in_its_place() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let backup = world.path().join(".claude/projects/-backup");
    std::fs::create_dir(&backup).unwrap();
    let copy = backup.join(world.file(1).file_name().unwrap());
    std::fs::copy(world.file(1), &copy).unwrap();
    assert_eq!(world.json(&["adopt", "--all"])["adopted"].as_array().unwrap().len(), 1);
    let (code, err) = world.fail(&["adopt", copy.to_str().unwrap()]);
    assert!(code == 1 && err.contains("unlink"), "{err}");
    world.append(1, &world.typed());
    assert_eq!(world.json(&["once"])["links"][0]["turns"], json!(1));
    std::os::unix::fs::symlink(world.file(1), backup.join("alias.jsonl")).unwrap();
    assert_eq!(world.json(&["adopt", "--all"])["adopted"].as_array().unwrap().len(), 1);
}

#[test]
fn what_stood_in_a_file_at_its_adoption_is_history_however_it_is_rewritten() {
    type Rewrite = fn(&[String], &[String]) -> String;
    let rewrites: [(&str, Rewrite); 3] = [
        ("cut to its first rows", |old, _| old[..3].concat()),
        ("pruned and appended to", |old, new| old[1..].concat() + &new.concat()),
        ("compacted to something bigger", |old, new| {
            old[3..].concat() + &new.concat() + &" ".repeat(9_000) + "\n"
        }),
    ];
    for (how, rewrite) in rewrites {
        let world = World::new();
        let old: Vec<String> = (0..4).map(|_| world.typed()).collect();
        world.append(1, &old.concat());
        world.adopt(1);
        let new: Vec<String> = (0..2).map(|_| world.typed()).collect();
        let rewritten = rewrite(&old, &new);
        let turns = new.iter().filter(|row| rewritten.contains(*row)).count();
        std::fs::write(world.file(1), rewritten).unwrap();
        assert_eq!(world.json(&["once"])["links"][0]["turns"], json!(turns), "{how}");
    }
}

#[test]
fn a_signal_log_that_was_restored_gets_again_what_it_lost() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    world.append(1, &world.typed());
    world.json(&["once"]);
    let (log, backup) = (world.state().join("signal.sqlite"), world.path().join("backup"));
    std::fs::copy(&log, &backup).unwrap();
    world.append(1, &(world.typed() + &world.typed()));
    world.json(&["once"]);
    std::fs::copy(&backup, &log).unwrap();
    world.append(1, &world.typed());
    let output = world.output(&["once"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("signal log is older than the journal"), "{said}");
    assert_eq!(world.turns(), 4);
    world.json(&["once"]);
    assert_eq!(world.turns(), 4);
}

#[test]
fn a_restored_signal_log_is_seen_by_every_session_whatever_was_recorded_since() {
    for other_first in [true, false] {
        let world = World::new();
        for n in [1, 2] {
            world.append(n, &world.machine());
            world.adopt(n);
            world.append(n, &world.typed());
        }
        world.json(&["once"]);
        let (log, backup) = (world.state().join("signal.sqlite"), world.path().join("backup"));
        std::fs::copy(&log, &backup).unwrap();
        for n in if other_first { [2, 1] } else { [1, 2] } {
            world.append(n, &world.typed());
            world.json(&["once"]);
        }
        std::fs::copy(&backup, &log).unwrap();
        // New events take the numbers of those that were lost.
        world.append(3, &world.machine());
        world.adopt(3);
        for _ in 0..2 {
            world.output(&["once"]);
            assert_eq!(world.turns(), 4, "{other_first}");
        }
    }
}

#[test]
fn a_lost_journal_is_told_and_nothing_counts_twice() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    world.append(1, &world.typed());
    world.json(&["once"]);
    std::fs::remove_file(world.state().join("upstreamd.sqlite")).unwrap();
    world.append(1, &world.typed());
    let output = world.output(&["once"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("journal knows nothing"), "{said}");
    assert_eq!(world.turns(), 2);
    std::fs::remove_file(world.state().join("hash.key")).unwrap();
    let (code, err) = world.fail(&["once"]);
    assert!(code == 4 && err.contains("is missing"), "{err}");
    assert!(!world.state().join("hash.key").exists());
}

#[test]
fn a_journal_or_signal_log_of_another_schema_is_refused() {
    for file in ["signal.sqlite", "upstreamd.sqlite"] {
        let world = World::new();
        world.append(1, &world.machine());
        world.adopt(1);
        world.json(&["once"]);
        let database = rusqlite::Connection::open(world.state().join(file)).unwrap();
        database.pragma_update(None, "user_version", 999).unwrap();
        drop(database);
        let (code, err) = world.fail(&["once"]);
        assert_eq!(code, 4, "{file}: {err}");
        assert!(err.contains("999") && err.contains(file), "{err}");
    }
}

#[test]
fn people_see_tables() {
    let world = World::new();
    world.append(1, &world.machine());
    let key = world.adopt(1);
    world.run(&["watch", "add", "agent:main:main", &key]);
    world.append(1, &(world.typed() + &world.typed()));
    let mut seen = String::new();
    for args in [
        &["once"][..],
        &["links"],
        &["watch", "list"],
        &["notices", "agent:main:main"],
        &["events"],
        &["status"],
        &["status", &key, "--changes-since", "0"],
        &["unlink", &key],
        &["links"],
    ] {
        let shown: Vec<&str> =
            args.iter().map(|arg| if *arg == key { "KEY" } else { *arg }).collect();
        writeln!(seen, "$ upstreamd {}\n{}", shown.join(" "), world.run(args)).unwrap();
    }
    let home = world.path().to_str().unwrap().to_owned();
    insta::with_settings!({filters => vec![
        (regex_escape(&home).as_str(), "[HOME]"),
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "[TIME]"),
        (r"\d+ ms", "[N] ms"),
        (r"( |^)(just now|now|\d+ s ago) *", " [AGO] "),
        (r"CHANGED +TARGET", "CHANGED TARGET"),
        (r"LAST PERSON +FILE", "LAST PERSON FILE"),
        (r"WHEN +WHO", "WHEN WHO"),
    ]}, {
        insta::assert_snapshot!(seen);
    });
}

fn regex_escape(text: &str) -> String {
    text.replace('.', r"\.")
}
