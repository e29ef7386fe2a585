//! The time of the path that somebody was ready and had no processor, and who had it meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Who;
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::words::{Detail, State};

use crate::inquiry::Inquiry;
use crate::neighbour;
use crate::rule::{Along, Limit, Rule, Suspect, Unit};
use crate::say;
use crate::sentence::{Piece, Sentence};

/// Those who were ready on the path, and who had their processors. What a quota holds back does not count.
pub struct Crowd {
    /// Indexes into the outlook's causes.
    pub causes: Vec<usize>,
    /// How long they are on the path.
    pub ns: u64,
    /// Behind whom all threads of these programs stood, and for how long.
    behind: BTreeMap<Who, u64>,
    needed: Needed,
}

/// Whom the end that is asked about waits for, beside those whose threads were done before.
struct Needed {
    /// Much of the path lies in these.
    on_path: BTreeSet<ProcessId>,
    /// Servers of these names are asked, and were not recorded: what they do is done for who asks them.
    asked: BTreeSet<String>,
}

/// How much of it there must be for a rule to look: the two limits of every rule about it.
pub static SHARE: Limit = Limit {
    name: "share",
    value: 0.15,
    unit: Unit::Share,
    means: "minimum share of the critical path runnable (waiting for a CPU)",
};
pub static TIME: Limit = Limit {
    name: "time",
    value: 1e8,
    unit: Unit::Nanoseconds,
    means: "minimum time runnable on the critical path",
};

/// Of a program that wants more CPUs than there are: how much of the ready time is behind others, and how many it wants.
pub static OTHERS: Limit = Limit {
    name: "others",
    value: 0.5,
    unit: Unit::Share,
    means: "maximum share of that time behind threads whose work the end does not depend on",
};
pub static DEMAND: Limit = Limit {
    name: "demand",
    value: 1.2,
    unit: Unit::Ratio,
    means: "minimum ratio of the CPUs that could be used to those that exist",
};

/// Those who were ready on the path while threads that the end depends on had the CPUs.
pub struct OwnCrowd {
    pub crowd: Crowd,
    behind_others: f64,
    /// So many times the CPUs that exist could be used.
    pub demand: f64,
}

impl OwnCrowd {
    /// If it is as the rule's limits say.
    pub fn of(inquiry: &Inquiry<'_>, rule: &Rule) -> Option<OwnCrowd> {
        let crowd = Crowd::of(inquiry, rule)?;
        let threads = inquiry.facts.ledger.threads.iter();
        let wanted = threads.fold(0u64, |sum, thread| {
            let own = thread.row.cpu_ns.saturating_add(thread.row.ready_ns);
            sum.saturating_add(own)
        });
        let wall = inquiry.outlook.wall_ns.max(1) as f64;
        let own = OwnCrowd {
            behind_others: crowd.behind_others(inquiry),
            demand: wanted as f64 / wall / f64::from(inquiry.outlook.processors.max(1)),
            crowd,
        };
        let is_own = own.behind_others < rule.limit(inquiry, &OTHERS)
            && own.demand >= rule.limit(inquiry, &DEMAND);
        is_own.then_some(own)
    }

    /// The suspect held against these limits.
    pub fn held(&self, inquiry: &Inquiry<'_>, rule: &Rule, suspect: Suspect) -> Suspect {
        let ready = self.crowd.ns as f64;
        suspect
            .held(inquiry, rule, "ready on the path", ready, &TIME)
            .held(inquiry, rule, "behind others", self.behind_others, &OTHERS)
            .held(inquiry, rule, "times the processors", self.demand, &DEMAND)
    }
}

impl Crowd {
    /// If there is so much of it as the rule's limits say.
    pub fn of(inquiry: &Inquiry<'_>, rule: &Rule) -> Option<Crowd> {
        let ns = inquiry.on_path_ns(&ready_on_path(inquiry));
        let least = inquiry.outlook.wall_ns as f64 * rule.limit(inquiry, &SHARE);
        let is_much = ns as f64 >= least.max(rule.limit(inquiry, &TIME));
        is_much.then(|| Crowd::all(inquiry))
    }

    /// What a rule suspects of each program that was ready on the path, if there is so much of it as its limits say.
    pub fn suspects(
        inquiry: &Inquiry<'_>,
        rule: &Rule,
        suspect: impl Fn(&Crowd, ProcessId) -> Option<Suspect>,
    ) -> Vec<Suspect> {
        let crowd = Crowd::of(inquiry, rule);
        let of_each = |crowd: &Crowd| {
            let programs = crowd.programs(inquiry).into_iter();
            programs
                .filter_map(|program| suspect(crowd, program))
                .collect()
        };
        crowd.as_ref().map_or_else(Vec::new, of_each)
    }

    /// However little of it there is.
    pub fn all(inquiry: &Inquiry<'_>) -> Crowd {
        let causes = ready_on_path(inquiry);
        let mut crowd = Crowd {
            ns: inquiry.on_path_ns(&causes),
            causes,
            behind: BTreeMap::new(),
            needed: Needed {
                on_path: processes_on_path(inquiry),
                asked: BTreeSet::new(),
            },
        };
        let programs = crowd.programs(inquiry);
        for thread in &inquiry.facts.ledger.threads {
            if programs.contains(&inquiry.programs.first(thread.row.process)) {
                for behind in &thread.behind {
                    *crowd.behind.entry(behind.who).or_default() += behind.ns;
                }
            }
        }
        let mut behind = crowd.behind.keys();
        if behind.any(|who| matches!(who, Who::Outsider(_))) {
            crowd.needed.asked = neighbour::asked(inquiry);
        }
        crowd
    }

    /// The programs that were ready on the path, by their first processes.
    pub fn programs(&self, inquiry: &Inquiry<'_>) -> BTreeSet<ProcessId> {
        let causes = self.causes.iter();
        let keys = causes.map(|&at| &inquiry.outlook.causes[at].cause.key);
        keys.map(|key| inquiry.programs.first(key.process))
            .collect()
    }

    /// Of the time behind somebody who is known, the share behind those whose work the end does not wait for.
    pub fn behind_others(&self, inquiry: &Inquiry<'_>) -> f64 {
        let (others, own) = self.behind_known(inquiry);
        others as f64 / (others + own).max(1) as f64
    }

    /// How long it is on the path behind those whose work the end waits for, and how long it is otherwise.
    pub fn along(&self, inquiry: &Inquiry<'_>) -> Along {
        let (others, own) = self.behind_known(inquiry);
        let own_ns = self.ns as f64 * (own as f64 / (others + own).max(1) as f64);
        Along {
            own_ns: own_ns as u64,
            others_ns: self.ns.saturating_sub(own_ns as u64),
        }
    }

    /// How long behind others, and how long behind those whose work the end waits for, as far as it is known.
    fn behind_known(&self, inquiry: &Inquiry<'_>) -> (u64, u64) {
        let known = |needed: bool| {
            let behind = self.behind.iter();
            let of_it = behind.filter(|(&who, _)| self.needed.is(inquiry, who) == Some(needed));
            of_it.map(|(_, ns)| ns).sum::<u64>()
        };
        (known(false), known(true))
    }

    /// The program that had the processor for longest and that the end does not wait for, all of its threads together.
    fn foremost_program<'i>(&self, inquiry: &'i Inquiry<'_>) -> Option<Foremost<'i>> {
        let mut programs: BTreeMap<(&str, bool), Foremost<'i>> = BTreeMap::new();
        for (&who, &ns) in &self.behind {
            if self.needed.is(inquiry, who) != Some(false) {
                continue;
            }
            let (name, thread) = match who {
                Who::Outsider(tid) => (inquiry.facts.outsiders.name(tid), None),
                Who::Thread(thread) => (program_of(inquiry, thread)?, Some(thread)),
                Who::Idle | Who::Unlisted => continue,
            };
            let program = programs.entry((name, thread.is_some())).or_default();
            program.name = name;
            program.ns += ns;
            program.threads.extend(thread);
        }
        programs.into_values().max_by_key(|program| program.ns)
    }

    /// The name of that program.
    pub fn foremost_name(&self, inquiry: &Inquiry<'_>) -> Option<String> {
        let name = self.foremost_program(inquiry)?.name;
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// What it had of that time, in a sentence.
    pub fn foremost(&self, inquiry: &Inquiry<'_>) -> Option<Sentence> {
        let program = self.foremost_program(inquiry)?;
        let all: u64 = self.behind.values().sum();
        let percent = Piece::Percent(program.ns as f64 * 100.0 / all.max(1) as f64);
        let name = Piece::Name(program.name.to_owned());
        Some(match program.threads.as_slice() {
            [] => say![
                name,
                ", which was not recorded, had the CPU for ",
                percent,
                " of that time"
            ],
            &[thread] => say![thread, " had the CPU for ", percent, " of that time"],
            _ => say![name, " had the CPU for ", percent, " of that time"],
        })
    }
}

/// A program that had the processor while others were ready.
#[derive(Default)]
struct Foremost<'i> {
    name: &'i str,
    ns: u64,
    /// None of one that was not recorded.
    threads: Vec<ThreadId>,
}

/// What the process of a thread is called.
fn program_of<'i>(inquiry: &'i Inquiry<'_>, thread: ThreadId) -> Option<&'i str> {
    let process = inquiry.process_of(thread)?;
    let found = inquiry.facts.ledger.process(process)?;
    Some(found.row.name.as_str())
}

/// The causes of the path that somebody was ready and had no processor. What a quota holds back does not count.
fn ready_on_path(inquiry: &Inquiry<'_>) -> Vec<usize> {
    inquiry.causes(|key| key.state == State::Ready && key.detail != Some(Detail::Throttled))
}

/// A process in which the path is for less is not needed for that reason.
const NEEDED_SHARE: f64 = 0.1;

/// The processes that much of the critical path lies in: a server that was there before, and outlives what was asked about, works
/// for its clients all the same. Another process of the same program may be on nobody's path.
fn processes_on_path(inquiry: &Inquiry<'_>) -> BTreeSet<ProcessId> {
    let mut sums: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for (thread, ns) in &inquiry.outlook.in_threads {
        if let Some(process) = inquiry.process_of(*thread) {
            *sums.entry(process).or_default() += ns;
        }
    }
    let least = inquiry.outlook.wall_ns as f64 * NEEDED_SHARE;
    sums.retain(|_, ns| *ns as f64 >= least);
    sums.into_keys().collect()
}

impl Needed {
    /// Whether somebody does what has to be done anyway until the end that is asked about: a thread of the same process, one
    /// that was done before that, one of a program that computes on the path, or a server that is asked. `None` if that is not known.
    fn is(&self, inquiry: &Inquiry<'_>, who: Who) -> Option<bool> {
        let thread = match who {
            Who::Thread(thread) => thread,
            Who::Outsider(tid) => {
                let name = inquiry.facts.outsiders.name(tid);
                return Some(self.asked.contains(name));
            }
            Who::Idle | Who::Unlisted => return None,
        };
        let main = &inquiry
            .facts
            .ledger
            .threads
            .get(inquiry.facts.ledger.main?)?
            .row;
        let row = &inquiry.timeline.threads[inquiry.timeline.slot(thread)?];
        let in_time = !row.alive_at_end && !row.born_before && row.end <= main.end;
        Some(row.process == main.process || in_time || self.on_path.contains(&row.process))
    }
}
