//! What a fix may take along: all that is done for one item, around the calls that are counted.
//!
//! Who does at once what is done one by one, or does without it, does the rest of each item less often, too. How much of that
//! rest there is, no recording tells; it is the most that a fix takes away, as the calls alone are the least.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::last_part;
use timesink_analysis::replay::{entered, Change, Gains, How, What};
use timesink_analysis::stacks::{CallSite, Function, FunctionIx, ItemPart, Region, StackIx};
use timesink_analysis::timeline::{Span, Waker};
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::words::{Detail, State};
use timesink_recording::Nanos;

use crate::inquiry::Inquiry;
use crate::rule::Fix;

/// All that these processes do for the items for which they make calls of each of these kinds.
#[derive(Clone, Debug)]
pub struct Around {
    pub processes: BTreeSet<ProcessId>,
    pub kinds: Vec<Vec<&'static str>>,
    /// Only calls on these, or on nothing that has a number, if that is said.
    pub objects: Option<BTreeSet<ObjectId>>,
    /// Whether all goes that is done for an item, as told by what comes as often, and not only what is around these calls.
    pub whole: bool,
    /// Whether all goes that is done between the first and the last item, where most of that is known to be for them.
    pub between: bool,
    /// Whether half of what is around most probably goes: what a client does for each request on a CPU, say.
    pub half_likely: bool,
    /// Where it is done, if stacks of calls and of the kernel do not tell.
    pub region: Option<Region>,
}

/// Where so much of what is done between the first and the last item is known to be for the items, the rest most probably is, too.
const MOSTLY: f64 = 0.5;

/// Interpreters whose functions are not read: what is seen of them is one loop, whatever the script does.
const UNSEEN: [&str; 8] = ["perl", "ruby", "lua", "php", "tclsh", "awk", "gawk", "mawk"];

/// A call, and what it is on if that comes as often as the items do.
type Kind<'a> = (&'a str, Option<ObjectId>);

impl Fix {
    /// The same, which may also take away what is around.
    pub fn with(self, around: &Around, inquiry: &Inquiry<'_>, gains: &Gains<'_>) -> Fix {
        let mut most = self.most();
        let all = around.change(inquiry);
        let half = around.half_likely.then(|| Change {
            how: How::Scale(0.5),
            ..all.clone()
        });
        most.push(all);
        if around.between {
            most.extend(around.all_between(inquiry, gains, &most));
        }
        match self {
            Fix::Likely(least, mut likely, _) => {
                likely.extend(half);
                Fix::Likely(least, likely, most)
            }
            fix => Fix::AtLeast(fix.changes(), most),
        }
    }
}

impl Around {
    /// That all of it goes.
    fn change(&self, inquiry: &Inquiry<'_>) -> Change {
        let threads = inquiry.threads_of(&self.processes);
        let kind = |function: &str| self.kind(entered(function)?);
        let beside = match self.whole {
            true => self.beside(inquiry),
            false => BTreeMap::new(),
        };
        let by_sites = inquiry
            .stacks
            .region_of_items(&threads, |site| self.part(site, &beside));
        let region = by_sites
            .or_else(|| inquiry.stacks.region(&threads, kind))
            .or_else(|| self.region.clone());
        let region = region.filter(|region| {
            !runs_unseen(inquiry, &self.processes) && !is_of_runtime(inquiry, &threads, region)
        });
        let what = match region {
            Some(region) => What::Functions(BTreeSet::from([inquiry
                .stacks
                .outermost(&region, &threads)])),
            // It is done in no function of its own: at most all goes that is done in between.
            None => What::Stretches(self.between(inquiry, &threads)),
        };
        Change {
            what,
            processes: Some(self.processes.clone()),
            how: How::Around,
        }
    }

    /// That all goes that is done between the first and the last item, if these changes take away most of that.
    fn all_between(
        &self,
        inquiry: &Inquiry<'_>,
        gains: &Gains<'_>,
        most: &[Change],
    ) -> Option<Change> {
        let timeline = inquiry.timeline;
        let threads = inquiry.threads_of(&self.processes);
        let (factors, _) = gains.factors(most);
        let gone = |index: usize| 1.0 - factors.get(index).map_or(1.0, |&kept| f64::from(kept));
        let slots = || threads.iter().filter_map(|&thread| timeline.slot(thread));
        let spans = || slots().flat_map(|slot| timeline.indexed(slot));
        let seen = self.between(inquiry, &threads).into_values().next();
        let waits = spans().filter(|(_, span)| span.state == State::Wait);
        let waits = waits.filter(|(index, _)| gone(*index) > 0.0);
        let (from, until) = waits
            .map(|(_, wait)| (wait.t0, wait.t1))
            .chain(seen)
            .reduce(|(from, until), (t0, t1)| (from.min(t0), until.max(t1)))?;
        let is_own = |span: &Span| match span.state {
            State::Cpu => true,
            State::Wait => {
                let others = matches!(timeline.waker(span), Waker::Thread { .. });
                span.detail != Detail::Sleep && !others
            }
            _ => false,
        };
        let (mut known, mut whole) = (0.0, 0.0);
        for (index, span) in spans().filter(|(_, span)| is_own(span)) {
            let ns = span.t1.min(until).since(span.t0.max(from)) as f64;
            whole += ns;
            known += ns * gone(index);
        }
        let stretches = threads.iter().map(|&thread| (thread, (from, until)));
        (whole > 0.0 && known >= whole * MOSTLY).then(|| Change {
            what: What::Between(stretches.collect()),
            processes: Some(self.processes.clone()),
            how: How::Around,
        })
    }

    /// Which of the kinds a call is, whatever it is on.
    fn kind(&self, call: &str) -> Option<usize> {
        self.kinds.iter().position(|kind| kind.contains(&call))
    }

    /// Whether calls on this are meant.
    fn is_about(&self, object: Option<ObjectId>) -> bool {
        let objects = self.objects.as_ref();
        objects.is_none_or(|objects| object.is_none_or(|object| objects.contains(&object)))
    }

    /// The same, but not calls on nothing where it is said what they are to be on.
    fn is_on_them(&self, object: Option<ObjectId>) -> bool {
        let objects = self.objects.as_ref();
        objects.is_none_or(|objects| object.is_some_and(|object| objects.contains(&object)))
    }

    fn part(&self, site: &CallSite, beside: &BTreeMap<Kind<'_>, usize>) -> Option<ItemPart> {
        if site.has_failed() {
            return None;
        }
        let call = site.call.as_str();
        if let Some(kind) = self.kind(call).filter(|_| self.is_about(site.object)) {
            return Some(ItemPart::Counted(kind));
        }
        if !self.is_on_them(site.object) {
            return None;
        }
        let on_one = beside.get(&(call, site.object));
        let other = on_one.or_else(|| beside.get(&(call, None)));
        other.copied().map(ItemPart::Beside)
    }

    /// The kinds of calls that come at least as often as those that are counted, each with a number. Things with few calls are
    /// told together.
    fn beside<'a>(&self, inquiry: &'a Inquiry<'_>) -> BTreeMap<Kind<'a>, usize> {
        /// Some items have a call less.
        const ALIKE: f64 = 1.1;
        let calls = || {
            let calls = inquiry.facts.calls.iter();
            calls.filter(|row| row.process.is_some_and(|p| self.processes.contains(&p)))
        };
        let mut items = vec![0u64; self.kinds.len()];
        for row in calls().filter(|row| self.is_about(row.object)) {
            if let Some(kind) = self.kind(&row.call) {
                items[kind] = items[kind].saturating_add(row.count);
            }
        }
        let items = items.into_iter().max().unwrap_or(0) as f64;
        let often = |count: u64| count as f64 * ALIKE >= items;
        let mut each: BTreeMap<Kind<'a>, u64> = BTreeMap::new();
        for row in calls().filter(|row| self.is_on_them(row.object)) {
            let sum = each.entry((row.call.as_str(), row.object)).or_default();
            *sum = sum.saturating_add(row.count);
        }
        let mut kinds: BTreeMap<Kind<'a>, u64> = BTreeMap::new();
        for ((call, object), count) in each {
            let object = object.filter(|_| often(count));
            let sum = kinds.entry((call, object)).or_default();
            *sum = sum.saturating_add(count);
        }
        let often = kinds.into_iter().filter(|(_, count)| often(*count));
        let numbered = often.enumerate();
        numbered.map(|(number, (kind, _))| (kind, number)).collect()
    }

    /// From the first to the last of it, in all threads: who makes the calls may do so for others.
    fn between(
        &self,
        inquiry: &Inquiry<'_>,
        threads: &[ThreadId],
    ) -> BTreeMap<ThreadId, (Nanos, Nanos)> {
        let is_such =
            |function: &str| entered(function).is_some_and(|call| self.kind(call).is_some());
        let extents = inquiry.stacks.extents(threads, is_such);
        let sites = threads
            .iter()
            .flat_map(|&thread| inquiry.stacks.sites_of(thread));
        let meant =
            sites.filter(|site| self.kind(&site.call).is_some() && self.is_about(site.object));
        let (first, last) = (
            meant.clone().map(|site| site.at).min(),
            meant.map(|site| site.at).max(),
        );
        // The first call has its stack taken, and those that follow each other for long do, too; the last one need not.
        let seen_from = extents.values().map(|(from, _)| *from).min();
        let seen_until = extents.values().map(|(_, until)| *until).max();
        match (first.or(seen_from), last.max(seen_until)) {
            (Some(from), Some(until)) => {
                let whole = threads.iter().map(|&thread| (thread, (from, until)));
                whole.collect()
            }
            _ => BTreeMap::new(),
        }
    }
}

/// Whether these processes run scripts whose functions nobody sees.
fn runs_unseen(inquiry: &Inquiry<'_>, processes: &BTreeSet<ProcessId>) -> bool {
    let mut programs = processes.iter().filter_map(|&p| inquiry.program(p));
    let unseen = programs.any(|path| {
        let name = last_part(path);
        UNSEEN.iter().any(|start| name.starts_with(start))
    });
    let mut functions = inquiry.stacks.code.functions.iter();
    unseen && !functions.any(Function::is_script)
}

/// Whether a function is one of the interpreter's own, such as those of the threads that Node.js reads and writes files with: the
/// script has them do it.
fn is_of_runtime(inquiry: &Inquiry<'_>, threads: &[ThreadId], region: &Region) -> bool {
    let code = &inquiry.stacks.code;
    if code.function(region.function).is_script() || !code.functions.iter().any(Function::is_script)
    {
        return false;
    }
    let events = threads
        .iter()
        .flat_map(|&thread| inquiry.stacks.events_of(thread));
    let stacks: BTreeSet<StackIx> = events.map(|event| event.stack).collect();
    let is_script = |&function: &FunctionIx| code.function(function).is_script();
    let mut stacks = stacks.into_iter();
    stacks.any(|stack| code.functions_of(stack).iter().any(is_script))
}
