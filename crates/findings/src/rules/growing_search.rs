//! Work that costs more and more for each item that comes in, because each item is held against all that came before.
//!
//! One run shows that only where something tells the items: here the pieces that come in through a pipe or a socket and are
//! waited for, by their reader or by their writer. The time from one to the next in one function must grow in a line with
//! their number while their size stays the same. A program that reads files does not wait for each piece, so nothing is
//! said of it: a function that takes more and more of the time may as well be the program's next stage, or be given larger
//! items. Nor is what goes out told: whoever writes only what is new writes it ever more rarely, however it looks for it.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{FunctionIx, StackIx};
use timesink_analysis::waits::arrivals::Arrivals;
use timesink_recording::words::Language;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "growing-search",
    looks_for: "work that takes longer per item the more items came before",
    why: "Where each item is searched for among all earlier ones, twice as many items take four times as long.",
    advice: "keep earlier items in a structure that finds one without a scan of all of them: a hash table, a set, a sorted array, or a pointer to the end",
    wrong_if: "each item has to be compared with every other one, or all are scanned for a reason that no data structure changes",
    limits: &[&limits::PIECES, &limits::GROWTH, &limits::IN_LINE, &limits::IN_ORDER, &limits::SHARE, &limits::LARGER],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static PIECES: Limit = Limit {
        name: "pieces",
        value: 50.0,
        unit: Unit::Count,
        means: "minimum number of pieces of input",
    };
    pub static GROWTH: Limit = Limit {
        name: "growth",
        value: 4.0,
        unit: Unit::Ratio,
        means: "minimum ratio of the time taken by the last tenth of them to that of the first",
    };
    pub static IN_LINE: Limit = Limit {
        name: "linearity",
        value: 0.82,
        unit: Unit::Share,
        means: "minimum share of the variation between the tenths that a straight line explains; a single step explains three quarters",
    };
    pub static IN_ORDER: Limit = Limit {
        name: "correlation",
        value: 0.9,
        unit: Unit::Share,
        means: "minimum rank correlation of the tenths with their times",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of the growth that is in the function",
    };
    pub static LARGER: Limit = Limit {
        name: "piece growth",
        value: 1.25,
        unit: Unit::Ratio,
        means: "maximum ratio of the size of pieces in the last third to that in the first",
    };
}

/// The pieces are looked at in so many parts of equal number.
const PARTS: usize = 10;
type Parts = [f64; PARTS];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let least = (RULE.limit(inquiry, &limits::PIECES) as usize).max(PARTS) + 1;
    // Most of what comes in anywhere does not grow: nobody needs to look at the code then.
    let grow = inquiry
        .arrivals(least)
        .filter(|arrivals| grows(inquiry, &whole(arrivals)) && !is_larger(inquiry, arrivals));
    let mut slots = BTreeSet::new();
    let mut suspects = Vec::new();
    for arrivals in grow {
        // All sources together are another look at what one of them showed.
        if arrivals.mixed && slots.contains(&arrivals.slot) {
            continue;
        }
        if let Some(suspect) = suspect(inquiry, arrivals) {
            slots.insert(arrivals.slot);
            suspects.push(suspect);
        }
    }
    suspects
}

/// How long the thread was on a processor in each part, if each piece of it took as long as its middle one: now and then
/// several pieces come in between two that show, and what they took together is of no single one.
fn whole(arrivals: &Arrivals) -> Parts {
    let rounds = &arrivals.cpu_ns;
    let begins = |part: usize| (part * rounds.len()).div_ceil(PARTS);
    std::array::from_fn(|part| {
        let mut of_part = rounds[begins(part)..begins(part + 1)].to_vec();
        let middle = of_part.len() / 2;
        let (_, &mut middle_ns, _) = of_part.select_nth_unstable(middle);
        middle_ns as f64 * of_part.len() as f64
    })
}

/// How many times as long the last part takes as the first.
fn growth(parts: &Parts) -> f64 {
    parts[PARTS - 1] / parts[0].max(1.0)
}

fn grows(inquiry: &Inquiry<'_>, parts: &Parts) -> bool {
    let numbers: Parts = std::array::from_fn(|part| part as f64);
    growth(parts) >= RULE.limit(inquiry, &limits::GROWTH)
        && correlation(&numbers, parts).powi(2) >= RULE.limit(inquiry, &limits::IN_LINE)
        && correlation(&numbers, &ranks(parts)) >= RULE.limit(inquiry, &limits::IN_ORDER)
}

fn correlation(one: &Parts, other: &Parts) -> f64 {
    let mean = |parts: &Parts| parts.iter().sum::<f64>() / PARTS as f64;
    let (mean_one, mean_other) = (mean(one), mean(other));
    let pairs = one.iter().zip(other);
    let (mut both, mut square_one, mut square_other) = (0.0, 0.0, 0.0);
    for (a, b) in pairs.map(|(a, b)| (a - mean_one, b - mean_other)) {
        both += a * b;
        square_one += a * a;
        square_other += b * b;
    }
    let product: f64 = square_one * square_other;
    match product > 0.0 {
        true => both / product.sqrt(),
        false => 0.0,
    }
}

/// The place of each among all; those that are equal share theirs.
fn ranks(parts: &Parts) -> Parts {
    parts.map(|part| {
        let below = parts.iter().filter(|&&other| other < part).count();
        let equal = parts.iter().filter(|&&other| other == part).count();
        below as f64 + (equal - 1) as f64 / 2.0
    })
}

/// Where calls are timed now and then only, the size of some pieces is known: of so many it tells those of all.
const SIZES: usize = 6;

/// The mean size of the pieces of the first third, and of the last, if that is known of enough of them.
fn sizes(arrivals: &Arrivals) -> Option<(f64, f64)> {
    let third = arrivals.bytes.len() / 3;
    let mean = |pieces: &[Option<u64>]| {
        let known = || pieces.iter().flatten();
        let count = known().count();
        let is_known = count * 2 > pieces.len() || count >= SIZES;
        is_known.then(|| known().sum::<u64>() as f64 / count as f64)
    };
    let last = arrivals.bytes.len() - third;
    Some((
        mean(&arrivals.bytes[..third])?,
        mean(&arrivals.bytes[last..])?,
    ))
}

/// Whether more comes in with each piece, or nobody can tell.
fn is_larger(inquiry: &Inquiry<'_>, arrivals: &Arrivals) -> bool {
    sizes(arrivals).is_none_or(|(first, last)| last > first * RULE.limit(inquiry, &limits::LARGER))
}

/// Where in the code it grows.
struct Growing {
    function: FunctionIx,
    parts: Parts,
    /// Of all that grows, so much is in it.
    share: f64,
}

/// The innermost function, of the program or of a library, in which most of the growth is.
fn growing(inquiry: &Inquiry<'_>, arrivals: &Arrivals) -> Option<Growing> {
    let thread = inquiry.timeline.threads[arrivals.slot].thread;
    let rounds = arrivals.cpu_ns.len();
    let mut all = [0.0; PARTS];
    let mut through: BTreeMap<FunctionIx, Parts> = BTreeMap::new();
    let mut known: BTreeMap<StackIx, Vec<FunctionIx>> = BTreeMap::new();
    for event in inquiry.stacks.events_of(thread) {
        // A sample stands for the time before it: it is of the piece that was there by then.
        let came = arrivals.at.partition_point(|&at| at < event.at);
        if event.account != Account::Cpu || came == 0 || came > rounds {
            continue;
        }
        let part = (came - 1) * PARTS / rounds;
        all[part] += event.ns as f64;
        let functions = known.entry(event.stack).or_insert_with(|| {
            let mut seen = BTreeSet::new();
            let mut functions = inquiry.stacks.code.functions_of(event.stack);
            functions.retain(|&function| seen.insert(function));
            functions
        });
        for &function in functions.iter() {
            through.entry(function).or_insert([0.0; PARTS])[part] += event.ns as f64;
        }
    }
    let added = |parts: &Parts| {
        let third = PARTS / 3;
        parts[PARTS - third..].iter().sum::<f64>() - parts[..third].iter().sum::<f64>()
    };
    let whole = whole(arrivals);
    let grown = added(&whole).max(1.0);
    let code = &inquiry.stacks.code;
    let candidates = through.into_iter().map(|(function, mut parts)| {
        // The samples only tell the share.
        for (part, ns) in parts.iter_mut().enumerate() {
            *ns *= whole[part] / all[part].max(1.0);
        }
        Growing {
            function,
            share: added(&parts) / grown,
            parts,
        }
    });
    let meant = candidates.filter(|growing| {
        let found = code.function(growing.function);
        found.language != Language::Kernel
            && !found.name.is_empty()
            && !code.is_before_main(growing.function)
            && growing.share >= RULE.limit(inquiry, &limits::SHARE)
    });
    // Who calls is there as long as who is called, or longer; if all of it is one call, further out.
    let sum = |growing: &Growing| growing.parts.iter().sum::<f64>();
    let place = |growing: &Growing| {
        let through = known.values();
        let places = through.filter_map(|f| f.iter().position(|&f| f == growing.function));
        places.fold((0, 0), |(stacks, sum), at| (stacks + 1, sum + at))
    };
    meant.min_by(|a, b| {
        let (whose_a, whose_b) = (whose(inquiry, a.function), whose(inquiry, b.function));
        let inner = || sum(a).total_cmp(&sum(b));
        // To find its place is to look at all stacks: only if nothing else decides.
        let by_place = || place(a).cmp(&place(b));
        whose_a.cmp(&whose_b).then_with(inner).then_with(by_place)
    })
}

/// Whether somebody can change a function, best first: one of a script; the program's; the C library's, and an interpreter's.
fn whose(inquiry: &Inquiry<'_>, function: FunctionIx) -> u8 {
    let code = &inquiry.stacks.code;
    let is_native = !code.function(function).is_script();
    match (is_native, code.is_installed(function)) {
        (false, false) => 0,
        (true, false) if !code.is_system(function) => 1,
        _ => 2,
    }
}

/// What the growing function would cost: as the first pieces did, and without what grows.
fn left(parts: &Parts) -> (f64, f64) {
    let mean = (parts.iter().sum::<f64>() / PARTS as f64).max(1.0);
    // Two tenths: of one alone too few samples tell.
    let first = (parts[0] + parts[1]) / 2.0 / mean;
    // Where the line begins, by the tenths' middles, less two standard errors: a fitted line does not know it well.
    let middle = (PARTS - 1) as f64 / 2.0;
    let from_middle = |part: usize| part as f64 - middle;
    let tenths = || parts.iter().enumerate();
    let square: f64 = tenths().map(|(n, _)| from_middle(n).powi(2)).sum();
    let steps = tenths().map(|(n, ns)| from_middle(n) * (ns - mean));
    let slope = steps.sum::<f64>() / square;
    let off = tenths().map(|(n, ns)| (ns - mean - slope * from_middle(n)).powi(2));
    let variance = off.sum::<f64>() / (PARTS - 2) as f64;
    let to_begin = middle + 0.5;
    let error = (variance * (1.0 / PARTS as f64 + to_begin.powi(2) / square)).sqrt();
    let begins = (mean - slope * to_begin - 2.0 * error) / mean;
    let first = first.min(1.0);
    (first, begins.clamp(0.0, first))
}

fn suspect(inquiry: &Inquiry<'_>, arrivals: &Arrivals) -> Option<Suspect> {
    let growing = growing(inquiry, arrivals)?;
    let thread = &inquiry.timeline.threads[arrivals.slot];
    let pieces = arrivals.at.len();
    let found = InCode::through(inquiry, BTreeSet::from([growing.function]));
    let found = found.in_program(inquiry, thread.process);
    let each = |part: usize| (growing.parts[part] * PARTS as f64 / pieces as f64) as u64;
    let (first, none) = left(&growing.parts);
    let scaled = |factor: f64| vec![found.scaled_in(inquiry, thread.process, factor)];
    let title = say![
        growing.function,
        " takes longer for each piece of input to ",
        thread.process,
        ": ",
        Piece::Time(each(0)),
        " at first, ",
        Piece::Time(each(PARTS - 1)),
        " at the end"
    ];
    let suspect = found
        .suspect(inquiry, title, Fix::Between(scaled(first), scaled(none)))
        .of(thread.process)
        .held(inquiry, &RULE, "pieces", pieces as f64, &limits::PIECES)
        .held(
            inquiry,
            &RULE,
            "growth",
            growth(&growing.parts),
            &limits::GROWTH,
        )
        .held(
            inquiry,
            &RULE,
            "share of the growth",
            growing.share,
            &limits::SHARE,
        )
        .told(say![
            "input: ",
            Piece::Count(pieces as u64),
            " pieces, no larger at the end than at first"
        ])
        .told(say![
            "the time grows linearly from tenth to tenth of the input; ",
            Piece::Percent((growing.share * 100.0).min(100.0)),
            " of the growth is in this function"
        ]);
    Some(suspect)
}
