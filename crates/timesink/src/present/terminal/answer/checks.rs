//! One line of checks: ours against the kernel's figures, what is not accounted for, what recording cost, what was lost.

use crate::present::terminal::saves::DOUBTFUL_PCT;
use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::{foot, units, Report};
use crate::present::words;

pub(in crate::present) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let books = &report.facts.ledger.books;
    let scale = units::Scale::of(books.cpu.ours_ns.max(books.cpu.kernel_ns));
    let kernel = match books.cpu.kernel_ns {
        0 => "the kernel has no figure".to_owned(),
        ns => format!("kernel: {}", scale.time(ns)),
    };
    let warnings = warnings(report);
    let checked = format!(
        "Checked: CPU {} ({kernel}) · unaccounted {:.2} % · recording cost {:.1} %{}{}",
        scale.time(books.cpu.ours_ns),
        books.unaccounted_pct(),
        report.cost_pct(),
        own(report),
        match warnings.is_empty() {
            true => " · nothing lost",
            false => "",
        }
    );
    let mut lines = wrap(&checked, "", Ink::Plain, style);
    if !warnings.is_empty() {
        let text = format!("Incomplete: {}", warnings.join(" · "));
        lines.extend(wrap(&text, "", Ink::Warning, style));
    }
    if let Some(text) = foot::nameless_runtime(report) {
        lines.extend(wrap(&text, "", Ink::Faint, style));
    }
    lines
}

/// The CPU time that timesink itself took, on other processors or on those of the program.
fn own(report: &Report) -> String {
    let own = report.about.cost.recorder_cpu_ns;
    own.map_or(String::new(), |ns| {
        format!(" + {} CPU in timesink", units::time(ns))
    })
}

/// What limits the figures; the full report says more of each.
fn warnings(report: &Report) -> Vec<String> {
    let facts = report.facts;
    let lost = facts
        .losses
        .iter()
        .map(|loss| words::loss(loss.kind, loss.count));
    let lost: Vec<String> = lost.collect();
    let mut warnings = Vec::new();
    if !lost.is_empty() {
        warnings.push(format!("lost {}", lost.join(", ")));
    }
    let refused = facts.probes.iter().filter(|probe| !probe.attached).count();
    if refused > 0 {
        let probes = units::plural(refused as u64, "probe", "probes");
        warnings.push(format!("{probes} not attached"));
    }
    if !facts.ledger.tiling.is_sound() {
        warnings.push("the spans do not tile".to_owned());
    }
    let unchecked = facts.ledger.books.unchecked;
    if unchecked > 0 {
        let threads = units::plural(unchecked, "thread", "threads");
        warnings.push(format!("{threads} without the kernel's figures"));
    }
    let error = report
        .outlook
        .map_or(0.0, |outlook| outlook.replay_error_pct);
    if error.abs() > DOUBTFUL_PCT {
        warnings.push(format!("replay error {error:+.0} %"));
    }
    warnings
}
