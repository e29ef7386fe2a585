//! Whether the figures can be trusted at all: where the books do not balance, the page begins with that, and with why.

use timesink_analysis::ledger::{Balance, Imbalance};

use super::terminal::units;
use super::Report;

/// Why the figures of this recording must not be trusted; `None` if nothing speaks against them.
pub fn doubt(report: &Report) -> Option<String> {
    let books = &report.facts.ledger.books;
    let against = |what: &str, balance: &Balance| {
        let (ours, kernel) = (units::time(balance.ours_ns), units::time(balance.kernel_ns));
        format!("{what} is {ours}, but {kernel} by the kernel's count")
    };
    let what = match books.out_of_balance()? {
        Imbalance::Cpu => against("time on CPU", &books.cpu),
        Imbalance::Ready => against("time runnable", &books.ready),
        Imbalance::Life => {
            let share = units::percent(books.unaccounted_pct());
            format!("{share} of the threads' time is unaccounted for")
        }
    };
    let why = reasons(report).join("; ");
    Some(format!("Do not trust these figures: {what}. {why}"))
}

/// What is known to bring books out of balance, as far as it applies.
fn reasons(report: &Report) -> Vec<String> {
    let facts = report.facts;
    let clock = report.about.host.get("scheduler clock");
    let mut reasons = Vec::new();
    if clock.is_some_and(|clock| clock == "unstable") {
        let source = report.about.host.get("clock source");
        let source = super::names::harmless(source.map_or("", String::as_str));
        reasons.push(format!(
            "The kernel's own sums are inexact: its scheduler clock is unstable (clock source {source})"
        ));
    }
    if facts.losses.iter().any(|loss| loss.count > 0) {
        reasons.push("Events were lost".to_owned());
    }
    let refused = facts.probes.iter().filter(|probe| !probe.attached).count();
    if refused > 0 {
        let probes = units::plural(refused as u64, "probe", "probes");
        reasons.push(format!("{probes} not attached"));
    }
    if reasons.is_empty() {
        reasons.push(
            "The reason is unknown: record again, and if it persists, report it with the output of \
             `timesink doctor --verbose`"
                .to_owned(),
        );
    }
    reasons
}
