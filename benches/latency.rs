//! From a person's row being written to its event being committed, beside `tail -F`.

use crate::daemon::{Daemon, Fate, PATIENCE, Tail};
use crate::data::{Random, Rows};
use crate::home::Home;
use crate::size::Size;
use crate::table::{Rounds, Row, Target, Unit, percentile};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The sessions that are written to.
const BUSY: u32 = 20;

/// Each row is seen by both in the same moment, on the same cores.
pub(crate) fn measure(home: &Home, size: &Size) -> [Row; 2] {
    let daemon = Daemon::start(home, &[]);
    daemon.wait_for("READY=1");
    let busy = (0..BUSY).map(|n| n * (size.sessions / BUSY));
    let files: Vec<PathBuf> = busy.map(|n| home.session(n % size.folders, n)).collect();
    let tail = Tail::start(home.path(), &files);
    let mut files: Vec<File> =
        files.iter().map(|file| OpenOptions::new().append(true).open(file).unwrap()).collect();
    let mut rows = Rows::new(11);
    let mut random = Random::new(13);
    for file in &mut files {
        // Tail does not say when it watches: the first lines it shows do.
        loop {
            file.write_all(rows.assistant().as_bytes()).unwrap();
            if tail.next(Duration::from_millis(200)).is_some() {
                break;
            }
        }
    }
    let (mut middle, mut worst) = (Rounds::default(), Rounds::default());
    for _ in 0..size.rounds {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..size.turns {
            std::thread::sleep(Duration::from_micros(1_000 + random.below(4_000) as u64));
            let file = &mut files[random.below(BUSY as usize)];
            let row = rows.typed();
            let written = Instant::now();
            file.write_all(row.as_bytes()).unwrap();
            let Fate::Recorded(recorded, 1) = daemon.fate(PATIENCE) else {
                panic!("a turn was not recorded by itself");
            };
            let shown = tail.next(PATIENCE).unwrap();
            ours.push((recorded - written).as_secs_f64());
            theirs.push((shown - written).as_secs_f64());
        }
        let tail = percentile(&theirs, 50);
        middle.add(percentile(&ours, 50), tail);
        worst.add(percentile(&ours, 99), tail);
    }
    daemon.stop();
    [
        middle.row(
            "row written → event committed, p50",
            Unit::Seconds,
            "line shown by tail -F, p50",
            Target::RatioAtMost(3.0),
        ),
        worst.row(
            "row written → event committed, p99",
            Unit::Seconds,
            "line shown by tail -F, p50",
            Target::RatioAtMost(10.0),
        ),
    ]
}
