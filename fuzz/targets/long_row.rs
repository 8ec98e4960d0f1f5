//! Any bytes as a file: read in windows of any sizes, beside read at once.
//!
//! Laws: the verdicts are the same, and so is what is remembered, whether a row is held or outlined
//! in chunks, and whether the state goes through its stored form between two windows.

#![no_main]

use libfuzzer_sys::fuzz_target;
use upstreamd_fuzz::{check_pieces, read, read_whole};

fuzz_target!(|bytes: &[u8]| {
    // The last bytes say how it is read; a file of rows is a seed as it is.
    let (file, how) = bytes.split_at(bytes.len().saturating_sub(4));
    let size = |byte: &u8| match u64::from(*byte) {
        small @ 0..128 => small / 2 + 1,
        large => (large - 127) * 24,
    };
    let windows: Vec<u64> = how.iter().map(size).collect();
    let stops = how.last().is_some_and(|byte| byte % 4 != 0);
    let whole = read_whole(file);
    for (extent, report) in &whole.0 {
        let from = usize::try_from(extent.start).expect("inside the file");
        let to = usize::try_from(extent.next).expect("inside the file");
        let line = file.get(from..to).expect("inside the file");
        check_pieces(extent.start, line.strip_suffix(b"\n").unwrap_or(line), report);
    }
    assert_eq!(read(file, &windows, stops, |_| ()), whole);
});
