//! `--rule compat` is the gateway's rule, bit for bit: the same rows judged by both.

use crate::packages::Packages;
use crate::rows::Generator;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use upstreamd::classify::text::normalise;
use upstreamd::classify::{CompatTurn, Reader, ReaderState, Settings};
use upstreamd::ids::{HashKey, Timestamp};
use upstreamd::scan::line::Line;

const KEY: HashKey = HashKey::new([7; 32]);

/// Rows that one process of Node judges.
const BATCH: usize = 50_000;

/// Differences that are printed.
const SHOWN: usize = 20;

/// Judges as many rows as `UPSTREAMD_INTEROP_ROWS` says (50,000), from the seed
/// `UPSTREAMD_INTEROP_SEED` (1) on.
pub(crate) fn generated_rows(packages: &Packages) -> String {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.parse().unwrap())
    };
    let (rows, first) =
        (number("UPSTREAMD_INTEROP_ROWS", 50_000), number("UPSTREAMD_INTEROP_SEED", 1));
    let mut tally = Tally::default();
    let mut seed = first;
    while (tally.rows as u64) < rows {
        tally.add(packages, seed);
        seed += 1;
    }
    let Tally { rows, counted, times, thrown, differences } = tally;
    let found = format!(
        "{rows} rows, seeds {first} to {}: {counted} count, {} times, {thrown} it throws on, {differences} differences",
        seed - 1,
        times.len(),
    );
    assert_eq!(differences, 0, "{found}");
    // Else it would pass by comparing nothing.
    assert!(counted * 5 > rows && times.len() * 50 > rows && thrown > 0, "{found}");
    found
}

#[derive(Default)]
struct Tally {
    rows: usize,
    /// Rows that the gateway counts.
    counted: usize,
    /// Different times that it takes from them.
    times: BTreeSet<i64>,
    thrown: usize,
    differences: usize,
}

/// The gateway's answer: whether it counts the row, at which time, and with which text.
#[derive(Debug, PartialEq, Deserialize)]
struct Answer(bool, Option<f64>, Option<String>);

impl Tally {
    fn add(&mut self, packages: &Packages, seed: u64) {
        let mut generator = Generator::new(seed);
        let rows: Vec<Vec<u8>> = (0..BATCH).map(|_| generator.row()).collect();
        let answers = ask(packages, &rows);
        assert_eq!(answers.len(), rows.len());
        for (index, (row, answer)) in rows.iter().zip(answers).enumerate() {
            self.rows += 1;
            let ours = judge(row);
            let theirs = match &answer {
                Some(Answer(true, at, text)) => {
                    self.counted += 1;
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "milliseconds, as it has them"
                    )]
                    let at = at.map(|at| Timestamp(at as i64));
                    self.times.extend(at.map(|at| at.0));
                    let text = KEY.text(&normalise(text.as_deref().unwrap()));
                    Some(CompatTurn { at, text })
                }
                Some(_) => None,
                None => {
                    self.thrown += 1;
                    None
                }
            };
            if ours != theirs {
                self.differences += 1;
                if self.differences <= SHOWN {
                    println!("seed {seed}, row {index}: {}", row.escape_ascii());
                    println!("  the gateway: {answer:?}; ours: {ours:?}");
                }
            }
        }
    }
}

fn judge(row: &[u8]) -> Option<CompatTurn> {
    let bytes = row.strip_suffix(b"\r").unwrap_or(row);
    let mut reader = Reader::new(&KEY, Settings::default(), ReaderState::default());
    let report = reader.read_line(&Line { start: 0, bytes, next: row.len() as u64 + 1 });
    report.rows.into_iter().next().and_then(|row| row.compat)
}

fn ask(packages: &Packages, rows: &[Vec<u8>]) -> Vec<Option<Answer>> {
    let folder = tempfile::tempdir().unwrap();
    let [file, answers] = ["rows", "answers"].map(|name| folder.path().join(name));
    fs_err::write(
        &file,
        rows.iter().flat_map(|row| [row, &b"\n"[..]].concat()).collect::<Vec<_>>(),
    )
    .unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/classifier.mjs");
    let node = Command::new(&packages.node)
        .arg(script)
        .arg(&packages.openclaw)
        .args([&file, &answers])
        // Times without a zone are taken for UTC here.
        .env("TZ", "UTC")
        .output()
        .unwrap();
    assert!(node.status.success(), "{}", String::from_utf8_lossy(&node.stderr));
    let text = fs_err::read_to_string(answers).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
