//! The kernels that timesink was tried on. What stands here was run, by `make test-kernels-all` or by hand, and no more is claimed.

/// When.
pub const TRIED_ON: &str = "2026-11-22";

/// Minor versions, the oldest first, with who made the kernel.
pub const TRIED: [((u32, u32), &str); 7] = [
    ((5, 15), "Ubuntu 22.04"),
    ((6, 1), "Debian 12"),
    ((6, 8), "Ubuntu 24.04"),
    ((6, 12), "Debian 13"),
    ((6, 18), "a virtual machine"),
    ((7, 0), "Debian 13 backports"),
    ((7, 3), "Debian 13 backports"),
];

/// What is to be said of a kernel: whether it was tried, or lies between kernels that were.
pub fn told(version: (u32, u32)) -> String {
    let oldest = TRIED[0].0;
    let newest = TRIED[TRIED.len() - 1].0;
    if TRIED.iter().any(|(tried, _)| *tried == version) {
        format!("tested on {TRIED_ON}")
    } else if version < oldest {
        format!("older than all kernels tested ({TRIED_ON})")
    } else if version > newest {
        format!("newer than all kernels tested ({TRIED_ON})")
    } else {
        format!("not tested; older and newer kernels were ({TRIED_ON})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only what was tried is said to have been.
    #[test]
    fn what_was_tried() {
        assert_eq!(told((6, 1)), format!("tested on {TRIED_ON}"));
        assert!(told((6, 5)).starts_with("not tested"));
        assert!(told((5, 14)).starts_with("older"));
        assert!(told((99, 0)).starts_with("newer"));
        assert!(TRIED.is_sorted());
    }

    /// README and the page on requirements name the same kernels, and the same day.
    #[test]
    fn pages_say_the_same() {
        let pages = [
            include_str!("../../../../README.md"),
            include_str!("../../../../docs/requirements.md"),
        ];
        for page in pages {
            let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(page.contains(TRIED_ON));
            for ((major, minor), _) in TRIED {
                let name = format!("{major}.{minor}");
                assert!(page.contains(&name), "{name} in {page}");
            }
        }
    }
}
