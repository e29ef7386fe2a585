//! A file that stays as it is and is loaded again and again.
//!
//! Reading is the least of it: what is read is taken apart, checked, put into tables. So what goes away is the whole
//! function in which it is read, where one is known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

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
    limits: &[&limits::LOADS, &limits::FEW, &limits::SHARE, &limits::SENT_ON],
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
    /// Measured: a file of 7 MB parsed before each of 8 tests, 1.91 s, and 0.43 s with it parsed once (2026-11-30).
    pub static FEW: Limit = Limit {
        name: "few loads",
        value: 5.0,
        unit: Unit::Count,
        means: "the same where the function that reads it takes much of the time",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.3,
        unit: Unit::Share,
        means: "for few loads: minimum share of the wall time in that function",
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
/// What is over sooner is told by its start, which is most of it: unzip is on CPU for 1.7 ms for one member, grep for 12.5 ms for a list
/// of users (2026-11-30).
const LONG_NS: u64 = 8_000_000;

/// Who loads a file, or several: one process, or many of one program.
struct Loader<'a> {
    uses: &'a Uses,
    /// What they do with each together, what is read most first.
    files: Vec<&'a Use>,
    processes: BTreeSet<ProcessId>,
}

impl Loader<'_> {
    fn objects(&self) -> BTreeSet<ObjectId> {
        self.files.iter().map(|one| one.object).collect()
    }

    fn sum(&self, of_one: impl Fn(&Use) -> u64) -> u64 {
        let all = self.files.iter().map(|one| of_one(one));
        all.fold(0, u64::saturating_add)
    }

    fn share(&self, of_one: impl Fn(&Use) -> f64) -> f64 {
        self.files.iter().map(|one| of_one(one)).sum()
    }

    /// Whether many processes work for long, and read hardly anything else: what each does, it does with that.
    fn works_on_little_else(&self, inquiry: &Inquiry<'_>) -> bool {
        let many = self.processes.len() as u64;
        let each_ns = inquiry.cpu_ns(&self.processes) / many.max(1);
        let read = || self.share(|one| self.uses.share_of_bytes(one, Act::Read));
        many > 1 && each_ns >= LONG_NS && read() >= MOST
    }
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let opened = |one: &Use, least| one.done(Act::Open).count as f64 >= RULE.limit(inquiry, least);
    let often = |one: &Use| opened(one, &limits::LOADS);
    let uses = &inquiry.facts.uses;
    let alone = uses.all.iter().filter(|one| opened(one, &limits::FEW));
    let alone: Vec<&Use> = alone.collect();
    let by_one = |files: Vec<&Use>| {
        let processes = BTreeSet::from([files.first()?.process]);
        suspect(
            inquiry,
            &Loader {
                uses,
                files,
                processes,
            },
        )
    };
    let mut suspects: Vec<Suspect> = alone.iter().filter_map(|&one| by_one(vec![one])).collect();
    // Each of many is a small part of what is read.
    let mut together: BTreeMap<ProcessId, Vec<&Use>> = BTreeMap::new();
    for one in alone {
        together.entry(one.process).or_default().push(one);
    }
    // Where but one of them did not change, that is told alone.
    let together = together
        .into_values()
        .map(|files| unchanged(inquiry, files));
    let together = together.filter(|files| files.len() > 1);
    suspects.extend(together.filter_map(by_one));
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
            let files = vec![one];
            suspects.extend(suspect(
                inquiry,
                &Loader {
                    uses,
                    files,
                    processes,
                },
            ));
        }
    }
    suspects
}

/// Those that did not change, what is read most first.
fn unchanged<'a>(inquiry: &Inquiry<'_>, mut files: Vec<&'a Use>) -> Vec<&'a Use> {
    files.retain(|one| {
        let times = loads(inquiry, one).map_or(0, |(_, times)| times);
        times as f64 >= RULE.limit(inquiry, &limits::LOADS)
    });
    files.sort_by_key(|one| (Reverse(one.done(Act::Read).bytes), one.object));
    files
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
fn placed(inquiry: &Inquiry<'_>, loader: &Loader<'_>, times: u64) -> Option<Placed> {
    let (processes, objects) = (&loader.processes, loader.objects());
    let by_sites = Placed::around_acts(inquiry, processes, &objects, &LOADING);
    let placed = by_sites.or_else(|| region(inquiry, loader).map(Placed::at))?;
    // A library may read all of it, and give it to the function that makes something of it.
    Some(match placed.in_its_caller(inquiry, processes, times) {
        Some(caller) => caller.meant_for(inquiry, processes, &objects, &LOADING),
        None => placed,
    })
}

fn region(inquiry: &Inquiry<'_>, loader: &Loader<'_>) -> Option<Region> {
    let acts = LOADING.into_iter();
    let about: Vec<Act> = acts
        .filter(|&act| loader.share(|one| loader.uses.share_of_calls(one, act)) >= MOST)
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
    let file = inquiry.facts.object(loader.files.first()?.object);
    let loaders = loaders(file.and_then(|file| file.path.as_deref()).unwrap_or(""));
    let by_loaders = || {
        let loads = |function: &str| loaders.contains(&function).then_some(0);
        inquiry.stacks.region(&threads, loads)
    };
    around(&about).or_else(by_reads).or_else(by_loaders)
}

fn suspect(inquiry: &Inquiry<'_>, loader: &Loader<'_>) -> Option<Suspect> {
    let first = *loader.files.first()?;
    let each = loader.files.iter().map(|one| loads(inquiry, one));
    let each: Vec<(u64, u64)> = each.collect::<Option<_>>()?;
    let size = each
        .iter()
        .fold(0u64, |sum, (size, _)| sum.saturating_add(*size));
    // Of many, as often as each is read on average.
    let times = each
        .iter()
        .fold(0u64, |sum, (_, times)| sum.saturating_add(*times));
    let times = times / each.len().max(1) as u64;
    let read = loader.sum(|one| one.done(Act::Read).bytes);
    if (times as f64) < RULE.limit(inquiry, &limits::FEW)
        || sent(inquiry, loader) as f64 > read as f64 * RULE.limit(inquiry, &limits::SENT_ON)
    {
        return None;
    }
    let is_often = times as f64 >= RULE.limit(inquiry, &limits::LOADS);
    let placed = placed(inquiry, loader, times);
    if !is_often && !takes_much(inquiry, loader, placed.as_ref()) {
        return None;
    }
    let (fix, ns) = fix(inquiry, loader, placed.as_ref(), times);
    let region = placed.map(|placed| placed.region);
    let objects = loader.objects();
    let mut causes = inquiry.busy(first.process);
    causes.extend(inquiry.waits_on_path(|key| {
        let about = key.object.is_some_and(|object| objects.contains(&object));
        about && inquiry.same_program(key.process, first.process)
    }));
    let title = title(inquiry, loader, first, times);
    let least = match is_often {
        true => &limits::LOADS,
        false => &limits::FEW,
    };
    let suspect = Suspect::new(title, fix, Weight::within(causes, ns))
        .of(first.process)
        .about(Some(first.object))
        .on(objects)
        .seen_around(inquiry, region.as_ref())
        .held(inquiry, &RULE, "loads", times as f64, least)
        .figure("size", size as f64, "bytes")
        .told(read_from(loader, size));
    Some(match region {
        Some(region) => {
            let share = region.ns as f64 * 100.0 / inquiry.outlook.wall_ns.max(1) as f64;
            suspect.told(say![
                region.function,
                match loader.files.len() {
                    1 => ", which reads it, takes ",
                    _ => ", which reads them, takes ",
                },
                Piece::Percent(share.min(100.0)),
                " of the time with all that it calls"
            ])
        }
        None if loader.works_on_little_else(inquiry) => suspect.told(say![
            "these processes read little else: half of what they do is taken to be saved with it"
        ]),
        None => suspect.told(say![
            "the work done on its contents is not included: no function is known that does it"
        ]),
    })
}

/// Whether one process reads one file in a function that takes much of the time: not in the one that is all of the program.
fn takes_much(inquiry: &Inquiry<'_>, loader: &Loader<'_>, placed: Option<&Placed>) -> bool {
    let Some(region) = placed.map(|placed| &placed.region) else {
        return false;
    };
    let name = &inquiry.stacks.code.function(region.function).name;
    let last = name.rsplit(['.', ':']).next().unwrap_or_default();
    let is_all = last == "main" || name.starts_with(['<', '{', '(']);
    let share = region.ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    loader.processes.len() == 1
        && loader.files.len() == 1
        && !is_all
        && share >= RULE.limit(inquiry, &limits::SHARE)
}

/// How often they are opened, and how much is read of how much.
fn read_from(loader: &Loader<'_>, size: u64) -> Sentence {
    let estimated = loader.files.iter().any(|one| one.estimated);
    let mut told = say![
        if estimated { "about " } else { "" },
        Piece::Count(loader.sum(|one| one.done(Act::Open).count)),
        " opens; ",
        Piece::Bytes(loader.sum(|one| one.done(Act::Read).bytes))
    ];
    told.0.extend(match loader.files.len() as u64 {
        1 => say![" read from a file of ", Piece::Bytes(size)].0,
        files => {
            say![
                " read from ",
                Piece::Count(files),
                " files of ",
                Piece::Bytes(size),
                " in all"
            ]
            .0
        }
    });
    told
}

fn title(inquiry: &Inquiry<'_>, loader: &Loader<'_>, first: &Use, times: u64) -> Sentence {
    let object = first.object;
    let program = inquiry.program(first.process).unwrap_or_default();
    let program = last_part(program).to_owned();
    let others = loader.files.len().saturating_sub(1) as u64;
    let read = say![" read whole ", Piece::Count(times), " times"];
    let mut title = match others {
        0 => say![object, " is"],
        _ => say![object, " and ", Piece::Count(others), " more are each"],
    };
    title.0.extend(read.0);
    let many = loader.processes.len() as u64;
    if many > 1 {
        let by = say![
            " by ",
            Piece::Count(many),
            " processes of ",
            Piece::Name(program)
        ];
        title.0.extend(by.0);
    }
    title.0.push(Piece::Text(match others {
        0 => " and does not change",
        _ => " and do not change",
    }));
    title
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
    let calls = loader.sum(|one| one.ns(&LOADING));
    let Some(placed) = placed else {
        let names = LOADING.iter().flat_map(|act| act.calls()).copied();
        let share = loader.share(|one| loader.uses.share_of_time(one, &LOADING));
        let share = share.min(1.0);
        let kept = 1.0 - share * (1.0 - once);
        let reading = Fix::scaled(What::Calls(names.collect()), processes.clone(), kept);
        return match loader.works_on_little_else(inquiry) {
            true => {
                let all = inquiry.with_descendants(processes.clone());
                let kept = |part: f64| Fix::scaled(What::All, all.clone(), part).changes();
                // How much of what each does is done once for all: half, perhaps.
                let fix = Fix::Likely(reading.changes(), kept((1.0 + once) / 2.0), kept(once));
                (fix, calls.max(inquiry.cpu_ns(processes)))
            }
            false => (reading, calls),
        };
    };
    let ns = placed.region.ns.max(calls);
    let least = placed.scaled_without_others(inquiry, processes, &loader.objects(), times);
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
