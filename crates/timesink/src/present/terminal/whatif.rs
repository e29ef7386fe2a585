//! Predictions: one in full, or a table of what each cause on the path would buy.

use super::path::{label, saves};
use super::rows::{align, times, title, Row};
use super::style::{Ink, Style};
use super::{units, Report};
use crate::present::words;
use crate::present::{names, Prediction};

/// So many causes of the path that is left.
const LEFT: usize = 5;

/// A prediction, ending in a line feed.
pub fn prediction(report: &Report, prediction: &Prediction, style: &Style) -> String {
    let gain = prediction.gain;
    let recorded = prediction.recorded_ns;
    let mut lines = vec![title("WHAT IF", &prediction.asked.join(", and "), style)];
    let pct = (gain.wall_ns as f64 - recorded as f64) * 100.0 / recorded.max(1) as f64;
    lines.push(format!(
        "  {} instead of {} ({pct:+.1} %)",
        units::time(gain.wall_ns),
        units::time(recorded),
    ));
    lines.push(format!(
        "  between {} and {}",
        units::time(gain.wall_lo_ns),
        units::time(gain.wall_hi_ns)
    ));
    if gain.ns == 0 && gain.meant_ns > 0 {
        lines.push(format!(
            "  {} of it was recorded, but not on the critical path.",
            units::time(gain.meant_ns)
        ));
    }
    lines.push(String::new());
    lines.push(title("THEN THE TIME WOULD GO", "", style));
    let rows: Vec<Row> = prediction
        .path
        .iter()
        .take(LEFT)
        .filter(|cause| cause.ns > 0)
        .map(|cause| Row {
            label: label(&cause.key),
            ns: cause.ns,
            share: Some(cause.ns as f64 / gain.wall_ns.max(1) as f64),
            times: times(cause.count, cause.ns),
            about: cause
                .key
                .object
                .map_or(String::new(), |id| names::object_in(report, id)),
            ..Row::default()
        })
        .collect();
    lines.extend(align(&rows, gain.wall_ns, style));
    lines.push(error(prediction.replay_error_pct, style));
    ended(&lines)
}

/// What each cause and each function on the path would buy, ending in a line feed.
pub fn gains(report: &Report, style: &Style) -> String {
    let Some(outlook) = report.outlook else {
        return String::new();
    };
    let share = |ns: i64| ns.max(0) as f64 / outlook.wall_ns.max(1) as f64;
    let code = &report.stacks.code;
    let causes = outlook.causes.iter().filter_map(|on_path| {
        let key = &on_path.cause.key;
        let process = report.facts.ledger.process(key.process);
        let process = process.map_or_else(String::new, |process| {
            format!("in {} · ", names::harmless(&process.row.name))
        });
        let object = key
            .object
            .map_or(String::new(), |id| names::object_in(report, id));
        Some((label(key), object, process, on_path.gain?))
    });
    let functions = outlook.functions.iter().filter_map(|in_function| {
        let name = names::function(code, in_function.function);
        Some((
            format!("func={name}"),
            String::new(),
            String::new(),
            in_function.gain?,
        ))
    });
    let mut found: Vec<_> = causes.chain(functions).collect();
    found.sort_by_key(|(_, _, _, gain)| std::cmp::Reverse(gain.ns));
    let rows: Vec<Row> = found
        .into_iter()
        .map(|(label, about, process, gain)| Row {
            label,
            ns: u64::try_from(gain.ns).unwrap_or(0),
            share: Some(share(gain.ns)),
            about,
            more: format!(
                "{process}{}",
                saves(&gain).unwrap_or_else(|| "saves nothing".to_owned())
            ),
            ink: Some(words::ink(timesink_analysis::ledger::Account::Wait)),
            ..Row::default()
        })
        .collect();
    let about = format!(
        "what removing each cause on the path would save, of {}",
        units::time(outlook.wall_ns)
    );
    let mut lines = vec![title("WHAT IF IT TOOK NO TIME", &about, style)];
    lines.extend(align(&rows, outlook.wall_ns, style));
    lines.push(error(outlook.replay_error_pct, style));
    ended(&lines)
}

fn error(error: f64, style: &Style) -> String {
    let text = format!("  Replay error {error:+.2} %.");
    style.paint(Ink::Faint, &text)
}

fn ended(lines: &[String]) -> String {
    let mut page = String::new();
    for line in lines {
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page
}
