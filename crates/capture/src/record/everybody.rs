//! Which processes there are on the machine, but timesink's own.

use std::collections::BTreeMap;

use crate::launch::parent_of;

/// The numbers of all processes of this procfs but this one and what it started.
pub(super) fn listed() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: BTreeMap<u32, u32> = numbers
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let ourselves = std::process::id();
    let others = parents.keys().copied();
    others
        .filter(|&pid| !descends(&parents, pid, ourselves))
        .collect()
}

/// Whether a process is another one, or was started by it or by what it started.
fn descends(parents: &BTreeMap<u32, u32>, pid: u32, from: u32) -> bool {
    // Numbers may have been given again while they were read: nobody has more ancestors than there are processes.
    let mut at = Some(pid);
    for _ in 0..=parents.len() {
        match at {
            Some(one) if one == from => return true,
            Some(one) => at = parents.get(&one).copied(),
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_and_circles_end() {
        let parents = [(2, 1), (3, 2), (4, 3), (7, 8), (8, 7)].into();
        assert!(descends(&parents, 4, 2));
        assert!(descends(&parents, 2, 2));
        assert!(!descends(&parents, 2, 3));
        assert!(!descends(&parents, 7, 2));
    }

    /// The process that asks is left out, who started it is not.
    #[test]
    fn we_are_not_listed() {
        let listed = listed();
        assert!(!listed.contains(&std::process::id()));
        assert!(listed.contains(&parent_of(std::process::id()).expect("its parent")));
    }
}
