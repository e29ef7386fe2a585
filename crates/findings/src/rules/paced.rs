//! Rounds on a schedule: the program waits for the next moment of it, not for a length of time.
//!
//! Whatever is done between two such pauses, quicker work saves nothing: a replay keeps the schedule. All that the pauses take is
//! saved only without the schedule.

use std::collections::{BTreeMap, BTreeSet};

use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;
use timesink_recording::Nanos;

use super::asleep;
use crate::awaiting::{has_goroutines, has_place};
use crate::event_loop;
use crate::goroutine_sleeps::GoroutineSleeps;
use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "paced",
    looks_for: "rounds on a schedule, whatever the work between takes: a rate limit, a ticker, a job at a fixed rate",
    why: "The program waits for the next moment of its schedule. Quicker work saves nothing: the pause takes what is left of the period.",
    advice: "if it looks for work at each round, have it woken when there is some (a condition, a channel); if the rate is not intended, raise it; otherwise there is nothing to fix",
    wrong_if: "the rate is intended: a limit that a peer sets, a measurement at intervals",
    limits: &[&limits::PART],
    blames: Blames::Nobody,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static PART: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path",
    };
}

/// Periods that differ by less are one schedule's, which several threads keep.
const ALIKE: f64 = 0.98;

/// The pauses of one schedule in the threads of the path.
struct Scheduled {
    process: ProcessId,
    period_ns: u64,
    moments: Vec<Nanos>,
    pauses: BTreeSet<usize>,
}

impl Scheduled {
    /// How many rounds there are: two threads may have paused for the same one.
    fn rounds(&self) -> u64 {
        let mut moments = self.moments.clone();
        moments.sort_unstable();
        moments.dedup_by_key(|at| at.0 / (self.period_ns / 2).max(1) as i64);
        moments.len() as u64
    }
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let all = schedules(inquiry);
    let all = all.iter();
    all.filter_map(|one| suspect(inquiry, one)).collect()
}

fn schedules(inquiry: &Inquiry<'_>) -> Vec<Scheduled> {
    let mut all: BTreeMap<ProcessId, Vec<Scheduled>> = BTreeMap::new();
    for pace in inquiry.timeline.paces().all() {
        let on_path = |at: &usize| {
            let span = inquiry.timeline.span(*at);
            span.is_some_and(|span| inquiry.outlook.in_threads.contains_key(&span.thread))
        };
        let pauses = pace.ticks.iter().flat_map(|tick| &tick.pauses).flatten();
        let pauses: BTreeSet<usize> = pauses.copied().filter(on_path).collect();
        if pauses.is_empty() {
            continue;
        }
        let own = all.entry(pace.process).or_default();
        let is_same = |one: &&mut Scheduled| {
            let (least, most) = (
                one.period_ns.min(pace.period_ns),
                one.period_ns.max(pace.period_ns),
            );
            least as f64 >= most as f64 * ALIKE
        };
        let moments = pace.ticks.iter().map(|tick| tick.at);
        match own.iter_mut().find(is_same) {
            Some(same) => {
                same.moments.extend(moments);
                same.pauses.extend(pauses);
            }
            None => own.push(Scheduled {
                process: pace.process,
                period_ns: pace.period_ns,
                moments: moments.collect(),
                pauses,
            }),
        }
    }
    all.into_values().flatten().collect()
}

fn suspect(inquiry: &Inquiry<'_>, one: &Scheduled) -> Option<Suspect> {
    let picked = Picked::of(inquiry, one.process, one.pauses.iter().copied());
    let kinds: BTreeSet<_> = picked
        .waits(inquiry)
        .map(|span| (Some(span.detail), span.object()))
        .collect();
    let in_loop = picked
        .waits(inquiry)
        .all(|span| span.detail != Detail::Sleep);
    // A server that is not asked anything looks after its timers.
    if in_loop && event_loop::serves_others(inquiry, one.process) {
        return None;
    }
    let causes = inquiry.waits_on_path(|key| {
        inquiry.same_program(key.process, one.process) && kinds.contains(&(key.detail, key.object))
    });
    let on_path_ns = inquiry.on_path_ns(&causes).min(picked.ns());
    let share = on_path_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    if share < RULE.limit(inquiry, &limits::PART) {
        return None;
    }
    let title = say![
        one.process,
        " runs on a schedule: a round every ",
        Piece::Time(one.period_ns),
        ", ",
        Piece::Count(one.rounds()),
        " times"
    ];
    let mut suspect = picked
        .suspect(inquiry, title, 0.0)
        .held(inquiry, &RULE, "share of the path", share, &limits::PART)
        .figure("period", one.period_ns as f64, "ns")
        .told(say![
            "its pauses fill the rest of each period: in all ",
            Piece::Time(picked.ns())
        ]);
    if in_loop || has_goroutines(inquiry, one.process) {
        let goroutines = GoroutineSleeps::of(inquiry, one.process);
        let place = asleep::place(inquiry, &picked, &goroutines);
        if has_place(inquiry, &place) {
            suspect.frames = place;
        }
    }
    Some(suspect)
}
