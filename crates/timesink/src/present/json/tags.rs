//! The part of the JSON report that is about tags.

use serde::Serialize;
use timesink_analysis::tags::{TagTime, TagTree};

use crate::present::Report;

#[derive(Serialize)]
pub(super) struct TagsPage<'a> {
    #[serde(flatten)]
    whole: TagTreePage<'a>,
    processors: Vec<ProcessorTagsPage<'a>>,
    threads: Vec<ThreadTagsPage<'a>>,
}

#[derive(Serialize)]
struct ProcessorTagsPage<'a> {
    processor: u32,
    #[serde(flatten)]
    tree: TagTreePage<'a>,
}

#[derive(Serialize)]
struct ThreadTagsPage<'a> {
    thread: u32,
    #[serde(flatten)]
    tree: TagTreePage<'a>,
}

#[derive(Serialize)]
struct TagTreePage<'a> {
    modules: Vec<TagNodePage<'a>>,
    untagged: TagTimePage,
}

#[derive(Serialize)]
struct TagNodePage<'a> {
    path: &'a str,
    own: TagTimePage,
    all: TagTimePage,
}

#[derive(Serialize)]
struct TagTimePage {
    total_ns: u64,
    cpu_ns: u64,
    ready_ns: u64,
    wait_ns: u64,
    lost_ns: u64,
    waits: Vec<TagWaitsPage>,
}

#[derive(Serialize)]
struct TagWaitsPage {
    detail: &'static str,
    ns: u64,
}

pub(super) fn tags<'a>(report: &Report<'a>) -> Option<TagsPage<'a>> {
    let tags = report.tags?;
    Some(TagsPage {
        whole: tree(&tags.whole),
        processors: tags
            .processors
            .iter()
            .map(|one| ProcessorTagsPage {
                processor: one.processor,
                tree: tree(&one.tree),
            })
            .collect(),
        threads: tags
            .threads
            .iter()
            .map(|one| ThreadTagsPage {
                thread: one.thread.0,
                tree: tree(&one.tree),
            })
            .collect(),
    })
}

fn tree(tree: &TagTree) -> TagTreePage<'_> {
    let nodes = tree.nodes.iter();
    TagTreePage {
        modules: nodes
            .map(|node| TagNodePage {
                path: &node.path,
                own: time(&node.own),
                all: time(&node.all),
            })
            .collect(),
        untagged: time(&tree.untagged),
    }
}

fn time(time: &TagTime) -> TagTimePage {
    let waits = time.waits.iter();
    TagTimePage {
        total_ns: time.total_ns(),
        cpu_ns: time.cpu_ns,
        ready_ns: time.ready_ns,
        wait_ns: time.wait_ns(),
        lost_ns: time.lost_ns,
        waits: waits
            .map(|(&detail, &ns)| TagWaitsPage {
                detail: detail.as_str(),
                ns,
            })
            .collect(),
    }
}
