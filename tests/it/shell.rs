//! Commands around the daemon: what there is, and what a shell needs.

use crate::world::{SECRET, World};
use serde_json::json;
use std::process::{Command, Stdio};

#[test]
fn sessions_lists_what_is_there_newest_first_with_and_without_a_log() {
    let world = World::new();
    assert_eq!(world.json(&["sessions"]), json!({ "sessions": [] }));
    assert!(world.run(&["sessions"]).starts_with("There is no session"));
    for (n, age) in [(1, 300), (2, 100), (3, 200)] {
        world.append(n, &world.typed());
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        let file = std::fs::File::options().write(true).open(world.file(n)).unwrap();
        file.set_modified(then).unwrap();
    }
    let sessions = world.json(&["sessions"])["sessions"].as_array().unwrap().clone();
    let ids: Vec<_> = sessions.iter().map(|session| session["threadId"].clone()).collect();
    assert_eq!(ids, [World::thread(2), World::thread(3), World::thread(1)].map(|id| json!(id)));
    for session in &sessions {
        assert_eq!(session["adopted"], json!(false));
        assert_eq!((&session["sessionKey"], &session["stateVersion"]), (&json!(null), &json!(0)));
    }
    assert!(!world.state().exists(), "a list makes no store");

    let key = world.adopt(3);
    let gone = world.adopt(1);
    world.run(&["unlink", &gone]);
    let sessions = world.json(&["sessions"])["sessions"].as_array().unwrap().clone();
    let path = world.file(3).canonicalize().unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    for (field, value) in [
        ("threadId", json!(World::thread(3))),
        ("filePath", json!(path)),
        ("folder", json!(path.parent())),
        ("bytes", json!(size)),
        ("adopted", json!(true)),
        ("sessionKey", json!(key)),
        ("stateVersion", json!(1)),
    ] {
        assert_eq!(sessions[1][field], value, "{field}");
    }
    let left = &sessions[2];
    assert_eq!(
        (&left["adopted"], &left["sessionKey"], &left["stateVersion"]),
        (&json!(false), &json!(gone), &json!(2))
    );
}

#[test]
fn sessions_shows_people_no_text_and_escapes_names() {
    let world = World::new();
    let file = world.path().join(".claude/projects/-home-me-proj/a\u{1b}[31m.jsonl");
    std::fs::write(file, world.typed()).unwrap();
    let out = world.run(&["sessions"]);
    assert!(out.contains("a\\u{1b}[31m") && !out.contains(SECRET), "{out}");
    let columns = ["SESSION", "ADOPTED", "VERSION", "SIZE", "CHANGED", "FOLDER"];
    assert_eq!(out.lines().next().unwrap().split_whitespace().collect::<Vec<_>>(), columns);
}

#[test]
fn completions_are_printed_for_each_shell_whatever_the_configuration() {
    let world = World::new();
    std::fs::create_dir_all(world.path().join(".config/upstreamd")).unwrap();
    std::fs::write(world.path().join(".config/upstreamd/config.toml"), "broken").unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.run(&["completions", shell]);
        assert!(script.contains("classify") && script.contains("--follow"), "{shell}");
    }
    let script = world.run(&["completions", "bash"]);
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut bash.stdin.take().unwrap(), script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
    assert_eq!(world.fail(&["completions", "cmd"]).0, 2);
}

#[test]
fn a_forgotten_session_leaves_nothing_and_can_be_adopted_again() {
    let world = World::new();
    world.append(1, &world.machine());
    let key = world.adopt(1);
    world.append(2, &world.machine());
    let other = world.adopt(2);
    world.run(&["watch", "add", "agent:main:main", &key]);
    world.append(1, &world.typed());
    world.json(&["once"]);
    for unknown in ["nobody", "agent:main:nobody"] {
        let (code, said) = world.fail(&["forget", unknown]);
        assert!(code == 1 && said.contains(unknown) && said.contains("upstreamd links"), "{said}");
    }
    assert_eq!(world.json(&["forget", &World::thread(1)]), json!({ "forgotten": [key] }));
    assert_eq!(world.json(&["watch", "list"]), json!({ "watches": [] }));
    let links = world.json(&["links"]);
    assert_eq!(links["links"].as_array().unwrap().len(), 1);
    assert_eq!(links["links"][0]["sessionKey"], json!(other));
    assert_eq!(world.turns(), 0);
    assert_eq!(world.fail(&["forget", &key]).0, 1);
    assert!(world.file(1).exists());

    world.append(1, &world.typed());
    assert_eq!(world.adopt(1), key);
    world.append(1, &world.typed());
    world.json(&["once"]);
    assert_eq!(world.turns(), 1, "what came before is history");
    // Events outlive a link, and go all the same.
    world.run(&["unlink", &key]);
    assert_eq!(world.run(&["forget", &key]), format!("forgotten: {key}\n"));
    assert_eq!(world.turns(), 0);
}

#[test]
fn forgetting_where_there_is_no_log_makes_none() {
    let world = World::new();
    assert_eq!(world.fail(&["forget", "nobody"]).0, 1);
    assert!(!world.state().exists());
}

#[test]
fn a_session_that_goes_on_in_another_file_is_named_until_that_is_followed() {
    let world = World::new();
    let row = world.typed();
    world.append(1, &row);
    world.adopt(1);
    let successors = |world: &World| world.json(&["links"])["links"][0]["successors"].clone();
    assert_eq!(successors(&world), json!([]));
    // As an old version resumes, or a person forks.
    world.append(2, &(row + &world.typed()));
    world.append(3, &world.typed());
    assert_eq!(successors(&world), json!([World::thread(2)]));
    let said = world.run(&["links"]);
    let hint =
        format!("goes on in {0}, which is not followed; `upstreamd adopt {0}`", World::thread(2));
    assert!(said.contains(&hint), "{said}");
    world.adopt(2);
    assert_eq!(successors(&world), json!([]));
}
