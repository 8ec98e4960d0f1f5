//! `classify`, as people and programs see it.

use crate::world::{SECRET, World};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const HEAD: &str = r#""sessionId":"s","version":"2.1.332","timestamp":"2026-11-30T10:00:00.000Z""#;

/// A folder with a session, its sub-agent, and a file that holds no row.
fn folder(world: &World) -> PathBuf {
    let folder = world.path().join("transcripts");
    let session = [
        format!(
            r#"{{"type":"user","uuid":"1",{HEAD},"origin":{{"kind":"human"}},"promptSource":"typed","permissionMode":"default","message":{{"role":"user","content":"{SECRET}"}}}}"#
        ),
        format!(
            r#"{{"type":"assistant","uuid":"2",{HEAD},"message":{{"role":"assistant","content":"{SECRET}"}}}}"#
        ),
        format!(
            r#"{{"type":"user","uuid":"3",{HEAD},"message":{{"role":"user","content":"<task-notification><summary>{SECRET}</summary></task-notification>"}}}}"#
        ),
        format!(
            r#"{{"type":"user","uuid":"4",{HEAD},"mood":"{SECRET}","message":{{"role":"user","content":[{{"type":"image"}}]}}}}"#
        ),
        format!(r#"{{"type":"horoscope",{HEAD}}}"#),
        "no row".to_owned(),
    ];
    write(&folder.join("session.jsonl"), &session.join("\n"));
    // Before 2.1.97 a removal from the queue is all that is left of a message.
    let queue = |operation: &str, more: &str| {
        format!(
            r#"{{"type":"queue-operation","operation":"{operation}","timestamp":"2026-11-30T10:00:01.000Z","sessionId":"s"{more}}}"#
        )
    };
    let old = [
        r#"{"type":"assistant","uuid":"6","sessionId":"s","version":"2.1.90","timestamp":"2026-11-30T10:00:00.000Z","message":{"role":"assistant"}}"#.to_owned(),
        queue("enqueue", &format!(r#","content":"{SECRET}""#)),
        queue("remove", ""),
    ];
    write(&folder.join("old.jsonl"), &old.join("\n"));
    let agent = format!(
        r#"{{"type":"user","uuid":"1",{HEAD},"isSidechain":true,"agentId":"a","message":{{"role":"user","content":"{SECRET}"}}}}"#
    );
    write(&folder.join("session/subagents/agent-a.jsonl"), &agent);
    write(&folder.join("session/notes.txt"), "not looked at");
    folder
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text.to_owned() + "\n").unwrap();
}

/// What these commands print, one after the other.
fn seen(commands: &[&[&str]]) -> String {
    let world = World::new();
    folder(&world);
    let mut seen = String::new();
    for args in commands {
        writeln!(seen, "$ upstreamd {}\n{}", args.join(" "), world.run(args)).unwrap();
    }
    seen.replace(world.path().canonicalize().unwrap().to_str().unwrap(), "[HOME]")
}

#[test]
fn people_see_what_was_found() {
    insta::assert_snapshot!(seen(&[
        &["classify", "transcripts"],
        &["classify", "--explain", "transcripts"],
        &["classify", "--summary", "transcripts"],
        &["classify", "--rule", "compat", "transcripts/session.jsonl"],
    ]));
}

#[test]
fn programs_get_rows_counts_and_names() {
    insta::assert_snapshot!(seen(&[
        &["classify", "--json", "transcripts"],
        &["classify", "--json", "--explain", "transcripts/old.jsonl"],
        &["classify", "--json", "--summary", "transcripts"],
    ]));
}

#[test]
fn text_is_shown_on_a_terminal_only() {
    let world = World::new();
    let folder = folder(&world);
    let file = folder.join("session.jsonl");
    for args in [
        &["classify", "--show-text", file.to_str().unwrap()][..],
        &["classify", "--show-text", "--json", file.to_str().unwrap()],
        &["classify", "--show-text", "--explain", file.to_str().unwrap()],
        &["classify", "--show-text", "--summary", file.to_str().unwrap()],
    ] {
        let output = world.output(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("--show-text") && !said.contains(SECRET), "{said}");
    }
}

/// Files of one family, oldest first, and the turns in all of them together.
const FAMILIES: [(&[&str], usize); 10] = [
    (&["08-resumed-at-once-2.0.1"], 3),
    (&["08-resumed-2.0.42"], 4),
    (&["08-resumed-2.1.17"], 3),
    (&["60-resume-old-1.0.44", "60-resume-new-1.0.44"], 3),
    (&["61-fork-parent-1.0.128", "61-fork-child-1.0.128"], 3),
    (&["61-fork-parent-2.0.42", "61-fork-child-2.0.42"], 3),
    (&["61-fork-parent-2.1.90", "61-fork-child-2.1.90"], 3),
    (&["61-fork-parent-2.1.332", "61-fork-child-2.1.332"], 3),
    (&["62-branch-parent-2.1.105", "62-branch-child-2.1.105"], 2),
    (
        &[
            "63-side-agents-acompact-2.1.90",
            "63-side-agents-aside_question-2.1.90",
            "63-side-agents-parent-2.1.90",
        ],
        1,
    ),
];

/// How many rows of some files together count.
fn counted(world: &World, files: &[&str]) -> usize {
    let found = world.run(&[&["classify", "--json"], files].concat());
    let rows = found.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["human"] == true).count()
}

#[test]
fn a_family_counts_each_message_once() {
    let world = World::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rows");
    for (files, turns) in FAMILIES {
        let files: Vec<_> = files
            .iter()
            .map(|name| fixtures.join(format!("{name}.jsonl")).to_str().unwrap().to_owned())
            .collect();
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        assert_eq!(counted(&world, &files), turns, "{files:?}");
    }
}

#[test]
fn a_row_that_its_own_line_proves_counts() {
    let world = World::new();
    let folder = folder(&world);
    let old = std::fs::read_to_string(folder.join("old.jsonl")).unwrap();
    let turns = |text: &str| {
        let file = world.path().join("glued.jsonl");
        write(&file, text);
        counted(&world, &[file.to_str().unwrap()])
    };
    let (first, rest) = old.split_once('\n').unwrap();
    assert_eq!(turns(&old), 1);
    assert_eq!(turns(&format!("{first}\n{}", rest.replace('\n', ""))), 1);
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_judged() {
    let world = World::new();
    let folder = folder(&world);
    symlink(&folder, folder.join("loop")).unwrap();
    symlink("nowhere.jsonl", folder.join("dangling.jsonl")).unwrap();
    std::fs::create_dir(folder.join("named.jsonl")).unwrap();
    let turns = |args: &[&str]| {
        let output = world.output(args);
        let lines = String::from_utf8(output.stdout).unwrap();
        let total: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        (output.status.code(), total, String::from_utf8(output.stderr).unwrap())
    };
    let all = ["classify", "--json", "--summary", "transcripts"];
    let (code, total, said) = turns(&all);
    assert_eq!((code, &total["files"], said.as_str()), (Some(0), &json!(3), ""));
    let (code, total, said) = turns(&[&all[..], &["gone.jsonl", "/dev/null"]].concat());
    assert_eq!((code, &total["files"]), (Some(1), &json!(3)), "{said}");
    assert_eq!(total["unreadable"].as_array().unwrap().len(), 2);
    assert!(said.contains("gone.jsonl") && said.contains("/dev/null"), "{said}");
    let closed = folder.join("closed");
    write(&closed.join("x.jsonl"), "{}");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    // Nothing is closed to root.
    if std::fs::read_dir(&closed).is_err() {
        let (code, total, said) = turns(&all);
        assert_eq!((code, &total["files"]), (Some(1), &json!(3)));
        assert!(said.contains("closed"), "{said}");
    }
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn a_cycle_and_the_log_name_what_no_rule_knows_once() {
    let world = World::new();
    world.append(1, &world.machine());
    world.adopt(1);
    let new = |row: String| row.replace("\"message\"", "\"mood\":1,\"message\"");
    let other = new(world.typed()).replace("2.1.332", "2.1.333");
    world.append(1, &(new(world.typed()) + &new(world.typed()) + &other));
    let output = world.output(&["once", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        report["drift"],
        json!([
            {"field": "user-field", "name": "mood", "version": "2.1.332", "rows": 2},
            {"field": "user-field", "name": "mood", "version": "2.1.333", "rows": 1},
        ])
    );
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(log.matches("no rule knows").count(), 1, "{log}");
    world.append(1, &new(world.typed()));
    assert!(world.run(&["once"]).contains("mood"));
    assert!(!world.run(&["once"]).contains("mood"));
}
