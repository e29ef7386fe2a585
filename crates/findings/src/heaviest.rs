//! Waits for many things, each waited for once or a few times (children, files, threads to end): in which code most of
//! their time is.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use timesink_analysis::stacks::FunctionIx;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::{ProcessId, StackId};
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::rule::{Example, Suspect};

/// The program's own functions of a stack with their lines.
type Way = Vec<(FunctionIx, Option<u32>)>;

/// How long waits are together, and their groups, the longest first.
type Sum<'a> = (u64, Vec<&'a WaitGroup>);

/// The waits of these processes for the children that they started, or for what those write.
pub fn for_children<'a>(
    inquiry: &'a Inquiry<'_>,
    is_parent: impl Fn(ProcessId) -> bool + 'a,
) -> impl Iterator<Item = &'a WaitGroup> {
    inquiry.waits().iter().filter(move |group| {
        let for_children = matches!(
            group.detail,
            Detail::Child | Detail::Vfork | Detail::PipeRead
        );
        for_children && is_parent(group.process)
    })
}

impl Suspect {
    /// In the code that most of the time of these waits shows. They come with the longest first; of those without a stack
    /// it is told only if none has one.
    pub fn seen_in_most<'a>(
        self,
        inquiry: &Inquiry<'_>,
        groups: impl IntoIterator<Item = &'a WaitGroup>,
    ) -> Suspect {
        const EXAMPLES: usize = 3;
        let groups = most(inquiry, groups);
        let examples = groups.iter().flat_map(|group| &group.examples);
        let mut examples: Vec<Example> = examples
            .map(|&(thread, at)| Example { thread, at })
            .collect();
        examples.sort_by_key(|example| (example.at, example.thread));
        examples.truncate(EXAMPLES);
        let mut suspect = self.seen_in(inquiry, groups.first().copied());
        suspect.examples = examples;
        suspect
    }
}

/// Those in the same lines of the program's own functions, of the lines with the most time.
fn most<'a>(
    inquiry: &Inquiry<'_>,
    groups: impl IntoIterator<Item = &'a WaitGroup>,
) -> Vec<&'a WaitGroup> {
    let mut stacks: BTreeMap<Option<StackId>, Sum> = BTreeMap::new();
    for group in groups {
        let (ns, of_stack) = stacks.entry(group.stack).or_default();
        *ns = ns.saturating_add(group.ns);
        of_stack.push(group);
    }
    let mut ways: BTreeMap<(bool, Way), Sum> = BTreeMap::new();
    for (stack, (ns, groups)) in stacks {
        let (sum, of_way) = ways
            .entry((stack.is_some(), way(inquiry, stack)))
            .or_default();
        *sum = sum.saturating_add(ns);
        of_way.extend(groups);
    }
    let most = ways
        .into_iter()
        .max_by_key(|((known, _), (ns, _))| (*known, *ns));
    let mut groups = most.map_or(Vec::new(), |(_, (_, groups))| groups);
    groups.sort_by_key(|group| Reverse(group.ns));
    groups
}

fn way(inquiry: &Inquiry<'_>, stack: Option<StackId>) -> Way {
    let code = &inquiry.stacks.code;
    let own = code.own_of(&inquiry.frames(stack)).into_iter();
    own.map(|spot| {
        let line = code.frame(spot).and_then(|frame| frame.line);
        (spot.function, line)
    })
    .collect()
}
