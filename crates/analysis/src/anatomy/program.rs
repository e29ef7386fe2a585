//! One program: which of its calls belong together, which function is around them, and what that does for each item.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::Nanos;

use super::calls::{calls, Kind, On, Sum, FEW};
use super::{Anatomy, AtOnce, Component, Does};
use crate::facts::Facts;
use crate::ledger::Account;
use crate::operations::Recorded;
use crate::replay::entered;
use crate::stacks::{CallSite, FunctionIx, Spot, StackIx, Stacks};

/// Counts of which each is at most so many times the one below belong together: some items have no answer, or one call more.
const ALIKE: f64 = 1.1;
/// Of the calls of a kind so much must be in a function that is around them, and so much of their time in all.
const MOST: f64 = 0.8;
/// Items of an outermost function consist of their calls by so much, or the function does other things: pip, which reads
/// 871 files as it starts, has 0.21; a client that sends 5,000 queries from its main function 0.7.
const IN_CALLS: f64 = 0.5;
/// A thread with less of the path, beside the one of its program with the most, is a helper: what it does is another matter.
const HELPER: f64 = 0.1;
/// Samples are not exact: what looks longer than the time that there was by less than this says nothing of threads at once.
const SURE: f64 = 1.1;
/// So many clusters of counts are looked at, those with the most time.
const CLUSTERS: usize = 8;

/// One program, and the calls that are made by those of its threads that the path is mostly in.
pub(super) struct ProgramCalls<'a> {
    facts: &'a Facts,
    stacks: &'a Stacks,
    process: ProcessId,
    threads: BTreeSet<ThreadId>,
    /// Whether it runs a script, or Java.
    is_script: bool,
    calls: BTreeMap<Kind, Sum>,
    /// From where they are made.
    sites: BTreeMap<Kind, Vec<&'a CallSite>>,
}

impl<'a> ProgramCalls<'a> {
    pub(super) fn of(
        recorded: &Recorded<'a>,
        stacks: &'a Stacks,
        process: ProcessId,
        on_path: &[(ThreadId, u64)],
    ) -> ProgramCalls<'a> {
        let facts = recorded.facts;
        let longest = on_path.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
        let threads = on_path.iter();
        let threads = threads.filter(|(_, ns)| *ns as f64 >= longest as f64 * HELPER);
        let mut program = ProgramCalls {
            facts,
            stacks,
            process,
            threads: threads.map(|(thread, _)| *thread).collect(),
            is_script: false,
            calls: BTreeMap::new(),
            sites: BTreeMap::new(),
        };
        let callers = program.callers(&recorded.programs.alike(process));
        program.calls = calls(&recorded.waited.calls, &callers);
        program.find_sites();
        program
    }

    /// The threads of these processes without helpers, which stand beside a thread that the path is in: what they wait
    /// for meanwhile is no part of what is done.
    fn callers(&self, processes: &BTreeSet<ProcessId>) -> BTreeSet<ThreadId> {
        let rows = || self.facts.ledger.threads.iter().map(|thread| &thread.row);
        let on_path = rows().filter(|row| self.threads.contains(&row.thread));
        let with_path: BTreeSet<ProcessId> = on_path.map(|row| row.process).collect();
        let callers = rows().filter(|row| {
            let is_helper = with_path.contains(&row.process) && !self.threads.contains(&row.thread);
            processes.contains(&row.process) && !is_helper
        });
        callers.map(|row| row.thread).collect()
    }

    /// From where the calls are made; without those that mostly other threads make.
    fn find_sites(&mut self) {
        let mut all: BTreeMap<Kind, (u64, u64)> = BTreeMap::new();
        let processes = self.facts.ledger.threads.iter().map(|thread| &thread.row);
        let homes: FxHashMap<ThreadId, ProcessId> =
            processes.map(|row| (row.thread, row.process)).collect();
        let programs: BTreeSet<ProcessId> = self
            .threads
            .iter()
            .filter_map(|t| homes.get(t))
            .copied()
            .collect();
        let is_its = |thread: &ThreadId| {
            homes
                .get(thread)
                .is_some_and(|home| programs.contains(home))
        };
        let sites = self.stacks.sites.iter();
        for site in sites.filter(|site| is_its(&site.thread)) {
            let one = (site.call.clone(), site.object.map_or(On::Nothing, On::One));
            let kind = match self.calls.contains_key(&one) {
                true => one,
                false => (one.0, On::Several),
            };
            let (inside, count) = all.entry(kind.clone()).or_default();
            *count = count.saturating_add(site.count);
            if self.threads.contains(&site.thread) {
                *inside = inside.saturating_add(site.count);
                self.sites.entry(kind).or_default().push(site);
            }
        }
        // Where nothing tells who makes a call, there must be but one who can.
        let alone = homes
            .values()
            .filter(|home| programs.contains(home))
            .count()
            == programs.len();
        self.calls.retain(|kind, _| match all.get(kind) {
            Some(&(inside, count)) => inside as f64 >= count as f64 * MOST,
            None => alone,
        });
        self.sites.retain(|kind, _| self.calls.contains_key(kind));
        let code = &self.stacks.code;
        let own = self.stacks.events.iter();
        let own = own.filter(|event| is_its(&event.thread));
        let stacks: FxHashSet<StackIx> = own.map(|event| event.stack).collect();
        let mut functions = stacks
            .into_iter()
            .flat_map(|stack| code.functions_of(stack));
        self.is_script = functions.any(|function| code.function(function).is_script());
    }

    /// The program's functions of a stack, the outermost first; nothing where what runs a script works on its own.
    fn own(&self, stack: StackIx) -> Option<Vec<FunctionIx>> {
        let code = &self.stacks.code;
        let functions = functions_of(self.stacks, stack);
        let is_script = |&f: &FunctionIx| code.function(f).is_script();
        let runtimes = self.is_script && !functions.iter().any(is_script);
        let any = !self.stacks.own_functions(&functions).is_empty();
        let mut own = self.stacks.own_inwards(&functions);
        own.retain(|&f| !code.is_standard(f));
        (any && !runtimes).then_some(own)
    }

    pub(super) fn anatomies(&self) -> Vec<Anatomy> {
        let mut often: Vec<(&Kind, &Sum)> = self.calls.iter().collect();
        often.retain(|(_, sum)| sum.count >= FEW);
        often.sort_by_key(|(_, sum)| sum.count);
        let is_alike = |one: &(&Kind, &Sum), next: &(&Kind, &Sum)| {
            next.1.count as f64 <= one.1.count as f64 * ALIKE
        };
        let mut clusters: Vec<&[(&Kind, &Sum)]> = often.chunk_by(is_alike).collect();
        clusters.sort_by_key(|cluster| Reverse(cluster.iter().map(|(_, sum)| sum.ns).sum::<u64>()));
        clusters.truncate(CLUSTERS);
        let mut found: Vec<Anatomy> = Vec::new();
        for one in clusters
            .into_iter()
            .filter_map(|cluster| self.anatomy(cluster))
        {
            // The same function does more of something for each item: that is a part of it.
            let is_known = |known: &Anatomy| {
                known.place.map(|at| at.function) == one.place.map(|at| at.function)
            };
            if !found.iter().any(is_known) {
                found.push(one);
            }
        }
        found
    }

    /// What the items of these calls consist of.
    fn anatomy(&self, cluster: &[(&Kind, &Sum)]) -> Option<Anatomy> {
        let weighty = cluster.iter().max_by_key(|(_, sum)| sum.ns)?;
        let count = weighty.1.count;
        let seeds: Vec<Seeds> = cluster
            .iter()
            .map(|(kind, sum)| self.seeds(kind, sum.ns))
            .collect();
        let is_known = cluster
            .iter()
            .any(|(kind, _)| self.sites.contains_key(*kind));
        if is_known && seeds.iter().all(|seeds| seeds.count == 0) {
            // It is the runtime that makes them.
            return None;
        }
        let function = innermost(&seeds);
        let within = match function {
            Some(function) => Within::Function(function),
            None => self.stretch(&seeds)?,
        };
        let calls = self.made_there(&within, count);
        if !is_by_these(&calls, count) {
            return None;
        }
        let mut components = together(&calls, count);
        let covered: BTreeSet<&str> = calls.iter().map(|((name, _), _)| name.as_str()).collect();
        let in_calls = sum(&components);
        components.extend(self.between_calls(&within, &covered));
        components.sort_by_key(|component| Reverse(component.ns));
        let ns = sum(&components);
        let at_once = self.at_once(&calls, ns);
        // All that a program does is no item because it also makes some calls.
        if function.is_none() && (in_calls as f64) < ns as f64 * IN_CALLS {
            return None;
        }
        Some(Anatomy {
            process: self.process,
            count,
            estimated: weighty.1.estimated,
            place: function.map(|function| self.place(function, &seeds)),
            ns,
            at_once,
            components,
        })
    }

    /// In how many threads they are made at the same time: by how long those threads lived, beside the time for which there
    /// was any of them. Never so few that what each does would be longer than that.
    fn at_once(&self, calls: &[(&Kind, &Sum)], ns: u64) -> AtOnce {
        let threads = calls.iter().flat_map(|(_, sum)| &sum.threads);
        let threads: BTreeSet<ThreadId> = threads.copied().collect();
        let rows = threads
            .iter()
            .filter_map(|&thread| Some(&self.facts.ledger.thread(thread)?.row));
        let mut lives: Vec<(Nanos, Nanos)> = rows.clone().map(|row| (row.start, row.end)).collect();
        lives.sort_unstable();
        let processes: BTreeSet<ProcessId> = rows.map(|row| row.process).collect();
        let (mut all, mut any, mut until) = (0u64, 0u64, Nanos(i64::MIN));
        for &(start, end) in &lives {
            all = all.saturating_add(end.since(start));
            any = any.saturating_add(end.since(start.max(until)));
            until = until.max(end);
        }
        let (all, any) = (all as f64, any.max(1) as f64);
        let many = match lives.len() {
            0 | 1 => 1.0,
            most => {
                let needed = ns as f64 / any;
                let needed = if needed > SURE { needed.ceil() } else { 1.0 };
                (all / any).round().max(needed).clamp(1.0, most as f64)
            }
        };
        AtOnce {
            many: many as u64,
            processes: processes.len() == lives.len(),
        }
    }

    /// The places of the calls of a kind.
    fn seeds(&self, kind: &Kind, ns: u64) -> Seeds<'a> {
        let mut seeds = Seeds {
            count: 0,
            ns,
            through: FxHashMap::default(),
            sites: self.sites.get(kind).cloned().unwrap_or_default(),
        };
        seeds.sites.retain(|site| {
            let Some(own) = self.own(site.stack) else {
                return false;
            };
            seeds.count = seeds.count.saturating_add(site.count);
            for (function, depth) in own.into_iter().zip(1..) {
                let (count, depths) = seeds.through.entry(function).or_default();
                *count = count.saturating_add(site.count);
                *depths = depths.saturating_add(site.count.saturating_mul(depth));
            }
            true
        });
        seeds
    }

    /// A function with the line at which the first of these calls is made in it.
    fn place(&self, function: FunctionIx, seeds: &[Seeds]) -> Spot {
        let mut sites: Vec<&CallSite> = seeds
            .iter()
            .flat_map(|seeds| &seeds.sites)
            .copied()
            .collect();
        sites.sort_unstable_by_key(|site| (site.thread, site.at));
        let spots = sites
            .iter()
            .flat_map(|site| self.stacks.code.spots_of(site.stack));
        let mut spots = spots.filter(|spot| self.stacks.code.one(spot.function) == function);
        spots.next().unwrap_or(Spot {
            function,
            frame: None,
        })
    }

    /// In the thread that makes most of these calls, from the first on: when the last is made nobody knows, as stacks of
    /// calls are taken ever more seldom.
    fn stretch(&self, seeds: &[Seeds]) -> Option<Within> {
        let mut threads: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for site in seeds.iter().flat_map(|seeds| &seeds.sites) {
            let count = threads.entry(site.thread).or_default();
            *count = count.saturating_add(site.count);
        }
        let most = threads.into_iter().max_by_key(|(_, count)| *count);
        let thread = most.map_or(*self.threads.first()?, |(thread, _)| thread);
        let row = &self.facts.ledger.thread(thread)?.row;
        let begins = seeds.iter().filter_map(|seeds| {
            let own = seeds.sites.iter().filter(|site| site.thread == thread);
            own.map(|site| site.at).min()
        });
        // Where all of them are made for the first time.
        let from = begins.max().unwrap_or(row.start);
        Some(Within::Stretch(thread, from, row.end))
    }

    /// The calls that are made there, about as often or more often.
    fn made_there(&self, within: &Within, count: u64) -> Vec<(&Kind, &Sum)> {
        let often = self.calls.iter().filter(|(_, sum)| sum.count * 2 >= count);
        often
            .filter(|(kind, _)| self.is_inside(within, kind))
            .collect()
    }

    /// Whether most of the calls of a kind are made there.
    fn is_inside(&self, within: &Within, kind: &Kind) -> bool {
        let Some(sites) = self.sites.get(kind) else {
            // Without stacks nobody knows it otherwise.
            return matches!(within, Within::Stretch(..));
        };
        let (mut inside, mut all) = (0u64, 0u64);
        for site in sites {
            let is_inside = within.has_site(self.stacks, site);
            all = all.saturating_add(site.count);
            inside = inside.saturating_add(if is_inside { site.count } else { 0 });
        }
        inside as f64 >= all as f64 * MOST
    }

    /// What is done there outside of these calls, by samples.
    fn between_calls(&self, within: &Within, covered: &BTreeSet<&str>) -> Vec<Component> {
        let mut known: FxHashMap<StackIx, Option<Doing>> = FxHashMap::default();
        let mut sums: BTreeMap<Doing, u64> = BTreeMap::new();
        let events = self.threads.iter();
        let events = events.flat_map(|&thread| self.stacks.events_of(thread));
        for event in events.filter(|event| within.has_moment(event.thread, event.at)) {
            let doing = *known
                .entry(event.stack)
                .or_insert_with(|| self.doing(within, event.stack, covered));
            let doing = match event.account {
                Account::Cpu => doing.filter(|doing| *doing != Doing::Call),
                Account::Ready => doing.map(|_| Doing::Ready),
                // Waits are within calls, which were timed.
                _ => None,
            };
            if let Some(doing) = doing {
                let sum = sums.entry(doing).or_default();
                *sum = sum.saturating_add(event.ns);
            }
        }
        let component = |(doing, ns)| {
            let does = match doing {
                Doing::Function(function) => Does::Function(function),
                Doing::Itself | Doing::Call => Does::Itself,
                Doing::Runtime => Does::Runtime,
                Doing::Ready => Does::Ready,
            };
            Component { does, ns }
        };
        sums.into_iter().map(component).collect()
    }

    /// What a sample is of: one of these calls, the function of the program that is called from there, or the library's that it
    /// calls itself. `None` where it is elsewhere.
    fn doing(&self, within: &Within, stack: StackIx, covered: &BTreeSet<&str>) -> Option<Doing> {
        let code = &self.stacks.code;
        let functions = functions_of(self.stacks, stack);
        let own = self.own(stack);
        let (innermost, mut inner) = match (within, &own) {
            (Within::Function(_), None) => return None,
            (Within::Function(function), Some(own)) => {
                let at = own.iter().position(|own| own == function)?;
                (Some(*function), own[at + 1..].iter())
            }
            (Within::Stretch(..), own) => (
                self.stacks.own_functions(&functions).pop(),
                own.as_deref().unwrap_or_default().iter(),
            ),
        };
        let mut calls = functions
            .iter()
            .filter_map(|&f| entered(&code.function(f).name));
        if calls.any(|call| covered.contains(call)) {
            return Some(Doing::Call);
        }
        if own.is_none() {
            return Some(Doing::Runtime);
        }
        if let Some(&called) = inner.next() {
            return Some(Doing::Function(called));
        }
        let Some(at) = functions.iter().position(|f| Some(*f) == innermost) else {
            return Some(Doing::Itself);
        };
        // What an interpreter does is the script's work.
        let script = code.function(functions[at]).is_script();
        let mut called = functions[..at].iter().rev();
        let called = called.find(|&&f| {
            let function = code.function(f);
            !function.name.is_empty() && (!script || function.is_script())
        });
        Some(called.map_or(Doing::Itself, |&called| Doing::Function(called)))
    }
}

/// Whether the time of these calls is mostly that of calls that come as often: where others that come more often or less often take
/// more, the item is theirs.
fn is_by_these(calls: &[(&Kind, &Sum)], count: u64) -> bool {
    let (mut own, mut all) = (0u64, 0u64);
    for (_, sum) in calls {
        let as_often = sum.count * 2 < count * 3 && sum.count as f64 * ALIKE >= count as f64;
        own = own.saturating_add(if as_often { sum.ns } else { 0 });
        all = all.saturating_add(sum.ns);
    }
    own >= all - own
}

/// These calls, those on the same thing together.
fn together(calls: &[(&Kind, &Sum)], count: u64) -> Vec<Component> {
    let mut found: BTreeMap<On, Together<'_>> = BTreeMap::new();
    for ((name, on), sum) in calls {
        found.entry(*on).or_default().add(name, sum);
    }
    let found = found.into_iter();
    found
        .map(|(on, calls)| calls.component(on, count))
        .collect()
}

/// Calls on the same thing.
#[derive(Default)]
struct Together<'a> {
    names: BTreeSet<&'a str>,
    count: u64,
    ns: u64,
    objects: u64,
}

impl<'a> Together<'a> {
    fn add(&mut self, name: &'a str, sum: &Sum) {
        self.names.insert(name);
        self.count = self.count.saturating_add(sum.count);
        self.ns = self.ns.saturating_add(sum.ns);
        self.objects = self.objects.max(sum.objects);
    }

    fn component(self, on: On, items: u64) -> Component {
        let each = items.max(1) as f64 * self.names.len().max(1) as f64;
        Component {
            does: Does::Calls {
                times: self.count as f64 / each,
                names: self.names.into_iter().map(str::to_owned).collect(),
                object: match on {
                    On::One(object) => Some(object),
                    On::Several | On::Nothing => None,
                },
                objects: self.objects,
            },
            ns: self.ns,
        }
    }
}

/// The functions of a stack, the innermost first.
fn functions_of(stacks: &Stacks, stack: StackIx) -> Vec<FunctionIx> {
    let functions = stacks.code.functions_of(stack).into_iter();
    functions
        .map(|function| stacks.code.one(function))
        .collect()
}

/// Where items are done.
enum Within {
    Function(FunctionIx),
    /// One thread, from when until when.
    Stretch(ThreadId, Nanos, Nanos),
}

impl Within {
    fn has_moment(&self, thread: ThreadId, at: Nanos) -> bool {
        match self {
            Within::Function(_) => true,
            Within::Stretch(of, from, until) => thread == *of && (*from..=*until).contains(&at),
        }
    }

    fn has_site(&self, stacks: &Stacks, site: &CallSite) -> bool {
        match self {
            Within::Function(function) => functions_of(stacks, site.stack).contains(function),
            Within::Stretch(..) => self.has_moment(site.thread, site.at),
        }
    }
}

/// What a sample is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Function(FunctionIx),
    Itself,
    Runtime,
    /// A call that was timed.
    Call,
    Ready,
}

/// The places of all calls of a kind.
struct Seeds<'a> {
    count: u64,
    ns: u64,
    /// For each function the calls that pass through it, and how far in it stands, times these.
    through: FxHashMap<FunctionIx, (u64, u64)>,
    sites: Vec<&'a CallSite>,
}

impl Seeds<'_> {
    /// How far in a function stands that most of these calls pass through.
    fn depth(&self, function: FunctionIx) -> Option<f64> {
        let &(count, depths) = self.through.get(&function)?;
        let most = count as f64 >= self.count as f64 * MOST;
        most.then(|| depths as f64 / count.max(1) as f64)
    }
}

/// The innermost function that is around most of these calls: by their time, and by how many kinds there are, so that one
/// long call does not stand for the item that it is made for.
fn innermost(seeds: &[Seeds<'_>]) -> Option<FunctionIx> {
    let placed: Vec<&Seeds> = seeds.iter().filter(|seeds| seeds.count > 0).collect();
    let all = placed
        .iter()
        .fold(0u64, |sum, seeds| sum.saturating_add(seeds.ns));
    let functions = placed
        .iter()
        .flat_map(|seeds| seeds.through.keys().copied());
    let functions: BTreeSet<FunctionIx> = functions.collect();
    let around = functions.into_iter().filter_map(|function| {
        let inside = placed
            .iter()
            .filter_map(|seeds| Some((seeds.depth(function)?, seeds.ns)));
        let (kinds, depth, ns) =
            inside.fold((0.0, 0.0, 0u64), |(kinds, deepest, sum), (depth, ns)| {
                (
                    kinds + 1.0,
                    f64::max(deepest, depth),
                    sum.saturating_add(ns),
                )
            });
        let of_time = ns as f64 / all.max(1) as f64;
        let of_kinds = kinds / placed.len() as f64;
        (of_time + of_kinds >= 2.0 * MOST).then_some((depth, function))
    });
    let around = around.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    around.map(|(_, function)| function)
}

fn sum(components: &[Component]) -> u64 {
    let each = components.iter().map(|component| component.ns);
    each.fold(0, u64::saturating_add)
}
