//! Which processes there are on the machine, but timesink's own.

use std::collections::{BTreeMap, BTreeSet};

use crate::launch::parent_of;

/// The numbers of all processes of this procfs but this one and what it started.
pub(super) fn listed() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: BTreeMap<u32, u32> = numbers
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let own = descendants(&parents, std::process::id());
    let others = parents.keys().copied();
    others.filter(|pid| !own.contains(pid)).collect()
}

/// A process, and those that it or what it started has started. Each is looked at once, however long the chains are.
fn descendants(parents: &BTreeMap<u32, u32>, from: u32) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&pid, &parent) in parents {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(pid) = next.pop() {
        if found.insert(pid) {
            next.extend(children.remove(&pid).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_and_circles_end() {
        let parents = [(2, 1), (3, 2), (4, 3), (7, 8), (8, 7)].into();
        assert_eq!(descendants(&parents, 2), [2, 3, 4].into());
        assert_eq!(descendants(&parents, 3), [3, 4].into());
        assert_eq!(descendants(&parents, 7), [7, 8].into());
    }

    /// The process that asks is left out, who started it is not.
    #[test]
    fn we_are_not_listed() {
        let listed = listed();
        assert!(!listed.contains(&std::process::id()));
        assert!(listed.contains(&parent_of(std::process::id()).expect("its parent")));
    }
}
