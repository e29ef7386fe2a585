//! The same length of sleep again and again, in no loop that waits for another thread.

use std::collections::BTreeSet;

use timesink_analysis::replay::What;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use crate::engine::least_told_ns;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;
use crate::sleep_rows::Rows;

pub static RULE: Rule = Rule {
    name: "fixed-delay",
    looks_for: "sleeps of the same length, again and again",
    why: "A sleep of a fixed length waits for nothing in particular: what it was added for has usually happened long before it ends.",
    advice: "wait for the event that the delay is meant to cover, or shorten the delay",
    wrong_if: "the pace is intended: a rate limit, or consideration for a peer",
    limits: &[&limits::SLEEPS, &limits::ALIKE, &limits::AT_WORK],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SLEEPS: Limit = Limit {
        name: "sleeps",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of sleeps",
    };
    pub static ALIKE: Limit = Limit {
        name: "spread",
        value: 0.02,
        unit: Unit::Share,
        means: "maximum difference between the lengths requested by 90 % of them, as a share",
    };
    pub static AT_WORK: Limit = Limit {
        name: "at work",
        value: 0.5,
        unit: Unit::Share,
        means:
            "maximum share of the sleeping time in which a process started by the sleeper is on CPU",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let delays = delays(inquiry);
    let suspects = delays.iter();
    suspects
        .filter_map(|delay| delay.suspect(inquiry))
        .collect()
}

/// Sleeps of one process that have one length.
pub(super) struct Delay<'a> {
    group: &'a WaitGroup,
    length: u64,
    pub sleeps: BTreeSet<usize>,
    /// If they look at something, their rows.
    looks: Option<Rows>,
}

/// All sleeps of one length that wait for no recorded thread.
pub(super) fn delays<'a>(inquiry: &'a Inquiry<'_>) -> Vec<Delay<'a>> {
    let groups = inquiry.waits().iter();
    let sleeps = groups.filter(|group| group.detail == Detail::Sleep);
    let polls = inquiry.timeline.polls().supposed();
    let polled: BTreeSet<usize> = polls.flat_map(|poll| &poll.sleeps).copied().collect();
    sleeps
        .filter_map(|group| Delay::of(inquiry, group, &polled))
        .collect()
}

/// Whether a function around these sleeps is called a rate limit: then the pace is intended.
fn limits_a_rate(inquiry: &Inquiry<'_>, group: &WaitGroup) -> bool {
    const NAMES: [&str; 5] = ["ratelimit", "rate_limit", "limiter", "throttle", "pacer"];
    let mut functions = inquiry.functions(group.stack);
    functions.any(|function| {
        let name = function.name.to_lowercase();
        NAMES.iter().any(|limit| name.contains(limit))
    })
}

/// The length that a group of sleeps has, if they have one. What is left until a moment has none, but the kernel itself works it out where a
/// futex has one.
fn length(inquiry: &Inquiry<'_>, group: &WaitGroup) -> Option<u64> {
    const MOST: f64 = 0.9;
    let count = group.count() as f64;
    if group.worked_out && group.call != "futex" || limits_a_rate(inquiry, group) {
        return None;
    }
    if count < RULE.limit(inquiry, &limits::SLEEPS) {
        return None;
    }
    if let Some((asked, often)) = group.asked_ns {
        if often as f64 >= count * MOST {
            return Some(asked);
        }
    }
    let (low, high) = (group.quantile(0.05), group.quantile(0.95));
    ((high - low) as f64 <= high as f64 * RULE.limit(inquiry, &limits::ALIKE))
        .then(|| group.quantile(0.5))
}

/// A sleep that took less than this part of what was asked for was interrupted.
const WHOLE: f64 = 0.9;
/// One that took more than this was held up by something else.
const LATE: f64 = 1.25;

/// The sleeps of about this length that were in no loop which looked for another thread's end.
fn sleeps(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    lengths: (u64, u64),
    polled: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let waits = inquiry.single_waits(|of| of == process);
    let alike = waits.filter(|(at, span)| {
        let ns = span.t1.since(span.t0);
        span.detail == Detail::Sleep
            && (lengths.0..=lengths.1).contains(&ns)
            && !polled.contains(at)
            && inquiry.timeline.paces().pace(*at).is_none()
    });
    alike.map(|(at, _)| at).collect()
}

/// Who sleeps while a process that it has started is at work most likely waits for that, a little at a time; and without
/// its sleeps it would have to wait all the same.
pub(super) fn waits_for_work(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    sleeps: &BTreeSet<usize>,
) -> bool {
    let mut slept: Vec<(Nanos, Nanos)> = sleeps
        .iter()
        .filter_map(|&at| inquiry.timeline.span(at))
        .map(|span| (span.t0, span.t1))
        .collect();
    slept.sort_unstable();
    let slept_ns: u64 = slept.iter().map(|(t0, t1)| t1.since(*t0)).sum();
    let mut started = inquiry.with_descendants(BTreeSet::from([process]));
    started.remove(&process);
    let threads = inquiry.timeline.threads.iter().enumerate();
    let theirs = threads.filter(|(_, thread)| started.contains(&thread.process));
    let mut work_ns = 0u64;
    for (slot, _) in theirs {
        let work = inquiry.timeline.spans_of(slot).iter();
        for span in work.filter(|span| span.state != State::Wait) {
            let first = slept.partition_point(|(_, t1)| *t1 <= span.t0);
            let during = slept[first..].iter().take_while(|(t0, _)| *t0 < span.t1);
            let during = during.map(|(t0, t1)| (*t1).min(span.t1).since((*t0).max(span.t0)));
            work_ns = work_ns.saturating_add(during.sum());
        }
    }
    work_ns as f64 >= slept_ns as f64 * RULE.limit(inquiry, &limits::AT_WORK)
}

impl<'a> Delay<'a> {
    fn of(
        inquiry: &Inquiry<'_>,
        group: &'a WaitGroup,
        polled: &BTreeSet<usize>,
    ) -> Option<Delay<'a>> {
        let length = length(inquiry, group)?;
        if inquiry
            .stacks
            .code
            .is_go_alone(&inquiry.frames(group.stack))
        {
            return None;
        }
        let process = group.process;
        // One that was interrupted is no such sleep; one may take longer than was asked.
        let least = (length as f64 * WHOLE) as u64;
        let most = (group.quantile(0.95).max(length) as f64 * LATE) as u64;
        let sleeps = sleeps(inquiry, process, (least, most), polled);
        let too_few = (sleeps.len() as f64) < RULE.limit(inquiry, &limits::SLEEPS);
        if too_few || waits_for_work(inquiry, process, &sleeps) {
            return None;
        }
        Some(Delay {
            group,
            length,
            looks: Rows::of_looks(inquiry, process, &sleeps),
            sleeps,
        })
    }

    fn suspect(&self, inquiry: &Inquiry<'_>) -> Option<Suspect> {
        let (group, process) = (self.group, self.group.process);
        let count = self.sleeps.len() as u64;
        let mut title = say![
            process,
            " sleeps ",
            Piece::Count(count),
            " times for ",
            Piece::Time(self.length),
            " each"
        ];
        if self.looks.is_some() {
            title.0.push(Piece::Text(" to look at something"));
        }
        let causes = inquiry.waits_on_path(|key| {
            key.detail == Some(Detail::Sleep) && inquiry.same_program(key.process, process)
        });
        let last = self.looks.as_ref().map(Rows::last);
        let lost = last.as_ref().unwrap_or(&self.sleeps);
        let spans = lost.iter().filter_map(|&at| inquiry.timeline.span(at));
        let lost_ns: u64 = spans.map(|span| span.t1.since(span.t0)).sum();
        let scaled = |factor| {
            let what = What::Spans(lost.clone());
            Fix::scaled(what, BTreeSet::from([process]), factor)
        };
        let fix = match &self.looks {
            // What was looked for may have come at any moment of the last sleep.
            Some(rows) => {
                // That it looks is supposed: what is surely lost must be worth telling.
                let sure = rows.surely_lost();
                if lost_ns as f64 * sure < least_told_ns(inquiry.outlook.wall_ns) as f64 {
                    return None;
                }
                Fix::Likely(
                    scaled(1.0 - sure).changes(),
                    scaled(0.5).changes(),
                    scaled(0.0).changes(),
                )
            }
            None => scaled(0.0),
        };
        let suspect = Suspect::new(title, fix, Weight::within(causes, lost_ns))
            .of(process)
            .seen_in(inquiry, Some(group))
            .held(inquiry, &RULE, "sleeps", count as f64, &limits::SLEEPS)
            .figure("length", self.length as f64, "ns")
            .told(say![
                Piece::Count(count),
                " sleeps of ",
                Piece::Time(self.length),
                " each, in ",
                Piece::Name(group.call.clone())
            ]);
        Some(self.with_rows(self.with_lateness(inquiry, suspect)))
    }

    /// What they really take, if that is more than was asked for.
    fn with_lateness(&self, inquiry: &Inquiry<'_>, suspect: Suspect) -> Suspect {
        let truth = self.group.quantile(0.5);
        let late = (truth as f64 - self.length as f64) / self.length.max(1) as f64;
        match late > RULE.limit(inquiry, &limits::ALIKE) {
            true => suspect.told(say!["they actually take ", Piece::Time(truth)]),
            false => suspect,
        }
    }

    fn with_rows(&self, suspect: Suspect) -> Suspect {
        match &self.looks {
            Some(rows) => suspect.told(say![
                "they come in ",
                Piece::Count(rows.count() as u64),
                " rows with little between: each row is one wait, and only part of its last sleep is lost"
            ]),
            None => suspect,
        }
    }
}
