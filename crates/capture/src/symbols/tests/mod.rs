//! Tests with real programs, built here by the compilers that `make test` installs, and with programs
//! that were damaged on purpose. None of them runs what it built.

mod by_hand;
mod caching;
mod folder;
mod hostile;
mod maps;
mod programs;
mod separate;
mod vdso;

use super::{Module, Named, Resolved, Symbols};
use folder::Folder;
use std::fs;
use std::path::{Path, PathBuf};

impl Folder {
    /// Writes the C program and builds `prog`.
    fn build_c(&self, flags: &str) -> PathBuf {
        fs::write(self.path("prog.c"), PROGRAM).expect("a source file");
        self.run(&format!("gcc -g -O2 {flags} -o prog prog.c"));
        self.path("prog")
    }

    /// Where a label is, by `nm`.
    fn label(&self, file: &str, name: &str) -> u64 {
        let listing = self.run(&format!("nm {file}"));
        let line = listing
            .lines()
            .find(|line| line.ends_with(&format!(" {name}")));
        let address = line.and_then(|line| line.split(' ').next()).expect(name);
        u64::from_str_radix(address, 16).expect(name)
    }
}

/// Two calls that are inlined into a function which is not. `here` is inside of the innermost; it has
/// an instruction of its own, so that nothing else can be there.
const PROGRAM: &str = r#"#include <stdio.h>
static inline __attribute__((always_inline)) int inner(int x)
{
	__asm__ volatile(".globl here\nhere: nop");
	return x * 3;
}
static inline __attribute__((always_inline)) int middle(int x)
{
	return inner(x + 1) + 1;
}
__attribute__((noinline)) int outer(int x)
{
	return middle(x) ^ 5;
}
int main(int argc, char **argv)
{
	(void)argv;
	return printf("%d\n", outer(argc)) < 0;
}
"#;

fn module(path: &Path) -> Module {
    Module {
        path: path.to_owned(),
        shown: path.display().to_string(),
        memory: None,
        build_id: Vec::new(),
        stamp: None,
    }
}

/// Resolves without a cache, and without the debug files of this machine.
fn resolve(path: &Path, offsets: &[u64]) -> Resolved {
    Symbols::with_debug_root(None, Path::new("/nonexistent")).resolve(&module(path), offsets)
}

/// Frames as short text: `function file:line`, with a `+` in front where it was inlined.
fn shown(frames: &[Named]) -> Vec<String> {
    let show = |frame: &Named| {
        let inlined = if frame.inlined { "+" } else { "" };
        let name = frame.file.rsplit('/').next().unwrap_or_default();
        let line = frame.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{inlined}{} {name}{line}", frame.function)
            .trim()
            .to_owned()
    };
    frames.iter().map(show).collect()
}

/// What `here` is, with all that debug information tells.
const WHOLE: [&str; 3] = ["+inner prog.c:4", "+middle prog.c:9", "outer prog.c:13"];
