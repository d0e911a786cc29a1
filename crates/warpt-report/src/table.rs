//! Plain tables: columns two spaces apart, numbers to the right, long text wrapped inside its column.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets};

use crate::text::inert;

/// Longest text of a cell: more would push everything else off the screen.
const MAX_CHARS: usize = 300;

/// A table under construction.
#[derive(Debug)]
pub struct TextTable {
    table: Table,
    right: Vec<usize>,
    whole: Vec<usize>,
}

impl TextTable {
    /// A table with these column names; an empty list prints no header.
    pub fn new(header: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        if !header.is_empty() {
            table.set_header(header.iter().copied());
        }
        Self { table, right: Vec::new(), whole: Vec::new() }
    }

    /// Aligns these columns to the right, as numbers are.
    #[must_use]
    pub fn right(mut self, columns: &[usize]) -> Self {
        self.right = columns.to_vec();
        self
    }

    /// Never wraps these columns: others give way.
    #[must_use]
    pub fn whole(mut self, columns: &[usize]) -> Self {
        self.whole = columns.to_vec();
        self
    }

    /// Adds a row; text from outside is cleaned here.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let row: Row =
            cells.iter().map(|cell| inert(cell.as_ref(), MAX_CHARS)).collect::<Vec<_>>().into();
        self.table.add_row(row);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.table.row_count() == 0
    }

    /// The table as lines of at most `width` characters, each ending in a line break.
    pub fn render(mut self, width: usize) -> String {
        self.table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        for (index, column) in self.table.column_iter_mut().enumerate() {
            column.set_padding((if index == 0 { 2 } else { 1 }, 1));
            if self.right.contains(&index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if self.whole.contains(&index) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        self.table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_and_clean() {
        let mut table = TextTable::new(&["name", "value"]).right(&[1]);
        table.row(&["short", "1"]);
        table.row(&["a rather long name that has to be wrapped somewhere\x1b[2J", "12345"]);
        let text = table.render(30);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(!text.contains('\x1b'));
        assert!(text.starts_with("  name"), "{text}");
    }

    #[test]
    fn whole_columns_are_not_wrapped() {
        let mut table = TextTable::new(&["name", "by"]).whole(&[1]);
        table.row(&["several words that have to be wrapped somewhere", "generated"]);
        let text = table.render(30);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains(" generated"), "{text}");
    }
}
