//! What holds whatever happens to a transcript, and wherever we are killed.

use super::{MOVED, PATH, World};
use crate::killpoint::KillPoint;
use proptest::prelude::*;

/// Transcripts of all situations, one after the other.
fn situations() -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rows");
    let mut files: Vec<_> = fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    files.into_iter().flat_map(|path| [fs_err::read(path).unwrap(), vec![b'\n']].concat()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// However a file is written and however much is read at a time, the same rows count.
    #[test]
    fn any_split_into_writes_and_any_window_give_the_same_turns(
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        window in prop_oneof![40..400u64, 1000..100_000u64],
        at_once in any::<bool>(),
    ) {
        let content = situations();
        let turns = |cuts: &[usize], window, at_once| {
            let mut world = World::new();
            world.rules.scan_window = window;
            world.rules.at_once = at_once;
            world.disk.append(PATH, b"");
            world.adopt(true);
            let mut from = 0;
            for to in cuts.iter().copied().chain([content.len()]) {
                world.disk.append(PATH, &content[from..to]);
                world.cycle();
                from = to;
            }
            while world.link().unwrap().marker() != Some(content.len() as u64) {
                world.cycle();
            }
            world.turns()
        };
        let mut cuts: Vec<usize> = cuts.drain(..).map(|cut| cut.index(content.len())).collect();
        cuts.sort_unstable();
        let whole = turns(&[], 1 << 20, true);
        prop_assert!(whole > 40);
        prop_assert_eq!(turns(&cuts, window, at_once), whole);
    }
}

/// What happens to a transcript, or to us.
#[derive(Debug, Clone)]
enum Step {
    Type(u8),
    Machine,
    Half,
    Copy,
    Prune { keep: u8, in_place: bool },
    Move,
    Cycle,
    Die(KillPoint),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..4u8).prop_map(Step::Type),
        2 => Just(Step::Machine),
        2 => Just(Step::Half),
        1 => Just(Step::Copy),
        2 => (0..6u8, any::<bool>()).prop_map(|(keep, in_place)| Step::Prune { keep, in_place }),
        1 => Just(Step::Move),
        4 => Just(Step::Cycle),
        4 => (0..KillPoint::ALL.len()).prop_map(|at| Step::Die(KillPoint::ALL[at])),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever happens to the file and wherever we are killed: each typed row is in one event.
    #[test]
    fn every_turn_is_in_exactly_one_event(steps in steps(), window in 1..2000u64) {
        let mut world = World::adopted();
        world.rules.scan_window = window;
        world.cycle();
        let mut typed = 0;
        let mut half: Option<String> = None;
        let mut path = PATH;
        for step in &steps {
            if !matches!(step, Step::Half | Step::Cycle | Step::Die(_)) && let Some(rest) = half.take() {
                world.disk.append(path, rest.as_bytes());
            }
            match step {
                Step::Type(rows) => for _ in 0..*rows {
                    let row = world.typed();
                    world.disk.append(path, row.as_bytes());
                    typed += 1;
                },
                Step::Machine => {
                    let row = world.machine();
                    world.disk.append(path, row.as_bytes());
                }
                Step::Half => if half.is_none() {
                    let row = world.typed();
                    let (front, back) = row.split_at(row.len() / 3);
                    world.disk.append(path, front.as_bytes());
                    half = Some(back.to_owned());
                    typed += 1;
                },
                Step::Copy => {
                    let content = String::from_utf8(world.disk.read(path)).unwrap();
                    let last = content.lines().last().unwrap_or_default().to_owned() + "\n";
                    world.disk.append(path, last.as_bytes());
                }
                Step::Prune { keep, in_place } => {
                    // What was not read yet, or not found again after a move, must stay in the file:
                    // else nobody could know of it.
                    for _ in 0..4 {
                        world.cycle();
                    }
                    let content = String::from_utf8(world.disk.read(path)).unwrap();
                    let rows: Vec<&str> = content.split_inclusive('\n').collect();
                    let kept = rows[rows.len().saturating_sub(usize::from(*keep))..].concat();
                    let row = world.typed();
                    typed += 1;
                    let rows = kept + &row;
                    if *in_place {
                        world.disk.rewrite(path, rows.as_bytes());
                    } else {
                        world.disk.replace(path, rows.as_bytes());
                    }
                }
                Step::Move => {
                    // A file of which no row is known is another one.
                    world.cycle();
                    let to = if path == PATH { MOVED } else { PATH };
                    world.disk.rename(path, to);
                    path = to;
                }
                Step::Cycle => drop(world.cycle()),
                Step::Die(point) => drop(world.cycle_until(Some(*point))),
            }
        }
        if let Some(rest) = half {
            world.disk.append(path, rest.as_bytes());
        }
        for _ in 0..4 {
            world.cycle();
        }
        prop_assert_eq!(world.turns(), typed);
        prop_assert_eq!(world.link().unwrap().marker(), Some(world.disk.read(path).len() as u64));
        prop_assert!(world.journal.open_intents().unwrap().is_empty());
    }
}
