//! `bands`: what happened again and again.

use timesink_analysis::loops::Loop;
use timesink_analysis::operations::Set;
use timesink_page::model::{Band, BandKind, Bands};
use timesink_page::Page;

use crate::present::{terminal, Report};

/// Of a kind of operations so many are kept, the longest.
const MOST: usize = 20_000;

pub fn bands(report: &Report, page: &Page<'_>) -> Bands {
    let operations = report.operations.iter();
    let operations = operations.map(|told| of_operations(report, page, &told.set));
    let loops = report.loops.iter().map(|one| of_loop(report, page, one));
    Bands {
        bands: operations.chain(loops).collect(),
    }
}

fn of_operations(report: &Report, page: &Page<'_>, set: &Set) -> Band {
    let mut kept: Vec<(i64, u64, u32)> = set
        .operations
        .iter()
        .rev()
        .filter_map(|one| Some((one.from.0, one.ns(), page.places.slot(one.slot)?)))
        .take(MOST)
        .collect();
    kept.sort_unstable();
    Band {
        title: terminal::operations_named(report, set),
        kind: BandKind::Operations,
        count: set.operations.len() as u64,
        median_ns: set.at(0.5).ns(),
        from_ns: kept.iter().map(|(from, _, _)| *from).collect(),
        ns: kept.iter().map(|(_, ns, _)| *ns).collect(),
        thread: kept.iter().map(|(_, _, thread)| *thread).collect(),
    }
}

/// Of a loop there is one piece, from its first round to its last.
fn of_loop(report: &Report, page: &Page<'_>, one: &Loop) -> Band {
    let thread = page.places.thread(one.thread);
    let about = terminal::about_loop(report, one);
    let whose = terminal::whose_loop(report, one);
    Band {
        title: match about.is_empty() {
            true => format!("loop {whose}"),
            false => format!("loop {whose}: {about}"),
        },
        kind: BandKind::Loop,
        count: one.rounds,
        median_ns: one.median_ns,
        from_ns: thread.iter().map(|_| one.from.0).collect(),
        ns: thread.iter().map(|_| one.until.since(one.from)).collect(),
        thread: thread.into_iter().collect(),
    }
}
