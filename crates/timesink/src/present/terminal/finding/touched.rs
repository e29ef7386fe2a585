//! What the gain rests on: the spans that the replay makes shorter, by kind, with how long they were.

use timesink_analysis::ledger::Kind;
use timesink_analysis::outlook::OnPath;
use timesink_analysis::timeline::touched::Touched;
use timesink_analysis::waits::quantile;

use super::One;
use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::{path, units};
use crate::present::{names, words};

/// So many kinds are shown.
const MOST: usize = 4;
/// Fewer lengths than these are not drawn.
const FEW: usize = 8;
/// Lengths that differ by less than this part of the longest are alike.
const ALIKE: u64 = 100;

pub(super) fn lines(one: &One, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for touched in one.touched.iter().take(MOST) {
        lines.extend(kind(one, touched, style));
    }
    let rest = one.touched.iter().skip(MOST);
    let (many, ns) = rest.fold((0u64, 0u64), |(many, ns), touched| {
        (many + 1, ns.saturating_add(touched.ns))
    });
    if many > 0 {
        let many = units::plural(many, "smaller kind", "smaller kinds");
        let text = format!("and {many}, {} in all", units::time(ns));
        lines.extend(wrap(&text, "  ", Ink::Faint, style));
    }
    lines
}

/// What it is: the cause in plain words, the thing, and whose time.
fn what(one: &One, touched: &Touched) -> String {
    let report = one.report;
    let (label, object) = match is_timer_of_loop(one, touched) {
        true => (words::TIMER_OF_LOOP.to_owned(), None),
        false => (
            words::cause(path::account(touched.state), Kind::As(touched.detail), ""),
            touched.object,
        ),
    };
    let object = object.map_or(String::new(), |object| {
        format!(" · {}", names::object_in(report, object))
    });
    let alike = one.report.loaded.programs.alike(touched.process).len();
    let whose = match alike {
        0 | 1 => names::process(report.facts, touched.process),
        many => {
            let many = units::count(many as u64);
            format!(
                "{many} processes like {}",
                names::process(report.facts, touched.process)
            )
        }
    };
    format!("{label}{object} · in {whose}")
}

/// Whether these are polls of a loop that nothing but its own timer ended, as the path has them.
fn is_timer_of_loop(one: &One, touched: &Touched) -> bool {
    let causes = one
        .report
        .outlook
        .map_or(&[][..], |outlook| &outlook.causes);
    let programs = &one.report.loaded.programs;
    let mut alike = causes.iter().filter(|on_path| {
        let key = on_path.cause.key;
        key.process == programs.first(touched.process)
            && (key.state, key.detail) == (touched.state, Some(touched.detail))
            && key.object == touched.object
    });
    alike.any(OnPath::is_timer_of_loop)
}

fn kind(one: &One, touched: &Touched, style: &Style) -> Vec<String> {
    let mut lines = wrap(&what(one, touched), "  ", Ink::Plain, style);
    let count = touched.count();
    let (all, each) = (units::time(touched.ns), touched.ns / count.max(1));
    let mut text = format!(
        "{} x {}, {all} in all",
        units::count(count),
        units::time(each)
    );
    let (shortest, longest) = (
        quantile(&touched.lengths, 0.0),
        quantile(&touched.lengths, 1.0),
    );
    // Of those that are all alike there is no more to be said.
    if longest - shortest > longest / ALIKE {
        let quantile = |part| units::time(quantile(&touched.lengths, part));
        text += &format!(
            ": median {}, 90th percentile {}, maximum {}",
            quantile(0.5),
            quantile(0.9),
            quantile(1.0)
        );
    }
    lines.extend(wrap(&text, "    ", Ink::Plain, style));
    lines.extend(drawn(&touched.lengths, style));
    lines
}

/// How many there are of each length, from the shortest to the longest, each step twice as long as the one before.
fn drawn(lengths: &[u64], style: &Style) -> Vec<String> {
    const MARKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let (Some(&shortest), Some(&longest)) = (lengths.first(), lengths.last()) else {
        return Vec::new();
    };
    let step = |ns: u64| ns.max(1).ilog2() as usize;
    let (from, to) = (step(shortest), step(longest));
    if lengths.len() < FEW || from == to {
        return Vec::new();
    }
    let mut counts = vec![0usize; to - from + 1];
    for &ns in lengths {
        counts[step(ns) - from] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1);
    let marks = counts.iter().map(|&count| match count {
        0 => " ",
        count => MARKS[(count * (MARKS.len() - 1)).div_ceil(most)],
    });
    let marks: String = marks.collect();
    let text = format!("{} {marks} {}", units::time(shortest), units::time(longest));
    vec![format!("    {}", style.paint(Ink::Wait, &text))]
}
