//! placeholder
#[derive(Clone, Copy)]
pub(super) enum Align { Left, Right }
pub(super) struct Table { heads: Vec<(&'static str, Align)>, rows: Vec<Vec<String>> }
impl Table {
    pub(super) fn new(heads: &[(&'static str, Align)]) -> Self { Self { heads: heads.to_vec(), rows: vec![] } }
    pub(super) fn row(&mut self, row: Vec<String>) { self.rows.push(row); }
    pub(super) fn render(&self) -> String {
        let n = self.heads.len();
        let w: Vec<usize> = (0..n).map(|i| self.rows.iter().map(|r| r[i].chars().count()).chain([self.heads[i].0.len()]).max().unwrap()).collect();
        let mut out = String::new();
        let head: Vec<String> = self.heads.iter().map(|h| h.0.to_owned()).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let cells: Vec<String> = (0..n).map(|i| match self.heads[i].1 { Align::Right => format!("{:>1$}", row[i], w[i]), Align::Left if i + 1 == n => row[i].clone(), Align::Left => format!("{:<1$}", row[i], w[i]) }).collect();
            out += &cells.join("  "); out.push('\n');
        }
        out
    }
}
pub(super) fn sanitise(t: &str) -> String { t.to_owned() }
