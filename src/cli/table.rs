//! Aligned tables for people, and texts from files made harmless for a terminal.
//!
//! Always holds: no cell reaches the terminal but through `sanitise`; a line ends without padding.
//! Titles are always styled: what is rendered goes out through an `anstream::AutoStream`, which
//! leaves styles out where nobody looks. Deliberately elsewhere: what is listed, and its JSON.

use anstyle::{Effects, Style};

/// How titles look.
const TITLE: Style = Style::new().effects(Effects::BOLD.insert(Effects::DIMMED));

/// Between two columns.
const GAP: &str = "  ";

/// On which side a column's cells are flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a line of titles.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(super) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, a cell for each column; they may hold anything.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells.into_iter().map(|cell| sanitise(&cell)).collect());
    }

    /// Titles and rows, each line ended.
    pub(super) fn render(&self) -> String {
        let titles: Vec<String> = self.columns.iter().map(|(t, _)| (*t).to_owned()).collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| {
                let cells = self.rows.iter().chain([&titles]).filter_map(|row| row.get(at));
                cells.map(|cell| width(cell)).max().unwrap_or(0)
            })
            .collect();
        let mut text = format!("{TITLE}{}{TITLE:#}\n", self.line(&titles, &widths));
        for row in &self.rows {
            text.push_str(&self.line(row, &widths));
            text.push('\n');
        }
        text
    }

    /// One line without its end.
    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (at, ((cell, widest), (_, align))) in
            cells.iter().zip(widths).zip(&self.columns).enumerate()
        {
            if at > 0 {
                line.push_str(GAP);
            }
            let padding = " ".repeat(widest.saturating_sub(width(cell)));
            match align {
                Align::Left => line.extend([cell.as_str(), padding.as_str()]),
                Align::Right => line.extend([padding.as_str(), cell.as_str()]),
            }
        }
        line.truncate(line.trim_end_matches(' ').len());
        line
    }
}

/// The text with every character escaped that could steer a terminal, change the direction of
/// writing, or not be seen: `\n`, `\u{202e}`. Back-slashes stay as they are.
pub(super) fn sanitise(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Control characters; marks of direction; what is invisible or passes for a space; what Unicode
/// says is no character.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// How many cells of a terminal a sanitised text takes: one a character, but none for an accent
/// that joins the character before it and two for the wide scripts and pictures. Only looks depend
/// on it.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '\u{300}'..='\u{36f}' => 0,
            '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{ffe0}'..='\u{ffe6}'
            | '\u{1f300}'..='\u{1faff}'
            | '\u{20000}'..='\u{3fffd}' => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(table: &Table) -> String {
        anstream::adapter::strip_str(&table.render()).to_string()
    }

    fn row(table: &mut Table, cells: &[&str]) {
        table.row(cells.iter().map(|&cell| cell.to_owned()).collect());
    }

    #[test]
    fn columns_are_aligned_and_lines_not_padded() {
        let mut table = Table::new(&[
            ("SESSION", Align::Left),
            ("TURNS", Align::Right),
            ("ERROR", Align::Left),
        ]);
        row(&mut table, &["agent:main:main", "7", ""]);
        row(&mut table, &["a", "12345", "gone"]);
        row(&mut table, &["漢é", "0", ""]);
        insta::assert_snapshot!(plain(&table), @r"
        SESSION          TURNS  ERROR
        agent:main:main      7
        a                12345  gone
        漢é                  0
        ");
        assert!(plain(&table).lines().all(|line| line == line.trim_end()));
    }

    #[test]
    fn titles_are_styled_and_nothing_else() {
        let mut table = Table::new(&[("A", Align::Left)]);
        row(&mut table, &["x"]);
        assert_eq!(table.render(), "\u{1b}[1m\u{1b}[2mA\u{1b}[0m\nx\n");
    }

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        for (text, safe) in [
            ("agent:main:main", "agent:main:main"),
            ("Grüße, 漢字 🦀 \\", "Grüße, 漢字 🦀 \\"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("gpj.\u{202e}exe\u{2066}", "gpj.\\u{202e}exe\\u{2066}"),
            ("a\u{200b}b\u{feff}c\u{ad}", "a\\u{200b}b\\u{feff}c\\u{ad}"),
            ("a\u{a0}b\u{2028}", "a\\u{a0}b\\u{2028}"),
            ("\u{e0041}\u{10ffff}", "\\u{e0041}\\u{10ffff}"),
        ] {
            assert_eq!(sanitise(text), safe);
        }
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in any::<String>()) {
            let safe = sanitise(&text);
            prop_assert!(!safe.chars().any(is_unsafe));
            prop_assert_eq!(sanitise(&safe), safe);
        }
    }
}
