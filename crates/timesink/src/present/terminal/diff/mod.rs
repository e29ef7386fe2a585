//! Two sides beside each other on one screen: how much longer one takes, what explains it, findings, and what to believe of it.

mod operations;
mod threads;
mod tree;

use timesink_comparison::{
    Aligned, CallCount, CallDifference, Comparison, Counts, Digest, EnvironmentDifferences, Range,
    Row, Side, Verdict, Wall,
};

use super::environment::differences;
use super::style::{self, wrap, Ink, Style};
use super::table::{self, Column};
use super::{text, units};
use crate::present::compared::{self, Compared};
use crate::present::names::harmless;
pub(in crate::present) use operations::name as recurrence_name;
pub use operations::operations;
pub(in crate::present) use threads::name as role_name;
pub use threads::threads;
pub use tree::tree;

/// Lines of a screen.
const LINES: usize = 40;
/// Rows of a screen, and findings, if there is room.
const ROWS: usize = 8;
const FINDINGS: usize = 4;
/// A row must be so much of the difference, and of the longer wall time, to be told alone.
const OF_DIFFERENCE: f64 = 0.02;
const OF_WALL: f64 = 0.005;

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Screen,
    All,
}

/// The comparison, ending in a line feed.
pub fn comparison(compared: &Compared<'_>, amount: Amount, style: &Style) -> String {
    let rows = |most: usize| rows(compared.comparison, most, style);
    let head = head(compared, style);
    let findings = findings(compared.comparison, amount, style);
    let facts = environment(compared.environment, amount, style);
    let foot = foot(compared, style);
    let rows = match amount {
        Amount::All => rows(usize::MAX),
        Amount::Screen => {
            let room = LINES
                .saturating_sub(head.len() + findings.len() + facts.len() + foot.len() + BETWEEN);
            let fits = (1..=ROWS).rev().map(rows).find(|lines| lines.len() <= room);
            fits.unwrap_or_else(|| rows(1))
        }
    };
    let (recurrences, threads) = match amount {
        Amount::All => (
            operations::lines(compared.comparison, style),
            threads::lines(compared.comparison, style),
        ),
        Amount::Screen => Default::default(),
    };
    let parts = [head, rows, recurrences, threads, findings, facts, foot];
    let parts: Vec<Vec<String>> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    text(&parts.join(&String::new()))
}

/// Empty lines between the parts.
const BETWEEN: usize = 4;

/// Which takes longer, and what each is of.
pub(in crate::present) fn head(compared: &Compared<'_>, style: &Style) -> Vec<String> {
    let wall = &compared.comparison.wall;
    let mut lines = vec![style.paint(Ink::Title, &verdict(wall))];
    for (side, names, digest, range) in [
        ("A", compared.a, &compared.comparison.a, wall.a),
        ("B", compared.b, &compared.comparison.b, wall.b),
    ] {
        let names: Vec<_> = names.iter().map(|name| harmless(name)).collect();
        let time = match range.recordings {
            1 => units::time(digest.wall_ns),
            n => format!(
                "{} ({} of {n}: {})",
                units::time(digest.wall_ns),
                // Of an even number there is none in the middle.
                if n % 2 == 1 { "median" } else { "one" },
                spread(range)
            ),
        };
        let line = format!("{side}  {time} · {} · {}", names.join(" "), command(digest));
        lines.push(style::fit(line, style));
    }
    lines.extend(counts(compared.comparison, style));
    lines.extend(ends(compared.comparison, style));
    if compared.comparison.aligned.is_unlike() {
        let unlike = "These recordings are of unlike work: little of either is found in the other.";
        lines.extend(wrap(unlike, "", Ink::Warning, style));
    }
    lines
}

/// Says so if one of them failed, or they ended in different ways: less may have been done.
fn ends(comparison: &Comparison, style: &Style) -> Vec<String> {
    let (Some(a), Some(b)) = (
        comparison.a.environment.end(),
        comparison.b.environment.end(),
    ) else {
        return Vec::new();
    };
    if a == b {
        return Vec::new();
    }
    let told =
        format!("A ended with: {a}. B ended with: {b}. They may not have done the same work.");
    wrap(&harmless(&told), "", Ink::Warning, style)
}

/// How much of everything A and B have, where it is not the same.
fn counts(comparison: &Comparison, style: &Style) -> Vec<String> {
    let (a, b) = (comparison.a.counts(), comparison.b.counts());
    let has_calls = comparison.a.weather.has_calls && comparison.b.weather.has_calls;
    let is_estimated = comparison.a.weather.is_estimated || comparison.b.weather.is_estimated;
    let beside = |word: &str, count: fn(&Counts) -> u64, told: &dyn Fn(u64) -> String| {
        let (a, b) = (count(&a), count(&b));
        (a != b).then(|| format!("{word} {} → {}", told(a), told(b)))
    };
    let counted = |word, count| beside(word, count, &units::count);
    // Where calls were counted for part of the time only, how many there were in all is not known.
    let of_calls = |word, count, told: fn(u64) -> String| {
        beside(word, count, &told).filter(|_| has_calls && !is_estimated)
    };
    let all = [
        counted("processes", |counts| counts.processes),
        counted("threads", |counts| counts.threads),
        of_calls("system calls", |counts| counts.calls, units::count)
            .map(|told| told + &most_of_them(comparison)),
        of_calls("bytes transferred", |counts| counts.bytes, units::bytes),
        counted("context switches", |counts| counts.switches),
        counted("page faults", |counts| counts.page_faults),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    match all.is_empty() {
        true => Vec::new(),
        false => wrap(&all.join(" · "), "", Ink::Plain, style),
    }
}

/// The calls that make up most of how many more or fewer system calls there are: `(git looks up paths: 146 → 9,296)`.
fn most_of_them(comparison: &Comparison) -> String {
    let most = comparison.most_of_calls();
    most.map_or(String::new(), |most| {
        let (a, b) = (units::count(most.a.count), units::count(most.b.count));
        format!(" ({}: {a} → {b})", compared::call(&most.work))
    })
}

fn command(digest: &Digest) -> String {
    let words: Vec<_> = digest.command.iter().map(|word| harmless(word)).collect();
    match words.is_empty() {
        true => harmless(&digest.root).into_owned(),
        false => words.join(" "),
    }
}

fn spread(range: Range) -> String {
    format!(
        "{} to {}",
        units::time(range.lo_ns),
        units::time(range.hi_ns)
    )
}

/// Which takes longer, by how much.
fn verdict(wall: &Wall) -> String {
    let (a, b) = (units::time(wall.a_ns), units::time(wall.b_ns));
    let apart = units::time(wall.difference_ns().unsigned_abs());
    let ratio = |long: u64, short: u64| units::times(long as f64 / short.max(1) as f64);
    if wall.is_within_spread() {
        return format!(
            "No difference: A takes {a} and B {b}, which recordings of one side differ by, too"
        );
    }
    match wall.difference_ns() {
        0 => format!("No difference: both take {a}"),
        1.. => format!(
            "B takes {apart} longer: {b}, A {a} ({} as long)",
            ratio(wall.b_ns, wall.a_ns)
        ),
        _ => format!(
            "B is {apart} faster: {b}, A {a} (1/{} of the time)",
            ratio(wall.a_ns, wall.b_ns).trim_end_matches(" times")
        ),
    }
}

/// What differs, by how much of the difference it explains.
fn rows(comparison: &Comparison, most: usize, style: &Style) -> Vec<String> {
    let whole = comparison.wall.difference_ns();
    let longest = comparison.wall.a_ns.max(comparison.wall.b_ns);
    let least = (whole.unsigned_abs() as f64 * OF_DIFFERENCE).max(longest as f64 * OF_WALL);
    let is_large = |row: &&Row| {
        let ns = row.difference_ns().unsigned_abs() as f64;
        ns > 0.0 && (ns >= least || most == usize::MAX)
    };
    let differing = comparison.rows.iter().filter(|row| !row.is_within_spread());
    // The largest of them, whichever way, in the order of what they explain.
    let mut shown: Vec<&Row> = differing.filter(is_large).collect();
    let mut sizes: Vec<u64> = shown
        .iter()
        .map(|row| row.difference_ns().unsigned_abs())
        .collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    let smallest = sizes.get(most.saturating_sub(1)).copied().unwrap_or(0);
    shown.retain(|row| row.difference_ns().unsigned_abs() >= smallest);
    shown.truncate(most);
    let mut lines = vec![style.paint(
        Ink::Title,
        "WHAT DIFFERS  along the critical paths, B minus A",
    )];
    for (rank, row) in shown.iter().enumerate() {
        lines.extend(told(rank + 1, row, whole, style));
    }
    let (mut within, mut small) = ((0, 0i64), (0, 0i64));
    for row in &comparison.rows {
        let sum = match row.is_within_spread() {
            true => &mut within,
            false => &mut small,
        };
        if row.difference_ns() != 0 && !shown.iter().any(|one| std::ptr::eq(*one, row)) {
            *sum = (sum.0 + 1, sum.1.saturating_add(row.difference_ns()));
        }
    }
    if shown.is_empty() && small.0 == 0 && within.0 == 0 {
        lines.push("  Nothing.".to_owned());
    }
    if small.0 > 0 {
        let text = units::plural(small.0, "smaller difference", "smaller differences");
        lines.push(line("", small.1, whole, &text, style));
    }
    if within.0 > 0 {
        let text = units::plural(within.0, "difference", "differences");
        let text = format!("{text} within the spread of one side");
        lines.push(line("", within.1, whole, &text, style));
    }
    let unknown = &comparison.not_attributed;
    if unknown.a.ns > 0 || unknown.b.ns > 0 {
        let text = compared::what(unknown);
        lines.push(line("", unknown.difference_ns(), whole, &text, style));
    }
    lines.push(line("", whole, whole, "in all", style));
    lines
}

/// `  1  -1.20 s   61 %  less often  ...`.
fn line(rank: &str, ns: i64, whole: i64, text: &str, style: &Style) -> String {
    let share = match whole {
        0 => String::new(),
        whole => format!("{:.0} %", ns as f64 * 100.0 / whole as f64),
    };
    let time = style::pad_left(&compared::signed(ns), TIME);
    let share = style::pad_left(&share, SHARE);
    style::fit(
        format!("{} {time} {share}  {text}", style::pad_left(rank, RANK)),
        style,
    )
}

const RANK: usize = 3;
const TIME: usize = 10;
const SHARE: usize = 6;
/// Where the text of a row begins.
const INDENT: usize = RANK + TIME + SHARE + 4;

fn told(rank: usize, row: &Row, whole: i64, style: &Style) -> Vec<String> {
    let word = row.effect.change.word();
    let sentence = format!("{word}: {}", compared::sentence(row));
    let mut lines = vec![line(
        &rank.to_string(),
        row.difference_ns(),
        whole,
        &sentence,
        style,
    )];
    let evidence = compared::evidence(row);
    if !evidence.is_empty() {
        let evidence = format!("{}{evidence}", " ".repeat(INDENT));
        lines.push(style.paint(Ink::Faint, &style::fit(evidence, style)));
    }
    if row.a_range.recordings > 1 || row.b_range.recordings > 1 {
        let text = format!(
            "{}A {}, B {}",
            " ".repeat(INDENT),
            spread(row.a_range),
            spread(row.b_range)
        );
        lines.push(style.paint(Ink::Faint, &style::fit(text, style)));
    }
    lines
}

/// Findings of one side and of both, and whether what was predicted came true.
fn findings(comparison: &Comparison, amount: Amount, style: &Style) -> Vec<String> {
    if comparison.findings.is_empty() {
        return Vec::new();
    }
    let most = match amount {
        Amount::Screen => FINDINGS,
        Amount::All => usize::MAX,
    };
    let mut lines = vec![style.paint(Ink::Title, "FINDINGS")];
    for (side, found) in comparison.findings.iter().take(most) {
        let side = match side {
            Side::OnlyA => "only in A",
            Side::OnlyB => "only in B",
            Side::Both => "in both",
        };
        let gain = units::Span::within(comparison.wall.a_ns.max(comparison.wall.b_ns));
        let saves = match found.accuses {
            true => format!(
                "predicted to save {} ({})",
                gain.one(found.gain_ns),
                gain.range(found.lo_ns, found.hi_ns)
            ),
            false => format!("at most {}", gain.one(found.hi_ns)),
        };
        let text = format!(
            "  {}  {saves}: {}",
            style::pad(side, 9),
            harmless(&found.signature)
        );
        lines.push(style::fit(text, style));
    }
    let more = comparison.findings.len().saturating_sub(most);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines.extend(came_true(comparison, style));
    lines
}

/// Facts about where the two ran that can explain something; nothing if none differs.
fn environment(found: &EnvironmentDifferences, amount: Amount, style: &Style) -> Vec<String> {
    const FACTS: usize = 2;
    if found.facts.is_empty() {
        return Vec::new();
    }
    let (most, others) = match amount {
        Amount::Screen => (FACTS, 0),
        Amount::All => (usize::MAX, usize::MAX),
    };
    differences(found, most, others, style)
}

/// Whether what was predicted came true.
pub(in crate::present) fn came_true(comparison: &Comparison, style: &Style) -> Vec<String> {
    let Some(prediction) = &comparison.prediction else {
        return Vec::new();
    };
    let wall = comparison.wall.a_ns.max(comparison.wall.b_ns);
    let span = units::Span::within(wall);
    let verdict = match prediction.verdict {
        Verdict::Inside => "as predicted, within the interval",
        Verdict::Less => "less than the least that was predicted",
        Verdict::More => "more than the most that was predicted",
    };
    let gone = match prediction.gone {
        1 => "The finding that is gone was".to_owned(),
        n => format!("The {n} findings that are gone were, together,"),
    };
    let text = format!(
        "{gone} predicted to save {} to {}; measured: {}, {verdict}",
        span.one(prediction.lo_ns),
        span.one(prediction.hi_ns),
        span.one(prediction.measured_ns)
    );
    wrap(&text, "  ", Ink::Plain, style)
}

/// What to believe of it, and what to ask next.
fn foot(compared: &Compared<'_>, style: &Style) -> Vec<String> {
    let comparison = compared.comparison;
    let mut notes = vec![aligned(&comparison.aligned)];
    for (side, digest) in [("A", &comparison.a), ("B", &comparison.b)] {
        let weather = &digest.weather;
        if weather.lost > 0 {
            notes.push(format!("{side} lost {} events", units::count(weather.lost)));
        }
        if !weather.has_stacks {
            notes.push(format!("{side} has no stacks, so no functions"));
        }
        if !weather.has_calls {
            notes.push(format!(
                "{side} has no system calls: waits are counted instead"
            ));
        }
        if weather.is_estimated {
            notes.push(format!(
                "{side} timed calls for part of the time only: its counts are lower bounds"
            ));
        }
        if let Some(mended) = &weather.mended {
            notes.push(format!("{side} was repaired: {}", harmless(mended)));
        }
    }
    let (a, b) = (comparison.wall.a.recordings, comparison.wall.b.recordings);
    let alone = if a > 1 { "B" } else { "A" };
    match a.min(b) {
        1 if a != b => notes.push(format!(
            "one recording of {alone} does not say how far two runs of it lie apart"
        )),
        1 => notes.push(
            "one recording a side does not say how far two runs of the same lie apart".to_owned(),
        ),
        2 => notes.push("two recordings a side say little of how far runs of the same lie apart: take three or more".to_owned()),
        _ => (),
    }
    let mut lines = wrap(&notes.join(" · "), "", Ink::Plain, style);
    let (diff, env) = (
        command_line("diff --full", compared),
        match (compared.a, compared.b) {
            ([_], [_]) => format!(" · {}", command_line("env", compared)),
            _ => String::new(),
        },
    );
    let tree = match (compared.a, compared.b) {
        ([_], [_]) => " · --tree",
        _ => "",
    };
    let more = format!("More: {diff} · --calls · --operations · --threads{tree} · --json{env}");
    lines.extend(wrap(&more, "", Ink::Plain, style));
    lines
}

fn aligned(aligned: &Aligned) -> String {
    let share = |share: f64| units::whole_percent(share.min(1.0));
    let mut text = format!(
        "Aligned: {} of A's path and {} of B's is work that both do",
        share(aligned.a_share),
        share(aligned.b_share)
    );
    for (a, b) in aligned.renamed.iter().take(RENAMED) {
        text.push_str(&format!(", {} = {}", harmless(a), harmless(b)));
    }
    text
}

/// Names that are told to be another in B.
const RENAMED: usize = 2;

fn command_line(command: &str, compared: &Compared<'_>) -> String {
    let words = |names: &[String]| {
        let words: Vec<String> = names
            .iter()
            .map(|name| crate::present::shell::word(name))
            .collect();
        words.join(" ")
    };
    match (compared.a.len(), compared.b.len()) {
        (1, 1) => format!(
            "timesink {command} {} {}",
            words(compared.a),
            words(compared.b)
        ),
        _ => format!(
            "timesink {command} {} -- {}",
            words(compared.a),
            words(compared.b)
        ),
    }
}

/// System calls whose count or time differs, those whose time differs most first.
pub fn calls(compared: &Compared<'_>, style: &Style) -> String {
    let differing = compared.comparison.calls.iter();
    let differing: Vec<&CallDifference> = differing
        .filter(|one| one.a.count != one.b.count || one.a.ns != one.b.ns)
        .take(CALLS)
        .collect();
    if differing.is_empty() {
        return "No system call differs in how often it was made or how long it took.\n".to_owned();
    }
    let count = |calls: &CallCount| match calls.is_estimated {
        true => format!("{}+", units::count(calls.at_least)),
        false => units::count(calls.count),
    };
    let each = |calls: &CallCount| match calls.count {
        0 => "-".to_owned(),
        count => units::time(calls.ns / count),
    };
    type Cell<'a> = &'a dyn Fn(&CallDifference) -> String;
    let column = |head, spare, cell: Cell<'_>| Column {
        head,
        cells: differing.iter().map(|one| cell(one)).collect(),
        spare,
    };
    let columns = vec![
        column("A", 0, &|one| count(&one.a)),
        column("B", 0, &|one| count(&one.b)),
        column("each in A", 1, &|one| each(&one.a)),
        column("each in B", 1, &|one| each(&one.b)),
        column("time, B minus A", 0, &|one| {
            compared::signed(one.difference_ns())
        }),
    ];
    let names: Vec<String> = differing
        .iter()
        .map(|one| compared::call(&one.work))
        .collect();
    let mut lines = vec![style.paint(Ink::Title, "CALLS  of all threads, waits included")];
    lines.extend(table::lines(columns, "what", &names, style));
    let more = compared.comparison.calls.len().saturating_sub(CALLS);
    if differing.len() == CALLS && more > 0 {
        lines.push(format!("  and {} more", units::count(more as u64)));
    }
    text(&lines)
}

/// So many are told.
const CALLS: usize = 40;
