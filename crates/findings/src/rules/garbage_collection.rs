//! A runtime that spends the program's time looking for what nobody uses any more.
//!
//! How much of that is left with more room between two collections was measured on 2026-11-21, as processor time: of
//! CPython's (thresholds of 50,000) a fifth, of Go's (GOGC four times what it was) one to two fifths; of HotSpot's pauses (2026-11-29, -Xmx four
//! times what it was, three collectors, two programs with a cache each) 17 to 32 %. V8 is not here: with room 4 and 8 times as large
//! it took as long, and twice as long.

use timesink_analysis::stacks::Function;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "garbage-collection",
    looks_for: "a runtime that spends much time in garbage collection",
    why: "Each collection scans all live objects, however few of them have changed. The less memory there is between two collections, the more of them there are.",
    advice: "give the collector more memory; allocate fewer objects, or keep numbers in numeric arrays",
    wrong_if: "there is no memory to spare",
    limits: &[&limits::SHARE, &limits::MS],
    blames: Blames::Runtime,
    needs: &[Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in the collector",
    };
    pub static MS: Limit = Limit {
        name: "time",
        value: 50.0,
        unit: Unit::Milliseconds,
        means: "minimum time in it",
    };
}

/// What is left of a collector's time with more room: at most and at least. The least is that of a heap so
/// large that next to nothing is collected.
const LEFT: (f64, f64) = (0.45, 0.0);

/// Where CPython takes itself down.
const AT_EXIT: [&str; 2] = ["Py_FinalizeEx", "_Py_Finalize"];

/// A runtime's collector.
struct Collector {
    what: &'static str,
    /// What its file is called like; empty: it is part of each program.
    module: &'static str,
    functions: &'static [&'static str],
    room: &'static str,
}

static COLLECTORS: [Collector; 3] = [
    Collector {
        what: "Python",
        module: "python",
        functions: &[
            "gc_collect_main",
            "gc_collect_generations",
            "gc_collect_region",
            "gc_collect_young",
            "PyGC_Collect",
            "_PyGC_Collect",
            "_PyGC_CollectNoFail",
        ],
        room: "gc.set_threshold(50_000, 50, 50), or gc.freeze() once all is loaded",
    },
    Collector {
        what: "Go",
        module: "",
        functions: &[
            "runtime.gcBgMarkWorker",
            "runtime.gcAssistAlloc",
            "runtime.gcStart",
            "runtime.gcMarkTermination",
            "runtime.bgsweep",
            "runtime.deductSweepCredit",
        ],
        room: "GOGC=400 in the environment, with GOMEMLIMIT as a bound",
    },
    Collector {
        what: "Java",
        module: "libjvm.so",
        functions: &[
            "VM_GenCollectForAllocation::doit",
            "VM_GenCollectFull::doit",
            "VM_G1CollectForAllocation::doit",
            "VM_G1CollectFull::doit",
            "VM_G1TryInitiateConcMark::doit",
            "VM_ParallelGCFailedAllocation::doit",
            "VM_ParallelGCCollect::doit",
            "VM_CollectForMetadataAllocation::doit",
            "GangWorker::loop",
            "WorkerThread::run",
        ],
        room: "-Xmx four times what it is now",
    },
];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let collectors = COLLECTORS.iter();
    collectors
        .filter_map(|collector| suspect(inquiry, collector))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, collector: &Collector) -> Option<Suspect> {
    let found = InCode::of(inquiry, |function| is_part(inquiry, function, collector));
    // What is collected at the very end has no threshold, and goes with all the rest that ends then.
    let found = found.without_stacks_through(inquiry, &AT_EXIT);
    let (ns, share) = found.enough(inquiry, &RULE, &limits::SHARE, &limits::MS)?;
    let fix = Fix::Between(vec![found.scaled(LEFT.0)], vec![found.scaled(LEFT.1)]);
    let title = say![
        collector.what,
        " spends ",
        Piece::Time(ns),
        " of the critical path in garbage collection"
    ];
    let suspect = found
        .suspect_held(inquiry, &RULE, &limits::SHARE, &limits::MS, title, fix)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in its collector"
        ])
        .advised(format!("give the collector more memory ({}); allocate fewer objects, or keep numbers in numeric arrays", collector.room))
        .told(say!["to give it more memory: ", collector.room]);
    Some(suspect)
}

fn is_part(inquiry: &Inquiry<'_>, function: &Function, collector: &Collector) -> bool {
    let module = || inquiry.stacks.code.file_of(function).unwrap_or("");
    // Of C++ the parameters are part of the name.
    let name = function.name.split('(').next().unwrap_or_default();
    collector.functions.contains(&name) && module().contains(collector.module)
}
