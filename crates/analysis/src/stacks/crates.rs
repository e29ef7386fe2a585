//! Where the source files of Rust's functions are from: a registry, the compiler's own library, or the program itself.

/// The crate that a source file is of, if that came from a registry or with the compiler.
pub(super) fn crate_of(file: &str) -> Option<&str> {
    if let Some((_, rest)) = file.split_once("/registry/src/") {
        return Some(without_version(rest.split('/').nth(1)?));
    }
    of_compiler(file)
}

/// The same of what came with the compiler: its library, and what that is made with.
pub(super) fn of_compiler(file: &str) -> Option<&str> {
    if let Some(rest) = file.strip_prefix("/rust/deps/") {
        return rest.split('/').next().map(without_version);
    }
    let (before, rest) = file.split_once("/library/")?;
    let folder = before.rsplit('/').next().unwrap_or(before);
    // As the project builds it, as rustup installs its sources, and as distributions build it.
    let is_rusts = before.contains("/rustc/") || folder == "rust" || folder.starts_with("rustc-");
    rest.split('/').next().filter(|_| is_rusts)
}

/// A folder such as `tokio-util-0.7.1`, without the version.
fn without_version(folder: &str) -> &str {
    let version = folder.match_indices('-').find(|(at, _)| {
        let after = folder.as_bytes().get(at + 1);
        after.is_some_and(u8::is_ascii_digit)
    });
    version.map_or(folder, |(at, _)| &folder[..at])
}

/// Whether a function's name says no more than what it is called where it is defined, as with line tables only: `new`, `fold<u8, u32>`.
/// There are many of such a name, in other files.
pub(super) fn is_bare(name: &str, file: &str) -> bool {
    let end = name.find('<').unwrap_or(name.len());
    file.ends_with(".rs") && end > 0 && !name[..end].contains("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_where_they_came_from() {
        let of_tokio = "/home/x/.cargo/registry/src/an-index-0123/tokio-util-0.7.1/src/lib.rs";
        assert_eq!(crate_of(of_tokio), Some("tokio-util"));
        assert_eq!(of_compiler(of_tokio), None);
        let own = [
            "/rustc/0123/library/core/src/cell.rs",
            "/home/x/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/cell.rs",
            "/usr/src/rustc-1.63.0/library/core/src/cell.rs",
        ];
        for file in own {
            assert_eq!(of_compiler(file), Some("core"), "{file}");
        }
        let made_with = "/rust/deps/hashbrown-0.15.2/src/map.rs";
        assert_eq!(of_compiler(made_with), Some("hashbrown"));
        assert_eq!(crate_of("/srv/library/core/src/lib.rs"), None);
        assert_eq!(crate_of("src/main.rs"), None);
    }

    #[test]
    fn bare_names_are_of_one_file() {
        let file = "/srv/src/main.rs";
        for name in [
            "new",
            "fold<u8, core::slice::iter::Iter<u8>>",
            "{closure#0}",
        ] {
            assert!(is_bare(name, file), "{name}");
            assert!(!is_bare(name, "/srv/main.c"), "{name}");
        }
        for name in [
            "shop::new",
            "<u8 as shop::Sell>::sell",
            "shop::new::{closure#0}",
        ] {
            assert!(!is_bare(name, file), "{name}");
        }
    }
}
