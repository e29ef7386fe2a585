//! Every number that a descriptor could have, closed one by one, though nearly none of them is open.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::calls::CallSum;
use timesink_analysis::replay::What;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "close-storm",
    looks_for: "thousands of close calls on descriptors that are not open",
    why: "A program that closes every number up to the descriptor limit makes as many system calls as the limit is high, which may be a million.",
    advice: "open files with O_CLOEXEC, or call close_range(3, ~0U, 0), which closes the open ones in one call",
    wrong_if: "it must run on kernels without close_range (before Linux 5.9) and the inherited descriptors are not known",
    limits: &[&limits::CLOSES],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static CLOSES: Limit = Limit {
        name: "closes",
        value: 1000.0,
        unit: Unit::Count,
        means: "minimum number of failed close calls per process, on average",
    };
}

/// Closes of processes that run one program: all of them, those in vain, and what they took.
#[derive(Default)]
struct Closes {
    processes: BTreeSet<ProcessId>,
    all: u64,
    vain: u64,
    ns: u64,
    estimated: bool,
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let mut programs: BTreeMap<ProcessId, Closes> = BTreeMap::new();
    for call in inquiry
        .facts
        .calls
        .iter()
        .filter(|call| call.call == "close")
    {
        let (Some(process), vain) = (call.process, vain(call)) else {
            continue;
        };
        let closes = programs.entry(inquiry.programs.first(process)).or_default();
        closes.all += call.count;
        closes.vain += vain;
        closes.ns += call.ns;
        closes.estimated |= call.estimated;
        if vain > 0 {
            closes.processes.insert(process);
        }
    }
    let suspects = programs.into_iter();
    suspects
        .filter_map(|(first, closes)| suspect(inquiry, first, closes))
        .collect()
}

/// How many failed for want of anything to close. Errors by name are of the calls that were timed.
fn vain(call: &CallSum) -> u64 {
    let errors = call.errnos.iter().filter(|(error, _)| error == "EBADF");
    let seen: u64 = errors.map(|(_, count)| count).sum();
    (seen as f64 * call.count as f64 / call.seen.max(1) as f64) as u64
}

fn suspect(inquiry: &Inquiry<'_>, first: ProcessId, closes: Closes) -> Option<Suspect> {
    let processes = closes.processes.len().max(1) as u64;
    if ((closes.vain / processes) as f64) < RULE.limit(inquiry, &limits::CLOSES) {
        return None;
    }
    let share = (closes.vain as f64 / closes.all.max(1) as f64).min(1.0);
    let what = What::Calls(BTreeSet::from(["close"]));
    // Calls may have been timed in some of the processes only, samples were taken in all of them.
    let all = inquiry.of_program(first);
    let threads = inquiry.threads_of(&all);
    let is_close = |function: &str| {
        (timesink_analysis::replay::entered(function) == Some("close")).then_some(0)
    };
    let region = inquiry.stacks.region(&threads, is_close);
    let fix = Fix::scaled(what, all, 1.0 - share);
    let ns = region.as_ref().map_or(0, |region| region.ns).max(closes.ns);
    let mut causes = inquiry.busy(first);
    causes.extend(inquiry.waits_on_path(|key| {
        key.detail == Some(Detail::Child) && inquiry.same_program(key.process, first)
    }));
    let title = say![
        first,
        " closes ",
        Piece::Count(closes.vain),
        " descriptors that are not open"
    ];
    let suspect = Suspect::new(title, fix, Weight::within(causes, ns))
        .of(first)
        .seen_around(inquiry, region.as_ref())
        .held(
            inquiry,
            &RULE,
            "in vain by each",
            (closes.vain / processes) as f64,
            &limits::CLOSES,
        )
        .told(say![
            if closes.estimated { "about " } else { "" },
            Piece::Count(closes.vain),
            " of ",
            Piece::Count(closes.all),
            " close calls failed, in ",
            Piece::Count(processes),
            " processes whose calls were timed"
        ]);
    Some(suspect)
}
