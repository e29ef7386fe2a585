//! Views of the code as JSON: functions, who called whom, the lines of a function. A field here is a field of docs/json.md; a test
//! compares them.

use serde::Serialize;
use timesink_analysis::stacks::{Amount, Direction, Node, Stacks, Step};

use super::code::{self, TopPage};
use crate::present::terminal::Table;

/// What was asked for; the rest is null.
#[derive(Serialize)]
pub(super) struct ViewsPage<'a> {
    version: u32,
    total: AmountPage,
    top: Option<Vec<TopPage<'a>>>,
    tree: Option<TreePage<'a>>,
    lines: Option<Vec<LinePage<'a>>>,
}

#[derive(Serialize)]
struct AmountPage {
    ns: u64,
    cpu_ns: u64,
    wait_ns: u64,
    ready_ns: u64,
}

#[derive(Serialize)]
struct TreePage<'a> {
    direction: &'static str,
    /// A list and not nested: readers of JSON have limits to how deep it may be.
    nodes: Vec<NodePage<'a>>,
}

#[derive(Serialize)]
struct NodePage<'a> {
    parent: Option<usize>,
    functions: Vec<&'a str>,
    missing: Option<&'static str>,
    folded: u64,
    amount: AmountPage,
    own_ns: u64,
}

#[derive(Serialize)]
struct LinePage<'a> {
    function: &'a str,
    file: Option<String>,
    line: Option<u32>,
    own: AmountPage,
    accumulated: AmountPage,
}

impl From<&Amount> for AmountPage {
    fn from(amount: &Amount) -> AmountPage {
        AmountPage {
            ns: amount.ns(),
            cpu_ns: amount.cpu_ns,
            wait_ns: amount.wait_ns,
            ready_ns: amount.ready_ns,
        }
    }
}

pub(super) fn page<'a>(stacks: &'a Stacks, tables: &[Table]) -> ViewsPage<'a> {
    let mut page = ViewsPage {
        version: super::VERSION,
        total: AmountPage::from(&stacks.view().total),
        top: None,
        tree: None,
        lines: None,
    };
    for table in tables {
        match table {
            Table::Top(most) => {
                let mut top = code::top(stacks);
                top.truncate(*most);
                page.top = Some(top);
            }
            Table::Tree(direction) => page.tree = Some(tree(stacks, *direction)),
            Table::Lines(name) => page.lines = Some(lines(stacks, name)),
        }
    }
    page
}

fn tree(stacks: &Stacks, direction: Direction) -> TreePage<'_> {
    let mut nodes = Vec::new();
    let tree = stacks
        .view()
        .tree(direction, crate::present::terminal::LEAST);
    for root in &tree.roots {
        add(stacks, root, None, &mut nodes);
    }
    TreePage {
        direction: match direction {
            Direction::Callees => "callees",
            Direction::Callers => "callers",
        },
        nodes,
    }
}

fn add<'a>(stacks: &'a Stacks, node: &Node, parent: Option<usize>, nodes: &mut Vec<NodePage<'a>>) {
    let at = nodes.len();
    let (functions, missing, folded) = match &node.step {
        Step::Functions(functions) => (functions.as_slice(), None, 0),
        Step::Missing(missing) => (&[][..], Some(missing.word()), 0),
        Step::Folded(count) => (&[][..], None, *count),
    };
    let names = functions.iter();
    nodes.push(NodePage {
        parent,
        functions: names
            .map(|function| stacks.code.function(*function).name.as_str())
            .collect(),
        missing,
        folded,
        amount: AmountPage::from(&node.amount),
        own_ns: node.own.ns(),
    });
    for child in &node.children {
        add(stacks, child, Some(at), nodes);
    }
}

fn lines<'a>(stacks: &'a Stacks, name: &str) -> Vec<LinePage<'a>> {
    let places = stacks.view().lines(name).places.into_iter();
    let pages = places.map(|place| LinePage {
        function: &stacks.code.function(place.function).name,
        own: AmountPage::from(&place.own),
        accumulated: AmountPage::from(&place.accumulated),
        line: place.line,
        file: Some(place.file).filter(|file| !file.is_empty()),
    });
    pages.collect()
}
