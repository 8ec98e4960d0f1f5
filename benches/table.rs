//! The table: a figure of ours, one of something plain beside it from the same rounds, their ratio.

use std::fmt::{self, Write as _};
use std::time::Duration;

/// What a figure counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Seconds,
    BytesPerSecond,
    Bytes,
    /// Part of a core, in percent.
    Percent,
    Times,
}

/// What was aimed at, as a ratio or as our own figure.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    OursAtMost(f64, Unit),
    /// No target of its own: it is there to compare.
    None,
}

/// One line of the table.
pub(crate) struct Row {
    name: String,
    ours: String,
    beside: String,
    ratio: String,
    target: String,
    /// Whether the target was met, where there is one.
    is_met: Option<bool>,
}

/// The figures of several rounds, each with its counterpart of the same round.
#[derive(Default)]
pub(crate) struct Rounds {
    ours: Vec<f64>,
    beside: Vec<f64>,
}

impl Rounds {
    pub(crate) fn add(&mut self, ours: f64, beside: f64) {
        self.ours.push(ours);
        self.beside.push(beside);
    }

    pub(crate) fn add_times(&mut self, ours: Duration, beside: Duration) {
        self.add(ours.as_secs_f64(), beside.as_secs_f64());
    }

    pub(crate) fn row(&self, name: &str, unit: Unit, beside: &str, target: Target) -> Row {
        let ours = median(&self.ours);
        let ratios: Vec<_> = self.ours.iter().zip(&self.beside).map(|(a, b)| a / b).collect();
        let ratio = median(&ratios);
        let (target, is_met) = match target {
            Target::RatioAtMost(most) => {
                (format!("≤ {}", Figure(most, Unit::Times)), Some(ratio <= most))
            }
            Target::RatioAtLeast(least) => {
                (format!("≥ {}", Figure(least, Unit::Times)), Some(ratio >= least))
            }
            Target::OursAtMost(most, unit) => {
                (format!("≤ {}", Figure(most, unit)), Some(ours <= most))
            }
            Target::None => (String::new(), None),
        };
        Row {
            name: name.to_owned(),
            ours: Figure(ours, unit).to_string(),
            beside: format!("{}  {beside}", Figure(median(&self.beside), unit)),
            ratio: if ratio.is_finite() {
                Figure(ratio, Unit::Times).to_string()
            } else {
                "-".into()
            },
            target,
            is_met,
        }
    }
}

impl Row {
    /// A line without a ratio; where nothing was measured, the target says why.
    pub(crate) fn without_ratio(
        name: &str,
        ours: &str,
        beside: &str,
        target: &str,
        is_met: Option<bool>,
    ) -> Self {
        let [name, ours, beside, target] = [name, ours, beside, target].map(str::to_owned);
        Self { name, ours, beside, ratio: "-".to_owned(), target, is_met }
    }

    /// The target, and whether it was met where that is to be judged.
    fn verdict(&self, is_judged: bool) -> String {
        match self.is_met.filter(|_| is_judged) {
            None => self.target.clone(),
            Some(true) => format!("{}, met", self.target),
            Some(false) => format!("{}, MISSED", self.target),
        }
    }
}

/// The middle of some figures.
pub(crate) fn median(figures: &[f64]) -> f64 {
    percentile(figures, 50)
}

/// The figure below which so many of a hundred lie.
pub(crate) fn percentile(figures: &[f64], percent: usize) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

/// A count as a figure.
pub(crate) fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// A figure with two digits that mean something.
struct Figure(f64, Unit);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(figure, unit) = *self;
        let steps: &[(f64, &str)] = match unit {
            Unit::Seconds => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
            Unit::BytesPerSecond => &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")],
            Unit::Bytes => &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
            Unit::Percent => &[(1.0, "%")],
            Unit::Times => &[(1.0, "x")],
        };
        let last = steps[steps.len() - 1];
        let &(size, name) = steps.iter().find(|(size, _)| figure >= *size).unwrap_or(&last);
        let figure = figure / size;
        if figure == 0.0 {
            return write!(f, "0 {name}");
        }
        // Rounded first: 9.96 has its second digit before the point once it is rounded.
        let digits = |figure: f64| (0..4).find(|n| figure * 10_f64.powi(*n) >= 10.0).unwrap_or(4);
        let step = 10_f64.powi(digits(figure));
        let mut rounded = (figure * step).round() / step;
        if rounded >= 100.0 {
            let step = if rounded >= 1000.0 { 100.0 } else { 10.0 };
            rounded = (rounded / step).round() * step;
        }
        let digits = usize::try_from(digits(rounded)).unwrap();
        write!(f, "{rounded:.digits$} {name}")
    }
}

/// The whole table, each column as wide as it must be.
pub(crate) fn render(rows: &[Row], is_judged: bool) -> String {
    let mut cells = vec![["NAME", "OURS", "BESIDE", "RATIO", "TARGET"].map(str::to_owned)];
    for row in rows {
        let [name, ours, beside, ratio] =
            [&row.name, &row.ours, &row.beside, &row.ratio].map(Clone::clone);
        cells.push([name, ours, beside, ratio, row.verdict(is_judged)]);
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap();
    let widths = [0, 1, 2, 3, 4].map(width);
    let mut text = String::new();
    for row in &cells {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            write!(line, "{cell:width$}  ").unwrap();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
