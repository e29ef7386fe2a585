//! A program that unpacks or reads in a lot before it looks at what it is asked.
//!
//! That is told only where a recording shows when it first waited for something to do: for somebody to connect, for a line
//! through a pipe that was handed to it, or from a terminal. Who converts one file and ends never waits so. What it asks
//! for itself (answers of a server, output of its children) is no such thing, and what was there before it looked leaves no wait.
//! Whether all that was unpacked is needed cannot be seen; the advice leaves that open.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::uses::Act;
use timesink_analysis::ledger::Account;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{Event, Function, StackIx};
use timesink_analysis::timeline::{Span, Waker};
use timesink_analysis::waits::Came;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::words::{Detail, Language, State};
use timesink_recording::Nanos;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;
use crate::start_up::is_loading;

pub static RULE: Rule = Rule {
    name: "eager-start-up",
    looks_for: "much data that is unpacked or parsed before a program reads its first request",
    why: "Each run waits until all of it is loaded, and mostly needs a small part of it.",
    advice: "load what is needed when it is needed: from a format with lookup by key (an index, one file or row per item) or one that can be mapped into memory as it is; or keep the program running",
    wrong_if: "all of it is needed for every request, or in production the program is started rarely and then keeps running",
    limits: &[&limits::SHARE, &limits::MS, &limits::BEFORE],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.3,
        unit: Unit::Share,
        means: "minimum share of the critical path spent unpacking or parsing",
    };
    pub static MS: Limit = Limit {
        name: "time",
        value: 100.0,
        unit: Unit::Milliseconds,
        means: "minimum time spent on it",
    };
    pub static BEFORE: Limit = Limit {
        name: "before first request",
        value: 0.9,
        unit: Unit::Share,
        means: "minimum share of that time before the first wait for a request",
    };
}

/// Ways to unpack something, or to read it in.
struct Decoder {
    what: &'static str,
    /// The library or source whose functions are meant; empty: wherever they are, for there is only one of that name.
    file: &'static str,
    functions: &'static [&'static str],
    /// What is left of it at most, if what was unpacked is kept as it is.
    left: f64,
}

/// What is kept unpacked was mapped and read in 0.2 % (bzip2) to 17 % (zstd) of the time that unpacking took: 17 MB and 2.5 MB of
/// text, in memory already, on 2026-11-22.
const UNPACKED: f64 = 0.2;
/// Things that a program builds from text are not to be had by mapping; how many of them are needed nobody knows.
const BUILT: f64 = 0.5;

static DECODERS: [Decoder; 11] = [
    Decoder {
        what: "decompresses zlib data",
        file: "libz.so",
        functions: &["inflate", "uncompress", "uncompress2", "inflateBack"],
        left: UNPACKED,
    },
    Decoder {
        what: "decompresses zlib data",
        file: "",
        functions: &["inflate_fast"],
        left: UNPACKED,
    },
    Decoder {
        what: "decompresses zstd data",
        file: "",
        functions: &[
            "ZSTD_decompress",
            "ZSTD_decompressDCtx",
            "ZSTD_decompressStream",
            "ZSTD_decompress_usingDict",
            "ZSTD_decompress_usingDDict",
        ],
        left: UNPACKED,
    },
    Decoder {
        what: "decompresses bzip2 data",
        file: "",
        functions: &[
            "BZ2_bzDecompress",
            "BZ2_bzRead",
            "BZ2_bzBuffToBuffDecompress",
        ],
        left: UNPACKED,
    },
    Decoder {
        what: "decompresses xz data",
        file: "",
        functions: &["lzma_code"],
        left: UNPACKED,
    },
    Decoder {
        what: "parses JSON",
        file: "/json/decoder.py",
        functions: &["JSONDecoder.raw_decode", "raw_decode"],
        left: BUILT,
    },
    Decoder {
        what: "parses JSON",
        file: "",
        functions: &["encoding/json.Unmarshal", "encoding/json.(*Decoder).Decode"],
        left: BUILT,
    },
    Decoder {
        what: "parses YAML",
        file: "/yaml/__init__.py",
        functions: &["load", "load_all", "safe_load", "full_load"],
        left: BUILT,
    },
    Decoder {
        what: "parses XML",
        file: "libexpat.so",
        functions: &["XML_Parse", "XML_ParseBuffer"],
        left: BUILT,
    },
    Decoder {
        what: "parses XML",
        file: "libxml2.so",
        functions: &[
            "xmlReadFile",
            "xmlReadMemory",
            "xmlReadFd",
            "xmlParseDocument",
        ],
        left: BUILT,
    },
    Decoder {
        what: "unpickles",
        file: "",
        functions: &["_pickle_load", "_pickle_loads"],
        left: BUILT,
    },
];

/// Where the kernel takes memory back.
const GIVES_BACK: [&str; 3] = ["exit_mmap", "__x64_sys_munmap", "__vm_munmap"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let decoders = DECODERS.iter();
    decoders
        .filter_map(|decoder| suspect(inquiry, decoder))
        .collect()
}

fn suspect(inquiry: &Inquiry<'_>, decoder: &Decoder) -> Option<Suspect> {
    let found = InCode::of(inquiry, |function| is_from(inquiry, function, decoder));
    let program = found.process(inquiry)?;
    let found = found.in_program(inquiry, program);
    let (ns, share) = found.enough(inquiry, &RULE, &limits::SHARE, &limits::MS)?;
    let started = Started::of(inquiry, &found, program)?;
    let before = started.before_ns as f64 / started.all_ns.max(1) as f64;
    if before < RULE.limit(inquiry, &limits::BEFORE) {
        return None;
    }
    let process = started.first;
    let title = say![
        process,
        " ",
        decoder.what,
        " for ",
        Piece::Time(ns),
        " before it reads its first request"
    ];
    let least = found.scaled_in(inquiry, program, decoder.left);
    // What is not unpacked need not be given back either.
    let given_back = InCode::of_kernel(inquiry, &GIVES_BACK).scaled_in(inquiry, program, 0.0);
    let most = Change {
        what: What::Stretches(started.stretches),
        processes: Some(inquiry.of_program(program)),
        how: How::Scale(0.0),
    };
    let fix = Fix::AtLeast(vec![least], vec![most, given_back]);
    let suspect = found
        .suspect_held(inquiry, &RULE, &limits::SHARE, &limits::MS, title, fix)
        .of(process)
        .held(inquiry, &RULE, "share before", before, &limits::BEFORE)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path, and ",
            Piece::Percent(before * 100.0),
            " of that before the first wait for a request"
        ]);
    let asked = started.asked;
    Some(match asked.object {
        Some(object) => suspect.told(say![
            "the first wait for a request comes after ",
            Piece::Time(asked.from.since(Nanos(0))),
            ", on ",
            object
        ]),
        None => suspect,
    })
}

/// Whether a function is the very one that is meant.
fn is_from(inquiry: &Inquiry<'_>, function: &Function, decoder: &Decoder) -> bool {
    if !decoder.functions.contains(&function.name.as_str()) {
        return false;
    }
    if function.language == Language::Python {
        return !decoder.file.is_empty() && function.file.ends_with(decoder.file);
    }
    let file = inquiry.stacks.code.file_of(function);
    decoder.file.is_empty() || file.is_some_and(|file| file.starts_with(decoder.file))
}

/// What the processes of a program did of it before they were asked anything.
struct Started {
    /// The first of them, and when it was asked.
    first: ProcessId,
    asked: Asked,
    before_ns: u64,
    all_ns: u64,
    /// From the first of it to the last before they were asked, by threads.
    stretches: BTreeMap<ThreadId, (Nanos, Nanos)>,
}

impl Started {
    fn of(inquiry: &Inquiry<'_>, found: &InCode, program: ProcessId) -> Option<Started> {
        let mut decodes = Decodes::new(inquiry, found);
        let (mut before_ns, mut all_ns) = (0u64, 0u64);
        let mut stretches = BTreeMap::new();
        let mut first = None;
        for process in inquiry.of_program(program) {
            let moments = decodes.of_process(process);
            let ns = moments.iter().map(|event| event.ns);
            all_ns = ns.fold(all_ns, u64::saturating_add);
            let asked = match moments.is_empty() {
                true => None,
                false => asked(inquiry, process),
            };
            let Some(asked) = asked else { continue };
            for event in moments.iter().filter(|event| event.at < asked.from) {
                before_ns = before_ns.saturating_add(event.ns);
                // A sample stands for the time before it.
                let from = Nanos(event.at.0.saturating_sub_unsigned(event.ns));
                let stretch = stretches.entry(event.thread).or_insert((from, event.at));
                stretch.1 = event.at;
            }
            first = first.or(Some((process, asked)));
        }
        let (first, asked) = first?;
        Some(Started {
            first,
            asked,
            before_ns,
            all_ns,
            stretches,
        })
    }
}

/// Finds the samples that are meant. What an interpreter unpacks to load its modules is not: these it needs, and other rules speak
/// of them.
struct Decodes<'a> {
    inquiry: &'a Inquiry<'a>,
    found: &'a InCode,
    known: BTreeMap<StackIx, bool>,
}

impl<'a> Decodes<'a> {
    fn new(inquiry: &'a Inquiry<'_>, found: &'a InCode) -> Decodes<'a> {
        Decodes {
            inquiry,
            found,
            known: BTreeMap::new(),
        }
    }

    fn is_meant(&mut self, stack: StackIx) -> bool {
        let (inquiry, found) = (self.inquiry, self.found);
        *self.known.entry(stack).or_insert_with(|| {
            let code = &inquiry.stacks.code;
            let functions = code.functions_of(stack);
            let names: Vec<&str> = functions
                .iter()
                .map(|&function| code.function(function).name.as_str())
                .collect();
            functions.iter().any(|f| found.functions.contains(f)) && !is_loading(&names)
        })
    }

    /// Of one process.
    fn of_process(&mut self, process: ProcessId) -> Vec<Event> {
        let inquiry = self.inquiry;
        let threads = inquiry.threads_of(&BTreeSet::from([process])).into_iter();
        let events = threads.flat_map(|thread| inquiry.stacks.events_of(thread));
        let on_processors = events.filter(|event| event.account == Account::Cpu);
        on_processors
            .filter(|event| self.is_meant(event.stack))
            .copied()
            .collect()
    }
}

/// The first time that a process waits for something to do.
struct Asked {
    from: Nanos,
    object: Option<ObjectId>,
}

/// `None` if it never does, or if something else came in before.
fn asked(inquiry: &Inquiry<'_>, process: ProcessId) -> Option<Asked> {
    let threads = inquiry.timeline.threads.iter().enumerate();
    let slots = threads.filter(|(_, thread)| thread.process == process);
    let begins = begins(inquiry, process);
    let waits = slots.filter_map(|(slot, _)| {
        let mut waits = inquiry.timeline.indexed(slot);
        waits.find(|(index, span)| span.t0 >= begins && comes_in(inquiry, *index, span))
    });
    let (index, span) = waits.min_by_key(|(_, span)| span.t0)?;
    let woken = inquiry.waited.known(index).and_then(|known| known.woken);
    let object = woken.or(span.object());
    is_asked(inquiry, process, index, object).then_some(Asked {
        from: span.t0,
        object,
    })
}

/// Since when it is the program that it is: what a process waits for before is no matter of that program.
fn begins(inquiry: &Inquiry<'_>, process: ProcessId) -> Nanos {
    let starts = &inquiry.facts.starts;
    let start = starts.iter().find(|start| start.process == process);
    let last = start.and_then(|start| start.executed.last());
    last.map_or(Nanos(0), |executed| executed.at)
}

/// Whether something comes in with a wait, from wherever.
fn comes_in(inquiry: &Inquiry<'_>, index: usize, span: &Span) -> bool {
    if span.state != State::Wait {
        return false;
    }
    match span.detail {
        Detail::PipeRead
        | Detail::NetworkReceive
        | Detail::NetworkAccept
        | Detail::UnixReceive
        | Detail::UnixConnect
        | Detail::Terminal => true,
        // Nothing came if its time was over.
        Detail::Poll => inquiry
            .waited
            .known(index)
            .is_none_or(|known| !known.expired),
        _ => false,
    }
}

/// Whether somebody asks something of the process with the first of such waits.
fn is_asked(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    index: usize,
    object: Option<ObjectId>,
) -> bool {
    let Some(span) = inquiry.timeline.span(index) else {
        return false;
    };
    let known = inquiry.waited.known(index);
    if known.is_some_and(|known| known.came == Came::Nothing) {
        return false;
    }
    match span.detail {
        Detail::NetworkAccept | Detail::Terminal => true,
        Detail::UnixConnect | Detail::Poll => {
            calls_on(inquiry, process, object, &["accept", "accept4"]).0 > 0
        }
        Detail::PipeRead => {
            let own = inquiry.with_descendants(BTreeSet::from([process]));
            let by_own = match inquiry.timeline.waker(span) {
                Waker::Thread { slot, .. } => own.contains(&inquiry.timeline.threads[slot].process),
                _ => false,
            };
            let (reads, bytes) = calls_on(inquiry, process, object, Act::Read.calls());
            let waits = object.map_or(0, |o| inquiry.waited_for(process, Detail::PipeRead, o));
            // With more reads than waits, something may have been there before it had to wait.
            !by_own && bytes > 0 && reads <= waits
        }
        _ => false,
    }
}

/// How many of these calls a process made on a thing, and the bytes that they moved.
fn calls_on(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    object: Option<ObjectId>,
    calls: &[&str],
) -> (u64, u64) {
    let made = inquiry.facts.calls.iter().filter(|call| {
        object.is_some()
            && call.object == object
            && call.process == Some(process)
            && calls.contains(&call.call.as_str())
    });
    made.fold((0, 0), |(count, bytes), call| {
        (
            count.saturating_add(call.count),
            bytes.saturating_add(call.bytes),
        )
    })
}
