//! Processes of one program that spend most of their lives on getting started: an interpreter that loads its modules.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::last_part;
use timesink_analysis::facts::starts::Start;
use timesink_analysis::replay::{What, STARTS};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::heaviest::for_children;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Held, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;
use crate::start_up::{at_work, StartUp};

pub static RULE: Rule = Rule {
    name: "repeated-start-up",
    looks_for: "an interpreter started again and again, mostly busy with its own start-up",
    why: "Before its first line runs, an interpreter initializes itself and loads modules, anew in each process.",
    advice: "let one process do all the work, keep one running that takes requests, or load fewer modules",
    wrong_if: "the processes must be isolated from each other, or are started rarely in production",
    limits: &[&limits::STARTS, &limits::SHARE, &limits::LOADING],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// Added to the advice where the interpreter can say which modules take long.
const IN_PYTHON: &str = "(python3 -X importtime shows which)";

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    /// Of some 370 recordings two have three to nine such starts, of Python with pandas and of a compiler in Node.js: one run in place of
    /// them saved 1.55 s of 1.91 and 1.16 s of 1.66 (2026-11-30).
    pub static STARTS: Limit = Limit {
        name: "starts",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of starts of one program by one parent",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.5,
        unit: Unit::Share,
        means: "minimum share of their time on CPU that is start-up",
    };
    pub static LOADING: Limit = Limit {
        name: "loading",
        value: 0.25,
        unit: Unit::Share,
        means: "minimum share of their time on CPU that is the interpreter's own: initialization, loading modules",
    };
}

/// With less of their lives in which they are at work, what lies between their start and their end is no start-up: 16 tests of Perl, each of
/// which slept for 120 ms with a lock that the others waited for, were told to start for 1.89 s of 2.25, of which 0.3 s were (2026-11-30).
const MOSTLY_AT_WORK: f64 = 0.5;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    // An interpreter is started for each of several scripts, too: `node --test` starts one for each file of tests.
    let mut pairs: BTreeMap<(ProcessId, &str), Vec<&Start>> = BTreeMap::new();
    for start in inquiry.facts.starts.iter().filter(|start| start.execs > 0) {
        if let Some(parent) = start.parent {
            let pair = (inquiry.programs.first(parent), start.executable.as_str());
            pairs.entry(pair).or_default().push(start);
        }
    }
    let pairs = pairs.into_iter();
    let many =
        pairs.filter(|(_, starts)| starts.len() as f64 >= RULE.limit(inquiry, &limits::STARTS));
    many.filter_map(|((parent, executable), starts)| {
        suspect(inquiry, parent, last_part(executable), &starts)
    })
    .collect()
}

/// What of the path these processes are, and their parent's waiting for them.
fn weight(inquiry: &Inquiry<'_>, parent: ProcessId, processes: &BTreeSet<ProcessId>) -> Weight {
    let programs = processes.iter().map(|&one| inquiry.programs.first(one));
    let programs: BTreeSet<ProcessId> = programs.collect();
    let causes = inquiry.causes(|key| {
        programs.contains(&inquiry.programs.first(key.process))
            || (inquiry.same_program(key.process, parent)
                && matches!(
                    key.detail,
                    Some(Detail::Child | Detail::Vfork | Detail::Creation)
                ))
    });
    Weight::within(causes, inquiry.cpu_ns(processes))
}

fn suspect(
    inquiry: &Inquiry<'_>,
    parent: ProcessId,
    interpreter: &str,
    starts: &[&Start],
) -> Option<Suspect> {
    let processes: BTreeSet<ProcessId> = starts.iter().map(|start| start.process).collect();
    let start_up = StartUp::of(inquiry, &processes)?;
    if start_up.share < RULE.limit(inquiry, &limits::SHARE)
        || start_up.loading < RULE.limit(inquiry, &limits::LOADING)
    {
        return None;
    }
    let count = starts.len() as u64;
    let weight = weight(inquiry, parent, &processes);
    // The first one has to start in any case. What they sleep, or wait for each other or for peers, is no start-up.
    let at_work = at_work(inquiry, &processes);
    let spared = at_work * (1.0 - 1.0 / count.max(1) as f64);
    let kept = 1.0 - start_up.share * spared;
    let started = (inquiry.cpu_ns(&processes) as f64 * start_up.share) as u64;
    let waits = for_children(inquiry, |process| inquiry.same_program(process, parent));
    let title = say![
        Piece::Name(interpreter.to_owned()),
        " is started ",
        Piece::Count(count),
        " times, and spends most of its time on start-up"
    ];
    // At most the first one does what the others would: what each loads for its work alone is no start-up by name, but the same
    // each time, too.
    let parents: BTreeSet<ProcessId> = starts.iter().filter_map(|start| start.parent).collect();
    let all = inquiry.with_descendants(processes.clone());
    let fix = Fix::AtLeast(
        Fix::scaled(What::All, processes, kept).changes(),
        Fix::scaled(What::All, all, 1.0 - spared).changes(),
    );
    let suspect = Suspect::new(title, fix, weight);
    let suspect = match at_work < MOSTLY_AT_WORK {
        true => suspect,
        false => suspect
            .with_whole_items(parents, &[&STARTS])
            .with_all_between(),
    };
    let suspect = suspect
        .of(parent)
        .seen_in_most(inquiry, waits)
        .seen_after_starts(inquiry, starts.iter().map(|start| start.process))
        .held(inquiry, &RULE, "starts", count as f64, &limits::STARTS)
        .held_all(
            inquiry,
            &RULE,
            [
                Held::new("share of getting started", start_up.share, &limits::SHARE),
                Held::new(
                    "share of the interpreter",
                    start_up.loading,
                    &limits::LOADING,
                ),
            ],
        )
        .told(say![
            "start-up is ",
            Piece::Percent(start_up.share * 100.0),
            " of their time on CPU, ",
            Piece::Time(started / count.max(1)),
            " each"
        ])
        .told(say![
            "initializing the interpreter and loading modules is ",
            Piece::Percent(start_up.loading * 100.0),
            " of their time on CPU"
        ]);
    Some(match interpreter.starts_with("python") {
        true => suspect.advised(format!("{} {IN_PYTHON}", RULE.advice)),
        false => suspect,
    })
}
