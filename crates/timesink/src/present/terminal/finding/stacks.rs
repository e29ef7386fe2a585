//! Where in the code it is: whole stacks, innermost first, each frame with its file and line.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::replay::{Change, What};
use timesink_analysis::stacks::{FunctionIx, StackIx};
use timesink_analysis::timeline::touched::Touched;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::StackId;
use timesink_recording::words::{Detail, State};

use super::One;
use crate::present::names;
use crate::present::terminal::style::{wrap, Ink, Style};

/// Frames of a stack that are shown; the outer ones of a deeper one are the same for all.
const DEEPEST: usize = 40;
/// What is a smaller part of what the fix is about has no stack of its own.
const LITTLE: f64 = 0.05;
/// So many kinds of waits are asked for their stacks.
const KINDS: usize = 2;

pub(super) fn lines(one: &One, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut shown: Vec<StackIx> = Vec::new();
    let mut show = |heading: &str, stack: Option<StackIx>| {
        if let Some(stack) = stack.filter(|stack| !shown.contains(stack)) {
            shown.push(stack);
            lines.extend(whole(one, heading, stack, style));
        }
    };
    let exact = exact(one);
    let waits = match is_all_on_cpu(one) {
        true => Vec::new(),
        false => groups(one, exact),
    };
    if let Some(exact) = exact {
        show("the waiting thread, most often", Some(exact));
    }
    for group in waits {
        if exact.is_none() {
            show("the waiting thread, most often", found(one, group.stack));
        }
        // A timer ends a sleep; who else does has interrupted it.
        let ends = group.waker_stack.filter(|_| group.detail != Detail::Sleep);
        show("what ended the wait, where known", found(one, ends));
    }
    show("on CPU, most often", busy(one));
    lines
}

fn found(one: &One, stack: Option<StackId>) -> Option<StackIx> {
    one.report.stacks.code.stack(stack?)
}

/// Where the fix is about single waits, the stack in which these are longest.
fn exact(one: &One) -> Option<StackIx> {
    let changes = one.finding.suspect.fix.changes();
    let spans = changes.iter().filter_map(|change| match &change.what {
        What::Spans(spans) => Some(spans),
        _ => None,
    });
    let timeline = &one.report.loaded.timeline;
    let mut times: BTreeMap<StackIx, u64> = BTreeMap::new();
    for span in spans.flatten().filter_map(|&at| timeline.span(at)) {
        let events = one.report.stacks.events_of(span.thread);
        let first = events.partition_point(|event| event.at < span.t0);
        let mut here = events[first..]
            .iter()
            .take_while(|event| event.at == span.t0);
        if let Some(wait) = here.find(|event| event.account == Account::Wait) {
            *times.entry(wait.stack).or_default() += wait.ns;
        }
    }
    let most = times.into_iter().max_by_key(|(_, ns)| *ns);
    most.map(|(stack, _)| stack)
}

/// The waits that were recorded one by one, of the kinds that the fix is about; of one stack only, if that is known.
fn groups<'a>(one: &'a One, exact: Option<StackIx>) -> Vec<&'a WaitGroup> {
    let programs = &one.report.loaded.programs;
    if exact.is_some() {
        let mut groups = one.report.loaded.waited().groups.iter();
        let of_stack = groups.find(|group| found(one, group.stack) == exact);
        return of_stack.into_iter().collect();
    }
    let kinds = large(one).filter(|kind| kind.state == State::Wait);
    let of_kind = kinds.take(KINDS).filter_map(|kind| {
        let mut groups = one.report.loaded.waited().groups.iter();
        groups.find(|group| {
            programs.first(group.process) == kind.process
                && group.detail == kind.detail
                && (group.object == kind.object || group.object.is_none())
        })
    });
    of_kind.collect()
}

/// The kinds of spans that the fix is about by more than a little: to switch to a thread that slept is no work of it.
fn large<'a>(one: &'a One) -> impl Iterator<Item = &'a Touched> {
    let all = one.touched.iter().map(|kind| kind.ns);
    let all = all.fold(0, u64::saturating_add);
    let kinds = one.touched.iter();
    kinds.filter(move |kind| kind.ns as f64 >= all as f64 * LITTLE)
}

/// Whether all that it is on the path is work: what its code waits for beside that shows nothing of it.
fn is_all_on_cpu(one: &One) -> bool {
    let Some(outlook) = one.report.outlook else {
        return false;
    };
    let causes = one.finding.suspect.weight.causes.iter();
    let mut states = causes
        .filter_map(|&cause| outlook.causes.get(cause))
        .map(|on_path| on_path.cause.key.state)
        .peekable();
    states.peek().is_some() && states.all(|state| state == State::Cpu)
}

/// The stack in which the path was longest on a CPU, of those that pass through the place that the finding names; or else
/// the one that was seen most of what the fix is about.
fn busy(one: &One) -> Option<StackIx> {
    let place = one.finding.suspect.frames.first();
    let outlook = one.report.outlook.filter(|_| is_all_on_cpu(one));
    let at_place = place.zip(outlook).and_then(|(place, outlook)| {
        let through = BTreeSet::from([place.function]);
        let within = outlook.on_processors.within(&through, one.report.stacks);
        within.first().map(|on| on.stack)
    });
    at_place.or_else(|| seen_most(one))
}

/// The stack that was seen most on a processor, of what the fix is about there.
fn seen_most(one: &One) -> Option<StackIx> {
    if !large(one).take(KINDS).any(|kind| kind.state == State::Cpu) {
        return None;
    }
    let changes = one.finding.suspect.fix.changes();
    let report = one.report;
    let code = &report.stacks.code;
    let whose = |event: &&timesink_analysis::stacks::Event, change: &Change| {
        let thread = report.facts.ledger.thread(event.thread);
        let processes = change.processes.as_ref();
        thread.is_some_and(|thread| {
            processes.is_none_or(|processes| processes.contains(&thread.row.process))
        })
    };
    let is_meant = |function: FunctionIx, change: &Change| match &change.what {
        What::Function(name) => code.function(function).name == *name,
        What::Calls(calls) => {
            let name = &code.function(function).name;
            calls.iter().any(|call| name.ends_with(call))
        }
        _ => true,
    };
    let mut most: Option<(u64, StackIx)> = None;
    for change in &changes {
        let mut times: BTreeMap<StackIx, u64> = BTreeMap::new();
        let events = report.stacks.events.iter();
        for event in events
            .filter(|event| event.account == Account::Cpu)
            .filter(|event| whose(event, change))
        {
            *times.entry(event.stack).or_default() += event.ns;
        }
        times.retain(|&stack, _| match &change.what {
            What::Functions(_) | What::FunctionBut(..) | What::Itself(_) => {
                change.what.is_within(code, &code.functions_of(stack))
            }
            _ => code
                .frames_of(stack)
                .any(|(_, function)| is_meant(function, change)),
        });
        let of_change = times.into_iter().map(|(stack, ns)| (ns, stack)).max();
        most = most.max(of_change);
    }
    most.map(|(_, stack)| stack)
}

fn whole(one: &One, heading: &str, stack: StackIx, style: &Style) -> Vec<String> {
    let code = &one.report.stacks.code;
    let mut lines = wrap(&format!("{heading}:"), "  ", Ink::Faint, style);
    let frames: Vec<_> = code.frames_of(stack).collect();
    for (frame, function) in frames.iter().take(DEEPEST) {
        let place = frame.and_then(|(_, frame)| names::place(&frame.file, frame.line));
        let place = place.map_or(String::new(), |place| format!("  {place}"));
        let text = format!("{}{place}", names::function_in(code, *function));
        let ink = match code.is_system(*function) {
            true => Ink::Faint,
            false => Ink::Plain,
        };
        lines.extend(wrap(&text, "    ", ink, style));
    }
    if frames.len() > DEEPEST {
        let rest = format!("and {} more callers", frames.len() - DEEPEST);
        lines.extend(wrap(&rest, "    ", Ink::Faint, style));
    }
    if !code.is_complete(stack) {
        lines.extend(wrap("... (caller unknown)", "    ", Ink::Faint, style));
    }
    lines
}
