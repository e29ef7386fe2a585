//! Sleeps of goroutines: Go's runtime waits for the next timer of all of them, in pieces of any length. While nothing of the program's
//! own waits for the network, the goroutines whose sleep such a wait is a piece of are those that wait for a timer, or for channels, of
//! which a timer may be one.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::stacks::{Spot, StackIx};
use timesink_analysis::stretches::Stretches;
use timesink_analysis::tasks::{GroupKind, Parking};
use timesink_recording::ids::{ProcessId, StackId, TaskId};
use timesink_recording::Nanos;

use crate::awaiting::{asks_for_others, has_goroutines, turns_of};
use crate::inquiry::Inquiry;

/// So often a goroutine waits for channels in one place whose timer ends it: one that waits once waits for the end of something.
const REPEATED: usize = 3;

/// A stretch in which a goroutine was parked at one place.
#[derive(Clone, Copy)]
struct Parked {
    task: TaskId,
    from: Nanos,
    until: Nanos,
    stack: StackIx,
}

impl Parked {
    fn ns(self) -> u64 {
        self.until.since(self.from)
    }
}

/// The goroutines of a process that sleep.
#[derive(Default)]
pub struct GoroutineSleeps {
    sleeps: Vec<Parked>,
    /// When any of them sleeps, and when any goroutine waits for the network.
    asleep: Stretches,
    for_network: Stretches,
}

impl GoroutineSleeps {
    /// As far as goroutines of the program's own were seen to be left, and found when they were looked at. None of other processes.
    pub fn of(inquiry: &Inquiry<'_>, process: ProcessId) -> GoroutineSleeps {
        if !has_goroutines(inquiry, process) {
            return GoroutineSleeps::default();
        }
        let mut kinds: BTreeMap<StackIx, Waits> = BTreeMap::new();
        let mut kind = |stack| {
            *kinds
                .entry(stack)
                .or_insert_with(|| Waits::in_stack(inquiry, stack))
        };
        let (mut sleeps, mut for_network) = (Vec::new(), Vec::new());
        for all in parked(inquiry, process) {
            let mut times: BTreeMap<StackIx, usize> = BTreeMap::new();
            for one in &all {
                *times.entry(one.stack).or_default() += 1;
            }
            for one in all {
                match kind(one.stack) {
                    Waits::ForTimer => sleeps.push(one),
                    Waits::ForChannels if times[&one.stack] >= REPEATED => sleeps.push(one),
                    Waits::ForNetwork => for_network.push((one.from, one.until)),
                    Waits::ForChannels | Waits::Otherwise => {}
                }
            }
        }
        let asleep = sleeps.iter().map(|sleep| (sleep.from, sleep.until));
        GoroutineSleeps {
            asleep: Stretches::of(asleep.collect()),
            for_network: Stretches::of(for_network),
            sleeps,
        }
    }

    /// Whether the runtime waits for the timer of a sleep until a moment, and for nothing else.
    pub fn are_until(&self, moment: Nanos) -> bool {
        let before = Nanos(moment.0.saturating_sub(1));
        self.asleep.has(before) && !self.for_network.has(before)
    }

    pub fn are_none(&self) -> bool {
        self.sleeps.is_empty()
    }

    /// How many goroutines these are.
    pub fn goroutines(&self) -> usize {
        let tasks: BTreeSet<TaskId> = self.sleeps.iter().map(|sleep| sleep.task).collect();
        tasks.len()
    }

    /// Where they sleep longest, all together.
    pub fn place(&self, inquiry: &Inquiry<'_>) -> Vec<Spot> {
        let mut by_stack: BTreeMap<StackIx, u64> = BTreeMap::new();
        for sleep in &self.sleeps {
            *by_stack.entry(sleep.stack).or_default() += sleep.ns();
        }
        let longest = by_stack.into_iter().max_by_key(|(_, ns)| *ns);
        longest.map_or(Vec::new(), |(stack, _)| inquiry.spots(stack))
    }
}

/// What a goroutine waits for, as far as that matters here.
#[derive(Clone, Copy)]
enum Waits {
    ForTimer,
    ForChannels,
    ForNetwork,
    Otherwise,
}

impl Waits {
    fn in_stack(inquiry: &Inquiry<'_>, stack: StackIx) -> Waits {
        let code = &inquiry.stacks.code;
        let functions = code.functions_of(stack);
        if !functions
            .iter()
            .any(|function| code.is_user_code(*function))
        {
            return Waits::Otherwise;
        }
        if functions
            .iter()
            .any(|function| asks_for_others(inquiry, *function))
        {
            return Waits::ForNetwork;
        }
        match Parking::of(code, stack, GroupKind::Goroutine) {
            Parking::Timer => Waits::ForTimer,
            Parking::Select => Waits::ForChannels,
            Parking::Network | Parking::Connection => Waits::ForNetwork,
            _ => Waits::Otherwise,
        }
    }
}

/// A moment at which a goroutine was left, or found when it was looked at, or at work.
struct Moment {
    from: Nanos,
    until: Nanos,
    stack: Option<StackId>,
    by_look: bool,
}

/// Where the goroutines of a process were parked: of each in the order of time.
fn parked(inquiry: &Inquiry<'_>, process: ProcessId) -> Vec<Vec<Parked>> {
    let mut all: BTreeMap<TaskId, Vec<Moment>> = BTreeMap::new();
    for turn in turns_of(inquiry, process) {
        if let Some(task) = turn.task {
            all.entry(task).or_default().push(Moment {
                from: turn.t0,
                until: turn.t1,
                stack: turn.left_at,
                by_look: false,
            });
        }
    }
    for sight in inquiry.timeline.carried().sights(process) {
        all.entry(sight.task).or_default().push(Moment {
            from: sight.t,
            until: sight.t,
            stack: sight.stack,
            by_look: true,
        });
    }
    let code = &inquiry.stacks.code;
    let of_task = |(task, mut moments): (TaskId, Vec<Moment>)| {
        moments.sort_by_key(|moment| (moment.from, moment.until));
        let mut parked: Vec<Parked> = Vec::new();
        for pair in moments.windows(2) {
            let until = pair[1].from.max(pair[0].until);
            let Some(stack) = pair[0].stack.and_then(|stack| code.stack(stack)) else {
                continue;
            };
            // Who is found where it was left still waits.
            let still = parked.last_mut().filter(|last| {
                pair[0].by_look && last.stack == stack && last.until == pair[0].from
            });
            match still {
                Some(last) => last.until = until,
                None => parked.push(Parked {
                    task,
                    from: pair[0].until,
                    until,
                    stack,
                }),
            }
        }
        parked
    };
    all.into_iter().map(of_task).collect()
}
