//! What is done again and again, and what one of it consists of: `Repeated 5,000 times, 186 us each, in gettz() tz.py:1379: 118 us
//! in _read_tzfile(), 41 us in openat, read and close of New_York`.

use timesink_analysis::anatomy::{Anatomy, Component, Does};
use timesink_analysis::ledger::Account;

use crate::present::names::{self, harmless};
use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::{units, Report};
use crate::present::words;

/// Components that are named, and the least share of an item of each.
const COMPONENTS: usize = 4;
const LEAST: f64 = 0.05;
/// Names of calls that are told of a component.
const CALLS: usize = 4;

/// More calls than this for each time are told by their number.
const SEVERAL: f64 = 1.5;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let first = report.anatomies.first();
    let text = first.map(|one| told(report, one));
    text.map_or(Vec::new(), |text| wrap(&text, "  ", Ink::Plain, style))
}

fn told(report: &Report, one: &Anatomy) -> String {
    let code = &report.stacks.code;
    let about = if one.estimated { "about " } else { "" };
    let place = one.place.map(|spot| names::calls_at(code, &[spot]));
    let main = report.main().map(|main| main.row.process);
    let elsewhere = (main != Some(one.process)).then(|| names::process(report.facts, one.process));
    let place = match (place, elsewhere) {
        (Some(place), None) => format!(", in {place}"),
        (None, Some(process)) => format!(", in {process}"),
        (Some(place), Some(process)) => format!(", in {place} of {process}"),
        (None, None) => String::new(),
    };
    let large = one.components.iter();
    let large = large.filter(|component| component.ns as f64 >= one.ns as f64 * LEAST);
    let parts: Vec<String> = large
        .take(COMPONENTS)
        .map(|component| {
            let each = units::time(component.ns / one.count.max(1));
            format!("{each} {}", does(report, one, component))
        })
        .collect();
    format!(
        "Repeated {about}{} times{}, {} each{place}: {}",
        units::count(one.count),
        at_once(one),
        units::time(one.ns / one.count.max(1)),
        parts.join(", ")
    )
}

/// ` in 8 threads at once`: so nobody adds up what each takes to more than there was.
fn at_once(one: &Anatomy) -> String {
    match (one.at_once.many, one.at_once.processes) {
        (0 | 1, _) => String::new(),
        (many, false) => format!(" in {} threads at once", units::count(many)),
        (many, true) => format!(" in {} processes at once", units::count(many)),
    }
}

fn does(report: &Report, one: &Anatomy, component: &Component) -> String {
    let code = &report.stacks.code;
    match &component.does {
        Does::Calls {
            names: called,
            times,
            object,
            objects,
        } => {
            let shown = called.len().min(CALLS);
            let mut calls = harmless(&called[..shown].join(", ")).into_owned();
            if shown < called.len() {
                calls += " ...";
            }
            if *times >= SEVERAL {
                calls = match called.len() {
                    1 => format!("{} x {calls}", number(*times)),
                    many => format!("{} calls ({calls})", number(*times * many as f64)),
                };
            }
            match (object, *objects) {
                (Some(object), _) => format!("{calls} of {}", names::object_in(report, *object)),
                (None, 0) => calls,
                (None, many) => format!("{calls} of {}", units::plural(many, "object", "objects")),
            }
        }
        Does::Function(function) => format!("on CPU in {}", names::function_told(code, *function)),
        Does::Itself => match one.place {
            Some(spot) => format!(
                "on CPU in {} itself",
                names::function_told(code, spot.function)
            ),
            None => "on CPU".to_owned(),
        },
        Does::Runtime => "on CPU in the runtime".to_owned(),
        Does::Ready => words::account(Account::Ready).to_owned(),
    }
}

/// `2.1`, `16`.
fn number(times: f64) -> String {
    match times {
        few if few < 9.95 => format!("{few:.1}"),
        many => units::count(many.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use timesink_recording::notation::draft;

    use super::lines;
    use crate::present::names::is_hostile;
    use crate::present::samples;
    use crate::present::terminal::tests::PLAIN;

    /// "Repeated 800 times, 1.75 ms each" in a run of a second: two threads did it at once, and the line did not say so.
    #[test]
    fn what_threads_do_at_once_is_told_as_that() {
        let drawn = draft(
            "run wall 1s processors 2
             process 1 p
             thread 1.1 p
             thread 1.2 p parent 1.1
             1.1: cpu 0..450ms | wait ..455ms join t by 1.2 | cpu ..900ms
             1.2: cpu 1ms..455ms | cpu ..900ms
             call 1.1 write count 400 ns 700ms
             call 1.2 write count 400 ns 700ms
             site 1.1 write at 2ms occurrence 256 stack \"work;store\"
             site 1.2 write at 3ms occurrence 256 stack \"work;store\"",
        );
        let text = samples::present(&drawn, "r", |report| lines(report, &PLAIN).join("\n"));
        let wanted = "Repeated 800 times in 2 threads at once, 1.75 ms each";
        assert!(text.contains(wanted), "{text}");
    }

    /// Who wrote the recording chose the names of its calls, too: one with an escape was put into the answer as it was.
    #[test]
    fn names_of_calls_cannot_move_the_cursor() {
        let mut drawn = draft(
            "process 1 p
             thread 1.1 tid 1 p
             1.1: cpu 0..1s
             call 1.1 openat count 400 ns 900ms",
        );
        for call in &mut drawn.calls {
            call.call += "\u{1b}[2J";
        }
        let text = samples::present(&drawn, "r", |report| lines(report, &PLAIN).join("\n"));
        assert!(text.contains("Repeated 400 times"), "{text}");
        assert!(text.contains("openat\\x1b[2J"), "{text}");
        assert!(!text.replace('\n', "").chars().any(is_hostile), "{text}");
    }
}
