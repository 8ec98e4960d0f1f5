//! The first minute: `demo`, with the real daemon.

use crate::world::World;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A place for the demo's folder, and the demo in it.
fn demo(world: &World, args: &[&str]) -> (Command, PathBuf) {
    let place = world.path().join("tmp");
    std::fs::create_dir(&place).unwrap();
    let mut command = world.command(&[&["demo"], args].concat());
    command.env("TMPDIR", &place).stdout(Stdio::piped()).stderr(Stdio::piped());
    (command, place)
}

/// Nothing is left of it: no file, no process that names the place, nothing in the user's home.
#[track_caller]
fn assert_nothing_is_left(world: &World, place: &Path) {
    assert_eq!(std::fs::read_dir(place).unwrap().count(), 0);
    let name = place.to_str().unwrap();
    for process in std::fs::read_dir("/proc").unwrap() {
        let process = process.unwrap().path();
        let started = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let started = String::from_utf8_lossy(&started).into_owned();
        assert!(!started.contains(name), "{} is left: {started}", process.display());
    }
    assert!(!world.state().exists() && !world.path().join("run").exists());
}

#[test]
fn the_demo_tells_its_story_and_leaves_nothing() {
    let world = World::new();
    let (mut command, place) = demo(&world, &[]);
    let output = command.output().unwrap();
    let (told, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    assert!(!told.contains(place.to_str().unwrap()), "{told}");
    assert_nothing_is_left(&world, &place);
    insta::with_settings!({filters => vec![
        (r"\d+\.\d\d ms", "[N] ms"),
        // Quick turns are joined as it happens.
        (r"\d+ events?, 20 turns", "[N] events, 20 turns"),
        (r"event (?:[6-9]|\d\d): upstream", "event [N]: upstream"),
        (r"state version  \d+", "state version  [N]"),
        (r"WHEN +WHO", "WHEN WHO"),
        (r"( +\d+  (?:now|\d+ s ago) +human  human message via claude\n| +… \d+ lines more\n)+",
            "      [N]  [AGO]  human  human message via claude\n"),
    ]}, {
        insta::assert_snapshot!(told);
    });
}

/// A line without what differs from run to run.
fn plain(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let word = word.trim_end_matches(',');
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        if is_number { "#" } else { word.trim_end_matches('s').trim_end_matches(':') }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let world = World::new();
    let (mut command, _) = demo(&world, &[]);
    let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let shown = readme
        .split("```console\n")
        .find_map(|block| {
            block.split("```").next().filter(|block| block.starts_with("upstreamd demo"))
        })
        .unwrap();
    // The README leaves lines out; those it shows are printed, in its order.
    let mut lines = told.lines().map(plain);
    for line in shown.lines().map(plain) {
        assert!(lines.any(|printed| printed == line), "not printed: {line}\n{told}");
    }
}

#[test]
fn the_demo_tells_programs_each_step() {
    let world = World::new();
    let (mut command, place) = demo(&world, &["--json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let steps: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (step, number) in steps.iter().zip(1..) {
        let fields: Vec<_> = step.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["step", "what", "recorded", "turns", "ms"]);
        assert_eq!(step["step"], number);
    }
    assert_eq!(steps.iter().map(|step| step["turns"].as_u64().unwrap()).sum::<u64>(), 24);
    assert_eq!(steps.iter().filter(|step| step["recorded"] == true).count(), 7);
    assert_nothing_is_left(&world, &place);
}

#[test]
fn a_demo_that_is_interrupted_or_left_alone_removes_everything() {
    for signal in [Some("-INT"), Some("-TERM"), None] {
        let world = World::new();
        let (mut command, place) = demo(&world, &[]);
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with(" 3  A person types.")));
        let expected = if let Some(signal) = signal {
            let id = process.id().to_string();
            assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
            let rest: Vec<_> = lines.map(Result::unwrap).collect();
            assert!(rest.len() < 40, "{rest:?}");
            1
        } else {
            drop(lines);
            0
        };
        let mut said = String::new();
        process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(expected), "{signal:?}: {said}");
        assert_eq!(said.contains("interrupted"), expected == 1, "{said}");
        assert_nothing_is_left(&world, &place);
    }
}
