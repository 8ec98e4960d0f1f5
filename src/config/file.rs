//! A configuration file → its entries, each with its line.
//!
//! Always holds: every key is known; what is no TOML, or a key nobody knows, is an error with file
//! and line. Whether a value is allowed is for `keys`.

use super::keys::{self, KEYS, Key};
use super::value::Raw;
use crate::error::{Error, Result};
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// One `key = value` of a file.
#[derive(Debug)]
pub(super) struct Entry {
    /// Which key.
    pub(super) key: &'static Key,
    /// What was written.
    pub(super) value: Raw<'static>,
    /// The same, as it stands in the file.
    pub(super) written: String,
    /// The key's line, from 1.
    pub(super) line: usize,
}

/// The entries of a file, in the order of its lines.
pub(super) fn entries(path: &Path, text: &str) -> Result<Vec<Entry>> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = line_at(text, error.span().map_or(0, |span| span.start));
        Error::Usage(format!("{}:{line}: this is not TOML: {}", path.display(), error.message()))
    })?;
    let mut entries = Vec::new();
    for (name, value) in table.get_ref() {
        let line = line_at(text, name.span().start);
        let name = name.get_ref();
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            return Err(Error::Usage(unknown(path, line, name)));
        };
        let written = text.get(value.span()).unwrap_or_default().to_owned();
        entries.push(Entry { key, value: raw(value.get_ref()), written, line });
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

/// What to say of a key that nobody knows.
fn unknown(path: &Path, line: usize, name: &str) -> String {
    let place = format!("{}:{line}: unknown key `{name}`", path.display());
    if let Some(near) = keys::nearest(name) {
        return format!("{place}; did you mean `{near}`?");
    }
    let known: Vec<_> = KEYS.iter().map(|key| key.name).collect();
    format!("{place}; known keys: {}", known.join(", "))
}

/// The value without its place. What is no number of 64 bits is none for any key.
fn raw(value: &DeValue<'_>) -> Raw<'static> {
    match value {
        DeValue::String(text) => Raw::Text(text.clone().into_owned()),
        DeValue::Boolean(on) => Raw::Switch(*on),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Raw::Other, Raw::Integer)
        }
        DeValue::Array(items) => Raw::List(items.iter().map(|item| raw(item.get_ref())).collect()),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => Raw::Other,
    }
}

/// The line, from 1, in which this byte stands.
fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    1 + memchr::memchr_iter(b'\n', before).count()
}
