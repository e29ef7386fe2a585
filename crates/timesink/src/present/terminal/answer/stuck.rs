//! Goroutines that wait for others and never go on. They cost no time, but memory, and may be why something is never done.

use timesink_analysis::tasks::{GroupKind, Stuck};

use crate::present::names;
use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::{units, Report};

/// Functions of where they wait that are shown.
const FRAMES: usize = 2;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let all = Stuck::all(&report.loaded.timeline, report.stacks);
    let most = all.first().map(|stuck| told(report, stuck));
    most.map_or(Vec::new(), |text| wrap(&text, "  ", Ink::Plain, style))
}

/// `240 goroutines of api(812) never go on (channel send), 48 more each second, in main.query() main.go:22: a leak, unless ...`.
fn told(report: &Report, stuck: &Stuck) -> String {
    let code = &report.stacks.code;
    let mut own = code.own_of(&stuck.spots(code));
    own.truncate(FRAMES);
    let place = names::calls_at(code, &own);
    let place = match place.as_str() {
        "" => String::new(),
        place => format!(", in {place}"),
    };
    let count = units::count(stuck.count);
    let process = names::process(report.facts, stuck.process);
    let waits_for = stuck.parking.word(GroupKind::Goroutine);
    let more = units::count((stuck.per_second.round() as u64).max(1));
    format!(
        "{count} goroutines of {process} never go on ({waits_for}), {more} more each second{place}: a leak, unless what they wait for comes later"
    )
}
