//! One event, without a daemon: a row is read and judged, and its event recorded in three commits.

use crate::data::Rows;
use crate::home::Home;
use crate::size::Size;
use crate::table::{Rounds, Row, Target, Unit, percentile};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Instant;
use upstreamd::classify::{CountCommands, Settings};
use upstreamd::cycle::{AdoptFrom, Rules};
use upstreamd::disk::{Disk as _, Patience, RealDisk};
use upstreamd::echo::Mode;
use upstreamd::engine::{Engine, Plan};
use upstreamd::ids::AgentId;
use upstreamd::link::LinkId;
use upstreamd::record::{Retention, Store};
use upstreamd::state::StateFolder;

/// The pages that an event touches.
static PAGES: [u8; 6 * 4096] = [1; 6 * 4096];

/// How often the log's pages are moved to their place, as the daemon does when it idles.
const CHECKPOINT_EVERY: u32 = 100;

fn engine(home: &Home) -> (Engine, LinkId) {
    let claude_dirs = vec![home.path().join(".claude")];
    let rules = Rules {
        scan_window: 1 << 20,
        at_once: true,
        misses: 3,
        miss_interval_ms: 0,
        echo: Mode::Provenance,
        own_texts: 10,
        classify: Settings { commands: CountCommands::Turns, answers: false },
        unwatched: true,
        holds_all: false,
        explain: false,
    };
    let mut disk = RealDisk::new(claude_dirs.clone(), Arc::new(Patience::default()));
    disk.refresh();
    let session = disk.sessions().files.remove(0);
    let state = StateFolder::at(home.path().join("state"));
    let mut engine = Engine::open(Plan {
        access: None,
        store: Store::Embedded(state.signal_log()),
        state,
        runtime: home.path().join("run"),
        claude_dirs,
        rules,
        retention: Retention::default(),
    })
    .unwrap();
    engine.refresh().unwrap();
    let link = engine.adopt(&session, &AgentId::new("main"), AdoptFrom::End).unwrap().unwrap();
    engine.cycle().unwrap();
    (engine, link.id)
}

pub(crate) fn measure(size: &Size) -> [Row; 2] {
    let home = Home::new();
    let path = home.session(0, 0);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut rows = Rows::new(23);
    fs::write(&path, rows.assistant()).unwrap();
    let (mut engine, id) = engine(&home);
    let mut transcript = OpenOptions::new().append(true).open(&path).unwrap();
    let pages = File::create(home.path().join("pages")).unwrap();
    let (mut middle, mut worst) = (Rounds::default(), Rounds::default());
    for _ in 0..size.rounds {
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for n in 0..size.commits {
            transcript.write_all(rows.typed().as_bytes()).unwrap();
            let began = Instant::now();
            let report = engine.look(&id, &|| false).unwrap().unwrap();
            ours.push(began.elapsed().as_secs_f64());
            assert_eq!(report.turns, 1);
            let began = Instant::now();
            pages.write_all_at(&PAGES, u64::from(n) * PAGES.len() as u64).unwrap();
            plain.push(began.elapsed().as_secs_f64());
            if n % CHECKPOINT_EVERY == 0 {
                engine.checkpoint().unwrap();
            }
        }
        middle.add(percentile(&ours, 50), percentile(&plain, 50));
        worst.add(percentile(&ours, 99), percentile(&ours, 50));
    }
    [
        middle.row(
            "row read, its event in 3 commits, p50",
            Unit::Seconds,
            "write() of 6 pages, p50",
            Target::RatioAtMost(10.0),
        ),
        worst.row(
            "row read, its event in 3 commits, p99",
            Unit::Seconds,
            "its own p50",
            Target::RatioAtMost(5.0),
        ),
    ]
}
