//! What the targets share.

use upstreamd::classify::{
    CountCommands, JudgedRow, LineReport, Reader, ReaderState, Settings, door,
};
use upstreamd::ids::HashKey;
use upstreamd::scan::line::{Extent, Line};

/// The key of all hashes here.
pub const KEY: HashKey = HashKey::new([7; 32]);

/// Everything that can count does.
pub const ALL: Settings = Settings { commands: CountCommands::All, answers: true };

/// The report on a line that is all of a file, from a reader that has seen nothing.
pub fn read_line(bytes: &[u8], settings: Settings) -> (LineReport, ReaderState) {
    read_line_at(0, bytes, settings)
}

/// The same for a line that begins there.
pub fn read_line_at(start: u64, bytes: &[u8], settings: Settings) -> (LineReport, ReaderState) {
    let mut reader = Reader::new(&KEY, settings, ReaderState::default());
    let next = start + bytes.len() as u64 + 1;
    let report = reader.read_line(&Line { start, bytes, next });
    (report, reader.into_state())
}

/// The verdict on the one row of a line, without what depends on where and how it is written.
pub fn read_row(bytes: &[u8], settings: Settings) -> JudgedRow {
    let (mut report, _) = read_line(bytes, settings);
    let Some(mut row) = report.rows.pop().filter(|_| report.rows.is_empty()) else {
        panic!("not one row");
    };
    (row.start, row.end) = (0, 0);
    if row.uuid.is_none() {
        row.identity = None;
    }
    row
}

/// The verdicts on a file.
pub type Found = (Vec<(Extent, LineReport)>, ReaderState);

/// Reads a file in windows of these sizes; with `stops`, what is kept is stored and read back after
/// each of them, and `stored` sees it.
pub fn read(bytes: &[u8], windows: &[u64], stops: bool, mut stored: impl FnMut(&str)) -> Found {
    door::read_in_windows(bytes, &KEY, ALL, windows, |kept| {
        if !stops {
            return kept;
        }
        let text = serde_json::to_string(&kept).expect("the state can be stored");
        stored(&text);
        serde_json::from_str(&text).expect("the stored state can be read")
    })
    .expect("the file does not change")
}

/// Reads it in one window.
pub fn read_whole(bytes: &[u8]) -> Found {
    read(bytes, &[], false, |_| ())
}

/// Reads it line by line; of the first lines and now and then later, what is kept is stored and read
/// back, and `stored` sees it.
pub fn read_in_steps(bytes: &[u8], mut stored: impl FnMut(&str)) -> Found {
    let mut state = ReaderState::default();
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let next = start + line.len() as u64;
        let line = Line { start, bytes: line.strip_suffix(b"\n").unwrap_or(line), next };
        let mut reader = Reader::new(&KEY, ALL, state).explaining(true);
        found.push((line.extent(), reader.read_line(&line)));
        state = reader.into_state();
        if number < 32 || number.is_multiple_of(16) {
            let text = serde_json::to_string(&state).expect("the state can be stored");
            stored(&text);
            state = serde_json::from_str(&text).expect("the stored state can be read");
        }
        start = next;
    }
    (found, state)
}

/// Pieces are in order inside their line, and nothing but white space stands between them.
pub fn check_pieces(start: u64, line: &[u8], report: &LineReport) {
    let place = |offset: u64| usize::try_from(offset - start).expect("inside the line");
    let between = |from: usize, to: usize| {
        let bytes = line.get(from..to).expect("in order inside the line");
        let bytes =
            if from == 0 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
        assert!(bytes.iter().all(|byte| b" \t\n\r".contains(byte)), "bytes were passed over");
    };
    let mut at = 0;
    for row in &report.rows {
        assert!(row.start < row.end, "an empty piece");
        between(at, place(row.start));
        at = place(row.end);
    }
    if !report.rows.is_empty() {
        between(at, line.len());
    }
    let first = report.rows.iter().find(|row| row.verdict.rule == "no-json");
    let skipped = report.skipped.map(|skipped| (skipped.offset, skipped.offset + skipped.length));
    assert_eq!(skipped, first.map(|row| (row.start, row.end)));
}
