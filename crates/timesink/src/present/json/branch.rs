//! A tree of both sides as JSON. A field here is a field of docs/json.md; a test compares them.

use serde::Serialize;
use timesink_comparison::{Branch, Weights};

#[derive(Serialize)]
pub(super) struct TreePage<'a> {
    version: u32,
    time: &'static str,
    /// A list and not nested: readers of JSON have limits to how deep it may be.
    nodes: Vec<NodePage<'a>>,
}

#[derive(Serialize)]
struct NodePage<'a> {
    parent: Option<usize>,
    name: &'a str,
    a_ns: u64,
    b_ns: u64,
    own_a_ns: u64,
    own_b_ns: u64,
}

pub(super) fn page(tree: &Branch, weights: Weights) -> TreePage<'_> {
    let nodes = tree.all().into_iter();
    TreePage {
        version: super::VERSION,
        time: match weights {
            Weights::Cpu => "cpu",
            Weights::Waits => "waits",
            Weights::Both => "both",
        },
        nodes: nodes
            .map(|(parent, name, branch)| NodePage {
                parent,
                name,
                a_ns: branch.a_ns,
                b_ns: branch.b_ns,
                own_a_ns: branch.own_a_ns,
                own_b_ns: branch.own_b_ns,
            })
            .collect(),
    }
}
