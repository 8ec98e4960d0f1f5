//! What the daemon notices between its cycles, and what it does with a disk that hangs.

use crate::process::{Daemon, wait_until};
use crate::world::World;
use std::fs;

/// The log's lines with these words.
fn count(log: &str, words: &str) -> usize {
    log.lines().filter(|line| line.contains(words)).count()
}

fn links(world: &World) -> Vec<serde_json::Value> {
    world.json(&["links"])["links"].as_array().unwrap().clone()
}

#[test]
fn what_is_typed_is_recorded_between_cycles_with_events_and_without() {
    for (n, watch) in ["auto", "native", "poll:100ms"].into_iter().enumerate() {
        let world = World::new();
        world.append(1, &(world.machine() + &world.typed()));
        // Births are stamped with a coarse clock: older than its tick is older than the daemon.
        let born = fs::metadata(world.file(1)).unwrap().created().unwrap();
        wait_until("old", || born.elapsed().is_ok_and(|age| age.as_millis() > 50));
        let daemon = Daemon::start_without_cycles(&world, u32::try_from(n).unwrap(), watch);
        daemon.wait_for("READY=1");
        // The session was there before: it is adopted by itself, from its end.
        wait_until("adopted", || links(&world).len() == 1);
        wait_until("at rest", || links(&world)[0]["state"] == "current");
        assert_eq!(world.turns(), 0, "{watch}");
        for turns in 1..=3 {
            world.append(1, &(world.machine() + &world.typed()));
            wait_until("recorded", || world.turns() == turns);
        }
        // A session that is born now is followed from its first byte, also in a new folder.
        world.append(2, &(world.typed() + &world.machine() + &world.typed()));
        wait_until("a new session", || world.turns() == 5);
        let folder = world.path().join(".claude/projects/-another");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(format!("{}.jsonl", World::thread(3))), world.typed()).unwrap();
        wait_until("a new folder", || world.turns() == 6);
        // Sub-agents and helpers are no sessions.
        fs::write(folder.join("agent-0a1b2c3d.jsonl"), world.typed()).unwrap();
        fs::write(folder.join("agent-acompact-0a1b.jsonl"), world.typed()).unwrap();
        world.append(1, &world.typed());
        wait_until("recorded", || world.turns() == 7);
        assert_eq!(links(&world).len(), 3);
        let log = daemon.stop();
        assert_eq!(count(&log, "WARN") + count(&log, "ERROR"), 0, "{log}");
        assert!(!log.contains(crate::world::SECRET));
    }
}

#[test]
fn a_session_that_was_unlinked_is_left_alone_until_it_is_adopted_again() {
    let world = World::new();
    world.append(1, &world.machine());
    let daemon = Daemon::start_without_cycles(&world, 1, "auto");
    wait_until("adopted", || links(&world).len() == 1);
    let key = links(&world)[0]["sessionKey"].as_str().unwrap().to_owned();
    world.run(&["unlink", &key]);
    world.append(1, &world.typed());
    world.append(2, &world.typed());
    wait_until("the other", || world.turns() == 1);
    daemon.stop();
    let daemon = Daemon::start_without_cycles(&world, 2, "auto");
    world.append(1, &world.typed());
    world.append(2, &world.typed());
    wait_until("the other", || world.turns() == 2);
    assert_eq!(links(&world).len(), 1);
    world.adopt(1);
    world.append(1, &world.typed());
    wait_until("adopted again", || world.turns() == 3);
    daemon.stop();
}

#[test]
fn a_fork_that_copies_rows_counts_only_its_own() {
    let world = World::new();
    let daemon = Daemon::start_without_cycles(&world, 1, "auto");
    daemon.wait_for("READY=1");
    let (first, second) = (world.typed(), world.typed());
    world.append(1, &first);
    wait_until("the first", || world.turns() == 1);
    world.append(1, &second);
    wait_until("the second", || world.turns() == 2);
    // Old rows, copied with uuid and time, one of them from before anybody followed.
    let old = world.typed().replace("\"timestamp\":\"20", "\"timestamp\":\"19");
    world.append(2, &(world.machine() + &old + &first + &second + &world.typed()));
    wait_until("the fork's own", || world.turns() == 3);
    daemon.stop();
}

#[test]
fn a_session_that_comes_back_after_it_went_is_not_counted_again() {
    let world = World::new();
    let daemon = Daemon::start_with(&world, 1, |command| {
        command.env("UPSTREAMD_CYCLE", "100ms").env("UPSTREAMD_FIRST_CYCLE", "50ms");
    });
    daemon.wait_for("READY=1");
    world.append(1, &(world.typed() + &world.typed()));
    wait_until("counted", || world.turns() == 2);
    let aside = world.path().join("aside");
    fs::rename(world.file(1), &aside).unwrap();
    wait_until("gone", || links(&world).is_empty());
    fs::rename(&aside, world.file(1)).unwrap();
    wait_until("back", || links(&world).len() == 1);
    wait_until("at rest", || links(&world)[0]["state"] == "current");
    world.append(1, &world.typed());
    wait_until("counted", || world.turns() >= 3);
    assert_eq!(world.turns(), 3);
    daemon.stop();
}

#[test]
fn a_folder_that_is_made_again_in_place_of_another_is_watched_again() {
    let world = World::new();
    world.append(1, &world.machine());
    let daemon = Daemon::start_without_cycles(&world, 1, "native");
    wait_until("adopted", || links(&world).len() == 1);
    let folder = world.file(1).parent().unwrap().to_owned();
    for n in 2..6_u32 {
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        world.append(n, &world.typed());
        wait_until("born", || world.turns() == u64::from(n) * 2 - 3);
        world.append(n, &world.typed());
        wait_until("grown", || world.turns() == u64::from(n) * 2 - 2);
    }
    // The whole store goes, and comes again.
    let store = folder.parent().unwrap();
    fs::remove_dir_all(store).unwrap();
    fs::create_dir_all(&folder).unwrap();
    world.append(7, &world.typed());
    wait_until("born", || world.turns() == 9);
    daemon.stop();
}

#[test]
fn sessions_born_while_the_daemon_reads_its_configuration_again_or_is_down_are_followed_from_birth()
{
    let world = World::new();
    let daemon = Daemon::start_without_cycles(&world, 1, "auto");
    daemon.wait_for("READY=1");
    for n in 1..=60 {
        world.append(n, &world.typed());
        if n % 7 == 0 {
            daemon.signal("-HUP");
        }
    }
    wait_until("all", || world.turns() == 60);
    daemon.signal("-KILL");
    assert!(!daemon.end().0.success());
    world.append(61, &world.typed());
    let daemon = Daemon::start_without_cycles(&world, 2, "auto");
    wait_until("the one born meanwhile", || world.turns() == 61);
    daemon.stop();
}

#[test]
fn only_named_sessions_are_followed_where_adoption_is_off() {
    let world = World::new();
    world.append(1, &world.machine());
    world.append(2, &world.machine());
    world.adopt(1);
    let daemon = Daemon::start_with(&world, 1, |command| {
        command.env("UPSTREAMD_ADOPT", "off");
    });
    daemon.wait_for("READY=1");
    world.append(2, &world.typed());
    world.append(1, &world.typed());
    daemon.wait_for_turns(&world, 1);
    // One adopted beside the daemon counts at once.
    world.adopt(2);
    world.append(2, &world.typed());
    wait_until("adopted", || world.turns() == 2);
    daemon.stop();
}

#[test]
fn events_that_are_lost_are_made_up_for_and_said_once() {
    let world = World::new();
    for n in 1..=4 {
        world.append(n, &world.machine());
    }
    let daemon = Daemon::start_without_cycles(&world, 1, "native");
    wait_until("adopted", || links(&world).len() == 4);
    wait_until("at rest", || links(&world).iter().all(|link| link["state"] == "current"));
    // While it stands still the system's queue runs over: alternating files, so that no event is
    // joined with the one before it.
    let length: u64 = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    daemon.signal("-STOP");
    for n in 0..length + 100 {
        world.append(u32::try_from(n % 3).unwrap() + 1, "\n");
    }
    world.append(4, &world.typed());
    daemon.signal("-CONT");
    wait_until("recorded", || world.turns() == 1);
    let log = daemon.stop();
    assert_eq!(count(&log, "File events came faster"), 1, "{log}");
}

#[test]
fn a_disk_that_hangs_holds_up_nobody_else_and_is_taken_up_again_when_it_answers() {
    let world = World::new();
    for n in 1..=3 {
        world.append(n, &world.machine());
        world.adopt(n);
    }
    let hangs = world.file(2);
    let flag = hangs.with_extension("jsonl.hang");
    let daemon = Daemon::start_with(&world, 1, |command| {
        command
            .env("UPSTREAMD_TEST_HANG", &hangs)
            .env("UPSTREAMD_SOURCE_DEADLINE", "200ms")
            .env("UPSTREAMD_CYCLE", "24h")
            .env("UPSTREAMD_FIRST_CYCLE", "24h");
    });
    daemon.wait_for("READY=1");
    fs::write(&flag, "").unwrap();
    for n in [2, 1, 3] {
        world.append(n, &world.typed());
    }
    wait_until("the others", || world.turns() == 2);
    let parked = |link: &serde_json::Value| link["state"] == "parked";
    wait_until("parked", || links(&world).iter().filter(|link| parked(link)).count() == 1);
    world.append(2, &world.typed());
    world.append(1, &world.typed());
    wait_until("the others again", || world.turns() == 3);
    fs::remove_file(&flag).unwrap();
    wait_until("taken up again", || world.turns() == 5);
    assert!(!links(&world).iter().any(parked));
    let log = daemon.stop();
    for line in ["The disk does not answer", "The disk answers again"] {
        assert_eq!(count(&log, line), 1, "{line}\n{log}");
    }
}
