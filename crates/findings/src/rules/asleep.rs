//! Time asleep, of whatever lengths: what nothing but a timer of the program's own ends.
//!
//! A loop of events sleeps, too, where it waits for such a timer and nobody owes it an answer. That of a server is idle then: a recording
//! of it says nothing of who asks next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::path::Key;
use timesink_analysis::replay::What;
use timesink_analysis::stacks::Spot;
use timesink_analysis::stretches::Stretches;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, State, WakeSource};

use super::{expired_timeouts, fixed_delay};
use crate::awaiting::{followed, has_goroutines, has_place, slept_in_go, slept_until};
use crate::event_loop::{self, Owed};
use crate::goroutine_sleeps::GoroutineSleeps;
use crate::inquiry::Inquiry;
use crate::picked::{ns_by_process, Picked};
use crate::rule::{Blames, Fix, Rule, Suspect};
use crate::say;
use crate::sentence::{Piece, Sentence};
use crate::sleep_rows::Rows;

pub static RULE: Rule = Rule {
    name: "asleep",
    looks_for: "sleeps of any length, in an event loop too, that together take much of the time",
    why: "A sleep waits for nothing in particular: what it was added for has usually happened long before it ends.",
    advice: "if the pause is not intended (a rate limit, a timer), wait for the event that it is meant to cover; between retries, find out why the first try fails",
    wrong_if: "the pace is intended, or there is nothing to do",
    limits: &[&limits::PART, &limits::IN_LOOP],
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
    /// Measured: 1.0 to 4.1 ms where Go's loop looks for answers of a database again and again; 50 ms and 0.5 s between retries.
    pub static IN_LOOP: Limit = Limit {
        name: "loop sleep",
        value: 10e6,
        unit: Unit::Nanoseconds,
        means: "minimum length of a sleep in an event loop; shorter ones may be part of a wait for something else, except where goroutines sleep and none waits for the network",
    };
}

/// What to do where a condition is waited on in vain.
const SIGNAL: &str = "if another thread does what this one waits for, have it signal the condition (notify) when that is done; if this is a pause, shorten it";

/// Lengths that differ by less are told as one.
const ALIKE: f64 = 0.9;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let owed = Owed::of(inquiry);
    let causes = inquiry.waits_on_path(|key| may_sleep(inquiry, &owed, key));
    let sleepers: BTreeMap<ProcessId, GoroutineSleeps> = sleepers(inquiry, &causes)
        .into_iter()
        .map(|process| (process, GoroutineSleeps::of(inquiry, process)))
        .collect();
    if sleepers.is_empty() {
        return Vec::new();
    }
    // Those of one length are told elsewhere: if they buy nothing by themselves, because another process sleeps meanwhile, all are
    // told together here.
    let delays = fixed_delay::delays(inquiry).into_iter();
    let of_one_length: BTreeSet<usize> = delays.flat_map(|delay| delay.sleeps).collect();
    let others = by_program(inquiry, &sleepers, &causes, &of_one_length);
    let all = by_program(inquiry, &sleepers, &causes, &BTreeSet::new());
    let programs = all.iter();
    programs
        .filter_map(|(&program, all)| {
            let others = others.get(&program).cloned();
            let asleep = |slept| suspect(inquiry, program, &causes, &sleepers, slept);
            let others = others.and_then(asleep);
            others.or_else(|| {
                let all = all.clone();
                let both = processes(inquiry, &all).len() > 1;
                both.then(|| asleep(all))?
            })
        })
        .collect()
}

/// Whose sleeps these are.
fn processes(inquiry: &Inquiry<'_>, sleeps: &BTreeSet<usize>) -> BTreeSet<ProcessId> {
    let spans = sleeps.iter().filter_map(|&at| inquiry.timeline.span(at));
    spans
        .filter_map(|span| inquiry.process_of(span.thread))
        .collect()
}

/// The sleeps of each program without those that are told elsewhere. Who sleeps and looks whether another is done is on the path
/// only when that one sleeps, too.
fn by_program(
    inquiry: &Inquiry<'_>,
    sleepers: &BTreeMap<ProcessId, GoroutineSleeps>,
    causes: &[usize],
    told: &BTreeSet<usize>,
) -> BTreeMap<ProcessId, BTreeSet<usize>> {
    let mut by_program: BTreeMap<ProcessId, BTreeSet<usize>> = BTreeMap::new();
    for (&process, goroutines) in sleepers {
        let slept = slept(inquiry, process, causes, told, goroutines);
        // Of goroutines the runtime waits for the next timer of all: whether one of them looks again and again is not seen in that. Who
        // waits on a condition may look at something, too, but is there to be woken, and nobody does.
        let is_sleep = |at: &usize| {
            let span = inquiry.timeline.span(*at);
            span.is_some_and(|span| span.detail == Detail::Sleep)
        };
        let may_look = goroutines.are_none() && slept.iter().any(is_sleep);
        let looks = Rows::of_looks(inquiry, process, &slept).filter(|_| may_look);
        let slept = looks.map_or(slept, |rows| rows.last());
        if !fixed_delay::waits_for_work(inquiry, process, &slept) {
            let program = inquiry.of_program(process).first().copied();
            by_program
                .entry(program.unwrap_or(process))
                .or_default()
                .extend(slept);
        }
    }
    by_program
}

/// Whether a wait on the path is one that a timer of the program's own may have ended.
fn may_sleep(inquiry: &Inquiry<'_>, owed: &Owed, key: &Key) -> bool {
    match key.detail {
        Some(Detail::Sleep) => true,
        Some(Detail::Condition) if pauses(inquiry, key) => true,
        Some(Detail::Poll | Detail::Condition) => {
            event_loop::is_one(inquiry, key.object)
                && !owed.is_to(key.process)
                && !event_loop::serves_others(inquiry, key.process)
        }
        _ => false,
    }
}

/// Whether a program waits on a condition as it would sleep: its time is over each time, and nothing else goes on meanwhile that may be
/// what it waits for.
fn pauses(inquiry: &Inquiry<'_>, key: &Key) -> bool {
    /// On a CPU for less than this part of the time in these waits nothing goes on.
    const IDLE: f64 = 0.1;
    let groups = inquiry.waits().iter();
    let own = groups.filter(|group| {
        group.process == key.process
            && group.detail == Detail::Condition
            && group.object == key.object
    });
    let mut own = own.peekable();
    let expires = |group: &WaitGroup| group.expired > 0 && 2 * group.expired >= group.asked;
    if own.peek().is_none()
        || !own.all(|group| expires(group) && expired_timeouts::is_pause(inquiry, group))
        || event_loop::serves_others(inquiry, key.process)
    {
        return false;
    }
    let waits = inquiry.single_waits(|process| process == key.process);
    let waits = waits
        .filter(|(_, span)| span.detail == Detail::Condition && span.object() == key.object)
        .map(|(_, span)| (span.t0, span.t1));
    let waits = Stretches::of(waits.collect());
    let timeline = inquiry.timeline;
    let threads = timeline.threads.iter().enumerate();
    let on_cpu = threads
        .filter(|(_, thread)| thread.process == key.process)
        .flat_map(|(slot, _)| timeline.spans_of(slot))
        .filter(|span| span.state == State::Cpu);
    let on_cpu_ns: u64 = on_cpu.map(|span| waits.within(span.t0, span.t1)).sum();
    let has_children = timeline.threads.iter().any(|thread| {
        let parent = thread.parent.and_then(|parent| inquiry.process_of(parent));
        let is_child = parent == Some(key.process) && thread.process != key.process;
        is_child && waits.within(thread.start, thread.end) > 0
    });
    !has_children && (on_cpu_ns as f64) < waits.ns() as f64 * IDLE
}

/// The processes on the path whose programs sleep there, for these causes.
fn sleepers(inquiry: &Inquiry<'_>, causes: &[usize]) -> BTreeSet<ProcessId> {
    let causes = causes.iter();
    let programs: BTreeSet<ProcessId> = causes
        .filter_map(|&at| Some(inquiry.outlook.causes.get(at)?.cause.key.process))
        .collect();
    let threads = inquiry.timeline.threads.iter();
    let on_path = threads.filter(|t| inquiry.outlook.in_threads.contains_key(&t.thread));
    let asleep = |process: &ProcessId| {
        let mut programs = programs.iter();
        programs.any(|program| inquiry.same_program(*program, *process))
    };
    on_path.map(|t| t.process).filter(asleep).collect()
}

/// Of these causes those of the processes of this one's program.
fn of_program(inquiry: &Inquiry<'_>, process: ProcessId, causes: &[usize]) -> Vec<usize> {
    let is_own = |at: &usize| {
        let on_path = inquiry.outlook.causes.get(*at);
        on_path.is_some_and(|one| inquiry.same_program(one.cause.key.process, process))
    };
    causes.iter().copied().filter(is_own).collect()
}

/// What these causes wait for.
fn kinds(inquiry: &Inquiry<'_>, causes: &[usize]) -> BTreeSet<(Option<Detail>, Option<ObjectId>)> {
    let causes = causes.iter();
    causes
        .filter_map(|&at| inquiry.outlook.causes.get(at))
        .map(|on_path| (on_path.cause.key.detail, on_path.cause.key.object))
        .collect()
}

/// All sleeps of a process that are not told elsewhere.
fn slept(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    causes: &[usize],
    told: &BTreeSet<usize>,
    goroutines: &GoroutineSleeps,
) -> BTreeSet<usize> {
    let kinds = kinds(inquiry, &of_program(inquiry, process, causes));
    let waits = inquiry.single_waits(|of| of == process);
    let least = RULE.limit(inquiry, &limits::IN_LOOP);
    let slept = waits.filter(|(at, span)| {
        inquiry.outlook.in_threads.contains_key(&span.thread)
            && kinds.contains(&(Some(span.detail), span.object()))
            && span.wake_source == Some(WakeSource::Timer)
            && (span.detail == Detail::Sleep
                || span.t1.since(span.t0) as f64 >= least
                || goroutines.are_until(span.t1))
            && !told.contains(at)
            && inquiry.timeline.paces().pace(*at).is_none()
    });
    slept.map(|(at, _)| at).collect()
}

/// The sleeps of a program's processes, if they are a good part of the path.
fn suspect(
    inquiry: &Inquiry<'_>,
    program: ProcessId,
    causes: &[usize],
    sleepers: &BTreeMap<ProcessId, GoroutineSleeps>,
    slept: BTreeSet<usize>,
) -> Option<Suspect> {
    let causes = of_program(inquiry, program, causes);
    let all = Picked::of_program(inquiry, slept.iter().copied())?;
    let picked = Picked::of_program(
        inquiry,
        of_who_sleeps_most(inquiry, longest(inquiry, slept)),
    )?;
    let process = picked.process();
    let on_path_ns = inquiry.on_path_ns(&causes).min(picked.ns());
    let share = on_path_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    if share < RULE.limit(inquiry, &limits::PART) {
        return None;
    }
    let mut kinds = kinds(inquiry, &causes).into_iter();
    let in_loop = kinds.any(|(detail, object)| {
        detail != Some(Detail::Sleep) && event_loop::is_one(inquiry, object)
    });
    let goroutines = sleepers.get(&process)?;
    let in_pieces = picked.quantile(0.5) < RULE.limit(inquiry, &limits::IN_LOOP) as u64;
    let unsignalled = !in_loop
        && picked
            .waits(inquiry)
            .all(|span| span.detail == Detail::Condition);
    let mut title = who_waits(process, picked.processes().len(), unsignalled);
    title
        .0
        .extend(match in_loop && in_pieces && !goroutines.are_none() {
            true => in_goroutines(goroutines.goroutines(), picked.ns()),
            false => times(&picked, in_loop && !has_goroutines(inquiry, process)),
        });
    let mut suspect = all
        .suspect(inquiry, title, 0.0)
        .held(inquiry, &RULE, "share of the path", share, &limits::PART)
        .told(say!["together ", Piece::Time(all.ns())]);
    if unsignalled {
        suspect = of_condition(inquiry, process, &picked, suspect);
    }
    if in_loop {
        suspect = suspect.told(say![
            "nothing but a timer of its own ended them: a delay, a pause before it tries again, or a timeout"
        ]);
        suspect.frames = place(inquiry, &picked, goroutines);
        suspect = suspect.or_in_task(inquiry, process);
    }
    // A shell sleeps in a process of its own, which has no place to show.
    Some(match has_place(inquiry, &suspect.frames) {
        true => suspect,
        false => suspect.seen_after_starts(inquiry, picked.processes().iter().copied()),
    })
}

/// What is said where a condition is waited on in vain. Other threads that sleep and look again and again may look for what this one does
/// after such a wait: then their sleeps go with it.
fn of_condition(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    picked: &Picked,
    suspect: Suspect,
) -> Suspect {
    let sleeps = inquiry.single_waits(|of| of == process);
    let sleeps =
        sleeps.filter(|(at, span)| span.detail == Detail::Sleep && !picked.spans().contains(at));
    let sleeps: BTreeSet<usize> = sleeps.map(|(at, _)| at).collect();
    let looks = Rows::of_looks(inquiry, process, &sleeps);
    let own = suspect.fix.changes();
    let fix = match looks {
        Some(_) => {
            let sleeps = Fix::without(What::Spans(sleeps), BTreeSet::from([process]));
            let all = own.iter().cloned().chain(sleeps.changes()).collect();
            Fix::AtLeast(own, all)
        }
        None => suspect.fix,
    };
    Suspect { fix, ..suspect }
        .advised(SIGNAL.to_owned())
        .told(say!["each of these waits ended when its timeout expired"])
}

/// Where a program sleeps in its event loop: the task that does, or what follows.
pub(super) fn place(
    inquiry: &Inquiry<'_>,
    picked: &Picked,
    goroutines: &GoroutineSleeps,
) -> Vec<Spot> {
    let slept = match has_goroutines(inquiry, picked.process()) {
        true if goroutines.are_none() => slept_in_go(inquiry, picked.process()),
        true => goroutines.place(inquiry),
        false => slept_until(inquiry, picked.spans()),
    };
    match slept.is_empty() {
        true => followed(inquiry, picked),
        false => slept,
    }
}

/// Those that make up nearly all of the time: what is left of a timer when a wait has ended a little early does not count.
fn longest(inquiry: &Inquiry<'_>, spans: BTreeSet<usize>) -> Vec<usize> {
    const NEARLY_ALL: f64 = 0.95;
    let ns = |at: &usize| inquiry.timeline.span(*at).map_or(0, |s| s.t1.since(s.t0));
    let mut spans: Vec<usize> = spans.into_iter().collect();
    spans.sort_by_key(|at| Reverse(ns(at)));
    let whole: u64 = spans.iter().map(ns).sum();
    let mut sum = 0u64;
    let enough = spans.iter().position(|at| {
        sum += ns(at);
        sum as f64 >= whole as f64 * NEARLY_ALL
    });
    spans.truncate(enough.map_or(0, |at| at + 1));
    spans
}

/// The sleeps of processes that sleep much less than another one are not told: who waits now and then for its children to be ready is no
/// server that takes its time for each response.
fn of_who_sleeps_most(inquiry: &Inquiry<'_>, spans: Vec<usize>) -> Vec<usize> {
    const MUCH_LESS: u64 = 10;
    let by_process = ns_by_process(inquiry, &spans);
    let most = by_process.values().copied().max().unwrap_or(0);
    let sleeps_much = |at: &usize| {
        let span = inquiry.timeline.span(*at);
        let process = span.and_then(|span| inquiry.process_of(span.thread));
        let ns = process.and_then(|process| by_process.get(&process));
        ns.is_some_and(|ns| ns.saturating_mul(MUCH_LESS) >= most)
    };
    spans.into_iter().filter(sleeps_much).collect()
}

/// Who sleeps, or waits for what never comes.
fn who_waits(process: ProcessId, processes: usize, unsignalled: bool) -> Sentence {
    let [one, several] = match unsignalled {
        true => [
            " waits on a condition variable that nobody signals, ",
            " wait on condition variables that nobody signals, ",
        ],
        false => [" sleeps ", " sleep "],
    };
    match processes {
        1 => say![process, one],
        many => say![
            Piece::Count(many as u64),
            " processes like ",
            process,
            several
        ],
    }
}

/// How often they sleep, and how long each time.
fn times(picked: &Picked, in_loop: bool) -> Vec<Piece> {
    let place = if in_loop { " in its event loop" } else { "" };
    let mut times = match picked.count() {
        1 => vec!["for ".into()],
        count => vec![
            Piece::Count(count),
            " times".into(),
            place.into(),
            ", ".into(),
        ],
    };
    times.extend(lengths(picked));
    if picked.count() == 1 {
        times.push(place.into());
    }
    times
}

/// Goroutines sleep at the same time, so that the runtime waits for their timers in pieces, whose lengths tell nothing.
fn in_goroutines(goroutines: usize, ns: u64) -> Vec<Piece> {
    let word = match goroutines {
        1 => " goroutine, ",
        _ => " goroutines, ",
    };
    vec![
        "in ".into(),
        Piece::Count(goroutines as u64),
        word.into(),
        Piece::Time(ns),
        " in all".into(),
    ]
}

/// How long each is, or from where to where they go.
fn lengths(picked: &Picked) -> Vec<Piece> {
    let (least, most) = (picked.quantile(0.0), picked.quantile(1.0));
    match (picked.count(), least as f64 >= most as f64 * ALIKE) {
        (1, _) => vec![Piece::Time(most)],
        (_, true) => vec![Piece::Time(picked.quantile(0.5)), " each".into()],
        (_, false) => vec![
            Piece::Time(least),
            " to ".into(),
            Piece::Time(most),
            " each".into(),
        ],
    }
}
