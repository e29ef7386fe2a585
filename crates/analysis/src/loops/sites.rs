//! The waits of a thread, each with a number for what it is: kind, kind of thing, and place in the code.

use rustc_hash::FxHashMap;
use timesink_recording::ids::ObjectId;
use timesink_recording::words::{Detail, ObjectKind};
use timesink_recording::Nanos;

use crate::ledger::Account;
use crate::operations::Recorded;
use crate::stacks::{FunctionIx, StackIx, Stacks};

/// A place in the program's own code: a frame, as an index into the code's frames, and its function.
pub(super) type Site = (usize, FunctionIx);

/// What a wait is.
pub(super) type Symbol = (Detail, Option<ObjectKind>, Option<Site>);

/// One wait, or several of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct One {
    pub(super) symbol: u32,
    pub(super) object: Option<ObjectId>,
    pub(super) until: Nanos,
}

/// All of a thread.
pub(super) struct Waits {
    pub(super) all: Vec<One>,
    pub(super) symbols: Vec<Symbol>,
}

/// The places of stacks that were looked at.
pub(super) type Cache = FxHashMap<StackIx, Option<Site>>;

pub(super) fn waits(
    recorded: &Recorded<'_>,
    stacks: &Stacks,
    slot: usize,
    cache: &mut Cache,
) -> Waits {
    let runs = recorded.waited.runs(recorded.timeline, slot);
    let events = stacks.events_of(recorded.timeline.threads[slot].thread);
    let mut sites: Vec<Option<Site>> = Vec::with_capacity(runs.len());
    let mut usual: FxHashMap<(Detail, Option<ObjectId>), FxHashMap<Site, u32>> =
        FxHashMap::default();
    let mut at = 0;
    for run in &runs {
        at += events[at..].partition_point(|event| event.at < run.span.t0);
        let then = events[at..]
            .iter()
            .take_while(|event| event.at <= run.until);
        let mut waits = then.filter(|event| event.account == Account::Wait);
        let site = waits.next().and_then(|event| {
            *cache
                .entry(event.stack)
                .or_insert_with(|| own_place(stacks, event.stack))
        });
        if let Some(site) = site {
            let kind = (run.span.detail, run.span.object());
            *usual.entry(kind).or_default().entry(site).or_default() += 1;
        }
        sites.push(site);
    }
    // Short waits have no stack. Where others of the kind have, they were most probably at the same place.
    let usual: FxHashMap<_, Site> = usual
        .into_iter()
        .filter_map(|(kind, sites)| {
            let most = sites
                .into_iter()
                .max_by_key(|(site, count)| (*count, *site));
            Some((kind, most?.0))
        })
        .collect();
    let mut numbers: FxHashMap<Symbol, u32> = FxHashMap::default();
    let mut waits = Waits {
        all: Vec::with_capacity(runs.len()),
        symbols: Vec::new(),
    };
    for (run, site) in runs.iter().zip(sites) {
        let (detail, object) = (run.span.detail, run.span.object());
        let kind = object
            .and_then(|id| recorded.facts.object(id))
            .map(|found| found.kind);
        let site = site.or_else(|| usual.get(&(detail, object)).copied());
        let symbol = (detail, kind, site);
        let next = waits.symbols.len() as u32;
        let number = *numbers.entry(symbol).or_insert(next);
        if number == next {
            waits.symbols.push(symbol);
        }
        waits.all.push(One {
            symbol: number,
            object,
            until: run.until,
        });
    }
    waits
}

/// The innermost frame of a stack that is the program's own.
fn own_place(stacks: &Stacks, stack: StackIx) -> Option<Site> {
    let mut frames = stacks.code.frames_of(stack);
    let own = frames.find(|(frame, function)| frame.is_some() && !stacks.code.is_system(*function));
    own.and_then(|(frame, function)| Some((frame?.0, function)))
}
