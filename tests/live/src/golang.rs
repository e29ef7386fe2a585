//! Building test programs in Go with the tools that are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{output, pair_of, root, Folder};

/// Every Go that is here: on the path, and Debian's.
pub fn go_tools() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<_> = std::env::split_paths(&path)
        .chain(["/usr/lib/go-1.19/bin".into()])
        .filter_map(|folder| folder.join("go").canonicalize().ok())
        .collect();
    found.sort();
    found.dedup();
    assert!(!found.is_empty(), "apt-get install golang-go");
    found
}

/// Builds a source of `programs` with it.
pub fn build_go(go: &Path, source: &str, folder: &Folder, options: &[&str]) -> PathBuf {
    let built = folder.join("built-by-go");
    let mut build = Command::new(go);
    build.arg("build").args(options).arg("-o").arg(&built);
    build.arg(root().join("tests/live/programs").join(source));
    // Nothing is fetched, and the user's settings do not matter.
    build.env(
        "GOCACHE",
        root().canonicalize().unwrap().join("target/live/go"),
    );
    build.env("GOTOOLCHAIN", "local").env("GO111MODULE", "off");
    build.env_remove("GOROOT").env_remove("GOFLAGS");
    output(&mut build).exits(0);
    built
}

/// The two forms of a rule's program in Go.
#[track_caller]
pub fn pair_of_go(rule: &str) {
    let folder = Folder::new(rule);
    let source = format!("rules/{rule}.go");
    let built = build_go(&go_tools()[0], &source, &folder, &[]);
    let built = built.to_str().expect("its path");
    pair_of(rule, &[], &[built, "fires"], &[built, "silent"]);
}
