//! Coverage, a profiler or a sanitizer that is left on: the program pays for being watched.

use std::collections::BTreeSet;

use timesink_analysis::replay::{Change, How, What};
use timesink_recording::words::Language;

use crate::in_code::{self, InCode};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "left-on",
    looks_for: "coverage, a profiler or a sanitizer left on",
    why: "Each line, call or memory access goes through a check, and the code around it runs in its slow form.",
    advice: "turn it off where its result is not needed",
    wrong_if: "its result is what the run is for",
    limits: &[&in_code::SHARE, &in_code::MS],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

/// Something that watches programs as they run.
struct Watcher {
    what: &'static str,
    /// The names of its functions begin so.
    functions: &'static [&'static str],
    /// Or the names of its files.
    files: &'static [&'static str],
    /// How it is turned off.
    off: &'static str,
    /// How much of the rest of the program's CPU time goes with it: most likely, and at most.
    slower: (f64, f64),
}

/// Measured 2026-11-30, pytest with pytest-cov and Python 3.11: 3.90 s, and 0.98 s without; 17 % of the samples were in its tracer, and
/// the interpreter does not specialize code that is traced.
const TRACED: (f64, f64) = (0.5, 0.8);
/// What a sanitizer's checks cost stands in the code that is checked: its own functions are the part that is seen.
const CHECKED: (f64, f64) = (0.3, 0.8);

static WATCHERS: [Watcher; 4] = [
    Watcher {
        what: "coverage measurement (coverage.py)",
        functions: &["CTracer_", "PyTracer."],
        files: &["tracer.cpython"],
        off: "run without --cov or `coverage run` where no coverage is needed; since Python 3.12, COVERAGE_CORE=sysmon costs less",
        slower: TRACED,
    },
    Watcher {
        what: "a profiler (cProfile)",
        functions: &["profiler_callback", "ptrace_enter_call"],
        files: &["_lsprof.cpython"],
        off: "run without cProfile",
        slower: TRACED,
    },
    Watcher {
        what: "Xdebug",
        functions: &[],
        files: &["xdebug.so"],
        off: "set xdebug.mode=off, or do not load the extension",
        slower: TRACED,
    },
    Watcher {
        what: "a sanitizer (of addresses, threads or memory)",
        functions: &["__asan_", "__tsan_", "__msan_", "__ubsan_", "__sanitizer_", "__interceptor_"],
        files: &["libasan.so", "libtsan.so", "libubsan.so", "libclang_rt."],
        off: "build without -fsanitize (with Go: without -race)",
        slower: CHECKED,
    },
];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let watchers = WATCHERS.iter();
    watchers
        .filter_map(|watcher| suspect(inquiry, watcher))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, watcher: &Watcher) -> Option<Suspect> {
    let code = &inquiry.stacks.code;
    let found = InCode::of(inquiry, |function| {
        let is_named = || {
            let mut starts = watcher.functions.iter();
            starts.any(|start| function.name.starts_with(start))
        };
        let is_of_file = || {
            let file = code.file_of(function).unwrap_or("");
            watcher.files.iter().any(|start| file.starts_with(start))
        };
        function.language != Language::Kernel && (is_of_file() || is_named())
    });
    let (_, share) = found.enough(inquiry, &RULE, &in_code::SHARE, &in_code::MS)?;
    let process = found.process(inquiry)?;
    let own: BTreeSet<_> = inquiry.of_program(process);
    let rest = |goes: f64| Change {
        what: What::Cpu,
        processes: Some(own.clone()),
        how: How::Scale(1.0 - goes),
    };
    let without = || found.scaled_in(inquiry, process, 0.0);
    let (likely, most) = watcher.slower;
    let fix = Fix::Likely(
        vec![without()],
        vec![without(), rest(likely)],
        vec![without(), rest(most)],
    );
    let title = say![process, " runs with ", watcher.what, " left on"];
    let suspect = found
        .suspect_held(inquiry, &RULE, &in_code::SHARE, &in_code::MS, title, fix)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in it; what it slows down around it comes on top"
        ])
        .advised(watcher.off.to_owned());
    Some(suspect)
}
