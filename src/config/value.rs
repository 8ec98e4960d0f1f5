//! From what somebody wrote to a typed value, and back to what is shown.
//!
//! Always holds: a value of a file must have its key's type; a word of the environment has none and
//! is read as the key wants it. Every reader answers `None` to what it does not take; the caller
//! knows place and key.

use super::units;
use std::ffi::OsStr;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A value as it was written.
#[derive(Debug)]
pub(super) enum Raw<'a> {
    /// A string of a file.
    Text(String),
    /// A whole number of a file.
    Integer(i64),
    /// `true` or `false` in a file.
    Switch(bool),
    /// A list of a file.
    List(Vec<Raw<'a>>),
    /// What no key takes: a float, a date, a table.
    Other,
    /// What an environment variable holds.
    Word(&'a OsStr),
}

/// A value as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Shown {
    /// A list of strings.
    List(Vec<String>),
    /// A string.
    Text(String),
    /// A number.
    Number(u32),
    /// `true` or `false`.
    Switch(bool),
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(items) => f.write_str(&items.join(", ")),
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::Switch(on) => on.fmt(f),
        }
    }
}

/// The text of a string or of a variable.
pub(super) fn word<'r>(raw: &'r Raw<'_>) -> Option<&'r str> {
    match raw {
        Raw::Text(text) => Some(text),
        Raw::Word(word) => word.to_str(),
        _ => None,
    }
}

/// A duration, with its unit.
pub(super) fn duration(raw: &Raw<'_>) -> Option<Duration> {
    humantime::parse_duration(word(raw)?.trim()).ok()
}

/// A size in bytes, with or without unit.
pub(super) fn size(raw: &Raw<'_>) -> Option<u64> {
    match raw {
        Raw::Integer(bytes) => u64::try_from(*bytes).ok(),
        _ => units::parse_size(word(raw)?),
    }
}

/// A whole number.
pub(super) fn number(raw: &Raw<'_>) -> Option<u32> {
    match raw {
        Raw::Integer(number) => u32::try_from(*number).ok(),
        Raw::Word(word) => word.to_str()?.trim().parse().ok(),
        _ => None,
    }
}

/// A version, which people also write as a number; `Some(None)` where there is to be none.
#[expect(clippy::option_option, reason = "the outer one says whether it was written well")]
pub(super) fn version(raw: &Raw<'_>) -> Option<Option<u32>> {
    match raw {
        Raw::Integer(number) => u32::try_from(*number).ok().map(Some),
        _ => match word(raw)?.trim() {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        },
    }
}

/// A text that is read somehow; `Some(None)` where there is to be none.
#[expect(clippy::option_option, reason = "the outer one says whether it was written well")]
pub(super) fn optional<T>(
    raw: &Raw<'_>,
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<Option<T>> {
    match word(raw)?.trim() {
        "" => Some(None),
        text => read(text).map(Some),
    }
}

/// `true` or `false`.
pub(super) fn switch(raw: &Raw<'_>) -> Option<bool> {
    match raw {
        Raw::Switch(on) => Some(*on),
        Raw::Word(word) => word.to_str()?.trim().parse().ok(),
        _ => None,
    }
}

/// One or more folders; in a variable separated as in `PATH`.
pub(super) fn folders(raw: &Raw<'_>, home: Option<&Path>) -> Option<Vec<PathBuf>> {
    let written: Vec<PathBuf> = match raw {
        Raw::List(items) => items
            .iter()
            .map(|item| match item {
                Raw::Text(text) => Some(PathBuf::from(text)),
                _ => None,
            })
            .collect::<Option<_>>()?,
        Raw::Word(word) => std::env::split_paths(word).collect(),
        _ => return None,
    };
    let folders: Vec<PathBuf> =
        written.iter().map(|path| from_home(path, home)).collect::<Option<_>>()?;
    (!folders.is_empty()).then(|| each_once(folders))
}

/// The path with the home folder for `~`; `None` for a relative one, which would mean another place
/// in every working folder.
pub(super) fn from_home(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~") {
        Ok(rest) => {
            home.map(|home| if rest == Path::new("") { home.into() } else { home.join(rest) })
        }
        Err(_) => path.is_absolute().then(|| path.to_owned()),
    }
}

/// The paths without repetitions, the first of each kept.
pub(super) fn each_once(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut once = Vec::new();
    for path in paths {
        if !once.contains(&path) {
            once.push(path);
        }
    }
    once
}

/// The value if it lies in the range.
pub(super) fn within<T: PartialOrd>(value: Option<T>, range: &RangeInclusive<T>) -> Option<T> {
    value.filter(|value| range.contains(value))
}
