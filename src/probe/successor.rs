//! Which session files go on from another one, as far as their rows tell.
//!
//! Always holds: only what has the same first row is taken for a continuation: a resume by an old
//! version, or a fork, copies the rows with their uuids (`facts/claude-transcripts.md` §2); what
//! `/clear` begins names nobody.

use crate::disk::{Disk, SessionFile, Transcript};
use crate::ids::Timestamp;
use serde::Deserialize;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// How much of a file is looked at for its first row.
const HEAD: usize = 1 << 16;

/// Session files by their first row.
#[derive(Debug, Default)]
pub struct Beginnings {
    by_row: HashMap<String, Vec<(SessionFile, Timestamp)>>,
}

impl Beginnings {
    /// Reads the beginnings of all files that are meant; what cannot be read tells nothing.
    pub fn read(disk: &dyn Disk, is_meant: impl Fn(&Path) -> bool) -> Self {
        let mut by_row: HashMap<String, Vec<_>> = HashMap::new();
        for session in disk.sessions().files.into_iter().filter(|file| is_meant(&file.path)) {
            let Ok(file) = disk.open(&session.path) else { continue };
            let (Ok(stat), Ok(Some(row))) = (file.stat(), first_row(file.as_ref())) else {
                continue;
            };
            by_row.entry(row).or_default().push((session, stat.modified));
        }
        Self { by_row }
    }

    /// The files that begin as this one does and were written to after it, the last of them first.
    #[must_use]
    pub fn successors(&self, path: &Path) -> Vec<&SessionFile> {
        let is_it = |(session, _): &&(SessionFile, Timestamp)| session.path == path;
        let mut files = self.by_row.values();
        let Some((alike, (_, written))) =
            files.find_map(|alike| Some((alike, alike.iter().find(is_it)?)))
        else {
            return Vec::new();
        };
        let mut later: Vec<_> = alike.iter().filter(|(_, at)| at > written).collect();
        later.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
        later.into_iter().map(|(session, _)| session).collect()
    }
}

/// The uuid of a file's first row that has one.
fn first_row(file: &dyn Transcript) -> io::Result<Option<String>> {
    #[derive(Deserialize)]
    struct Row {
        uuid: Option<String>,
    }
    let mut head = vec![0; HEAD];
    let mut read = 0;
    while let Some(rest) = head.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(read as u64, rest)? {
            0 => break,
            more => read += more,
        }
    }
    head.truncate(read);
    // A row that is cut off is none.
    let mut rows = head.split_inclusive(|byte| *byte == b'\n').filter(|row| row.ends_with(b"\n"));
    Ok(rows.find_map(|row| serde_json::from_slice::<Row>(row).ok()?.uuid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::memory::MemoryDisk;

    fn path(name: &str) -> String {
        format!("/claude/projects/-p/{name}.jsonl")
    }

    #[test]
    fn a_file_that_begins_with_the_same_row_and_was_written_to_later_goes_on() {
        let disk = MemoryDisk::default();
        let long =
            format!("{{\"type\":\"user\",\"uuid\":\"u3\",\"text\":\"{}\"}}\n", "x".repeat(HEAD));
        for (name, rows) in [
            ("before", "{\"type\":\"user\",\"uuid\":\"u1\"}\n"),
            ("it", "{\"type\":\"user\",\"uuid\":\"u1\"}\n{\"uuid\":\"u2\"}\n"),
            ("other", "{\"type\":\"user\",\"uuid\":\"u2\"}\n"),
            ("resumed", "{\"type\":\"user\",\"uuid\":\"u1\",\"sessionId\":\"b\"}\n"),
            ("forked", "{\"type\":\"mode\"}\nno row\n{\"uuid\":\"u1\",\"sessionId\":\"c\"}\n"),
            ("half", "{\"type\":\"user\",\"uuid\":\"u1\"}"),
            ("long", long.as_str()),
            ("empty", ""),
        ] {
            disk.append(&path(name), rows.as_bytes());
        }
        let names = |beginnings: &Beginnings, name: &str| -> Vec<String> {
            let later = beginnings.successors(Path::new(&path(name)));
            later.into_iter().map(|session| session.thread_id.to_string()).collect()
        };
        let all = Beginnings::read(&disk, |_| true);
        assert_eq!(names(&all, "it"), ["forked", "resumed"]);
        for alone in ["forked", "other", "half", "long", "empty", "none"] {
            assert_eq!(names(&all, alone), [""; 0], "{alone}");
        }
        let some = Beginnings::read(&disk, |file| !file.ends_with("forked.jsonl"));
        assert_eq!(names(&some, "it"), ["resumed"]);
    }
}
