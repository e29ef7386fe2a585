//! The function of the program that stands around something: around all reading of a file, say.
//!
//! What is read is mostly worked on in the same function, or in what it calls, and goes away with the reading. How
//! often the function was called no stack tells, so it is never the program's outermost one: that one does everything.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use timesink_recording::ids::ThreadId;
use timesink_recording::Nanos;

use super::{CallSite, FunctionIx, StackIx, Stacks};
use crate::ledger::Account;

/// A function around something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub function: FunctionIx,
    /// On a processor and waiting, in it and in what it calls.
    pub ns: u64,
    /// The first samples and waits of what it stands around.
    pub examples: Vec<(ThreadId, Nanos)>,
    /// The stack of one of them.
    pub stack: StackIx,
}

/// What a call is to the items that it is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemPart {
    /// Such calls are counted: one of each kind for each item, or some.
    Counted(usize),
    /// A call of another kind that comes as often.
    Beside(usize),
}

/// So many of a kind tell where it is; fewer may be chance.
const ENOUGH: usize = 3;
/// Of each kind so much, at least, must be in the function.
const MOST: f64 = 0.8;
const EXAMPLES: usize = 3;

/// The samples and waits of one kind.
#[derive(Default)]
struct Seeds {
    count: usize,
    /// For each function the sums of these that pass through it, and how far in it stands.
    through: FxHashMap<FunctionIx, (usize, usize)>,
    first: Vec<(ThreadId, Nanos, StackIx)>,
}

impl Seeds {
    /// So many that are in these functions, the outermost first.
    fn add(&mut self, own: &[FunctionIx], many: usize, seen: (ThreadId, Nanos, StackIx)) {
        self.count = self.count.saturating_add(many);
        for (depth, &function) in own.iter().enumerate() {
            let (count, depths) = self.through.entry(function).or_default();
            *count = count.saturating_add(many);
            *depths = depths.saturating_add(depth.saturating_mul(many));
        }
        if self.first.len() < EXAMPLES {
            self.first.push(seen);
        }
    }

    /// Whether nearly all of these pass through a function.
    fn is_mostly_in(&self, function: FunctionIx) -> bool {
        let through = self.through.get(&function).map_or(0, |(count, _)| *count);
        through as f64 >= self.count as f64 * MOST
    }
}

impl Stacks {
    /// The innermost function of the program through which nearly all passes that these threads do of each kind.
    /// `kind` tells from the name of a function what it does, if that counts.
    pub fn region(
        &self,
        threads: &[ThreadId],
        kind: impl Fn(&str) -> Option<usize>,
    ) -> Option<Region> {
        let mut known: FxHashMap<StackIx, Option<(usize, Vec<FunctionIx>)>> = FxHashMap::default();
        let mut kinds: FxHashMap<usize, Seeds> = FxHashMap::default();
        let events = || threads.iter().flat_map(|&thread| self.events_of(thread));
        for event in events().filter(|event| event.account != Account::Ready) {
            let seed = known
                .entry(event.stack)
                .or_insert_with(|| self.seed(event.stack, &kind));
            let Some((kind, own)) = seed else { continue };
            let seeds = kinds.entry(*kind).or_default();
            seeds.add(own, 1, (event.thread, event.at, event.stack));
        }
        self.around(threads, kinds)
    }

    /// The innermost function of the program that nearly all calls of each kind are made in, by their stacks.
    pub fn region_of_sites(
        &self,
        threads: &[ThreadId],
        kind: impl Fn(&CallSite) -> Option<usize>,
    ) -> Option<Region> {
        let kinds = self.seeds_of_sites(threads, &kind);
        let region = self.around(threads, kinds)?;
        let is_within = |site: &CallSite| {
            let functions = self.code.functions_of(site.stack);
            kind(site).is_some() && functions.contains(&region.function)
        };
        let usual = self.usual_site(threads, is_within);
        Some(Region {
            stack: usual.map_or(region.stack, |site| site.stack),
            ..region
        })
    }

    /// The function of the program that does whole items: around what is counted, and around all that comes as often and is
    /// made within the same functions.
    pub fn region_of_items(
        &self,
        threads: &[ThreadId],
        part: impl Fn(&CallSite) -> Option<ItemPart>,
    ) -> Option<Region> {
        let parts = self.seeds_of_sites(threads, part);
        let often = parts.into_iter().filter(|(_, seeds)| seeds.count >= ENOUGH);
        let mut counted: FxHashMap<usize, Seeds> = FxHashMap::default();
        let mut beside: Vec<Seeds> = Vec::new();
        for (part, seeds) in often {
            match part {
                ItemPart::Counted(kind) => {
                    counted.insert(kind, seeds);
                }
                ItemPart::Beside(_) => beside.push(seeds),
            }
        }
        let function = with_all_beside(&counted, &beside)?;
        self.region_at(threads, &counted, function)
    }

    /// The places of such calls, by kind.
    fn seeds_of_sites<K: Eq + Hash>(
        &self,
        threads: &[ThreadId],
        kind: impl Fn(&CallSite) -> Option<K>,
    ) -> FxHashMap<K, Seeds> {
        let mut kinds: FxHashMap<K, Seeds> = FxHashMap::default();
        let sites = threads.iter().flat_map(|&thread| self.sites_of(thread));
        for (site, kind) in sites.filter_map(|site| Some((site, kind(site)?))) {
            let own = self.own_inwards(&self.code.functions_of(site.stack));
            let count = usize::try_from(site.count).unwrap_or(usize::MAX);
            let seeds = kinds.entry(kind).or_default();
            seeds.add(&own, count, (site.thread, site.at, site.stack));
        }
        kinds
    }

    /// The region of these kinds.
    fn around(&self, threads: &[ThreadId], mut kinds: FxHashMap<usize, Seeds>) -> Option<Region> {
        kinds.retain(|_, seeds| seeds.count >= ENOUGH);
        let function = innermost(&kinds)?;
        self.region_at(threads, &kinds, function)
    }

    /// A function with what is done in it.
    fn region_at(
        &self,
        threads: &[ThreadId],
        kinds: &FxHashMap<usize, Seeds>,
        function: FunctionIx,
    ) -> Option<Region> {
        let events = || threads.iter().flat_map(|&thread| self.events_of(thread));
        let first = kinds.values().flat_map(|seeds| &seeds.first);
        let mut first: Vec<_> = first.copied().collect();
        first.sort_unstable();
        first.retain(|&(_, _, stack)| self.code.functions_of(stack).contains(&function));
        let stack = first.first()?.2;
        let examples = first.iter().map(|&(thread, at, _)| (thread, at));
        let mut inside: FxHashMap<StackIx, bool> = FxHashMap::default();
        let within = events().filter(|event| {
            event.account != Account::Ready
                && *inside
                    .entry(event.stack)
                    .or_insert_with(|| self.code.functions_of(event.stack).contains(&function))
        });
        Some(Region {
            function,
            ns: within.fold(0, |sum, event| sum.saturating_add(event.ns)),
            examples: examples.take(EXAMPLES).collect(),
            stack,
        })
    }

    /// The program's own function that most of what is done in a library's is done for; if it was seen to be entered so many times,
    /// or half as often: samples miss some. So it is left in between, and is not one that calls the library in a loop.
    pub fn entered_around(
        &self,
        region: &Region,
        threads: &[ThreadId],
        times: u64,
    ) -> Option<Region> {
        let function = self.nearest_own(region, threads)?;
        let mut inside: FxHashMap<StackIx, bool> = FxHashMap::default();
        let (mut ns, mut entered) = (0u64, 0u64);
        for &thread in threads {
            let mut was_inside = false;
            let events = self.events_of(thread).iter();
            for event in events.filter(|event| event.account != Account::Ready) {
                let is_inside = *inside
                    .entry(event.stack)
                    .or_insert_with(|| self.code.functions_of(event.stack).contains(&function));
                ns = ns.saturating_add(if is_inside { event.ns } else { 0 });
                entered += u64::from(is_inside && !was_inside);
                was_inside = is_inside;
            }
        }
        (entered.saturating_mul(2) >= times).then(|| Region {
            function,
            ns,
            ..region.clone()
        })
    }

    /// Of the functions that are not installed, the one that is nearest to the region for most of the time in it.
    fn nearest_own(&self, region: &Region, threads: &[ThreadId]) -> Option<FunctionIx> {
        let mut known: FxHashMap<StackIx, Option<FunctionIx>> = FxHashMap::default();
        let mut sums: FxHashMap<FunctionIx, u64> = FxHashMap::default();
        let events = threads.iter().flat_map(|&thread| self.events_of(thread));
        for event in events.filter(|event| event.account != Account::Ready) {
            let nearest = *known.entry(event.stack).or_insert_with(|| {
                let functions = self.code.functions_of(event.stack);
                let at = functions.iter().position(|&f| f == region.function)?;
                let mut own = self.own_functions(&functions[at..]);
                // The outermost one does everything.
                own.pop();
                own.into_iter().find(|&f| !self.code.is_installed(f))
            });
            if let Some(function) = nearest {
                let sum = sums.entry(function).or_default();
                *sum = sum.saturating_add(event.ns);
            }
        }
        let nearest = sums
            .into_iter()
            .max_by_key(|&(function, ns)| (ns, Reverse(function)));
        let is_most = |ns: u64| ns as f64 >= region.ns as f64 * MOST;
        nearest
            .filter(|&(_, ns)| is_most(ns))
            .map(|(function, _)| function)
    }

    /// The outermost function of the program that does little but call this one, in these threads: one of its own names for
    /// it, so to speak. The region's own function, if there is none.
    pub fn outermost(&self, region: &Region, threads: &[ThreadId]) -> FunctionIx {
        let mut known: FxHashMap<StackIx, (bool, Vec<FunctionIx>)> = FxHashMap::default();
        // For each function the time in it, and how much of that is in the region too.
        let mut sums: FxHashMap<FunctionIx, (u64, u64)> = FxHashMap::default();
        let events = threads.iter().flat_map(|&thread| self.events_of(thread));
        for event in events.filter(|event| event.account != Account::Ready) {
            let (inside, own) = known.entry(event.stack).or_insert_with(|| {
                let functions = self.code.functions_of(event.stack);
                let mut own = self.own_functions(&functions);
                // The outermost one does everything.
                own.pop();
                own.sort_unstable();
                own.dedup();
                (functions.contains(&region.function), own)
            });
            for &function in own.iter() {
                let (all, part) = sums.entry(function).or_default();
                *all = all.saturating_add(event.ns);
                *part = part.saturating_add(if *inside { event.ns } else { 0 });
            }
        }
        // Whatever passes through the region passes through it, and it does hardly anything else.
        let alike = sums.into_iter().filter(|&(_, (all, part))| {
            part as f64 >= region.ns as f64 * MOST && part as f64 >= all as f64 * MOST
        });
        let outermost = alike.max_by_key(|&(function, (all, _))| (all, Reverse(function)));
        outermost.map_or(region.function, |(function, _)| function)
    }

    /// From when until when these threads were seen to do it, each that was seen often enough.
    pub fn extents(
        &self,
        threads: &[ThreadId],
        does: impl Fn(&str) -> bool,
    ) -> BTreeMap<ThreadId, (Nanos, Nanos)> {
        let mut known: FxHashMap<StackIx, bool> = FxHashMap::default();
        let mut extents = BTreeMap::new();
        for &thread in threads {
            let events = self.events_of(thread).iter();
            let mut such = events.filter(|event| {
                event.account != Account::Ready
                    && *known
                        .entry(event.stack)
                        .or_insert_with(|| self.names_of(event.stack).into_iter().any(&does))
            });
            let first: Vec<Nanos> = such.by_ref().take(ENOUGH).map(|event| event.at).collect();
            if let (Some(&from), true) = (first.first(), first.len() == ENOUGH) {
                let last = such.next_back().map(|event| event.at);
                let until = last.or(first.last().copied()).unwrap_or(from);
                extents.insert(thread, (from, until));
            }
        }
        extents
    }

    /// What a stack does of the kinds asked for, and the program's functions that it does it in, the outermost first.
    fn seed(
        &self,
        stack: StackIx,
        kind: impl Fn(&str) -> Option<usize>,
    ) -> Option<(usize, Vec<FunctionIx>)> {
        let functions = self.code.functions_of(stack);
        let name = |&function: &FunctionIx| self.code.function(function).name.as_str();
        let kind = functions.iter().find_map(|f| kind(name(f)))?;
        Some((kind, self.own_inwards(&functions)))
    }

    /// The program's functions of a stack, the outermost first but for the very first.
    pub(crate) fn own_inwards(&self, functions: &[FunctionIx]) -> Vec<FunctionIx> {
        let mut own = self.own_functions(functions);
        own.reverse();
        // The outermost one does everything.
        without_recursion(own).into_iter().skip(1).collect()
    }

    /// The functions of a stack that are the program's own: of a script only its own, not the interpreter's.
    pub(crate) fn own_functions(&self, functions: &[FunctionIx]) -> Vec<FunctionIx> {
        let is_script = |function: &FunctionIx| self.code.function(*function).is_script();
        let script = functions.iter().any(is_script);
        let own = functions.iter().copied().filter(|f| {
            let own = !self.code.is_system(*f) && !self.code.is_before_main(*f);
            own && !self.code.is_of_language(*f) && (!script || is_script(f))
        });
        own.collect()
    }

    /// Whether these threads were seen often enough in stacks of which this holds.
    pub fn seen(&self, threads: &[ThreadId], is: impl Fn(&[&str]) -> bool) -> bool {
        let mut known: FxHashMap<StackIx, bool> = FxHashMap::default();
        let events = threads.iter().flat_map(|&thread| self.events_of(thread));
        let counted = events.filter(|event| event.account != Account::Ready);
        let such = counted.filter(|event| {
            *known
                .entry(event.stack)
                .or_insert_with(|| is(&self.names_of(event.stack)))
        });
        such.take(ENOUGH).count() == ENOUGH
    }

    /// The names of the functions of a stack, the innermost first.
    pub fn names_of(&self, stack: StackIx) -> Vec<&str> {
        let functions = self.code.functions_of(stack).into_iter();
        functions
            .map(|function| self.code.function(function).name.as_str())
            .collect()
    }

    /// How much of the time on a processor of these threads is in stacks of which this holds, and how much it is in all.
    pub fn part(
        &self,
        threads: &[ThreadId],
        among: impl Fn(&[&str]) -> bool,
        is: impl Fn(&[&str]) -> bool,
    ) -> (u64, u64) {
        let mut known: FxHashMap<StackIx, (bool, bool)> = FxHashMap::default();
        let (mut part, mut whole) = (0u64, 0u64);
        let events = threads.iter().flat_map(|&thread| self.events_of(thread));
        for event in events.filter(|event| event.account == Account::Cpu) {
            let (counts, inside) = *known.entry(event.stack).or_insert_with(|| {
                let names = self.names_of(event.stack);
                (among(&names), is(&names))
            });
            if counts {
                whole = whole.saturating_add(event.ns);
                part = part.saturating_add(if inside { event.ns } else { 0 });
            }
        }
        (part, whole)
    }
}

/// Who calls itself once, where it came in, of functions with the outermost first.
pub(crate) fn without_recursion(mut functions: Vec<FunctionIx>) -> Vec<FunctionIx> {
    let mut seen = Vec::with_capacity(functions.len());
    functions.retain(|function| {
        let fresh = !seen.contains(function);
        seen.push(*function);
        fresh
    });
    functions
}

/// The function that stands furthest in, of those that nearly all of each kind passes through.
fn innermost(kinds: &FxHashMap<usize, Seeds>) -> Option<FunctionIx> {
    let around = around_all(kinds)?;
    let (function, _) = around
        .into_iter()
        .max_by_key(|&(function, depth)| (depth, Reverse(function)))?;
    Some(function)
}

/// The functions that nearly all of each kind passes through, and how far in each stands, in thousandths.
fn around_all(kinds: &FxHashMap<usize, Seeds>) -> Option<Vec<(FunctionIx, usize)>> {
    let any = kinds.values().min_by_key(|seeds| seeds.count)?;
    let around = any.through.iter().filter(|(&function, _)| {
        let mut kinds = kinds.values();
        kinds.all(|seeds| seeds.is_mostly_in(function))
    });
    let around = around.map(|(&function, &(count, depths))| {
        (function, depths.saturating_mul(1000) / count.max(1))
    });
    Some(around.collect())
}

/// Of the functions around what is counted the outermost one that is needed to have each kind beside it inside, of those that
/// are in one of them at all.
fn with_all_beside(counted: &FxHashMap<usize, Seeds>, beside: &[Seeds]) -> Option<FunctionIx> {
    let mut around = around_all(counted)?;
    around.sort_by_key(|&(function, depth)| (Reverse(depth), function));
    let innermost_of = |seeds: &Seeds| {
        let mut inwards = around.iter();
        inwards.position(|&(function, _)| seeds.is_mostly_in(function))
    };
    let needed = beside.iter().filter_map(innermost_of).max().unwrap_or(0);
    around.get(needed).map(|&(function, _)| function)
}
