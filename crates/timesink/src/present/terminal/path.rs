//! What the end of the main thread waited for: the critical path by cause, with what each would buy.

use timesink_analysis::ledger::{Account, Kind};
use timesink_analysis::outlook::{Alike, OnPath};
use timesink_analysis::path::Key;
use timesink_analysis::replay::Gain;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State};

use super::rows::{align, times, title, Row};
use super::style::{Ink, Style};
use super::{units, Report};
use crate::present::names;
use crate::present::words;

/// Causes below this share of the path are folded into one row.
const SMALL: f64 = 0.005;
/// Of several things the longest have rows of their own, with at least this share of the path.
const THINGS: usize = 3;
const INNER: f64 = 0.02;
/// So many rows.
const ROWS: usize = 10;
/// What a replay misses by less, in percent, is not worth a word.
const NEAR_PCT: f64 = 0.1;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let (Some(outlook), Some(main)) = (report.outlook, report.main()) else {
        return vec!["No thread was recorded.".to_owned()];
    };
    let name = names::thread(report.facts, main.row.thread);
    let about = format!(
        "critical path to the end of {name}, {}",
        units::time(outlook.wall_ns)
    );
    let share = |ns: u64| ns as f64 / outlook.wall_ns.max(1) as f64;
    let shown = outlook.kinds.iter().enumerate();
    let is_small = |rank: usize, kind: &Alike| rank >= ROWS || share(kind.ns) < SMALL;
    let (small, large): (Vec<_>, Vec<_>) = shown.partition(|(rank, kind)| is_small(*rank, kind));
    let main = main.row.process;
    let mut rows: Vec<Row> = Vec::new();
    for (_, kind) in large {
        let causes = kind.causes.iter().filter_map(|&at| outlook.causes.get(at));
        let causes: Vec<&OnPath> = causes.collect();
        match causes.as_slice() {
            [one] => rows.push(row(report, main, one, share(one.cause.ns))),
            [first, ..] => {
                rows.push(head(report, main, kind, first, share(kind.ns)));
                let long = causes.iter().take(THINGS);
                let long = long.filter(|on_path| share(on_path.cause.ns) >= INNER);
                rows.extend(long.map(|on_path| Row {
                    inner: true,
                    label: on_path.cause.key.object.map_or_else(
                        || label_of(on_path),
                        |object| names::object_in(report, object),
                    ),
                    about: String::new(),
                    more: String::new(),
                    ..row(report, main, on_path, share(on_path.cause.ns))
                }));
            }
            [] => {}
        }
    }
    if !small.is_empty() {
        let ns = small.iter().map(|(_, kind)| kind.ns);
        let ns = ns.fold(0, u64::saturating_add);
        let many = units::plural(small.len() as u64, "smaller cause", "smaller causes");
        rows.push(Row {
            label: format!("and {many}"),
            ns,
            share: Some(share(ns)),
            ..Row::default()
        });
    }
    let mut lines = vec![title("WHERE THE TIME WENT", &about, style)];
    lines.extend(align(&rows, outlook.wall_ns, style));
    let mut notes = Vec::new();
    if share(outlook.unknown_ns) >= SMALL {
        let unknown = units::percent(share(outlook.unknown_ns) * 100.0);
        notes.push(format!("{unknown} of the path is unknown"));
    }
    if outlook.replay_error_pct.abs() >= NEAR_PCT {
        notes.push(format!("replay error {:+.1} %", outlook.replay_error_pct));
    }
    let notes = notes
        .iter()
        .map(|note| style.paint(Ink::Faint, &format!("  {note}")));
    lines.extend(notes);
    lines
}

/// Causes of one kind, for several things.
fn head(report: &Report, main: ProcessId, kind: &Alike, first: &OnPath, share: f64) -> Row {
    let mut head = row(report, main, first, share);
    head.ns = kind.ns;
    head.times = times(kind.count, kind.ns);
    head.about = units::plural(kind.causes.len() as u64, "thing", "things");
    head.more = more(report, main, first.cause.key.process, kind.gain);
    head
}

/// In which process, if not the main one, and what it would save not to have it.
fn more(report: &Report, main: ProcessId, process: ProcessId, gain: Option<Gain>) -> String {
    let elsewhere = elsewhere(report, main, process);
    let saves = gain.and_then(|gain| saves(&gain));
    let more: Vec<String> = elsewhere.into_iter().chain(saves).collect();
    more.join(" · ")
}

/// `in sort`, of a process that is not the main one.
pub(super) fn elsewhere(report: &Report, main: ProcessId, process: ProcessId) -> Option<String> {
    let name = || {
        let process = report.facts.ledger.process(process);
        process.map_or("a process that was lost", |process| &process.row.name)
    };
    (process != main).then(|| format!("in {}", names::harmless(name())))
}

fn row(report: &Report, main: ProcessId, on_path: &OnPath, share: f64) -> Row {
    let key = on_path.cause.key;
    Row {
        label: label_of(on_path),
        ns: on_path.cause.ns,
        share: Some(share),
        times: match key.state {
            State::Wait | State::Ready => times(on_path.cause.count, on_path.cause.ns),
            State::Cpu | State::Lost => String::new(),
        },
        about: object_of(on_path).map_or(String::new(), |id| names::object_in(report, id)),
        more: more(report, main, key.process, on_path.gain),
        ink: Some(words::ink(account(key.state))),
        ..Row::default()
    }
}

/// `saves 12.9 s (11.8 .. 13.1)`.
pub(in crate::present) fn saves(gain: &Gain) -> Option<String> {
    let saved = u64::try_from(gain.ns).ok().filter(|ns| *ns > 0)?;
    let bound = |ns: i64| units::time(u64::try_from(ns).unwrap_or(0));
    let (lo, hi) = (bound(gain.lo_ns), bound(gain.hi_ns));
    Some(format!("saves {} ({lo} .. {hi})", units::time(saved)))
}

/// A cause on the path in plain words.
pub(super) fn label_of(on_path: &OnPath) -> String {
    match on_path.is_timer_of_loop() {
        true => words::TIMER_OF_LOOP.to_owned(),
        false => label(&on_path.cause.key),
    }
}

/// What it was waited for. That a loop of events has a descriptor of its own for that is nobody's concern.
pub(super) fn object_of(on_path: &OnPath) -> Option<ObjectId> {
    let object = on_path.cause.key.object;
    object.filter(|_| !on_path.is_timer_of_loop())
}

/// A cause in plain words.
pub(in crate::present) fn label(key: &Key) -> String {
    if let Some(unknown) = key.unknown {
        return words::unknown(unknown).to_owned();
    }
    let kind = Kind::As(key.detail.unwrap_or(Detail::Running));
    words::cause(account(key.state), kind, "")
}

/// The account of the ledger that a state belongs to.
pub(super) fn account(state: State) -> Account {
    match state {
        State::Cpu => Account::Cpu,
        State::Ready => Account::Ready,
        State::Wait => Account::Wait,
        State::Lost => Account::Lost,
    }
}
