//! Who may touch what, as `src/lib.rs` says.

use std::path::{Path, PathBuf};

/// The source files below a place in `src`, without tests and comments.
fn sources(place: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(place), &mut files);
    assert!(!files.is_empty(), "{place} is empty");
    files
}

fn collect(path: &Path, files: &mut Vec<(PathBuf, String)>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), files);
        }
        return;
    }
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    if path.extension().is_none_or(|end| end != "rs")
        || ["tests", "laws", "memory"].contains(&name.as_str())
    {
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>();
    files.push((path.to_owned(), code.join("\n")));
}

#[test]
fn the_core_does_no_input_or_output_and_reads_no_clock() {
    for place in ["classify", "echo", "scan", "link", "probe", "notice", "ids.rs", "record/plan.rs"]
    {
        for (path, code) in sources(place) {
            for foreign in
                ["rusqlite", "std::fs", "tokio", "SystemTime", "SystemClock", "std::env", "tracing"]
            {
                assert!(!code.contains(foreign), "{} uses {foreign}", path.display());
            }
        }
    }
}

#[test]
fn each_database_has_its_sql_in_one_place() {
    let signal_log = ["session_state_", "session_watch_cursors", "session_upstream_links"];
    let journal =
        ["FROM sources", "INTO sources", "FROM identities", "FROM intents", "own_texts ("];
    for (path, code) in sources("") {
        let is_in = |folder: &str| path.iter().any(|part| part == folder);
        for table in signal_log {
            assert!(is_in("record") || !code.contains(table), "{} names {table}", path.display());
        }
        for sql in journal {
            assert!(is_in("journal") || !code.contains(sql), "{} has {sql}", path.display());
        }
    }
}
