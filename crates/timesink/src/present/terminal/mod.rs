//! The report as a page for a person who has never seen one.
//!
//! One section a file; a section with nothing to say leaves no trace. Sections return lines, this
//! module puts them together.

mod answer;
mod bench;
mod calls;
mod code;
mod diff;
mod environment;
mod files;
mod finding;
mod floors;
mod foot;
mod head;
mod history;
mod imported;
mod loops;
mod machine;
mod operations;
mod others;
mod path;
mod proof;
mod rounds;
mod rows;
mod saves;
mod starts;
mod style;
mod table;
mod tags;
mod tasks;
mod time;
pub(crate) mod units;
mod views;
mod whatif;
mod why;

pub(super) use answer::{about_row, checks, notes, path_rows, place, title};
pub use bench::{bench, bench_progress};
pub use diff::{
    calls as compared_calls, comparison, operations as compared_operations,
    threads as compared_threads, tree as compared_tree, Amount,
};
pub(super) use diff::{came_true, head as compared_head, recurrence_name, role_name};
pub use environment::{environment, environments};
pub use finding::findings;
pub(super) use finding::{amount, on_path, stretches, wide};
pub use floors::page as floors;
pub(super) use head::lines as head_lines;
pub use history::history;
pub use imported::imported;
pub(super) use loops::{about as about_loop, whose as whose_loop};
pub use machine::{machine, MachineState};
pub(super) use operations::named as operations_named;
pub use operations::operations;
pub(super) use path::{label as cause_label, saves as cause_saves};
pub use proof::proof;
pub use rounds::{changed as round_changed, figure as round_figure, rounds};
pub(super) use saves::{is_useless, of_finding as saves};
pub use style::{wrap, Ink, Style};
pub(super) use views::missing;
pub(in crate::present) use views::LEAST;
pub use views::{tables, Table};
pub use whatif::{gains, prediction};

use super::Report;

/// A part of the report that can be asked for alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Threads,
    Calls,
    Files,
    Starts,
    Loops,
    Tasks,
    Tags,
    TagsByProcessor,
    TagsByThread,
}

impl Section {
    /// What it prints where there is nothing to tell.
    fn nothing(self) -> &'static str {
        match self {
            Section::Threads => "No thread was recorded.",
            Section::Calls => "No system calls were timed.",
            Section::Files => "No file was opened, read or looked for more than once.",
            Section::Starts => "No process was started.",
            Section::Loops => "No loop of any thread takes 5 % of the time or more.",
            Section::Tags | Section::TagsByProcessor | Section::TagsByThread => {
                "No tags were recorded. See docs/tags.md for how a program gets some."
            }
            Section::Tasks => {
                "No goroutines, tasks of asyncio or tokio, callbacks of Node.js or virtual threads of Java were recorded. docs/tasks.md has the versions and builds whose tasks are known."
            }
        }
    }
}

/// The answer on one screen, ending in a line feed.
pub fn answer(report: &Report, style: &Style) -> String {
    text(&answer::lines(report, style))
}

/// Some sections alone.
pub fn sections(report: &Report, wanted: &[Section], style: &Style) -> String {
    let parts = wanted.iter().map(|section| {
        let lines = match section {
            Section::Threads => {
                let parts = [time::lines(report, style), others::lines(report, style)];
                let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                parts.join(&String::new())
            }
            Section::Calls => calls::lines(report, style),
            Section::Files => files::lines(report, style),
            Section::Starts => starts::lines(report, style),
            Section::Loops => loops::lines(report, style),
            Section::Tasks => tasks::lines(report, style),
            Section::Tags => tags::lines(report, style),
            Section::TagsByProcessor => tags::by_processor(report, style),
            Section::TagsByThread => tags::by_thread(report, style),
        };
        match lines.is_empty() {
            true => vec![section.nothing().to_owned()],
            false => lines,
        }
    });
    page(&parts.collect::<Vec<_>>())
}

/// All sections, ending in a line feed: the answer first, then what it rests on.
pub fn render(report: &Report, style: &Style) -> String {
    page(&[
        head::lines(report, style),
        why::lines(report, style),
        path::lines(report, style),
        time::lines(report, style),
        code::lines(report, style),
        operations::lines(report, style),
        loops::lines(report, style),
        tasks::lines(report, style),
        tags::lines(report, style),
        others::lines(report, style),
        calls::lines(report, style),
        files::lines(report, style),
        starts::lines(report, style),
        foot::lines(report, style),
    ])
}

/// Sections one after the other; one with nothing to say leaves no trace.
fn page(sections: &[Vec<String>]) -> String {
    let sections = sections.iter().filter(|section| !section.is_empty());
    let sections: Vec<String> = sections.map(|section| text(section)).collect();
    sections.join("\n")
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
