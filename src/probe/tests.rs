//! What a look at a file finds, and what became of one that is missing.

use super::missing::{Cause, cause_of_store};
use super::*;
use crate::disk::memory::MemoryDisk;
use crate::disk::{Disk as _, Store};
use crate::ids::{Generation, Timestamp};
use crate::record::MissingCause;

const PATH: &str = "/f";
const DAY: i64 = 86_400_000;

fn key() -> HashKey {
    HashKey::new([9; 32])
}

fn cursor() -> SourceCursor {
    SourceCursor::unseen(Generation::new("0a0a0a0a"), Timestamp(0))
}

#[test]
fn a_file_is_known_again_by_the_bytes_before_the_position() {
    type Change = fn(&MemoryDisk);
    let cases: [(&str, Change, Outcome); 7] = [
        ("nothing", |_| {}, Outcome::Unchanged),
        ("an append", |disk| disk.append(PATH, b"three\n"), Outcome::Grown),
        (
            "the same content, written again",
            |disk| disk.rewrite(PATH, b"one\ntwo\n"),
            Outcome::Grown,
        ),
        (
            "the same content, another file",
            |disk| disk.replace(PATH, b"one\ntwo\nx"),
            Outcome::Grown,
        ),
        ("shorter", |disk| disk.rewrite(PATH, b"one\n"), Outcome::Rewritten),
        (
            "other bytes of the same length",
            |disk| disk.rewrite(PATH, b"one\nTwo\n"),
            Outcome::Rewritten,
        ),
        (
            "other bytes in another file",
            |disk| disk.replace(PATH, b"ten\ntwo\nx\n"),
            Outcome::Rewritten,
        ),
    ];
    for (what, change, expected) in cases {
        let disk = MemoryDisk::default();
        disk.append(PATH, b"one\ntwo\n");
        let file = disk.open(PATH.as_ref()).unwrap();
        let cursor = SourceCursor {
            position: 8,
            mark: Some(mark(file.as_ref(), 8, &key()).unwrap()),
            settled: Some(file.stat().unwrap()),
            ..cursor()
        };
        change(&disk);
        let file = disk.open(PATH.as_ref()).unwrap();
        let stat = file.stat().unwrap();
        assert_eq!(look(&cursor, &stat, file.as_ref(), &key()).unwrap(), expected, "{what}");
    }
}

#[test]
fn a_window_that_was_changed_while_it_was_read_has_no_mark() {
    let disk = MemoryDisk::default();
    disk.append(PATH, b"one\ntwo\n");
    let file = disk.open(PATH.as_ref()).unwrap();
    let after = |window: &[u8], to| mark_after(file.as_ref(), to, window, &key()).unwrap();
    assert_eq!(after(b"two\n", 8), Some(mark(file.as_ref(), 8, &key()).unwrap()));
    assert_eq!(after(b"", 4), Some(mark(file.as_ref(), 4, &key()).unwrap()));
    assert_eq!(after(b"TWO\n", 8), None);
    assert_eq!(after(b"two\nthree\n", 14), None, "it became shorter");
}

#[test]
fn what_became_of_a_missing_file_is_told_by_its_store() {
    let settled = FileStat { device: 1, inode: 1, size: 1, modified: Timestamp(0), changed_ns: 0 };
    let seen = |modified: i64, sighted: i64| SourceCursor {
        settled: Some(settled),
        modified_at: Some(Timestamp(modified)),
        sighted_at: Some(Timestamp(sighted)),
        ..cursor()
    };
    let store = Store {
        present: true,
        device: Some(1),
        has_sessions: true,
        cleaned_at: None,
        cleanup_age_ms: 30 * DAY,
    };
    let cleaned = |day: i64| Store { cleaned_at: Some(Timestamp(day * DAY)), ..store };
    let (deleted, retention) =
        (Cause::Final(MissingCause::Deleted), Cause::Final(MissingCause::Retention));
    for (what, store, cursor, expected) in [
        ("no clean-up", store, seen(0, DAY), &deleted),
        ("clean-up of old files", cleaned(40), seen(5 * DAY, 39 * DAY), &retention),
        ("too young for it", cleaned(40), seen(11 * DAY, 39 * DAY), &deleted),
        ("clean-up before the last sight", cleaned(40), seen(5 * DAY, 41 * DAY), &deleted),
        ("never seen", cleaned(40), cursor(), &deleted),
        ("no store", Store { present: false, ..store }, seen(0, DAY), &Cause::StoreGone),
        (
            "an empty mount point",
            Store { device: Some(2), has_sessions: false, ..store },
            seen(0, DAY),
            &Cause::StoreGone,
        ),
        (
            "another device with sessions",
            Store { device: Some(2), ..store },
            seen(0, DAY),
            &deleted,
        ),
        ("the last session of all", Store { has_sessions: false, ..store }, seen(0, DAY), &deleted),
    ] {
        assert_eq!(cause_of_store(&store, &cursor), *expected, "{what}");
    }
}
