//! A comparison of two sides, in words: what a row is about, how often, what it takes each time.

use timesink_comparison::{
    Act, Comparison, Difference, Does, EnvironmentDifferences, Row, Thing, Total, Work,
};

use super::names::{called, harmless};
use super::terminal::units;
use super::words;

/// A comparison, and its recordings as the user named them.
#[derive(Clone, Copy)]
pub struct Compared<'a> {
    pub comparison: &'a Comparison,
    pub environment: &'a EnvironmentDifferences,
    pub a: &'a [String],
    pub b: &'a [String],
}

/// What is done, with how often on both sides: `sqlite3 flushes rows.db: 602 times in A, twice in B`.
pub fn sentence(row: &Row) -> String {
    let what = what(row);
    match (row.a.count, row.b.count) {
        (Some(a), Some(b)) if a > 0 || b > 0 => {
            let unit = match row.about {
                Difference::Processes => ("1 process", "processes"),
                _ if row.counts_waits => ("1 wait", "waits"),
                _ => ("once", "times"),
            };
            let times = |count: u64, total: &Total| match count {
                _ if total.is_estimated => match (total.at_least, unit.0) {
                    (0, _) => "some".to_owned(),
                    (1, once) => format!("at least {once}"),
                    (n, _) => format!("at least {} {}", units::count(n), unit.1),
                },
                0 => "none".to_owned(),
                1 => unit.0.to_owned(),
                n => format!("{} {}", units::count(n), unit.1),
            };
            let is_known = !row.a.is_estimated && !row.b.is_estimated;
            match a == b && is_known {
                true => format!("{what}, {} in both", times(a, &row.a)),
                false => format!(
                    "{what}: {} in A, {} in B",
                    times(a, &row.a),
                    times(b, &row.b)
                ),
            }
        }
        _ => {
            let time = |ns: u64| match ns {
                0 => "none".to_owned(),
                ns => units::time(ns),
            };
            format!("{what}: {} in A, {} in B", time(row.a.ns), time(row.b.ns))
        }
    }
}

/// What each of them takes, and where it was seen; empty if nothing of that is known.
pub fn evidence(row: &Row) -> String {
    let each = |total: &Total| {
        let count = total.count.filter(|count| *count > 0)?;
        Some(total.ns / count).filter(|_| total.ns > 0)
    };
    let is_counted = |total: &Total| total.count.is_some_and(|count| count > 0);
    let mut parts = Vec::new();
    match (each(&row.a), each(&row.b)) {
        (Some(a), Some(b)) => parts.push(format!(
            "{} each in A, {} in B",
            units::time(a),
            units::time(b)
        )),
        (Some(a), None) if is_counted(&row.b) => parts.push(format!(
            "{} each in A; in B none is on the path",
            units::time(a)
        )),
        (None, Some(b)) if is_counted(&row.a) => parts.push(format!(
            "in A none is on the path; {} each in B",
            units::time(b)
        )),
        (Some(one), None) | (None, Some(one)) => parts.push(format!("{} each", units::time(one))),
        (None, None) => {}
    }
    if let (Some(count), Some(each)) = (row.effect.count_ns, row.effect.each_ns) {
        if count != 0 && each.unsigned_abs() >= row.difference_ns().unsigned_abs() / 10 {
            parts.push(format!(
                "{} by how often, {} by how long",
                signed(count),
                signed(each)
            ));
        }
    }
    match &row.about {
        Difference::Work(Does::Code { chain }) if chain.len() > 1 => {
            let callers = chain.iter().rev().skip(1).take(CALLERS);
            let callers: Vec<String> = callers.map(|name| called(&harmless(name))).collect();
            parts.push(format!("called from {}", callers.join(", from ")));
        }
        Difference::Work(Does::Code { .. }) => {}
        _ => {
            let place = row
                .place
                .iter()
                .map(|name| format!("in {}", called(&harmless(name))));
            parts.extend(place);
        }
    }
    parts.extend(with_it(row));
    parts.join(" · ")
}

/// So much is named of what is done for the same items.
const WITH: usize = 3;

/// What is done for the same items: `with it, as often: closes files; 2 times as often: flushes t.db`.
fn with_it(row: &Row) -> Option<String> {
    let with = with(row);
    let (mut told, mut last) = (String::new(), None);
    for (what, times) in with.iter().take(WITH) {
        let how = as_often(*times);
        match last.replace(how.clone()) {
            None => told = format!("with it, {how}: {what}"),
            Some(last) if last == how => told.push_str(&format!(", {what}")),
            Some(_) => told.push_str(&format!("; {how}: {what}")),
        }
    }
    let more = with.len().saturating_sub(WITH);
    if more > 0 {
        told.push_str(&format!(" and {more} more"));
    }
    (!told.is_empty()).then_some(told)
}

/// How many times as often as something else.
fn as_often(times: f64) -> String {
    let told = |times: f64| {
        let text = format!("{times:.1}");
        text.trim_end_matches(".0").to_owned()
    };
    match times {
        1.0 => "as often".to_owned(),
        2.0 => "twice as often".to_owned(),
        0.5 => "half as often".to_owned(),
        times if times > 0.0 && times < 1.0 => format!("1/{} as often", told(1.0 / times)),
        times => format!("{} times as often", told(times)),
    }
}

/// What else is done for the same items on both sides, and how many times for each time of what names the row.
pub fn with(row: &Row) -> Vec<(String, f64)> {
    let with = row.with.iter();
    with.map(|with| (did(&row.program, &with.about), with.times))
        .collect()
}

/// Callers of a function that are named.
const CALLERS: usize = 2;

/// A change of time, with its sign.
pub fn signed(ns: i64) -> String {
    let sign = match ns {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", units::time(ns.unsigned_abs()))
}

/// Who does what.
pub fn what(row: &Row) -> String {
    let program = program(row);
    match &row.about {
        Difference::Processes => format!("{program} is run"),
        Difference::OtherCode => format!("{program} on CPU in other functions"),
        Difference::Work(does) => work(&program, does),
    }
}

/// The program, by the name that it has where it does this.
fn program(row: &Row) -> String {
    let name = harmless(&row.program);
    match &row.program_in_b {
        Some(other) if row.a.ns == 0 => harmless(other).into_owned(),
        Some(other) if row.b.ns > 0 => format!("{name} ({} in B)", harmless(other)),
        _ => name.into_owned(),
    }
}

/// The same without who does it.
fn did(program: &str, about: &Difference) -> String {
    match about {
        Difference::Work(does) => {
            let told = work("", does);
            told.trim_start_matches([' ', ':']).to_owned()
        }
        Difference::Processes | Difference::OtherCode => harmless(program).into_owned(),
    }
}

/// Calls: who makes them, to what.
pub fn call(of: &Work) -> String {
    work(&harmless(&of.program), &of.does)
}

fn work(program: &str, does: &Does) -> String {
    match does {
        Does::Calls { act, thing } => format!("{program} {}", calls(act, thing)),
        Does::PageFaults => format!("{program} touches pages that are not there yet (page faults)"),
        Does::Waits { detail, thing } => {
            let wait = words::wait(*detail);
            match thing {
                Thing::In(function) => {
                    format!("{program}: {wait} in {}", called(&harmless(function)))
                }
                Thing::Nothing | Thing::Several => format!("{program}: {wait}"),
                thing => format!("{program}: {wait}, {}", harmless(thing.name())),
            }
        }
        Does::Code { chain } => match chain.last() {
            Some(function) => format!("{program} on CPU in {}", called(&harmless(function))),
            None => format!("{program} on CPU, no sample says where"),
        },
        Does::Ready => format!("{program} waits for a CPU"),
        Does::Throttled => format!("{program} is throttled by its cgroup's quota"),
        Does::Exit => format!("{program} exits"),
        Does::Unknown => "not attributed: the path is not known there".to_owned(),
    }
}

fn calls(act: &Act, thing: &Thing) -> String {
    let on = |one: &str, several: &str| match thing {
        Thing::Nothing => several.to_owned(),
        Thing::Several => several.to_owned(),
        Thing::Kind(kind) => format!("{one} a {kind}"),
        thing => format!("{one} {}", harmless(thing.name())),
    };
    match act {
        Act::Open => on("opens", "opens files"),
        Act::Close => on("closes", "closes files"),
        Act::LookUp => on("looks up", "looks up paths"),
        Act::Read => on("reads", "reads files"),
        Act::Write => on("writes", "writes files"),
        Act::Flush => on("flushes", "flushes files to disk"),
        Act::Connect => on("connects to", "connects to peers"),
        Act::Accept => on("accepts connections on", "accepts connections"),
        Act::Send => on("sends to", "sends to peers"),
        Act::Receive => on("receives from", "receives from peers"),
        Act::Poll => "waits in poll for several descriptors".to_owned(),
        Act::Sleep => "sleeps".to_owned(),
        Act::Futex => "calls futex".to_owned(),
        Act::Start => "starts threads or processes".to_owned(),
        Act::Exec => "executes a program".to_owned(),
        Act::AwaitChild => "waits for a child".to_owned(),
        Act::Map => "maps or unmaps memory".to_owned(),
        Act::Remove => on("removes", "removes files"),
        Act::Rename => on("renames", "renames files"),
        Act::Other(name) => {
            let call = format!("calls {}", harmless(name));
            match thing {
                Thing::Nothing | Thing::Several => call,
                thing => format!("{call} on {}", harmless(thing.name())),
            }
        }
    }
}
