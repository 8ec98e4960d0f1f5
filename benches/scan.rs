//! Reading a transcript: `upstreamd once` on one that was adopted from its start, as a person would
//! run it, and the library's loop alone, beside counting newlines.

use crate::data::Rows;
use crate::gateway::Gateway;
use crate::home::Home;
use crate::size::Size;
use crate::table::{Rounds, Row, Target, Unit, number};
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use upstreamd::classify::{CountCommands, Reader, ReaderState, Settings};
use upstreamd::disk::{Disk as _, RealDisk};
use upstreamd::ids::HashKey;
use upstreamd::scan::window::Window;

/// Counts newlines from an offset on, by reads of 256 KiB.
pub(crate) fn newlines(path: &Path, from: u64) -> Duration {
    let began = Instant::now();
    let mut file = File::open(path).unwrap();
    file.seek(SeekFrom::Start(from)).unwrap();
    let mut buffer = vec![0; 256 << 10];
    let mut lines = 0;
    loop {
        let read = file.read(&mut buffer).unwrap();
        if read == 0 {
            break;
        }
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count();
    }
    let took = began.elapsed();
    assert!(lines > 0);
    took
}

/// Reads and judges each row by the library's own loop, without any database.
fn judge(home: &Home, path: &Path, turns: u64) -> Duration {
    let mut disk = RealDisk::new(vec![home.path().join(".claude")], Arc::default());
    disk.refresh();
    let file = disk.open(path).unwrap();
    let size = file.stat().unwrap().size;
    let settings = Settings { commands: CountCommands::Turns, answers: false };
    let key = HashKey::new([1; 32]);
    let began = Instant::now();
    let mut reader = Reader::new(&key, settings, ReaderState::default());
    let mut found = 0;
    let mut window = Window::default();
    window.begin(0, size, u64::MAX);
    while window.read(file.as_ref()).unwrap() {
        for line in window.lines() {
            let rows = reader.read_line(&line).rows;
            found += rows.iter().filter(|row| row.verdict.human).count() as u64;
        }
    }
    let took = began.elapsed();
    assert_eq!(found, turns, "a fast answer that is wrong");
    took
}

pub(crate) fn measure(size: &Size, gateway: Option<&Gateway>) -> [Row; 3] {
    let home = Home::new();
    let path = home.session(0, 0);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut to = BufWriter::new(File::create(&path).unwrap());
    let mut rows = Rows::new(17);
    let bytes = number(rows.write(size.transcript, &mut to).unwrap() as u64);
    to.flush().unwrap();
    let (mut beside_newlines, mut beside_gateway) = (Rounds::default(), Rounds::default());
    let mut loop_alone = Rounds::default();
    for round in 0..size.rounds {
        let state = home.path().join(format!("state-{round}"));
        let state = state.to_str().unwrap();
        home.run(&["--state-dir", state, "adopt", "--from", "start", &Home::thread(0)]);
        let began = Instant::now();
        let report = home.run(&["--state-dir", state, "once", "--json"]);
        let ours = bytes / began.elapsed().as_secs_f64();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["links"][0]["turns"], rows.typed, "a fast answer that is wrong");
        let counted = bytes / newlines(&path, 0).as_secs_f64();
        beside_newlines.add(ours, counted);
        loop_alone.add(bytes / judge(&home, &path, rows.typed).as_secs_f64(), counted);
        if let Some(gateway) = gateway {
            beside_gateway.add(ours, bytes / gateway.scan(&home, &path).as_secs_f64());
        }
    }
    let name = format!("`once` over {} MB, start to exit", size.transcript / 1_000_000);
    let again = "  the same beside the gateway";
    let target = Target::RatioAtLeast(0.45);
    let alone = "  its rows read and judged, no database";
    [
        beside_newlines.row(&name, Unit::BytesPerSecond, "counting newlines", target),
        if gateway.is_some() {
            let target = Target::RatioAtLeast(18.0);
            beside_gateway.row(again, Unit::BytesPerSecond, "its check of the file", target)
        } else {
            let beside = "its check of the file";
            Row::without_ratio(again, "-", beside, "not asked for (≥ 18 x)", None)
        },
        loop_alone.row(alone, Unit::BytesPerSecond, "counting newlines", target),
    ]
}
