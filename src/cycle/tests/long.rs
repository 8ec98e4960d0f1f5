//! Rows longer than a window, in whole cycles.

use super::{PATH, World};
use crate::journal::SourceCursor;
use crate::killpoint::KillPoint;

/// A world that follows a transcript in windows of this size, one a cycle.
fn world(window: u64) -> World {
    let mut world = World::adopted();
    world.rules.scan_window = window;
    world.rules.at_once = false;
    world.cycle();
    world
}

/// A typed row with so many bytes of an image in front of its words.
fn long(world: &mut World, bytes: usize) -> String {
    let row = world.typed();
    row.replace("\"message\":", &format!("\"image\":\"{}\",\"message\":", "A".repeat(bytes)))
}

fn cursor(world: &World) -> SourceCursor {
    let link = world.link().unwrap();
    world.journal.source(&link.id, &link.source_key()).unwrap().unwrap().1
}

fn size(world: &World) -> u64 {
    world.disk.read(PATH).len() as u64
}

#[test]
fn a_row_of_many_windows_is_read_a_window_a_cycle_and_counted_at_its_end() {
    let mut world = world(1000);
    let start = size(&world);
    let rows = long(&mut world, 10_000) + &world.typed();
    world.disk.append(PATH, rows.as_bytes());
    for pass in 1..=10 {
        world.cycle();
        let cursor = cursor(&world);
        assert_eq!((cursor.position, world.link().unwrap().marker()), (start, Some(start)));
        assert_eq!(cursor.row.unwrap().line.read(), start + pass * 1000);
        assert_eq!(world.turns(), 0);
    }
    world.cycle();
    assert_eq!(world.turns(), 1);
    world.cycle();
    assert_eq!(world.turns(), 2);
    assert_eq!((cursor(&world).row, cursor(&world).position), (None, size(&world)));
}

#[test]
fn a_pass_that_somebody_waits_for_ends_early_and_is_carried_on() {
    let mut world = World::adopted();
    world.rules.scan_window = 1 << 30;
    world.cycle();
    let mut rows = String::new();
    for _ in 0..1000 {
        rows += &(long(&mut world, 1000) + &world.typed());
    }
    rows += &(long(&mut world, 3 << 20) + &world.typed());
    world.disk.append(PATH, rows.as_bytes());
    let mut passes = 1;
    while world.look_awaited().behind {
        passes += 1;
    }
    assert!(passes > 5, "{passes}");
    assert_eq!((world.turns(), cursor(&world).position), (2002, size(&world)));
}

#[test]
fn a_long_row_that_is_being_written_is_not_read_again_until_it_grows() {
    let mut world = world(1000);
    let row = long(&mut world, 5000);
    let (front, back) = row.split_at(4500);
    world.disk.append(PATH, front.as_bytes());
    for _ in 0..6 {
        world.cycle();
    }
    let before = cursor(&world);
    assert_eq!(before.row.as_ref().unwrap().line.read(), size(&world));
    assert!(before.settled.is_some());
    assert_eq!(world.outcome(), super::Outcome::Unchanged);
    world.disk.append(PATH, back.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 1);
}

#[test]
fn a_long_row_that_was_rewritten_in_part_is_begun_anew() {
    for turns in [0, 1] {
        let mut world = world(1000);
        // By this the file is known, and it stays the same.
        let before = world.disk.read(PATH);
        let row = long(&mut world, 9000);
        world.disk.append(PATH, &row.as_bytes()[..5000]);
        for _ in 0..3 {
            world.cycle();
        }
        assert_eq!(cursor(&world).row.unwrap().line.read(), before.len() as u64 + 3000);
        let front = if turns == 0 { "\"isMeta\":true" } else { "\"isMeta\":false" };
        let other = row.replace('A', "B").replace("\"image\"", &format!("{front},\"image\""));
        let other = if turns == 0 { other.replace("human", "peer") } else { other };
        world.disk.rewrite(PATH, &[before, other.into_bytes()].concat());
        for _ in 0..12 {
            world.cycle();
        }
        assert_eq!((world.turns(), cursor(&world).position), (turns, size(&world)));
    }
}

#[test]
fn a_long_row_is_counted_once_wherever_we_are_killed() {
    for point in KillPoint::ALL {
        let mut world = world(700);
        let rows = world.typed() + &long(&mut world, 6000) + &world.typed();
        world.disk.append(PATH, rows.as_bytes());
        for _ in 0..14 {
            world.cycle_until(Some(point));
            world.cycle();
        }
        assert_eq!(world.turns(), 3, "{point:?}");
        assert_eq!(cursor(&world).position, size(&world));
    }
}

#[test]
fn rows_before_a_very_long_one_are_history_and_the_ones_behind_it_count() {
    let mut world = World::new();
    world.rules.scan_window = 64 << 10;
    let history = world.typed() + &long(&mut world, 3 << 20) + &world.typed();
    world.disk.append(PATH, history.as_bytes());
    world.adopt(false);
    world.cycle();
    assert_eq!(world.turns(), 0);
    let rows = long(&mut world, 1 << 20) + &world.typed();
    world.disk.append(PATH, rows.as_bytes());
    world.cycle();
    assert_eq!(world.turns(), 2);
    // Pruned: what was history or counted stays so.
    let new = world.typed();
    let content = [history.as_bytes(), rows.as_bytes(), new.as_bytes()].concat();
    let from = history.find('\n').unwrap() + 1;
    world.disk.rewrite(PATH, &content[from..]);
    world.cycle();
    assert_eq!(world.turns(), 3);
}
