//! What our recording costs the gateway: its database's write lock, and its answers.

use crate::gateway::{Place, Session, program, wait_until};
use crate::monitors::{WATCHER, events};
use crate::packages::Packages;
use rusqlite::Connection;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SESSIONS: usize = 10;

/// Phases without us and with us, in turns, so that both meet the same machine.
const PHASES: usize = 6;
const PHASE: Duration = Duration::from_secs(6);

/// Times in milliseconds.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    /// The one that this share of them does not exceed.
    fn quantile(&mut self, share: usize) -> f64 {
        self.0.sort_by(f64::total_cmp);
        let last = self.0.len() - 1;
        self.0[last * share / 1_000]
    }

    fn told(&mut self) -> String {
        let (half, most, all) = (self.quantile(500), self.quantile(990), self.quantile(1_000));
        format!("p50 {half:.3}, p99 {most:.2}, max {all:.1} ms of {}", self.0.len())
    }
}

/// What was measured, without us and with us.
#[derive(Default)]
struct Measured {
    lock: Times,
    calls: Times,
}

/// Writes turns, asks for the write lock in between, and has the gateway asked meanwhile.
fn measure(place: &Place<'_>, sessions: &[Session], measured: &mut Measured) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/latency.mjs");
    let asking = program(&place.packages().node, place.home())
        .arg(script)
        .args([&format!("ws://127.0.0.1:{}", place.port()), crate::gateway::TOKEN])
        .args([&PHASE.as_millis().to_string(), "sessions.list", "{}"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lock = Connection::open(place.database()).unwrap();
    lock.busy_timeout(Duration::from_secs(10)).unwrap();
    let began = Instant::now();
    let mut written = 0;
    while began.elapsed() < PHASE {
        let session = &sessions[written % sessions.len()];
        session.append(&[&place.typed(session)]);
        written += 1;
        for _ in 0..3 {
            let asked = Instant::now();
            lock.execute_batch("BEGIN IMMEDIATE").unwrap();
            measured.lock.0.push(asked.elapsed().as_secs_f64() * 1_000.0);
            lock.execute_batch("ROLLBACK").unwrap();
            std::thread::sleep(Duration::from_millis(3));
        }
    }
    let output = asking.wait_with_output().unwrap();
    assert!(output.status.success());
    measured.calls.0.extend(serde_json::from_slice::<Vec<f64>>(&output.stdout).unwrap());
}

/// The gateway answers as fast beside us, and waits for its database as little.
pub(crate) fn of_recording(packages: &Packages) -> String {
    let place = Place::new(packages);
    let sessions: Vec<Session> = (0..SESSIONS).map(|_| place.session()).collect();
    let keys: Vec<String> = sessions.iter().map(|session| place.adopt(session)).collect();
    for key in &keys {
        place.run(&["watch", "add", WATCHER, key]);
    }
    let windows = || -> usize {
        let of_us = |key: &String| {
            let events = events(&place, key);
            events.iter().filter(|event| event["payload"].get("generation").is_some()).count()
        };
        keys.iter().map(of_us).sum()
    };
    let (mut without, mut with) = (Measured::default(), Measured::default());
    for phase in 0..PHASES {
        if phase % 2 == 0 {
            measure(&place, &sessions, &mut without);
            continue;
        }
        let before = windows();
        let daemon = place.daemon();
        sessions[0].append(&[&place.typed(&sessions[0])]);
        wait_until("we record", || windows() > before);
        measure(&place, &sessions, &mut with);
        drop(daemon);
    }
    let windows = windows();
    assert!(windows >= 1_000, "{windows}");
    let (half, beside) = (without.calls.quantile(500), with.calls.quantile(500));
    assert!(beside < half * 3.0 + 5.0, "{beside:.1} ms instead of {half:.1}");
    format!(
        "{windows} windows; write lock beside us {}, else {}; sessions.list beside us {}, else {}",
        with.lock.told(),
        without.lock.told(),
        with.calls.told(),
        without.calls.told(),
    )
}
