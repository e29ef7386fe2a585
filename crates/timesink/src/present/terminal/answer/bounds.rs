//! What a program is bound by when no rule accuses anything: the largest part of the path, where in the code it is, and
//! what one round of its main loop consists of.

use timesink_analysis::ledger::Account;
use timesink_analysis::loops::Loop;
use timesink_analysis::outlook::{OnPath, Outlook};
use timesink_analysis::path::{Division, Within};
use timesink_analysis::waits::peers::Peer;
use timesink_recording::words::{Detail, State};

use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::{loops, path, units, Report};
use crate::present::{names, words};

/// Functions that are named, and the least share of the path of each.
const FUNCTIONS: usize = 3;
const LEAST: f64 = 0.05;
/// A loop with less of the wall time is not what the program consists of.
const LOOP: f64 = 0.2;
/// Who sends something to a peer so often talks with it.
const SENDS: u64 = 20;

/// With or without what it is bound by: a finding may have said that.
pub(super) fn lines(report: &Report, bound: bool, style: &Style) -> Vec<String> {
    let Some(outlook) = report.outlook.filter(|outlook| outlook.wall_ns > 0) else {
        return Vec::new();
    };
    let bound = bound.then(|| bound_by(report, outlook));
    // What is done again and again is told closer where its calls tell it.
    let round = report.anatomies.is_empty().then(|| round(report)).flatten();
    let parts = [bound, talks(report), round];
    let parts = parts.into_iter().flatten();
    parts
        .flat_map(|text| wrap(&text, "  ", Ink::Plain, style))
        .collect()
}

/// `No known pattern of slowness. Bound by the CPU: 92 % of the critical path, compress 61 %, main 20 %`.
fn bound_by(report: &Report, outlook: &Outlook) -> String {
    let share = |ns: u64| ns as f64 / outlook.wall_ns as f64;
    let accounts = [State::Cpu, State::Ready, State::Wait, State::Lost].map(|state| {
        let causes = outlook.causes.iter();
        let causes = causes.filter(|on_path| on_path.cause.key.state == state);
        let ns = causes.fold(0u64, |sum, on_path| sum.saturating_add(on_path.cause.ns));
        (ns, state)
    });
    let (ns, state) = accounts
        .into_iter()
        .max_by_key(|(ns, _)| *ns)
        .unwrap_or((0, State::Lost));
    let percent = units::whole_percent(share(ns));
    let of_path = format!("{percent} of the critical path");
    let bound = match state {
        State::Cpu => match functions(report, outlook).as_slice() {
            [] => format!("Bound by the CPU: {of_path}"),
            functions => format!("Bound by the CPU: {of_path}, {}", functions.join(", ")),
        },
        State::Ready => {
            format!("Bound by a lack of CPUs: runnable (waiting for a CPU) for {of_path}")
        }
        State::Lost => return format!("{of_path} is unknown: events were lost"),
        State::Wait => format!("Mostly waiting: {of_path}{}", waits(report, outlook)),
    };
    format!("No known pattern of slowness. {bound}")
}

/// `curl sends to 127.0.0.1:80 300 times (24.5 kB) and receives from it 300 times (45.9 kB), on 1 connection`: the peer that is sent to most
/// often. That is no fault, but says what the program is about.
fn talks(report: &Report) -> Option<String> {
    let loaded = report.loaded;
    let peers = loaded.waited().peers(report.facts, &loaded.timeline);
    let peers = peers.all.iter().filter(|peer| peer.sends >= SENDS);
    let peer = peers.max_by_key(|peer| peer.sends)?;
    let about = if peer.estimated { "about " } else { "" };
    let times = |count: u64, bytes: u64| {
        let (count, bytes) = (units::count(count), units::bytes(bytes));
        format!("{about}{count} times ({bytes})")
    };
    Some(format!(
        "{} sends to {} {} and receives from it {}, on {}",
        names::process_in(report, peer.process),
        names::harmless(&peer.address),
        times(peer.sends, peer.sent_bytes),
        times(peer.receives, peer.received_bytes),
        units::plural(connections(peer), "connection", "connections")
    ))
}

/// How many connections there are to a peer: those that were made, and those that were there before the recording, which nobody made
/// then.
fn connections(peer: &Peer) -> u64 {
    peer.connections.max(peer.sockets.len() as u64).max(1)
}

/// `; the largest part is network receive (62 %), 127.0.0.1:5432, in fetch() app.py:12`: the kind of wait that the path is longest
/// in, on what, and where in the code.
fn waits(report: &Report, outlook: &Outlook) -> String {
    let longest = outlook.kinds.iter().find_map(|kind| {
        let first = outlook.causes.get(*kind.causes.first()?)?;
        (first.cause.key.state == State::Wait).then_some((kind.ns, first))
    });
    let Some((ns, on_path)) = longest else {
        return String::new();
    };
    let share = units::whole_percent(ns as f64 / outlook.wall_ns as f64);
    let about = path::object_of(on_path).map(|object| names::object_in(report, object));
    let about = about.map_or(String::new(), |name| format!(", {name}"));
    let place = place(report, on_path).map_or(String::new(), |place| format!(", in {place}"));
    format!(
        "; the largest part is {} ({share}){about}{place}",
        path::label_of(on_path)
    )
}

/// Where in the program's own code most of such waits are.
fn place(report: &Report, on_path: &OnPath) -> Option<String> {
    let (loaded, key) = (report.loaded, on_path.cause.key);
    let mut groups = loaded.waited().groups.iter();
    let alike = groups.find(|group| {
        loaded.programs.first(group.process) == key.process
            && Some(group.detail) == key.detail
            && group.object == key.object
            && group.stack.is_some()
    });
    let code = &report.stacks.code;
    let stack = code.spots_of(code.stack(alike?.stack?)?);
    let innermost = *code.own_of(&stack).first()?;
    let is_place =
        code.is_user_code(innermost.function) && code.within_loop(&stack).contains(&innermost);
    is_place.then(|| names::calls_at(code, &[innermost]))
}

/// What its time on a processor divides into, from where it divides.
pub(super) fn functions(report: &Report, outlook: &Outlook) -> Vec<String> {
    let program = |cause: usize| Some(outlook.causes.get(cause)?.cause.key.process);
    let division = Division::of(&outlook.on_processors, report.stacks, program);
    let parts = division.map_or(Vec::new(), |division| division.parts);
    let share = |ns: u64| ns as f64 / outlook.wall_ns as f64;
    let large = parts.iter().filter(|part| share(part.ns) >= LEAST);
    let named = large.filter_map(|part| {
        let name = match (part.functions().next_back(), part.chain.first()) {
            (Some(function), _) => names::function_told(&report.stacks.code, function),
            (None, Some(Within::Program(process))) => names::process_in(report, *process),
            _ => return None,
        };
        Some(format!("{name} {}", units::whole_percent(share(part.ns))))
    });
    named.take(FUNCTIONS).collect()
}

/// `One round of its main loop, 3,921 x 360 us in store: fsync (rows.db)`.
fn round(report: &Report) -> Option<String> {
    let main = report.main()?.row.thread;
    let wall = report.about.wall_ns.max(1) as f64;
    // That it waits for whatever comes first says nothing of what it does.
    let only_polls = |one: &Loop| one.body.iter().all(|step| step.detail == Detail::Poll);
    // Go's scheduler, which has whatever thread it needs: no loop of the program's.
    let code = &report.stacks.code;
    let only_runtime = |one: &Loop| {
        let mut functions = one.body.iter().filter_map(|step| step.function).peekable();
        functions.peek().is_some() && functions.all(|function| code.is_of_language(function))
    };
    let of_main = |one: &&Loop| {
        let large = one.thread == main && one.ns as f64 / wall >= LOOP;
        large && !only_polls(one) && !only_runtime(one)
    };
    let longest = report
        .loops
        .iter()
        .filter(of_main)
        .max_by_key(|one| one.ns)?;
    let times = format!(
        "{} x {}",
        units::count(longest.rounds),
        units::time(longest.median_ns)
    );
    let (whose, about) = (loops::whose(report, longest), loops::about(report, longest));
    let cpu = words::account(Account::Cpu);
    let text = match about.is_empty() {
        true => format!("One round of its main loop, {times} {whose}: {cpu}"),
        false => format!("One round of its main loop, {times} {whose}: {about}"),
    };
    Some(text)
}
