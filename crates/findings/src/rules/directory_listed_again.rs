//! A directory that is read from beginning to end again and again, to find what is new or to find one entry.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::stacks::FunctionIx;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::ObjectKind;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::made_calls::MadeCalls;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "directory-listed-again",
    looks_for: "a directory that is listed again and again",
    why: "Each listing reads all entries, however few of them are new, and the program looks through them all again.",
    advice: "list it once and work through the result, let inotify report what is new, or open the entry by its name",
    wrong_if: "most of the entries are new each time",
    limits: &[&limits::TIMES, &limits::SHARE, &limits::MS],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static TIMES: Limit = Limit {
        name: "listings",
        value: 50.0,
        unit: Unit::Count,
        means: "minimum number of times that one directory is opened and listed by one process",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path on CPU in these calls",
    };
    pub static MS: Limit = Limit {
        name: "time",
        value: 50.0,
        unit: Unit::Milliseconds,
        means: "minimum time in them",
    };
}

const LISTS: [&str; 2] = ["getdents64", "getdents"];
const OPENS: [&str; 3] = ["openat", "open", "openat2"];
const FUNCTIONS: [&str; 3] = ["__x64_sys_getdents64", "__x64_sys_getdents", "iterate_dir"];

/// A directory that a process opens and lists.
struct Listed {
    process: ProcessId,
    directory: ObjectId,
    times: u64,
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let lists = InCode::of_kernel(inquiry, &FUNCTIONS);
    if lists.stacks.is_empty() {
        return Vec::new();
    }
    let mut often: BTreeMap<ProcessId, Vec<Listed>> = BTreeMap::new();
    for one in listed(inquiry) {
        if one.times as f64 >= RULE.limit(inquiry, &limits::TIMES) {
            often.entry(one.process).or_default().push(one);
        }
    }
    let made = MadeCalls::all(inquiry, &LISTS).into_iter();
    made.filter_map(|made| suspect(inquiry, &made, often.get(&made.process)?, &lists))
        .collect()
}

/// How often each process opens each directory that it lists.
fn listed(inquiry: &Inquiry<'_>) -> Vec<Listed> {
    let is_directory = |object: &ObjectId| {
        let object = inquiry.facts.object(*object);
        object.is_some_and(|object| object.kind == ObjectKind::Directory)
    };
    let mut lists: BTreeSet<(ProcessId, ObjectId)> = BTreeSet::new();
    let mut opens: BTreeMap<(ProcessId, ObjectId), u64> = BTreeMap::new();
    for call in &inquiry.facts.calls {
        let object = call.object.filter(is_directory);
        let (Some(process), Some(object)) = (call.process, object) else {
            continue;
        };
        if LISTS.contains(&call.call.as_str()) {
            lists.insert((process, object));
        } else if OPENS.contains(&call.call.as_str()) {
            let times = opens.entry((process, object)).or_default();
            *times = times.saturating_add(call.count);
        }
    }
    let both = opens.into_iter().filter(|(key, _)| lists.contains(key));
    both.map(|((process, directory), times)| Listed {
        process,
        directory,
        times,
    })
    .collect()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    made: &MadeCalls,
    often: &[Listed],
    lists: &InCode,
) -> Option<Suspect> {
    let most = |one: &&Listed| (one.times, Reverse(one.directory));
    let listed = often.iter().max_by_key(most)?;
    let lists = lists.clone().in_program(inquiry, made.process);
    let (_, share) = lists.enough(inquiry, &RULE, &limits::SHARE, &limits::MS)?;
    let mut title = say![made.process, " lists the directory ", listed.directory];
    title.0.extend(match often.len() as u64 - 1 {
        0 => say![" "].0,
        others => say![" and ", Piece::Count(others), " more "].0,
    });
    title.0.extend(say![Piece::Count(listed.times), " times"].0);
    // Who lists it less often also looks through the entries less often.
    let code = &inquiry.stacks.code;
    let own = lists.stacks.iter().filter_map(|on| {
        let functions = code.functions_of(on.stack);
        let first = |is: &dyn Fn(FunctionIx) -> bool| functions.iter().copied().find(|f| is(*f));
        let own = first(&|function| code.is_user_code(function));
        own.or_else(|| first(&|function| code.is_programs_own(function)))
    });
    let around = InCode::through(inquiry, own.collect());
    let fix = Fix::AtLeast(
        vec![lists.scaled_in(inquiry, made.process, 0.0)],
        vec![
            lists.scaled_in(inquiry, made.process, 0.0),
            around.scaled_in(inquiry, made.process, 0.0),
        ],
    );
    let suspect = lists
        .suspect_held(inquiry, &RULE, &limits::SHARE, &limits::MS, title, fix)
        .about(Some(listed.directory))
        .held(
            inquiry,
            &RULE,
            "listings",
            listed.times as f64,
            &limits::TIMES,
        )
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is on CPU in ",
            Piece::Count(made.count),
            " calls of getdents"
        ]);
    Some(made.place(inquiry, suspect))
}
