//! How many rows are what, and by which rule.

use crate::classify::{Class, Verdict};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Rules that are named of each class in a table.
const NAMED: usize = 3;

/// Rows by verdict.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// A few dozen at most: looking through them is faster than a map.
    counts: Vec<(Verdict, u64)>,
}

/// The rows of a class.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OfClass {
    pub(super) rows: u64,
    /// How many of them count.
    pub(super) turns: u64,
    pub(super) rules: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub(super) fn add(&mut self, verdict: Verdict) {
        self.count(verdict, 1);
    }

    /// A row turned out to be something else.
    pub(super) fn replace(&mut self, before: Verdict, now: Verdict) {
        if let Some((_, rows)) = self.counts.iter_mut().find(|(known, _)| *known == before) {
            *rows = rows.saturating_sub(1);
        }
        self.count(now, 1);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (verdict, rows) in &other.counts {
            self.count(*verdict, *rows);
        }
    }

    fn count(&mut self, verdict: Verdict, rows: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, count)) => *count += rows,
            None => self.counts.push((verdict, rows)),
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.counts.iter().map(|(_, rows)| rows).sum()
    }

    pub(super) fn turns(&self) -> u64 {
        self.counts.iter().filter(|(verdict, _)| verdict.human).map(|(_, rows)| rows).sum()
    }

    pub(super) fn by_class(&self) -> BTreeMap<Class, OfClass> {
        let mut classes = BTreeMap::<Class, OfClass>::new();
        for (verdict, rows) in self.counts.iter().filter(|(_, rows)| *rows > 0) {
            let class = classes.entry(verdict.class).or_default();
            class.rows += rows;
            class.turns += if verdict.human { *rows } else { 0 };
            *class.rules.entry(verdict.rule).or_default() += rows;
        }
        classes
    }
}

impl OfClass {
    /// The commonest rules, each with its rows.
    pub(super) fn commonest(&self) -> String {
        let mut rules: Vec<_> = self.rules.iter().collect();
        rules.sort_by_key(|(_, rows)| Reverse(**rows));
        let named = rules.iter().take(NAMED).map(|(rule, rows)| format!("{rule} {rows}"));
        let more = rules.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("{more} more"));
        named.chain(more).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Evidence;

    const fn verdict(class: Class, rule: &'static str, human: bool) -> Verdict {
        Verdict { human, class, rule, evidence: Evidence::Shape }
    }

    #[test]
    fn a_row_that_turns_out_to_be_something_else_is_counted_as_that() {
        let (state, turn) =
            (verdict(Class::State, "a", false), verdict(Class::HumanText, "b", true));
        let mut tally = Tally::default();
        tally.add(state);
        tally.replace(state, turn);
        assert_eq!((tally.rows(), tally.turns()), (1, 1));
        assert_eq!(tally.by_class().into_keys().collect::<Vec<_>>(), [Class::HumanText]);
    }

    #[test]
    fn the_commonest_rules_are_named() {
        let mut tally = Tally::default();
        for rule in ["a", "b", "b", "c", "d", "d", "d"] {
            tally.add(verdict(Class::Meta, rule, false));
        }
        assert_eq!(tally.by_class()[&Class::Meta].commonest(), "d 3, b 2, a 1, 1 more");
    }
}
