//! The head: how long, how many, where the recording is, and what was wrong with it.

use super::style::{wrap, Ink, Style};
use super::{units, Report};
use crate::present::{file_name, names, trust};

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let ledger = &report.facts.ledger;
    let first = format!(
        "{} wall · {}, {} · recorded in {} ({})",
        style.paint(Ink::Title, &units::time(report.about.wall_ns)),
        units::plural(ledger.processes.len() as u64, "process", "processes"),
        units::plural(ledger.threads.len() as u64, "thread", "threads"),
        names::harmless(report.path),
        units::bytes(report.size_bytes),
    );
    let mut lines = vec![first];
    if let Some(doubt) = trust::doubt(report) {
        lines.extend(wrap(&doubt, "", Ink::Warning, style));
    }
    let name = report
        .about
        .command
        .first()
        .map_or("the command", |name| file_name(name));
    let name = names::harmless(name);
    if let Some(signal) = report.about.exit_signal {
        lines.push(style.paint(
            Ink::Warning,
            &format!("{name} was ended by signal {signal}"),
        ));
    } else if let Some(code) = report.about.exit_code.filter(|&code| code != 0) {
        lines.push(style.paint(Ink::Warning, &format!("{name} ended with exit code {code}")));
    }
    if let Some(mended) = &report.about.mended {
        let text = format!(
            "This recording was cut short and mended: {}",
            names::harmless(mended)
        );
        lines.push(style.paint(Ink::Warning, &text));
    }
    lines
}
