//! Where calls come from that are counted: the functions of the program that they are made in, by the stacks that are taken
//! of their 1st, 2nd, 4th, 8th, ... occurrences. Says nothing of how many there are.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::uses::Act;
use timesink_analysis::ledger::Account;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{CallSite, FunctionIx, Region};
use timesink_recording::ids::{ObjectId, ProcessId};

use crate::awaiting::{has_own_place, has_place};
use crate::inquiry::Inquiry;
use crate::rule::Suspect;

/// The calls that make a thread.
pub const MAKES_THREADS: [&str; 2] = ["clone", "clone3"];

/// A function around calls, and how much of it is for their sake.
#[derive(Clone, Debug)]
pub struct Placed {
    pub region: Region,
    /// Of all such calls in it, those that are meant.
    share: f64,
    /// The outermost function that does little but call it.
    whole: FunctionIx,
}

/// What is done to a file by such a call.
fn act_of(site: &CallSite, acts: &[Act]) -> Option<usize> {
    let found = acts
        .iter()
        .position(|act| act.calls().contains(&site.call.as_str()));
    found.filter(|_| !site.has_failed())
}

impl Placed {
    /// A region that is known otherwise.
    pub fn at(region: Region) -> Placed {
        Placed {
            share: 1.0,
            whole: region.function,
            region,
        }
    }

    /// The function in which these processes do all of this with these files.
    pub fn around_acts(
        inquiry: &Inquiry<'_>,
        processes: &BTreeSet<ProcessId>,
        objects: &BTreeSet<ObjectId>,
        acts: &[Act],
    ) -> Option<Placed> {
        let is_meant =
            |site: &CallSite| site.object.is_some_and(|object| objects.contains(&object));
        Placed::around(
            inquiry,
            processes,
            (is_meant, |site: &CallSite| act_of(site, acts)),
        )
    }

    /// The function in which these processes make calls of each of these kinds that are meant.
    pub fn around(
        inquiry: &Inquiry<'_>,
        processes: &BTreeSet<ProcessId>,
        (is_meant, kind): (
            impl Fn(&CallSite) -> bool,
            impl Fn(&CallSite) -> Option<usize>,
        ),
    ) -> Option<Placed> {
        let (stacks, threads) = (inquiry.stacks, inquiry.threads_of(processes));
        let of_kind = |site: &CallSite| kind(site).filter(|_| is_meant(site));
        let region = stacks.region_of_sites(&threads, of_kind)?;
        let share = stacks.share_of_sites(
            &threads,
            region.function,
            (|site| of_kind(site).is_some(), |site| kind(site).is_some()),
        );
        Some(Placed {
            share,
            whole: stacks.outermost(&region, &threads),
            region,
        })
    }

    /// Where that is a library's function: the program's own that calls it, if it was seen to be entered anew for each of so many times.
    pub fn in_its_caller(
        &self,
        inquiry: &Inquiry<'_>,
        processes: &BTreeSet<ProcessId>,
        times: u64,
    ) -> Option<Placed> {
        let (stacks, threads) = (inquiry.stacks, inquiry.threads_of(processes));
        if !stacks.code.is_installed(self.region.function) {
            return None;
        }
        let region = stacks.entered_around(&self.region, &threads, times)?;
        Some(Placed {
            share: self.share,
            whole: stacks.outermost(&region, &threads),
            region,
        })
    }

    /// The same where more than those calls are meant: these acts on these files.
    pub fn meant_for(
        self,
        inquiry: &Inquiry<'_>,
        processes: &BTreeSet<ProcessId>,
        objects: &BTreeSet<ObjectId>,
        acts: &[Act],
    ) -> Placed {
        let is_act = |site: &CallSite| act_of(site, acts).is_some();
        let is_meant = |site: &CallSite| {
            let on_one = site.object.is_some_and(|object| objects.contains(&object));
            on_one && is_act(site)
        };
        let threads = inquiry.threads_of(processes);
        let function = self.region.function;
        let share = inquiry
            .stacks
            .share_of_sites(&threads, function, (is_meant, is_act));
        Placed { share, ..self }
    }

    /// That the function does so much of what it does for these calls.
    pub fn scaled(&self, processes: &BTreeSet<ProcessId>, kept: f64) -> Change {
        self.of(self.region.function, processes, kept)
    }

    /// The function runs once instead of this many times, except for what it calls to work on other objects about as often.
    pub fn scaled_without_others(
        &self,
        inquiry: &Inquiry<'_>,
        processes: &BTreeSet<ProcessId>,
        objects: &BTreeSet<ObjectId>,
        times: u64,
    ) -> Change {
        let others = self.others(inquiry, processes, objects, times);
        let mut change = self.scaled(processes, 1.0 / times.max(1) as f64);
        if !others.is_empty() {
            change.what = What::FunctionBut(self.region.function, others);
        }
        change
    }

    /// The functions it calls that make system calls on other objects, and none on these.
    fn others(
        &self,
        inquiry: &Inquiry<'_>,
        processes: &BTreeSet<ProcessId>,
        objects: &BTreeSet<ObjectId>,
        times: u64,
    ) -> BTreeSet<FunctionIx> {
        /// Rarer calls on other objects are not excluded.
        const OFTEN: f64 = 0.5;
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for row in &inquiry.facts.calls {
            let own = row
                .process
                .is_some_and(|process| processes.contains(&process));
            if own && row.object.is_some_and(|other| !objects.contains(&other)) {
                let count = counts.entry(&row.call).or_default();
                *count = count.saturating_add(row.count);
            }
        }
        counts.retain(|_, count| *count as f64 >= times as f64 * OFTEN);
        let (stacks, threads) = (inquiry.stacks, inquiry.threads_of(processes));
        // The functions that it calls, the outermost first.
        let called = |site: &CallSite| {
            let mut functions = stacks.code.functions_of(site.stack);
            let at = functions.iter().position(|&f| f == self.region.function);
            functions.truncate(at.unwrap_or(0));
            functions.reverse();
            functions
        };
        let sites = || threads.iter().flat_map(|&thread| stacks.sites_of(thread));
        let is_one = |site: &CallSite| site.object.is_some_and(|one| objects.contains(&one));
        let own = sites().filter(|site| is_one(site));
        let own: BTreeSet<FunctionIx> = own.flat_map(called).collect();
        let for_others = sites().filter(|site| {
            let is_other = site.object.is_some() && !is_one(site);
            is_other && counts.contains_key(site.call.as_str())
        });
        let others = for_others.filter_map(|site| {
            let mut inwards = called(site).into_iter();
            inwards.find(|function| !own.contains(function))
        });
        others.collect()
    }

    /// The same with all that is done around it, and for nothing else.
    pub fn wholly_scaled(&self, processes: &BTreeSet<ProcessId>, kept: f64) -> Change {
        self.of(self.whole, processes, kept)
    }

    /// The same with what is done between one time and the next, where that is little: what was made is given back there.
    pub fn with_what_is_between(
        &self,
        inquiry: &Inquiry<'_>,
        processes: &BTreeSet<ProcessId>,
        kept: f64,
    ) -> Vec<Change> {
        /// So much of the time from the first to the last is in the function itself.
        const MOST: f64 = 0.8;
        let (stacks, threads) = (inquiry.stacks, inquiry.threads_of(processes));
        let name = &stacks.code.function(self.whole).name;
        let extents = stacks.extents(&threads, |function| function == name);
        let (mut inside, mut all) = (0u64, 0u64);
        for (&thread, &(from, until)) in &extents {
            let events = stacks.events_of(thread).iter();
            let worked = events.filter(|event| event.account != Account::Ready);
            for event in worked.filter(|event| (from..=until).contains(&event.at)) {
                let is_inside = stacks.code.functions_of(event.stack).contains(&self.whole);
                all = all.saturating_add(event.ns);
                inside = inside.saturating_add(if is_inside { event.ns } else { 0 });
            }
        }
        let whole = self.wholly_scaled(processes, kept);
        if extents.is_empty() || (inside as f64) < all as f64 * MOST {
            return vec![whole];
        }
        let between = Change {
            what: What::Stretches(extents),
            ..whole.clone()
        };
        vec![whole, between]
    }

    fn of(&self, function: FunctionIx, processes: &BTreeSet<ProcessId>, kept: f64) -> Change {
        Change {
            what: What::Functions(BTreeSet::from([function])),
            processes: Some(processes.clone()),
            how: How::Scale(1.0 - self.share * (1.0 - kept)),
        }
    }
}

impl Suspect {
    /// Where it has no place of the program's own, in threads that a library started: where the program had it start them.
    pub fn or_started_at(self, inquiry: &Inquiry<'_>) -> Suspect {
        let Some(process) = self
            .process
            .filter(|_| !has_own_place(inquiry, &self.frames))
        else {
            return self;
        };
        let threads = inquiry.threads_of(&BTreeSet::from([process]));
        let starts = |site: &CallSite| MAKES_THREADS.contains(&site.call.as_str());
        let site = inquiry.stacks.usual_site(&threads, starts);
        let frames = site.map_or(Vec::new(), |site| inquiry.spots(site.stack));
        match has_own_place(inquiry, &frames) {
            true => Suspect { frames, ..self },
            false => self,
        }
    }

    /// Where it has no place yet but in the language's own functions, as in a loop of events: at the place that most such calls
    /// of a process come from; those on these objects, if the stack of any was taken.
    pub fn or_seen_at(
        self,
        inquiry: &Inquiry<'_>,
        process: ProcessId,
        names: &[&str],
        objects: &BTreeSet<ObjectId>,
    ) -> Suspect {
        if has_place(inquiry, &self.frames) {
            return self;
        }
        let threads = inquiry.threads_of(&BTreeSet::from([process]));
        let is_such = |site: &CallSite| names.contains(&site.call.as_str());
        let on_these = |site: &CallSite| {
            is_such(site) && site.object.is_some_and(|object| objects.contains(&object))
        };
        let stacks = inquiry.stacks;
        let on_these = stacks.usual_site(&threads, on_these);
        match on_these.or_else(|| stacks.usual_site(&threads, is_such)) {
            Some(site) => Suspect {
                frames: inquiry.spots(site.stack),
                ..self
            },
            None => self,
        }
    }
}
