//! What the end of the main thread waited for, by cause, and what would be gained without each.
//!
//! The path tells the causes, the replay the gains, stacks where in the code it was.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;
use timesink_recording::words::{Detail, ObjectKind, State, WakeSource};
use timesink_recording::Recording;

use crate::facts::programs::Programs;
use crate::facts::Facts;
use crate::joined::joined;
use crate::path::{Cause, InCode, Key, OnProcessors, Path, Responses, Segment};
use crate::replay::{
    processors, CallsOfWaits, Change, Gain, Gains, How, Processors, Recorded, Replay, What,
};
use crate::stacks::{FunctionIx, Stacks};
use crate::tags::{Tagged, TagsOnPath};
use crate::timeline::Timeline;

/// The path of the main thread, told by cause.
#[derive(Clone, Debug)]
pub struct Outlook {
    pub wall_ns: u64,
    pub unknown_ns: u64,
    /// By how much a replay of what was recorded misses the wall time, in percent of it.
    pub replay_error_pct: f64,
    pub segments: usize,
    /// How many there were; more than anybody could use where that is not known.
    pub processors: u32,
    /// Longest first; they add up to the wall time.
    pub causes: Vec<OnPath>,
    /// The same with those told together that differ only in what was waited for; longest first.
    pub kinds: Vec<Alike>,
    /// The program's own functions in which the path was, by the time in them and in what of the system they
    /// called; longest first.
    pub functions: Vec<InFunction>,
    /// What the path did on processors, stack by stack.
    pub on_processors: OnProcessors,
    /// For how long the path was in each thread.
    pub in_threads: FxHashMap<ThreadId, u64>,
    /// What it was at work for, where programs say so.
    pub tags: Option<TagsOnPath>,
    /// What it did while somebody waited for a response.
    pub responses: Responses,
}

/// A cause on the path.
#[derive(Clone, Debug)]
pub struct OnPath {
    pub cause: Cause,
    /// The functions of its heaviest stack, innermost first.
    pub frames: Vec<FunctionIx>,
    /// Of a loop's poll, for how long nothing came until a timer ended it: the loop slept. One of a single thing is no loop's.
    pub by_timer_ns: u64,
    /// What it would buy not to have it at all; `None` if that was not asked.
    pub gain: Option<Gain>,
}

impl OnPath {
    /// Whether it is a loop of events that has nothing to do until a timer of its own is due.
    pub fn is_timer_of_loop(&self) -> bool {
        self.cause.key.detail == Some(Detail::Poll) && self.by_timer_ns > self.cause.ns / 2
    }
}

/// Causes on the path that differ only in what was waited for.
#[derive(Clone, Debug)]
pub struct Alike {
    /// As indexes into the outlook's causes, longest first.
    pub causes: Vec<usize>,
    pub count: u64,
    pub ns: u64,
    /// What it would buy to have none of them.
    pub gain: Option<Gain>,
}

/// A function on the path.
#[derive(Clone, Debug)]
pub struct InFunction {
    pub function: FunctionIx,
    pub ns: u64,
    /// Of that, on a processor.
    pub cpu_ns: u64,
    pub gain: Option<Gain>,
}

/// How much work gains may be, in steps of replays: each cause is a replay of its own.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub steps: usize,
    /// Never more causes than these.
    pub most: usize,
    /// But so many in any case.
    pub least: usize,
    /// Whether any cause is asked at all, and not only findings.
    pub of_causes: bool,
}

impl Patience {
    /// For a report that is to be there at once.
    pub const SHORT: Patience = Patience {
        steps: 3_000_000,
        most: 12,
        least: 3,
        of_causes: true,
    };
    /// For an answer that does not show what single causes would buy.
    pub const FINDINGS: Patience = Patience {
        of_causes: false,
        ..Patience::SHORT
    };
    /// For who asks for gains.
    pub const LONG: Patience = Patience {
        steps: 60_000_000,
        most: 20,
        least: 8,
        of_causes: true,
    };

    fn doubts(&self, steps: usize) -> bool {
        self.steps / steps.max(1) >= self.most
    }

    fn causes(&self, steps: usize) -> usize {
        match self.of_causes {
            true => (self.steps / steps.max(1)).clamp(self.least, self.most),
            false => 0,
        }
    }
}

/// So many spans make a recording large: from here on memory counts for more than time.
pub const LARGE: usize = 5_000_000;
/// Causes and functions with a smaller share of the path are not asked what they would buy.
const SMALL: f64 = 0.001;

impl Outlook {
    /// The outlook of an open recording; `None` if it has no main thread.
    pub fn of(
        recording: &Recording,
        timeline: &Timeline,
        facts: &Facts,
        stacks: &Stacks,
        calls: &CallsOfWaits,
        patience: Patience,
    ) -> timesink_recording::Result<Option<Outlook>> {
        let outlook = Outlook::and(
            recording,
            timeline,
            facts,
            stacks,
            calls,
            patience,
            |_, _| (),
        )?;
        Ok(outlook.map(|(outlook, ())| outlook))
    }

    /// The same, and what somebody makes of it who wants to know more of gains.
    pub fn and<T>(
        recording: &Recording,
        timeline: &Timeline,
        facts: &Facts,
        stacks: &Stacks,
        calls: &CallsOfWaits,
        patience: Patience,
        more: impl FnOnce(&Outlook, &Gains<'_>) -> T,
    ) -> timesink_recording::Result<Option<(Outlook, T)>> {
        let main = facts.ledger.main.map(|main| &facts.ledger.threads[main]);
        let Some(slot) = main.and_then(|main| timeline.slot(main.row.thread)) else {
            return Ok(None);
        };
        let programs = Programs::of(facts);
        let tagged = Tagged::of(recording)?;
        let walk = || Walked::of((timeline, slot), facts, stacks, &programs, tagged);
        let (replay, walked) = std::thread::scope(|scope| {
            let walked = scope.spawn(walk);
            let replay = Replay::of(recording, timeline, slot);
            (replay, joined(walked))
        });
        let Walked {
            path,
            code,
            causes,
            on_processors,
            by_timer,
            tags,
            responses,
        } = walked;
        let replay = replay?;
        let recorded = Recorded {
            timeline,
            facts,
            stacks,
            calls,
        };
        let gains = gains_of((recording, patience), &replay, recorded, &path);
        let few = patience.causes(replay.steps());
        let large = |ns: u64| ns as f64 >= path.wall_ns() as f64 * SMALL;
        let of_cause = |(rank, cause): (usize, Cause)| OnPath {
            frames: code.frames(&cause.key, stacks),
            by_timer_ns: by_timer.get(&cause.key).copied().unwrap_or(0),
            gain: (rank < few && large(cause.ns))
                .then(|| gain_without(&cause.key, &programs, &gains))
                .flatten(),
            cause,
        };
        let of_function = |(rank, (function, ns)): (usize, (FunctionIx, u64))| InFunction {
            function,
            ns,
            cpu_ns: code.on_processors(function),
            gain: (rank < few / 2 && large(ns)).then(|| without_function(function, stacks, &gains)),
        };
        let (causes, kinds, functions) = std::thread::scope(|scope| {
            let functions = code.functions(stacks).into_iter().enumerate();
            let functions = scope.spawn(|| functions.map(of_function).collect());
            let causes: Vec<OnPath> = causes.into_iter().enumerate().map(of_cause).collect();
            let kinds = kinds(&causes, few, &programs, &gains);
            (causes, kinds, joined(functions))
        });
        let outlook = Outlook {
            wall_ns: path.wall_ns(),
            unknown_ns: path.unknown_ns(),
            replay_error_pct: replay.error_pct(),
            segments: path.segments.len(),
            processors: processors(recording),
            in_threads: in_threads(&path, timeline),
            tags,
            responses,
            causes,
            kinds,
            functions,
            on_processors,
        };
        let more = more(&outlook, &gains);
        Ok(Some((outlook, more)))
    }
}

/// What changes to a recording would buy, with their doubts if there is the time for them.
fn gains_of<'a>(
    (recording, patience): (&Recording, Patience),
    replay: &'a Replay<'a>,
    recorded: Recorded<'a>,
    path: &Path,
) -> Gains<'a> {
    let cost_pct = recording.about().cost.pct_of_wall;
    let gains = Gains::new(replay, recorded, path).recorded_at(cost_pct);
    match patience.doubts(replay.steps()) {
        true => gains.doubted(processors(recording)),
        false => gains,
    }
}

/// The path and what is read off it.
struct Walked {
    path: Path,
    code: InCode,
    causes: Vec<Cause>,
    on_processors: OnProcessors,
    by_timer: FxHashMap<Key, u64>,
    tags: Option<TagsOnPath>,
    responses: Responses,
}

impl Walked {
    fn of(
        (timeline, slot): (&Timeline, usize),
        facts: &Facts,
        stacks: &Stacks,
        programs: &Programs,
        tagged: Option<Tagged>,
    ) -> Walked {
        let path = Path::of_thread(timeline, slot);
        let code = code_on(&path, timeline, stacks, programs);
        let causes = path.causes(timeline, |process| programs.first(process));
        let on_processors = OnProcessors::of(&code, &causes, stacks);
        let by_timer = polls_ended_by_timers(&path, timeline, facts, programs);
        let key = |segment: &Segment| key_of(segment, timeline, programs);
        let tags =
            tagged.map(|tagged| TagsOnPath::of(tagged, &path, (timeline, stacks), (&causes, key)));
        let responses = Responses::of(&path, &causes, key);
        find_locks_early(timeline);
        Walked {
            path,
            code,
            causes,
            on_processors,
            by_timer,
            tags,
            responses,
        }
    }
}

/// Rules will ask for them, and a replay takes longer than a walk. Of a large recording they are as large, and are not to be
/// there together with what a replay is made of.
fn find_locks_early(timeline: &Timeline) {
    if timeline.len() < LARGE {
        timeline.locks();
    }
}

/// The code on a path, by cause.
fn code_on(path: &Path, timeline: &Timeline, stacks: &Stacks, programs: &Programs) -> InCode {
    let mut code = InCode::default();
    code.add(path, timeline, stacks, |segment| {
        key_of(segment, timeline, programs)
    });
    code
}

/// The cause that a segment belongs to: of several processes with the same program, that of the first.
fn key_of(segment: &Segment, timeline: &Timeline, programs: &Programs) -> Key {
    let process = timeline.threads[segment.slot].process;
    Key::of(segment, programs.first(process))
}

/// For how long the path was in polls that a timer ended, by cause.
fn polls_ended_by_timers(
    path: &Path,
    timeline: &Timeline,
    facts: &Facts,
    programs: &Programs,
) -> FxHashMap<Key, u64> {
    let mut sums: FxHashMap<Key, u64> = FxHashMap::default();
    let polls = path
        .segments
        .iter()
        .filter(|segment| segment.state == State::Wait && segment.detail == Detail::Poll);
    let is_epoll = |object| {
        let object = facts.object(object);
        object.is_some_and(|object| object.kind == ObjectKind::Epoll)
    };
    for segment in polls {
        let wait = timeline.wait_at(segment.slot, segment.t0);
        let wait = wait.and_then(|at| timeline.span(at));
        let key = key_of(segment, timeline, programs);
        if wait.is_some_and(|wait| wait.wake_source == Some(WakeSource::Timer))
            && key.object.is_none_or(is_epoll)
        {
            let sum = sums.entry(key).or_default();
            *sum = sum.saturating_add(segment.ns());
        }
    }
    sums
}

/// For how long a path was in each thread.
fn in_threads(path: &Path, timeline: &Timeline) -> FxHashMap<ThreadId, u64> {
    let mut sums: FxHashMap<ThreadId, u64> = FxHashMap::default();
    for segment in &path.segments {
        let thread = timeline.threads[segment.slot].thread;
        let sum = sums.entry(thread).or_default();
        *sum = sum.saturating_add(segment.ns());
    }
    sums
}

/// Causes by kind; the gain of the longest kinds, all their things together.
fn kinds(causes: &[OnPath], few: usize, programs: &Programs, gains: &Gains<'_>) -> Vec<Alike> {
    let mut sums: FxHashMap<Key, Alike> = FxHashMap::default();
    for (at, on_path) in causes.iter().enumerate() {
        let cause = &on_path.cause;
        let key = Key {
            object: None,
            ..cause.key
        };
        let kind = sums.entry(key).or_insert_with(|| Alike {
            causes: Vec::new(),
            count: 0,
            ns: 0,
            gain: None,
        });
        kind.causes.push(at);
        kind.count += cause.count;
        kind.ns = kind.ns.saturating_add(cause.ns);
    }
    let mut kinds: Vec<Alike> = sums.into_values().collect();
    kinds.sort_unstable_by_key(|kind| (Reverse(kind.ns), kind.causes.first().copied()));
    for (rank, kind) in kinds.iter_mut().enumerate() {
        kind.gain = match kind.causes.as_slice() {
            [one] => causes[*one].gain,
            many if rank < few => gain_without_all(causes, many, programs, gains),
            _ => None,
        };
    }
    kinds
}

/// What it would buy to have none of these waits of one kind.
fn gain_without_all(
    causes: &[OnPath],
    of_kind: &[usize],
    programs: &Programs,
    gains: &Gains<'_>,
) -> Option<Gain> {
    let key = causes.get(*of_kind.first()?)?.cause.key;
    if key.unknown.is_some() || key.state != State::Wait {
        return None;
    }
    let objects = of_kind.iter().map(|&at| causes[at].cause.key.object);
    let change = Change {
        what: What::Waits {
            detail: key.detail,
            // Of one that has no thing to be named by nobody can ask apart.
            objects: objects.collect(),
        },
        processes: Some(programs.alike(key.process)),
        how: How::Scale(0.0),
    };
    Some(gains.of(&[change], None))
}

/// What it would buy if a function and all that it calls took no time.
fn without_function(function: FunctionIx, stacks: &Stacks, gains: &Gains<'_>) -> Gain {
    let change = Change {
        what: What::Function(stacks.code.function(function).name.clone()),
        processes: None,
        how: How::Scale(0.0),
    };
    gains.of(&[change], None)
}

/// What it would buy not to have a cause; nobody can tell of what is not known.
fn gain_without(key: &Key, programs: &Programs, gains: &Gains<'_>) -> Option<Gain> {
    if key.unknown.is_some() || key.state == State::Lost {
        return None;
    }
    let change = Change {
        what: What::Cause {
            state: key.state,
            detail: key.detail,
            object: key.object,
        },
        processes: Some(programs.alike(key.process)),
        how: How::Scale(0.0),
    };
    // Nobody waits for a processor where there is one for each.
    let plenty = key.state == State::Ready && key.detail.is_none();
    Some(gains.of(&[change], plenty.then_some(Processors::Any(u32::MAX))))
}
