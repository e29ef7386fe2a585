//! One process that starts the same short program again and again.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::last_part;
use timesink_analysis::facts::starts::Start;
use timesink_analysis::replay::{What, STARTS};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::floor;
use crate::heaviest::for_children;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};
use crate::shells::{self, SHELLS};
use crate::start_up::{at_work, StartUp};

pub static RULE: Rule = Rule {
    name: "child-per-item",
    looks_for: "the same program started again and again by one parent",
    why: "Starting a program copies a process, loads a file and its libraries, and tears all of it down again, however little work is done in between.",
    advice: "do the work in the program itself, or let one child process do all of it",
    wrong_if: "each child does so much work that its start hardly counts, or must be isolated from the rest",
    limits: &[&limits::STARTS, &limits::SHARE, &limits::LIFE, &limits::COPY],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static STARTS: Limit = Limit {
        name: "starts",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of starts of one program by one parent",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.2,
        unit: Unit::Share,
        means: "minimum share of the children's time spent on start-up and tear-down",
    };
    /// `git log` of one file in a small repository lives for 4.4 ms, of which its start is 11 %; a compiler for 30 ms and more (2026-11-29).
    pub static LIFE: Limit = Limit {
        name: "life",
        value: 8e6,
        unit: Unit::Nanoseconds,
        means: "with a smaller share: maximum median life of a child, in which it does little that one could not do for all",
    };
    pub static COPY: Limit = Limit {
        name: "copy",
        value: 5e6,
        unit: Unit::Nanoseconds,
        means:
            "for copies of the parent: maximum average time on CPU; each may live ten times as long",
    };
}

/// One program started by another: what the parent runs, what the child runs, whether it is a mere copy of it.
type Pair<'a> = (&'a str, &'a str, bool);

/// Programs that give files to others, one to each run or many, and what to do there.
const GIVES_EACH: [&str; 2] = ["find", "xargs"];
const IN_ONE_RUN: &str = "give many files to each run: find -exec ... {} +, xargs without -n 1 (or with a larger number), if the program takes several";

/// The calls that make a process.
const MAKES: [&str; 4] = ["clone", "clone3", "fork", "vfork"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut pairs: BTreeMap<Pair<'_>, Vec<&Start>> = BTreeMap::new();
    for start in &inquiry.facts.starts {
        let parent = start.parent.and_then(|parent| inquiry.program(parent));
        if let (Some(parent), Some(child)) = (parent, inquiry.program(start.process)) {
            pairs
                .entry((parent, child, start.execs == 0))
                .or_default()
                .push(start);
        }
    }
    pairs.retain(|_, starts| starts.len() as f64 >= RULE.limit(inquiry, &limits::STARTS));
    let shells = shells::between(inquiry).into_iter();
    let shells = shells.map(|between| between.shell.process).collect();
    let many = pairs.iter();
    let suspects = many.filter_map(|(pair, starts)| {
        let others = Others {
            beside: beside(*pair, &pairs),
            shells: &shells,
            by_copies: by_copies(*pair, starts, &pairs),
        };
        Some((starts, suspect(inquiry, *pair, starts, &others)?))
    });
    let suspects: Vec<(&Vec<&Start>, Suspect)> = suspects.collect();
    let told = suspects.iter().flat_map(|(starts, _)| processes(starts));
    let told: BTreeSet<ProcessId> = told.collect();
    let suspects = suspects.into_iter();
    suspects
        .filter(|(starts, _)| !is_within(inquiry, starts, &told))
        .map(|(_, suspect)| suspect)
        .collect()
}

fn processes<'a>(starts: &'a [&Start]) -> impl Iterator<Item = ProcessId> + 'a {
    starts.iter().map(|start| start.process)
}

/// Whether these are started by many, each of which was started for an item itself: that one is the one too many.
fn is_within(inquiry: &Inquiry<'_>, starts: &[&Start], started: &BTreeSet<ProcessId>) -> bool {
    let parents: BTreeSet<ProcessId> = starts.iter().filter_map(|start| start.parent).collect();
    parents.len() as f64 >= RULE.limit(inquiry, &limits::STARTS) && parents.is_subset(started)
}

/// The program that copies of a process start most often, and how often.
fn by_copies<'a>(
    (parent, _, copy): Pair<'a>,
    copies: &[&Start],
    pairs: &BTreeMap<Pair<'a>, Vec<&Start>>,
) -> Option<(&'a str, u64)> {
    let copies: BTreeSet<ProcessId> = processes(copies).collect();
    let programs = pairs
        .iter()
        .filter(|((by, _, is_copy), _)| copy && *by == parent && !is_copy);
    let counts = programs.map(|((_, program, _), starts)| {
        let by_one = |start: &&&Start| start.parent.is_some_and(|parent| copies.contains(&parent));
        (*program, starts.iter().filter(by_one).count() as u64)
    });
    counts
        .max_by_key(|&(_, count)| count)
        .filter(|&(_, count)| count > 0)
}

/// What is started beside the children of a pair.
struct Others<'a> {
    beside: BTreeSet<ProcessId>,
    /// The shells that do nothing but start one program.
    shells: &'a BTreeSet<ProcessId>,
    /// What copies of the parent start most often, and how often.
    by_copies: Option<(&'a str, u64)>,
}

/// Beside copies of a process, which are made to do something, all that it starts again and again: who does without the one
/// does without the other. Who starts a program may do so for its own sake.
fn beside(
    (parent, _, copy): Pair<'_>,
    pairs: &BTreeMap<Pair<'_>, Vec<&Start>>,
) -> BTreeSet<ProcessId> {
    let of_parent = pairs
        .iter()
        .filter(|((other, ..), _)| copy && *other == parent);
    let starts = of_parent.flat_map(|(_, starts)| starts);
    starts.map(|start| start.process).collect()
}

/// Of what these processes do, the share that is starting them and taking them down: by samples, and where there are
/// too few of them by what single steps are known to have taken.
fn starting(inquiry: &Inquiry<'_>, direct: &[&Start], processes: &BTreeSet<ProcessId>) -> f64 {
    // A copy starts nowhere: it goes on where its parent was, and there is no telling what it was made for.
    if direct.iter().all(|start| start.execs == 0) {
        let copies: BTreeSet<ProcessId> = direct.iter().map(|start| start.process).collect();
        let threads = inquiry.timeline.threads.iter();
        let own = threads.filter(|thread| copies.contains(&thread.process));
        let cpu = middle(own.map(|thread| thread.cpu_ns).collect());
        let life = middle(lives(inquiry, copies.iter().copied()));
        let most = RULE.limit(inquiry, &limits::COPY);
        return f64::from(u8::from(cpu as f64 <= most && life as f64 <= most * 10.0));
    }
    if let Some(start_up) = StartUp::of(inquiry, processes) {
        return start_up.share * at_work(inquiry, processes);
    }
    let starts = inquiry.facts.starts.iter();
    let starts = || {
        starts
            .clone()
            .filter(|start| processes.contains(&start.process))
    };
    let costs = starts().map(|start| start.cost_ns());
    let costs = costs.fold(0, u64::saturating_add);
    // What a fork takes is its parent's time.
    let forks = starts().filter_map(|start| start.fork?.cost_ns);
    let lives = lives(inquiry, processes.iter().copied()).into_iter();
    let all = forks.chain(lives).fold(0, u64::saturating_add);
    costs as f64 / all.max(1) as f64
}

/// The one in the middle.
fn middle(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// How long processes lived, one by one.
fn lives<'a>(
    inquiry: &'a Inquiry<'_>,
    processes: impl Iterator<Item = ProcessId> + 'a,
) -> Vec<u64> {
    let rows = processes.filter_map(|process| inquiry.facts.ledger.process(process));
    rows.map(|process| process.row.end.since(process.row.start))
        .collect()
}

/// What of the path these children are, and their parent's waiting for them.
fn weight(inquiry: &Inquiry<'_>, parent: ProcessId, children: &BTreeSet<ProcessId>) -> Weight {
    // The path tells processes of one program as one, a copy as what it is a copy of.
    let programs: BTreeSet<&str> = children
        .iter()
        .filter_map(|&child| inquiry.program(child))
        .collect();
    let causes = inquiry.causes(|key| {
        let waits = matches!(
            key.detail,
            Some(Detail::Child | Detail::Vfork | Detail::Creation)
        );
        inquiry
            .program(key.process)
            .is_some_and(|program| programs.contains(program))
            || (key.process == parent && waits)
    });
    let lived = lives(inquiry, children.iter().copied());
    Weight::within(causes, lived.into_iter().fold(0, u64::saturating_add))
}

fn title(
    parent: ProcessId,
    (runs, program, copy): Pair<'_>,
    count: u64,
    others: &Others<'_>,
) -> Sentence {
    let name = |program: &str| Piece::Name(last_part(program).to_owned());
    if !copy {
        return say![
            parent,
            " starts ",
            name(program),
            " ",
            Piece::Count(count),
            " times"
        ];
    }
    let mut title = say![
        parent,
        " forks copies of itself ",
        Piece::Count(count),
        " times"
    ];
    if let Some((program, often)) = others.by_copies {
        title.0.extend(
            say![
                ", which start ",
                name(program),
                " ",
                Piece::Count(often),
                " times"
            ]
            .0,
        );
    }
    if SHELLS.contains(&last_part(runs)) {
        title
            .0
            .extend(say![" (a shell forks for each ( ) and $( ))"].0);
    }
    title
}

/// Without what starting the children takes. At most the parent is spared all that it does around them, and none is needed at all.
fn fix(
    children: BTreeSet<ProcessId>,
    none: BTreeSet<ProcessId>,
    starting: f64,
    starts_mostly: bool,
) -> Fix {
    let most = Fix::without(What::All, none).changes();
    let kept = |part: f64| Fix::scaled(What::All, children.clone(), part).changes();
    match starts_mostly {
        true => Fix::AtLeast(kept(1.0 - starting), most),
        // How much of what each does is done once for all: half, perhaps.
        false => Fix::Likely(kept(1.0 - starting), kept((1.0 - starting) / 2.0), most),
    }
}

fn suspect(
    inquiry: &Inquiry<'_>,
    pair: Pair<'_>,
    starts: &[&Start],
    others: &Others<'_>,
) -> Option<Suspect> {
    let (runs, _, copy) = pair;
    let parent = starts.first()?.parent?;
    let children = inquiry.with_descendants(starts.iter().map(|start| start.process).collect());
    // A shell in between has a rule of its own: what counts here is the program behind it.
    let behind: BTreeSet<ProcessId> = children.difference(others.shells).copied().collect();
    let judged = starting(inquiry, starts, &behind);
    let life = middle(lives(inquiry, starts.iter().map(|start| start.process)));
    let starts_mostly = judged >= RULE.limit(inquiry, &limits::SHARE);
    // Who has one parent and starts nobody is no detour on the way to another program.
    let is_plain = children.len() == starts.len() && behind.len() == starts.len();
    let by_one = starts.iter().all(|start| start.parent == Some(parent));
    let is_short = life as f64 <= RULE.limit(inquiry, &limits::LIFE);
    let is_short = is_short && is_plain && by_one && !copy;
    if !starts_mostly && !is_short {
        return None;
    }
    let starting = starting(inquiry, starts, &children);
    let cost = middle(starts.iter().map(|start| start.cost_ns()).collect());
    let forks = starts.iter().filter_map(|start| start.fork);
    let parent_bytes = middle(forks.map(|fork| fork.resident_bytes).collect());
    let waits = for_children(inquiry, |process| process == parent);
    let count = starts.len() as u64;
    let title = title(parent, pair, count, others);
    let (all, weight) = (children.len(), weight(inquiry, parent, &children));
    let mut none = inquiry.with_descendants(others.beside.clone());
    none.extend(&children);
    let fix = fix(children, none, starting, starts_mostly);
    let suspect = Suspect::new(title, fix, weight)
        .with_whole_items(BTreeSet::from([parent]), &[&STARTS])
        .with_all_between()
        .of(parent)
        .seen_in_most(inquiry, waits)
        .seen_after_starts(inquiry, starts.iter().map(|start| start.process))
        .or_seen_at(inquiry, parent, &MAKES, &BTreeSet::new())
        .held(inquiry, &RULE, "starts", count as f64, &limits::STARTS)
        .figure("cost of a start", cost as f64, "ns")
        .told(say![
            "each child lives for ",
            Piece::Time(life),
            ", of which start-up and tear-down take ",
            Piece::Time(cost)
        ])
        .held_against(floor::start(inquiry, parent_bytes, cost).filter(|_| !copy));
    let suspect = match starts_mostly {
        true => suspect
            .held(inquiry, &RULE, "share of starting", judged, &limits::SHARE)
            .figure("life", life as f64, "ns"),
        false => suspect.figure("share of starting", judged, "").held(
            inquiry,
            &RULE,
            "life",
            life as f64,
            &limits::LIFE,
        ),
    };
    let suspect = match GIVES_EACH.contains(&last_part(runs)) {
        true => suspect.advised(IN_ONE_RUN.to_owned()),
        false => suspect,
    };
    Some(match all > starts.len() {
        true => suspect.told(say![
            Piece::Count(all as u64),
            " processes in all, with the descendants of these children"
        ]),
        false => suspect,
    })
}
