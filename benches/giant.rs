//! A row of a hundred megabytes, and a small one behind it.

use crate::daemon::{Daemon, Fate};
use crate::data::{Giant, Rows};
use crate::home::Home;
use crate::process::{forget_peak, memory, peak, signal};
use crate::scan::newlines;
use crate::size::Size;
use crate::table::{Rounds, Row, Target, Unit, number};
use rustix::process::Signal;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::time::{Duration, Instant};

/// A row that is not read by then is not read.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn measure(size: &Size) -> Vec<Row> {
    Giant::ALL.into_iter().flat_map(|giant| measure_one(giant, size)).collect()
}

fn measure_one(giant: Giant, size: &Size) -> Vec<Row> {
    let speed_name = format!("row of {} MB: {}", size.giant / 1_000_000, giant.name());
    let memory_name = "  its peak memory above idle";
    let speed_target =
        if giant == Giant::Values { Target::None } else { Target::RatioAtLeast(0.5) };
    let home = Home::new();
    let path = home.session(0, 0);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut rows = Rows::new(19);
    fs::write(&path, rows.assistant()).unwrap();
    home.run(&["adopt", &Home::thread(0)]);
    let daemon = Daemon::start(&home, &[]);
    daemon.wait_for("READY=1");
    let (mut speed, mut most) = (Rounds::default(), Rounds::default());
    for _ in 0..size.rounds {
        forget_peak(&daemon.process);
        let idle = memory(&daemon.process);
        // It stands still while the row is written, so that only its own work is measured.
        signal(&daemon.process, Signal::STOP);
        let from = fs::metadata(&path).unwrap().len();
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        let bytes = append(giant, &mut rows, size.giant, file);
        let beside = newlines(&path, from);
        let began = Instant::now();
        signal(&daemon.process, Signal::CONT);
        let Some(done) = wait_for_turns(&daemon, giant.turns() + 1) else {
            return vec![
                Row::without_ratio(&speed_name, "waits", "newline search", "not read yet", None),
                Row::without_ratio(memory_name, "waits", "a buffer of 4 MB", "not read yet", None),
            ];
        };
        speed.add(bytes / (done - began).as_secs_f64(), bytes / beside.as_secs_f64());
        most.add(number(peak(&daemon.process).saturating_sub(idle)), 4e6);
    }
    daemon.stop();
    vec![
        speed.row(&speed_name, Unit::BytesPerSecond, "newline search", speed_target),
        most.row(memory_name, Unit::Bytes, "a buffer of 4 MB", Target::RatioAtMost(1.0)),
    ]
}

/// Appends the row and a small typed one; gives their bytes.
fn append(giant: Giant, rows: &mut Rows, bytes: usize, to: File) -> f64 {
    let mut to = BufWriter::new(to);
    let written = giant.write(rows, bytes, &mut to).unwrap();
    let typed = rows.typed();
    to.write_all(typed.as_bytes()).unwrap();
    to.flush().unwrap();
    number((written + typed.len()) as u64)
}

/// When so many turns were recorded, in one event or several; `None` where a row waits.
fn wait_for_turns(daemon: &Daemon, mut turns: u64) -> Option<Instant> {
    loop {
        match daemon.fate(PATIENCE) {
            Fate::Recorded(at, recorded) => match turns.checked_sub(recorded).unwrap() {
                0 => return Some(at),
                left => turns = left,
            },
            Fate::Waits | Fate::Silence => return None,
        }
    }
}
