//! Names that no rule knows, as they are listed.

use super::table::{Align, Table};
use crate::classify::DriftCounts;
use serde_json::{Value, json};

/// A list for people, or nothing where there is nothing to say.
pub(super) fn listed(counts: &DriftCounts) -> Option<String> {
    if counts.is_empty() {
        return None;
    }
    let mut table = Table::new(&[
        ("UNKNOWN", Align::Left),
        ("NAME", Align::Left),
        ("VERSION", Align::Left),
        ("ROWS", Align::Right),
    ]);
    for (drift, rows) in counts.iter() {
        let version = drift.version.clone().unwrap_or_else(|| "-".to_owned());
        table.row(vec![drift.field.to_owned(), drift.name.clone(), version, rows.to_string()]);
    }
    let mut text = table.render();
    if counts.others() > 0 {
        let others = format!("and more names, in {} places\n", counts.others());
        text.push_str(&others);
    }
    text.push_str("No rule knows these names; their rows were judged by all the rest.\n");
    Some(text)
}

/// The machine form: `[{"field","name","version","rows"}]`; what is beyond the list comes last.
pub(super) fn json(counts: &DriftCounts) -> Value {
    let mut list: Vec<Value> = counts
        .iter()
        .map(|(drift, rows)| {
            json!({
                "field": drift.field,
                "name": drift.name,
                "version": drift.version,
                "rows": rows,
            })
        })
        .collect();
    if counts.others() > 0 {
        list.push(json!({
            "field": "more", "name": "?", "version": null, "rows": counts.others(),
        }));
    }
    Value::Array(list)
}
