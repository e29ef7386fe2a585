//! A runtime that spends the program's time looking for what nobody uses any more.
//!
//! How much of that is left with more room between two collections was measured on 2026-11-21, as processor time: of
//! CPython's (thresholds of 50,000) a fifth, of Go's (GOGC four times what it was) one to two fifths; of HotSpot's pauses (2026-11-29, -Xmx four
//! times what it was, three collectors, two programs with a cache each) 17 to 32 %. V8 is not here: with room 4 and 8 times as large
//! it took as long, and twice as long.

use timesink_analysis::replay::{Change, How, What};

use crate::in_code::{self, InCode};
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
    limits: &[&limits::SHARE, &in_code::MS],
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
}

/// What is left of a collector's time with more room: at most and at least. The least is that of a heap so
/// large that next to nothing is collected.
const LEFT: (f64, f64) = (0.45, 0.0);

/// Where CPython takes itself down.
const AT_EXIT: [&str; 2] = ["Py_FinalizeEx", "_Py_Finalize"];

/// What `gc.collect()` is in CPython.
const ASKS: &str = "gc_collect";
const WITHOUT_ASKING: &str =
    "call gc.collect() less often, or not at all: the collector runs by itself as objects are made";

/// A runtime's collector.
struct Collector {
    what: &'static str,
    /// What its file is called like; empty: it is part of each program.
    module: &'static str,
    functions: &'static [&'static str],
    /// What it does only where room is short; nothing: what it does at all.
    short: &'static [&'static str],
    room: &'static str,
}

/// So much of its work is then of that kind. Measured 2026-11-29 with HotSpot 17, a cache in a heap of 60 MB, which it nearly fills: 17 % (G1,
/// which marks beside the program), 88 % (serial) and all of it (parallel); in one of 600 MB none, though G1 was at work for 20 % of the path.
const SHORT: f64 = 0.1;

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
        short: &[],
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
        short: &[],
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
        short: &[
            "TenuredGeneration::collect",
            "GenMarkSweep::invoke_at_safepoint",
            "SerialFullGC::invoke_at_safepoint",
            "PSParallelCompact::invoke_no_policy",
            "PSParallelCompact::invoke",
            "MarkFromRootsTask::work",
            "UpdateDensePrefixAndCompactionTask::work",
            "FillDensePrefixAndCompactionTask::work",
            "G1CMConcurrentMarkingTask::work",
            "G1FullCollector::collect",
            "G1FullGCMarkTask::work",
        ],
        room: "four times the current -Xmx",
    },
];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let collectors = COLLECTORS.iter();
    collectors
        .filter_map(|collector| suspect(inquiry, collector))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, collector: &Collector) -> Option<Suspect> {
    let found = named(inquiry, collector, collector.functions);
    // What is collected at the very end has no threshold, and goes with all the rest that ends then.
    let found = found.without_stacks_through(inquiry, &AT_EXIT);
    let (ns, share) = found.enough(inquiry, &RULE, &limits::SHARE, &in_code::MS)?;
    if !is_short(inquiry, collector, &found) {
        return None;
    }
    let asked = asked_for(inquiry, collector, &found);
    let fix = match asked {
        true => Fix::Change(found.scaled(0.0)),
        false => Fix::Between(vec![found.scaled(LEFT.0)], vec![found.scaled(LEFT.1)]),
    };
    let title = say![
        collector.what,
        " spends ",
        Piece::Time(ns),
        match asked {
            true => " of the critical path in garbage collection forced by gc.collect()",
            false => " of the critical path in garbage collection",
        }
    ];
    let suspect = found
        .suspect_held(inquiry, &RULE, &limits::SHARE, &in_code::MS, title, fix)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in its collector"
        ]);
    if asked {
        return Some(suspect.advised(WITHOUT_ASKING.to_owned()));
    }
    let suspect = suspect
        .advised(format!("give the collector more memory ({}); allocate fewer objects, or keep numbers in numeric arrays", collector.room))
        .told(say!["to give it more memory: ", collector.room]);
    Some(suspect)
}

/// Whether most of it is asked for by the program: in CPython that is one function.
fn asked_for(inquiry: &Inquiry<'_>, collector: &Collector, found: &InCode) -> bool {
    let asks = named(inquiry, collector, &[ASKS]);
    let passes = |stack| {
        let functions = inquiry.stacks.code.functions_of(stack);
        functions
            .iter()
            .any(|function| asks.functions.contains(function))
    };
    let asked = found.stacks.iter().filter(|on| passes(on.stack));
    let asked_ns: u64 = asked.map(|on| on.ns).sum();
    2 * asked_ns > found.ns()
}

/// All that collectors do: it goes with the values that they collect.
pub fn collecting(inquiry: &Inquiry<'_>) -> Change {
    let each = COLLECTORS.iter();
    let each = each.map(|collector| named(inquiry, collector, collector.functions).functions);
    Change {
        what: What::Functions(each.flatten().collect()),
        processes: None,
        how: How::Scale(0.0),
    }
}

/// Whether more room would help: what is collected of new objects alone comes as often with any heap.
fn is_short(inquiry: &Inquiry<'_>, collector: &Collector, found: &InCode) -> bool {
    let short = || named(inquiry, collector, collector.short);
    let on_cpu = |code: &InCode| code.beside_path_ns(inquiry, None) as f64;
    collector.short.is_empty() || on_cpu(&short()) >= on_cpu(found) * SHORT
}

/// The runtime's functions of these names. Of C++ the parameters are part of the name.
fn named(inquiry: &Inquiry<'_>, collector: &Collector, names: &[&str]) -> InCode {
    InCode::of(inquiry, |function| {
        let module = || inquiry.stacks.code.file_of(function).unwrap_or("");
        let name = function.name.split('(').next().unwrap_or_default();
        names.contains(&name) && module().contains(collector.module)
    })
}
