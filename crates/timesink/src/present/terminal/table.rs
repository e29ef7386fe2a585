//! A table of figures with a name at the end of each line. Where a terminal is too narrow, columns
//! that can be missed are left out before names are cut.

use super::style::{self, Ink, Style};

/// A column of figures.
pub(super) struct Column {
    pub(super) head: &'static str,
    pub(super) cells: Vec<String>,
    /// The higher, the sooner it is left out; zero stays.
    pub(super) spare: u8,
}

/// Columns that a name should have.
const ROOM: usize = 28;

/// The table as lines: the heads, then a line for each name.
pub(super) fn lines(
    mut columns: Vec<Column>,
    name_head: &str,
    names: &[String],
    style: &Style,
) -> Vec<String> {
    let width = |column: &Column| {
        let cells = column.cells.iter().map(|cell| style::width(cell));
        cells.max().unwrap_or(0).max(style::width(column.head))
    };
    let used = |columns: &[Column]| columns.iter().map(|c| width(c) + 2).sum::<usize>() + 2;
    while style.terminal && used(&columns) + ROOM > style.width {
        let spare = (0..columns.len()).max_by_key(|&at| columns[at].spare);
        match spare.filter(|&at| columns[at].spare > 0) {
            Some(at) => drop(columns.remove(at)),
            None => break,
        }
    }
    let left = |cells: &dyn Fn(&Column) -> String| -> String {
        let cells = columns.iter().map(|column| {
            let text = style::pad_left(&cells(column), width(column));
            format!("  {text}")
        });
        cells.collect()
    };
    let heads = format!("{}  {name_head}", left(&|column| column.head.to_owned()));
    let mut lines = vec![style.paint(Ink::Faint, &heads)];
    let room = style.width.saturating_sub(used(&columns));
    for (at, name) in names.iter().enumerate() {
        let figures = left(&|column| column.cells.get(at).cloned().unwrap_or_default());
        let name = match style.terminal {
            true => style::cut(name, room),
            false => name.clone(),
        };
        lines.push(format!("{figures}  {name}"));
    }
    lines
}
