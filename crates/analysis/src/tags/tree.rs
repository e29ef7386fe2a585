//! The tree that paths of tags make.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Sums, TagTime};

/// A module: what has a tag of this path, and of paths that go on from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagNode {
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// How many parts are before it.
    pub depth: usize,
    /// With just this path.
    pub own: TagTime,
    /// With this path and those that go on from it.
    pub all: TagTime,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagTree {
    /// Each before those in it; beside one another the largest first.
    pub nodes: Vec<TagNode>,
    /// What has no tag.
    pub untagged: TagTime,
}

impl TagTree {
    pub(super) fn of(paths: &[String], sums: &Sums) -> TagTree {
        let mut untagged = TagTime::default();
        let mut nodes: BTreeMap<Vec<&str>, TagNode> = BTreeMap::new();
        for (whose, time) in sums {
            let path = whose.and_then(|whose| paths.get(whose));
            let parts = path.map_or("", String::as_str).split('/');
            let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            if parts.is_empty() {
                untagged.add(time);
                continue;
            }
            for depth in 0..parts.len() {
                let node = nodes.entry(parts[..=depth].to_vec()).or_default();
                node.all.add(time);
                if depth + 1 == parts.len() {
                    node.own.add(time);
                }
            }
        }
        let mut order: Vec<Vec<&str>> = nodes.keys().cloned().collect();
        order.sort_by_cached_key(|parts| {
            let places = (1..=parts.len()).map(|depth| {
                let all = nodes.get(&parts[..depth]).map(|node| node.all.total_ns());
                (Reverse(all), parts[depth - 1])
            });
            places.collect::<Vec<_>>()
        });
        let named = order.into_iter().filter_map(|parts| {
            let node = nodes.remove(&parts)?;
            Some(TagNode {
                path: parts.join("/"),
                name: (*parts.last()?).to_owned(),
                depth: parts.len() - 1,
                ..node
            })
        });
        TagTree {
            nodes: named.collect(),
            untagged,
        }
    }

    /// All time.
    pub fn total_ns(&self) -> u64 {
        let own = self.nodes.iter().map(|node| node.own.total_ns());
        own.sum::<u64>() + self.untagged.total_ns()
    }
}
