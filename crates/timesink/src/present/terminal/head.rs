//! The head: how long, how many, where the recording is, and what was wrong with it.

use super::style::{wrap, Ink, Style};
use super::{units, Report};
use crate::present::{file_name, names, trust};

/// How many CPUs were at work for it on average: whoever sees `1.0 of 8` knows what more threads may be worth.
fn cpus(report: &Report) -> String {
    let about = &report.about;
    if about.wall_ns == 0 {
        return String::new();
    }
    let used = report.facts.ledger.whole.cpu_ns as f64 / about.wall_ns as f64;
    let all = u64::from(about.processors);
    format!(" · {used:.1} of {}", units::plural(all, "CPU", "CPUs"))
}

pub(in crate::present) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let ledger = &report.facts.ledger;
    let wall = units::time(report.about.wall_ns);
    let rest = format!(
        " wall{} · {}, {} · {} ({})",
        cpus(report),
        units::plural(ledger.processes.len() as u64, "process", "processes"),
        units::plural(ledger.threads.len() as u64, "thread", "threads"),
        names::harmless(report.recording.path),
        units::bytes(report.recording.size_bytes),
    );
    let mut lines = wrap(&format!("{wall}{rest}"), "", Ink::Plain, style);
    if let [one] = lines.as_mut_slice() {
        *one = format!("{}{rest}", style.paint(Ink::Title, &wall));
    }
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
        let text = format!("{name} was killed by signal {signal}");
        lines.extend(wrap(&text, "", Ink::Warning, style));
    } else if let Some(code) = report.about.exit_code.filter(|&code| code != 0) {
        let text = format!("{name} exited with code {code}");
        lines.extend(wrap(&text, "", Ink::Warning, style));
    }
    if let Some(mended) = &report.about.mended {
        let text = format!(
            "This recording was cut short and repaired: {}",
            names::harmless(mended)
        );
        lines.extend(wrap(&text, "", Ink::Warning, style));
    }
    lines
}
