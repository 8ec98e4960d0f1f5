//! Killed at each step of Record, and started again.

use crate::world::World;
use std::os::unix::process::ExitStatusExt as _;
use upstreamd::killpoint::KillPoint;

/// SIGABRT.
const ABORTED: i32 = 6;

/// Runs `once` until the kill point; says whether it was reached.
fn killed_at(world: &World, point: KillPoint) -> bool {
    let status = world
        .command(&["once"])
        .env("UPSTREAMD_TEST_ABORT_AT", point.name())
        .output()
        .unwrap()
        .status;
    assert!(status.success() || status.signal() == Some(ABORTED), "{point:?}: {status}");
    !status.success()
}

#[test]
fn every_kill_point_of_record_leaves_each_turn_in_one_event() {
    for point in [
        KillPoint::IntentCommitted,
        KillPoint::EventWritten,
        KillPoint::EventCommitted,
        KillPoint::IntentApplied,
    ] {
        let world = World::new();
        world.append(1, &world.typed());
        world.adopt(1);
        let mut typed = 0;
        for round in 0..10 {
            world.append(1, &(world.typed() + &world.machine()));
            typed += 1;
            assert!(killed_at(&world, point), "{point:?} was not reached");
            if round % 3 == 1 {
                // The row that was being recorded is lost from its file.
                std::fs::write(world.file(1), world.machine()).unwrap();
            }
            world.json(&["once"]);
            assert_eq!(world.turns(), typed, "{point:?}, round {round}");
        }
    }
}

#[test]
fn killed_while_a_rewritten_file_is_found_each_turn_is_in_one_event() {
    let world = World::new();
    world.append(1, &world.typed());
    world.adopt(1);
    world.json(&["once"]);
    for typed in 1..=10 {
        std::fs::write(world.file(1), world.machine() + &world.typed()).unwrap();
        assert!(killed_at(&world, KillPoint::GenerationCommitted));
        world.json(&["once"]);
        assert_eq!(world.turns(), typed);
    }
}

#[test]
fn killed_while_a_missing_file_is_recorded_there_is_one_event() {
    for point in [KillPoint::MissingWritten, KillPoint::MissingCommitted] {
        for _ in 0..10 {
            let world = World::new();
            world.append(1, &world.typed());
            world.adopt(1);
            world.json(&["once"]);
            std::fs::remove_file(world.file(1)).unwrap();
            world.json(&["once"]);
            world.json(&["once"]);
            assert!(killed_at(&world, point));
            world.json(&["once"]);
            let events = world.run(&["events", "--json", "--kind", "upstream_missing"]);
            assert_eq!(events.lines().count(), 1, "{point:?}");
            assert_eq!(world.json(&["links"])["links"].as_array().unwrap().len(), 0);
        }
    }
}

#[test]
fn killed_while_a_moved_file_is_followed_nothing_is_lost() {
    let world = World::new();
    world.append(1, &world.typed());
    world.adopt(1);
    world.json(&["once"]);
    let elsewhere = world.path().join(".claude/projects/-elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::rename(world.file(1), elsewhere.join(world.file(1).file_name().unwrap())).unwrap();
    world.json(&["once"]);
    world.json(&["once"]);
    assert!(killed_at(&world, KillPoint::MoveCommitted));
    std::fs::rename(elsewhere.join(world.file(1).file_name().unwrap()), world.file(1)).unwrap();
    for _ in 0..4 {
        world.json(&["once"]);
    }
    world.append(1, &world.typed());
    world.json(&["once"]);
    assert_eq!(world.turns(), 1);
}
