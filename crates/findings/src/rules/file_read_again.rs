//! A file that stays as it is and is loaded again and again.
//!
//! Reading is the least of it: what is read is taken apart, checked, put into tables. So what goes away is the whole
//! function in which it is read, where one is known.

use std::collections::BTreeSet;

use timesink_analysis::facts::last_part;
use timesink_analysis::facts::sockets::sends;
use timesink_analysis::facts::uses::{Act, Use, Uses};
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::Region;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, ObjectKind, State};

use crate::file_functions::{act, loaders};
use crate::inquiry::Inquiry;
use crate::placed::Placed;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "file-read-again",
    looks_for: "a file that does not change, loaded whole again and again",
    why: "Each time the same bytes are read and the same result is built from them.",
    advice: "load the file once and keep the result, in a process that keeps running; check the modification time if the file may change",
    wrong_if: "others change the file all the time, or the function in which it is read does much other work",
    limits: &[&limits::LOADS, &limits::SENT_ON],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static LOADS: Limit = Limit {
        name: "loads",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of whole reads, by one process or by processes of one program",
    };
    pub static SENT_ON: Limit = Limit {
        name: "sent on",
        value: 0.5,
        unit: Unit::Share,
        means: "maximum share of the bytes read that is sent over sockets; a program that forwards them builds nothing from them",
    };
}

/// What these hold is made as it is read, and another time it is something else.
const MADE_WHEN_READ: [&str; 7] = [
    "proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "devtmpfs",
];
/// All calls of a kind are about the file if so much of them is: stacks do not tell which file they are about.
const MOST: f64 = 0.8;
const LOADING: [Act; 3] = [Act::Open, Act::Read, Act::Close];

/// Who loads a file: one process, or many of one program.
struct Loader<'a> {
    uses: &'a Uses,
    /// What they do with it together.
    one: &'a Use,
    processes: BTreeSet<ProcessId>,
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let often = |one: &Use| one.done(Act::Open).count as f64 >= RULE.limit(inquiry, &limits::LOADS);
    let uses = &inquiry.facts.uses;
    let alone = uses.all.iter().filter(|one| often(one));
    let mut suspects: Vec<Suspect> = alone
        .filter_map(|one| {
            let processes = BTreeSet::from([one.process]);
            suspect(
                inquiry,
                &Loader {
                    uses,
                    one,
                    processes,
                },
            )
        })
        .collect();
    // A program that is started for each question loads it once in each process.
    let uses = &inquiry
        .facts
        .uses
        .together(|process| inquiry.programs.first(process));
    for one in uses.all.iter().filter(|one| often(one)) {
        let of_it = |each: &&Use| {
            each.object == one.object
                && each.done(Act::Open).count > 0
                && inquiry.programs.first(each.process) == one.process
        };
        let each: Vec<&Use> = inquiry.facts.uses.all.iter().filter(of_it).collect();
        if each.len() > 1 && !each.iter().any(|each| often(each)) {
            let processes = each.iter().map(|each| each.process).collect();
            suspects.extend(suspect(
                inquiry,
                &Loader {
                    uses,
                    one,
                    processes,
                },
            ));
        }
    }
    suspects
}

/// How large a file is that did not change, and how often it was loaded.
fn loads(inquiry: &Inquiry<'_>, one: &Use) -> Option<(u64, u64)> {
    let file = inquiry.facts.object(one.object)?;
    let filesystem = file.filesystem.as_deref().unwrap_or_default();
    if file.kind != ObjectKind::File || MADE_WHEN_READ.contains(&filesystem) {
        return None;
    }
    // Of a file that was made meanwhile the size is that of its beginning. And whoever reads what was written since
    // does not read again.
    let of_it = inquiry
        .facts
        .uses
        .all
        .iter()
        .filter(|other| other.object == one.object);
    let written = of_it.map(|other| other.done(Act::Write).bytes);
    let size = file
        .size
        .unwrap_or(0)
        .max(written.fold(0, u64::saturating_add));
    let times = one.done(Act::Read).bytes.checked_div(size)?;
    Some((size, times.min(one.done(Act::Open).count)))
}

/// How many bytes those who load it send over sockets.
fn sent(inquiry: &Inquiry<'_>, loader: &Loader<'_>) -> u64 {
    let is_socket = |object: Option<ObjectId>| {
        let object = object.and_then(|object| inquiry.facts.object(object));
        object.is_some_and(|object| {
            matches!(object.kind, ObjectKind::TcpSocket | ObjectKind::UnixSocket)
        })
    };
    let calls = inquiry.facts.calls.iter().filter(|call| {
        let own = call.process.is_some_and(|p| loader.processes.contains(&p));
        own && sends(&call.call) && is_socket(call.object)
    });
    calls.fold(0, |sum, call| sum.saturating_add(call.bytes))
}

/// The function in which the file is opened, read and closed: by the stacks of those calls, and where there are none by what
/// samples show of such calls.
fn placed(inquiry: &Inquiry<'_>, loader: &Loader<'_>) -> Option<Placed> {
    let objects = BTreeSet::from([loader.one.object]);
    let by_sites = Placed::around_acts(inquiry, &loader.processes, &objects, &LOADING);
    by_sites.or_else(|| region(inquiry, loader).map(Placed::at))
}

fn region(inquiry: &Inquiry<'_>, loader: &Loader<'_>) -> Option<Region> {
    let acts = LOADING.into_iter();
    let about: Vec<Act> = acts
        .filter(|&act| loader.uses.share_of_calls(loader.one, act) >= MOST)
        .collect();
    let threads = inquiry.threads_of(&loader.processes);
    let around = |acts: &[Act]| {
        inquiry.stacks.region(&threads, |function| {
            let act = act(function).filter(|act| acts.contains(act))?;
            Some(act as usize)
        })
    };
    // The few files that a program opens as it starts take longer to open than one that is opened again and again.
    let reads = about.contains(&Act::Read);
    let by_reads = || around(&[Act::Read]).filter(|_| reads);
    let file = inquiry.facts.object(loader.one.object);
    let loaders = loaders(file.and_then(|file| file.path.as_deref()).unwrap_or(""));
    let by_loaders = || {
        let loads = |function: &str| loaders.contains(&function).then_some(0);
        inquiry.stacks.region(&threads, loads)
    };
    around(&about).or_else(by_reads).or_else(by_loaders)
}

fn suspect(inquiry: &Inquiry<'_>, loader: &Loader<'_>) -> Option<Suspect> {
    let one = loader.one;
    let (size, times) = loads(inquiry, one)?;
    let read = one.done(Act::Read).bytes as f64;
    if (times as f64) < RULE.limit(inquiry, &limits::LOADS)
        || sent(inquiry, loader) as f64 > read * RULE.limit(inquiry, &limits::SENT_ON)
    {
        return None;
    }
    let placed = placed(inquiry, loader);
    let (fix, ns) = fix(inquiry, loader, placed.as_ref(), times);
    let region = placed.map(|placed| placed.region);
    let mut causes = inquiry.busy(one.process);
    causes.extend(inquiry.waits_on_path(|key| {
        key.object == Some(one.object) && inquiry.same_program(key.process, one.process)
    }));
    let title = title(inquiry, loader, times);
    let suspect = Suspect::new(title, fix, Weight::within(causes, ns))
        .of(one.process)
        .about(Some(one.object))
        .seen_around(inquiry, region.as_ref())
        .held(inquiry, &RULE, "loads", times as f64, &limits::LOADS)
        .figure("size", size as f64, "bytes")
        .told(say![
            if one.estimated { "about " } else { "" },
            Piece::Count(one.done(Act::Open).count),
            " opens; ",
            Piece::Bytes(one.done(Act::Read).bytes),
            " read from a file of ",
            Piece::Bytes(size)
        ]);
    Some(match region {
        Some(region) => {
            let share = region.ns as f64 * 100.0 / inquiry.outlook.wall_ns.max(1) as f64;
            suspect.told(say![
                region.function,
                ", which reads it, takes ",
                Piece::Percent(share.min(100.0)),
                " of the time with all that it calls"
            ])
        }
        None => suspect.told(say![
            "the work done on its contents is not included: no function is known that does it"
        ]),
    })
}

fn title(inquiry: &Inquiry<'_>, loader: &Loader<'_>, times: u64) -> Sentence {
    let object = loader.one.object;
    let program = inquiry.program(loader.one.process).unwrap_or_default();
    let program = last_part(program).to_owned();
    match loader.processes.len() as u64 {
        1 => say![
            object,
            " is read whole ",
            Piece::Count(times),
            " times and does not change"
        ],
        many => say![
            object,
            " is read whole ",
            Piece::Count(times),
            " times by ",
            Piece::Count(many),
            " processes of ",
            Piece::Name(program),
            " and does not change"
        ],
    }
}

/// Without all loads but one; and what they take now.
fn fix(
    inquiry: &Inquiry<'_>,
    loader: &Loader<'_>,
    placed: Option<&Placed>,
    times: u64,
) -> (Fix, u64) {
    let processes = &loader.processes;
    let once = 1.0 / times.max(1) as f64;
    let calls = loader.one.ns(&LOADING);
    let Some(placed) = placed else {
        let names = LOADING.iter().flat_map(|act| act.calls()).copied();
        let share = loader.uses.share_of_time(loader.one, &LOADING);
        let kept = 1.0 - share * (1.0 - once);
        let what = What::Calls(names.collect());
        return (Fix::scaled(what, processes.clone(), kept), calls);
    };
    let ns = placed.region.ns.max(calls);
    let least = placed.scaled_without_others(inquiry, processes, loader.one.object, times);
    let mut at_most = placed.with_what_is_between(inquiry, processes, once);
    if processes.len() > 1 {
        // What was made of it is given back at the end of each process, with all else that the process has.
        at_most.push(Change {
            what: What::Cause {
                state: State::Cpu,
                detail: Some(Detail::Exit),
                object: None,
            },
            processes: Some(processes.clone()),
            how: How::Scale(once),
        });
    }
    if at_most == [least.clone()] {
        return (Fix::Change(least), ns);
    }
    (Fix::AtLeast(vec![least], at_most), ns)
}
