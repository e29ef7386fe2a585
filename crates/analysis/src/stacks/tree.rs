//! Who called whom, with times: from the outermost function in, or from the innermost out.
//!
//! What has little time is folded into one line of its caller, and functions that only pass the time
//! on to one other share a line with it, so that a tree shows where ways part.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Amount, FunctionIx, Missing, View};

/// Which end of a stack is the root of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The outermost function; below it what it called.
    Callees,
    /// The innermost function; below it who called it.
    Callers,
}

/// What a line of a tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// One function, or several of which each passed all its time on to the next.
    Functions(Vec<FunctionIx>),
    /// Time without a stack.
    Missing(Missing),
    /// So many that were too small to show.
    Folded(u64),
}

/// A line of a tree, and the lines below it. Its time is its own and that of the lines below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub step: Step,
    pub amount: Amount,
    /// What passes on to no line below it.
    pub own: Amount,
    /// The most time first.
    pub children: Vec<Node>,
}

/// A tree whose root is all the time of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub total: Amount,
    /// The most time first; they add up to the total.
    pub roots: Vec<Node>,
}

/// A tree while it grows.
#[derive(Default)]
struct Growing {
    amount: Amount,
    own: Amount,
    children: BTreeMap<FunctionIx, usize>,
}

impl View<'_> {
    /// The tree, with what has less than `least` (0.01: a hundredth) of all the time folded.
    pub fn tree(&self, direction: Direction, least: f64) -> Tree {
        let mut nodes: Vec<Growing> = vec![Growing::default()];
        for (stack, amount) in &self.stacks {
            let mut functions = self.code.functions_of(*stack);
            if direction == Direction::Callees {
                functions.reverse();
            }
            let mut at = 0;
            for function in functions {
                let next = nodes.len();
                let child = *nodes[at].children.entry(function).or_insert(next);
                if child == next {
                    nodes.push(Growing::default());
                }
                at = child;
                nodes[at].amount.add(amount);
            }
            nodes[at].own.add(amount);
        }
        let least_ns = (self.total.ns() as f64 * least).ceil() as u64;
        let mut roots = children(&nodes, 0, least_ns);
        roots.extend(self.rests.iter().map(|(missing, amount)| Node {
            step: Step::Missing(*missing),
            amount: *amount,
            own: *amount,
            children: Vec::new(),
        }));
        // Remainders stand where their time puts them, what is folded stands last.
        roots.sort_by_key(|node| {
            (
                matches!(node.step, Step::Folded(_)),
                Reverse(node.amount.ns()),
            )
        });
        Tree {
            total: self.total,
            roots,
        }
    }
}

/// The lines below a node.
fn children(nodes: &[Growing], at: usize, least_ns: u64) -> Vec<Node> {
    let mut shown = Vec::new();
    let (mut folded, mut count) = (Amount::default(), 0);
    for (&function, &child) in &nodes[at].children {
        let amount = nodes[child].amount;
        if amount.ns() < least_ns {
            folded.add(&amount);
            count += 1;
        } else {
            shown.push(line(nodes, function, child, least_ns));
        }
    }
    shown.sort_by_key(|node: &Node| Reverse(node.amount.ns()));
    if count > 0 {
        shown.push(Node {
            step: Step::Folded(count),
            amount: folded,
            own: folded,
            children: Vec::new(),
        });
    }
    shown
}

/// The line of a function, together with those that it passes all its time on to.
fn line(nodes: &[Growing], function: FunctionIx, mut at: usize, least_ns: u64) -> Node {
    let mut functions = vec![function];
    let amount = nodes[at].amount;
    while nodes[at].own == Amount::default() && nodes[at].children.len() == 1 {
        let Some((&only, &child)) = nodes[at].children.iter().next() else {
            break;
        };
        functions.push(only);
        at = child;
    }
    Node {
        step: Step::Functions(functions),
        amount,
        own: nodes[at].own,
        children: children(nodes, at, least_ns),
    }
}
