//! A file that is cut to nothing and written anew again and again.
//!
//! That an open cuts the file no table says; stacks do, when it takes time, and a file with little in it is not told.

use std::collections::BTreeSet;

use timesink_analysis::facts::uses::{Act, Use};
use timesink_analysis::replay::What;
use timesink_analysis::stacks::Region;
use timesink_recording::words::ObjectKind;

use crate::file_functions::act;
use crate::inquiry::Inquiry;
use crate::placed::Placed;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "rewritten-whole",
    looks_for: "a file that is rewritten completely, again and again",
    why: "Unchanged data are assembled and written again for each change: twice the rows take four times as long.",
    advice: "append new data, write only what changed, or write the file once at the end",
    wrong_if: "all of it changes between two writes",
    limits: &[&limits::TIMES, &limits::BYTES],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static TIMES: Limit = Limit {
        name: "times",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of complete rewrites by one process",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 4096.0,
        unit: Unit::Bytes,
        means: "minimum bytes per rewrite, on average",
    };
}

/// All opens are of the file if so much of them is: stacks do not tell which file they are about.
const MOST: f64 = 0.8;
/// A file that grows is half as large on average as in the end, and once it has to be written.
const STAYS: f64 = 2.0;
const ACTS: [Act; 3] = [Act::Open, Act::Write, Act::Close];
/// The same of a file that is read before it is written.
const ACTS_WITH_READS: [Act; 4] = [Act::Open, Act::Read, Act::Write, Act::Close];
/// All of it is read each time if so much is read of what is written.
const READ_BACK: f64 = 0.5;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let uses = inquiry.facts.uses.all.iter();
    let often = uses.filter_map(|one| {
        let (times, written) = (times(inquiry, one), one.done(Act::Write).bytes);
        let often = times as f64 >= RULE.limit(inquiry, &limits::TIMES)
            && written as f64 >= times as f64 * RULE.limit(inquiry, &limits::BYTES);
        often.then_some((one, times))
    });
    let found = often.filter_map(|(one, times)| suspect(inquiry, one, times));
    found.collect()
}

/// How often it may have been written anew: it was opened as often, or, while it stayed open, cut after its position had been set.
/// (A journal that is cut is written at offsets.)
fn times(inquiry: &Inquiry<'_>, one: &Use) -> u64 {
    let opens = one.done(Act::Open).count;
    if opens as f64 >= RULE.limit(inquiry, &limits::TIMES) {
        return opens;
    }
    let calls = |name| calls_on(inquiry, one, name);
    calls("ftruncate").min(calls("lseek"))
}

/// How often such a call was made on it.
fn calls_on(inquiry: &Inquiry<'_>, one: &Use, name: &str) -> u64 {
    let calls = inquiry.facts.calls.iter().filter(|call| {
        call.process == Some(one.process) && call.object == Some(one.object) && call.call == name
    });
    calls.map(|call| call.count).sum()
}

/// What is done to the file each time.
fn acts(one: &Use) -> &'static [Act] {
    let (read, written) = (one.done(Act::Read).bytes, one.done(Act::Write).bytes);
    match read as f64 >= written as f64 * READ_BACK {
        true => &ACTS_WITH_READS,
        false => &ACTS,
    }
}

/// Whether the opens of this file cut it.
fn is_cut(inquiry: &Inquiry<'_>, one: &Use) -> bool {
    if calls_on(inquiry, one, "ftruncate") as f64 >= RULE.limit(inquiry, &limits::TIMES) {
        return true;
    }
    let threads = inquiry.threads_of(&BTreeSet::from([one.process]));
    let opens = |names: &[&str]| names.iter().any(|name| act(name) == Some(Act::Open));
    let cut = |names: &[&str]| opens(names) && names.contains(&"do_truncate");
    inquiry.facts.uses.share_of_calls(one, Act::Open) >= MOST && inquiry.stacks.seen(&threads, cut)
}

/// The function in which the file is written: by the stacks of the calls that do it, else by samples of such calls.
fn placed(inquiry: &Inquiry<'_>, one: &Use) -> Option<Placed> {
    let processes = BTreeSet::from([one.process]);
    let objects = BTreeSet::from([one.object]);
    Placed::around_acts(inquiry, &processes, &objects, acts(one))
        .or_else(|| region(inquiry, one).map(Placed::at))
}

fn region(inquiry: &Inquiry<'_>, one: &Use) -> Option<Region> {
    let about: Vec<Act> = acts(one)
        .iter()
        .copied()
        .filter(|&act| inquiry.facts.uses.share_of_calls(one, act) >= MOST)
        .collect();
    let threads = inquiry.threads_of(&BTreeSet::from([one.process]));
    inquiry.stacks.region(&threads, |function| {
        let act = act(function).filter(|act| about.contains(act))?;
        Some(act as usize)
    })
}

/// That only this share of it stays; and how long all of it takes now.
fn fix(inquiry: &Inquiry<'_>, one: &Use, placed: Option<&Placed>, kept: f64) -> (Fix, u64) {
    let processes = BTreeSet::from([one.process]);
    if let Some(placed) = placed {
        let change = placed.scaled(&processes, kept);
        return (Fix::Change(change), placed.region.ns);
    }
    let names = acts(one).iter().flat_map(|act| act.calls()).copied();
    let share = inquiry.facts.uses.share_of_time(one, acts(one));
    let what = What::Calls(names.collect());
    let kept = 1.0 - share * (1.0 - kept);
    (Fix::scaled(what, processes, kept), one.ns(acts(one)))
}

fn suspect(inquiry: &Inquiry<'_>, one: &Use, count: u64) -> Option<Suspect> {
    let file = inquiry.facts.object(one.object)?;
    if file.kind != ObjectKind::File || !is_cut(inquiry, one) {
        return None;
    }
    let count = count.max(1);
    let bytes = one.done(Act::Write).bytes;
    let placed = placed(inquiry, one);
    let (fix, ns) = fix(inquiry, one, placed.as_ref(), STAYS / count as f64);
    let region = placed.map(|placed| placed.region);
    let mut causes = inquiry.busy(one.process);
    causes.extend(inquiry.waits_on_path(|key| {
        key.object == Some(one.object) && inquiry.same_program(key.process, one.process)
    }));
    let title = say![
        one.object,
        match acts(one) == ACTS {
            true => " is rewritten completely ",
            false => " is read and rewritten completely ",
        },
        Piece::Count(count),
        " times, ",
        Piece::Bytes(bytes / count),
        " each time"
    ];
    let suspect = Suspect::new(title, fix, Weight::within(causes, ns))
        .with_whole_items(
            BTreeSet::from([one.process]),
            &[Act::Open.calls(), Act::Write.calls()],
        )
        .on([one.object])
        .else_in(region.as_ref())
        .of(one.process)
        .about(Some(one.object))
        .seen_around(inquiry, region.as_ref())
        .held(inquiry, &RULE, "times", count as f64, &limits::TIMES)
        .held(
            inquiry,
            &RULE,
            "bytes each time",
            (bytes / count) as f64,
            &limits::BYTES,
        )
        .told(say![
            if one.estimated { "about " } else { "" },
            Piece::Bytes(bytes / count),
            " per rewrite, ",
            Piece::Bytes(bytes),
            " in all"
        ]);
    Some(match region {
        Some(region) => {
            let share = region.ns as f64 * 100.0 / inquiry.outlook.wall_ns.max(1) as f64;
            suspect.told(say![
                region.function,
                ", which writes it, takes ",
                Piece::Percent(share.min(100.0)),
                " of the time with all that it calls"
            ])
        }
        None => suspect,
    })
}
