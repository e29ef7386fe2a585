//! One process that starts the same short program again and again.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::starts::Start;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::inquiry::{examples, Inquiry};
use crate::rule::{Figure, Fix, Limit, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "child-per-item",
    looks_for: "the same program started again and again by one parent",
    why: "To start a program is to copy a process, load a file with its libraries and take it all down again, whatever little it then does.",
    advice: "do it within the program, or let one child do all of it",
    wrong_if: "each start does so much that starting hardly counts, or it must be kept apart from the rest",
    limits: &[Limit { name: "starts", value: 20.0, means: "at least so many of one program by one parent" }],
    is_innocent: false,
    needs: &[],
    ask,
};

/// One program started by another: what the parent runs, what the child runs, whether it is a mere copy of it.
type Pair<'a> = (&'a str, &'a str, bool);

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let mut pairs: BTreeMap<Pair<'_>, Vec<&Start>> = BTreeMap::new();
    for start in &of.facts.starts {
        let parent = start.parent.and_then(|parent| of.program(parent));
        if let (Some(parent), Some(child)) = (parent, of.program(start.process)) {
            pairs
                .entry((parent, child, start.execs == 0))
                .or_default()
                .push(start);
        }
    }
    let many = pairs
        .into_iter()
        .filter(|(_, starts)| starts.len() as f64 >= RULE.limit("starts"));
    many.filter_map(|(pair, starts)| suspect(of, pair, &starts))
        .collect()
}

/// These children, and all that they started themselves.
fn with_their_own(of: &Inquiry<'_>, starts: &[&Start]) -> BTreeSet<ProcessId> {
    let mut all: BTreeSet<ProcessId> = starts.iter().map(|start| start.process).collect();
    // Processes are numbered in the order in which they start, so parents come first.
    for start in &of.facts.starts {
        if start.parent.is_some_and(|parent| all.contains(&parent)) {
            all.insert(start.process);
        }
    }
    all
}

fn suspect(of: &Inquiry<'_>, (_, program, copy): Pair<'_>, starts: &[&Start]) -> Option<Suspect> {
    let parent = starts.first()?.parent?;
    let children = with_their_own(of, starts);
    let name = program.rsplit('/').next().unwrap_or(program).to_owned();
    let mut costs: Vec<u64> = starts.iter().map(|start| start.cost_ns()).collect();
    costs.sort_unstable();
    let lives = starts
        .iter()
        .filter_map(|start| of.facts.ledger.process(start.process));
    let mut lives: Vec<u64> = lives
        .map(|process| process.row.end.since(process.row.start))
        .collect();
    lives.sort_unstable();
    let middle = |sorted: &[u64]| sorted.get(sorted.len() / 2).copied().unwrap_or(0);
    let group = of.waits().iter().find(|group| {
        group.process == parent
            && matches!(
                group.detail,
                Detail::Child | Detail::Vfork | Detail::PipeRead
            )
    });
    // The path tells processes of one program as one, a copy as what it is a copy of.
    let programs: BTreeSet<&str> = children
        .iter()
        .filter_map(|&child| of.program(child))
        .collect();
    let causes = of.causes(|key| {
        let waits = matches!(
            key.detail,
            Some(Detail::Child | Detail::Vfork | Detail::Creation)
        );
        of.program(key.process)
            .is_some_and(|program| programs.contains(program))
            || (key.process == parent && waits)
    });
    let lived = children
        .iter()
        .filter_map(|&child| of.facts.ledger.process(child));
    let lived = lived.map(|process| process.row.end.since(process.row.start));
    let at_most_ns = lived.fold(0, u64::saturating_add);
    let count = starts.len() as u64;
    let title = match copy {
        true => say![
            parent,
            " copies itself ",
            Piece::Count(count),
            " times (a shell: for each ( ) and $( ))"
        ],
        false => say![
            parent,
            " starts ",
            Piece::Name(name),
            " ",
            Piece::Count(count),
            " times"
        ],
    };
    let mut told = vec![say![
        "each lives for ",
        Piece::Time(middle(&lives)),
        ", of which starting and taking down are ",
        Piece::Time(middle(&costs))
    ]];
    if children.len() > starts.len() {
        told.push(say![
            "with what they start themselves, ",
            Piece::Count(children.len() as u64),
            " processes"
        ]);
    }
    Some(Suspect {
        title,
        told,
        figures: vec![
            Figure {
                what: "starts",
                value: count as f64,
                unit: "",
                limit: Some(RULE.limit("starts")),
            },
            Figure {
                what: "life",
                value: middle(&lives) as f64,
                unit: "ns",
                limit: None,
            },
            Figure {
                what: "cost of a start",
                value: middle(&costs) as f64,
                unit: "ns",
                limit: None,
            },
        ],
        examples: group.map(examples).unwrap_or_default(),
        process: Some(parent),
        object: None,
        frames: of.frames(group.and_then(|group| group.stack)),
        advice: None,
        fix: Fix::Changes(vec![Change {
            what: What::All,
            processes: Some(children),
            how: How::Scale(0.0),
        }]),
        weight: Weight::within(causes, at_most_ns),
    })
}
