//! The report as a page for a person who has never seen one.
//!
//! One section a file; a section with nothing to say leaves no trace. Sections return lines, this
//! module puts them together.

mod calls;
mod code;
mod files;
mod finding;
mod floors;
mod foot;
mod head;
mod loops;
mod operations;
mod others;
mod path;
mod rows;
mod starts;
mod style;
mod table;
mod time;
pub(crate) mod units;
mod views;
mod whatif;
mod why;
mod words;

pub use finding::findings;
pub use floors::page as floors;
pub use operations::operations;
pub use style::{wrap, Ink, Style};
pub use views::{tables, Table};
pub use whatif::{gains, prediction};

use super::Report;

/// The page, ending in a line feed.
pub fn render(report: &Report, style: &Style) -> String {
    let sections = [
        head::lines(report, style),
        path::lines(report, style),
        time::lines(report, style),
        code::lines(report, style),
        operations::lines(report, style),
        loops::lines(report, style),
        others::lines(report, style),
        calls::lines(report, style),
        files::lines(report, style),
        starts::lines(report, style),
        foot::lines(report, style),
        why::lines(report, style),
    ];
    let mut page = String::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        if !page.is_empty() {
            page.push('\n');
        }
        page.push_str(&text(section));
    }
    page
}

/// Only the causes that rules found.
#[cfg(test)]
pub fn why(report: &Report, style: &Style) -> String {
    text(&why::lines(report, style))
}

/// Lines as text, ending in a line feed.
fn text(lines: &[String]) -> String {
    let lines = lines.iter().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

#[cfg(test)]
mod tests;
