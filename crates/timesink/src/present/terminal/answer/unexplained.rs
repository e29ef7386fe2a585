//! What takes much of the path and no rule explains, by function: nothing large goes without a word.

use std::collections::BTreeSet;

use timesink_analysis::outlook::{OnPath, Outlook};
use timesink_analysis::path::own_function;
use timesink_analysis::stacks::FunctionIx;
use timesink_findings::engine::{Cleared, Findings};
use timesink_recording::words::State;

use super::bounds;
use crate::present::names;
use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::{path, units, Report};

/// A part of the path that is worth a word.
const MUCH: f64 = 0.1;
/// Less than that of a part is not what it is in.
const MOSTLY: f64 = 0.5;
/// Parts that are named.
const MOST: usize = 3;

pub(super) fn lines(report: &Report, findings: &Findings, style: &Style) -> Vec<String> {
    let Some(outlook) = report.outlook.filter(|outlook| outlook.wall_ns > 0) else {
        return Vec::new();
    };
    let share = |ns: u64| ns as f64 / outlook.wall_ns as f64;
    // Where nothing is accused, all of it is told as what the program is bound by.
    let accused = findings.told.iter().any(|finding| finding.rule.accuses());
    let long = findings.cleared.iter();
    let long = long.filter(|cleared| accused && share(cleared.ns) >= MUCH);
    let mut parts: Vec<String> = long
        .take(MOST)
        .filter_map(|cleared| part(report, cleared, share(cleared.ns)))
        .collect();
    if share(outlook.unknown_ns) >= MUCH {
        let unknown = units::whole_percent(share(outlook.unknown_ns));
        parts.push(format!("{unknown} of the path is unknown"));
    }
    if parts.is_empty() {
        return Vec::new();
    }
    let text = format!("Not explained by any rule: {}", parts.join("; "));
    wrap(&text, "  ", Ink::Faint, style)
}

/// Whether what is not explained is for the most part in the function that its heaviest stack is of. Of what is waited for
/// all stacks are alike.
fn is_mostly_in(
    report: &Report,
    outlook: &Outlook,
    cleared: &Cleared,
    function: FunctionIx,
) -> bool {
    let cause = &outlook.causes[cleared.cause].cause;
    if cause.key.state != State::Cpu {
        return true;
    }
    let through = BTreeSet::from([function]);
    let within = outlook.on_processors.within(&through, report.stacks);
    let within = within.iter().filter(|on| on.cause == cleared.cause);
    let ns = within.map(|on| on.ns).fold(0, u64::saturating_add);
    ns as f64 >= cause.ns as f64 * MOSTLY
}

/// `on CPU in checksum (379 ms, 15 %)`.
fn part(report: &Report, cleared: &Cleared, share: f64) -> Option<String> {
    let outlook = report.outlook?;
    let on_path = outlook.causes.get(cleared.cause)?;
    let key = on_path.cause.key;
    let mut text = path::label_of(on_path);
    let object = path::object_of(on_path).filter(|_| key.state == State::Wait);
    if let Some(object) = object {
        text += &format!(" {}", names::object_in(report, object));
    }
    let code = &report.stacks.code;
    let own = own_function(code, &on_path.frames);
    if let Some(own) = own.filter(|own| is_mostly_in(report, outlook, cleared, *own)) {
        text += &format!(" in {}", names::function(code, own));
    }
    let main = report.main()?.row.process;
    if let Some(process) = path::elsewhere(report, main, key.process) {
        text += &format!(" {process}");
    }
    // Somebody who knows the program would look there. What is divided is the code of all programs, most of which this is.
    let on_cpu = |cause: &&OnPath| cause.cause.key.state == State::Cpu;
    let most = outlook.causes.iter().filter(on_cpu);
    let is_most = most
        .max_by_key(|cause| cause.cause.ns)
        .is_some_and(|most| std::ptr::eq(most, on_path));
    let mut largest = String::new();
    if is_most && key.detail.is_none() {
        let told = bounds::functions(report, outlook).into_iter().next();
        let told = told.filter(|told| !text.contains(told.split(' ').next().unwrap_or(told)));
        largest = told.map_or(String::new(), |told| {
            format!(", the largest part in {told}")
        });
    }
    let percent = units::whole_percent(share);
    let floor = match cleared.at_floor {
        true => "; the machine cannot do it faster",
        false => "",
    };
    Some(format!(
        "{text} ({}, {percent}{floor}){largest}",
        units::time(cleared.ns)
    ))
}
