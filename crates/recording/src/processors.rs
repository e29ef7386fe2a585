//! Lists of CPUs, as the kernel writes them: `0-3,7`.

use std::collections::BTreeSet;

/// No kernel has more.
const MOST: u32 = 8192;

/// The CPUs of a list. What is no number is left out.
pub fn parse(list: &str) -> BTreeSet<u32> {
    let mut all = BTreeSet::new();
    for part in list.split(',') {
        let mut ends = part
            .splitn(2, '-')
            .filter_map(|end| end.trim().parse::<u32>().ok());
        if let Some(first) = ends.next() {
            let last = ends.next().unwrap_or(first);
            all.extend(first.min(MOST)..=last.min(MOST - 1));
        }
    }
    all
}

/// The list of these CPUs, which are in ascending order.
pub fn list(processors: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for one in processors {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(one) => *last = one,
            _ => ranges.push((one, one)),
        }
    }
    let parts = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_back_as_it_was() {
        for text in ["", "0", "0-3", "0-1,3,8-11", "63-64"] {
            assert_eq!(list(parse(text)), text);
        }
    }

    /// What a damaged recording has is no CPU, and not a billion of them.
    #[test]
    fn what_is_no_list_is_bounded() {
        assert_eq!(parse("x,,-,2-"), BTreeSet::from([2]));
        assert!(parse("3-1").is_empty());
        assert!(parse("4294967295").is_empty());
        assert_eq!(parse("0-4294967295").len(), 8192);
    }
}
