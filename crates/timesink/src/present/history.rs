//! The history of benchmarks in words, and what was confirmed of it as Markdown and as an Atom feed.

use timesink_findings::mutes::Day;

use super::bench::tables::code;
use super::names::harmless;
use super::terminal::units;
use crate::bench::Figure;
use crate::history::{Confirmation, History, Series, Verdict};

/// A commit, as people write it.
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

pub fn day(unix_s: u64) -> String {
    Day::of_unix_time(unix_s).to_string()
}

pub fn figure_of(confirmation: &Confirmation) -> Figure {
    use clap::ValueEnum;
    let all = Figure::value_variants().iter().copied();
    let mut found = all.filter(|figure| figure.word() == confirmation.figure);
    found.next().unwrap_or(Figure::Metric)
}

/// `slower by 6.1 % (4.2 to 8.0)`, or what else pairs said; `is_better`: more of the figure.
pub fn told(one: &Confirmation, series: &Series) -> String {
    let figure = figure_of(one);
    let pairs = units::plural(one.pairs.len() as u64, "pair", "pairs");
    match one.verdict {
        Verdict::Same => format!("the same within 2 % ({pairs})"),
        Verdict::Undecided => format!("not decided by {pairs}"),
        Verdict::Changed => by(
            one.ratio,
            one.interval,
            figure,
            series.what.higher_is_better,
        ),
    }
}

/// Whether that is a loss.
pub fn is_loss(one: &Confirmation, series: &Series) -> bool {
    let more_is_better = figure_of(one) == Figure::Metric && series.what.higher_is_better;
    (one.ratio > 1.0) != more_is_better
}

/// A ratio of two levels in words.
pub fn by(
    ratio: f64,
    interval: Option<(f64, f64)>,
    figure: Figure,
    higher_is_better: bool,
) -> String {
    let word = match (figure, ratio > 1.0) {
        (Figure::Metric, more) if more == higher_is_better => "better",
        (Figure::Metric, _) => "worse",
        (Figure::Memory, true) => "larger",
        (Figure::Memory, false) => "smaller",
        (_, true) => "slower",
        (_, false) => "faster",
    };
    let share = |ratio: f64| (ratio - 1.0).abs() * 100.0;
    let range = interval.map_or(String::new(), |(lo, hi)| {
        let (near, far) = if ratio > 1.0 { (lo, hi) } else { (hi, lo) };
        format!(" ({:.1} to {:.1} %)", share(near), share(far))
    });
    format!("{word} by {}{range}", units::percent(share(ratio)))
}

/// `since somewhere in a..b (3 commits)`.
pub fn since(one: &Confirmation) -> String {
    let range = format!("{}..{}", short(&one.old), short(&one.new));
    match one.commits {
        // Only one can be it.
        Some(1) => format!("since {}", short(&one.new)),
        Some(count) if count > 1 => {
            format!(
                "since somewhere in {range} ({} commits)",
                units::count(count)
            )
        }
        _ => format!("between {range}"),
    }
}

/// All that was confirmed as changed, the latest first.
fn confirmed(history: &History) -> Vec<(&Series, &Confirmation)> {
    let all = history.series.iter().flat_map(|series| {
        let own = series.confirmed().into_iter();
        own.map(move |one| (series, one))
    });
    let mut changed: Vec<_> = all.collect();
    changed.sort_by_key(|(_, one)| std::cmp::Reverse(one.confirmed_unix_s));
    changed
}

/// A table of what was confirmed.
pub fn markdown(history: &History) -> String {
    let mut page = String::from(
        "| benchmark | figure | change | since | confirmed |\n|---|---|---|---|---|\n",
    );
    let all = confirmed(history);
    for (series, one) in &all {
        page += &format!(
            "| {} | {} | {} | {} | {}, {} pairs |\n",
            code(&series.what.command),
            match figure_of(one) {
                Figure::Metric => code(&series.name_of(Figure::Metric)),
                figure => figure.name().to_owned(),
            },
            told(one, series),
            since(one).trim_start_matches("since "),
            day(one.confirmed_unix_s),
            one.pairs.len()
        );
    }
    match all.is_empty() {
        true => "No change was confirmed.\n".to_owned(),
        false => page,
    }
}

/// A feed of what was confirmed (RFC 4287).
pub fn atom(history: &History) -> String {
    let all = confirmed(history);
    let latest = all.first().map_or(0, |(_, one)| one.confirmed_unix_s);
    let mut feed = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n  \
         <title>Confirmed changes of benchmarks</title>\n  <id>urn:timesink:history</id>\n  <updated>{}</updated>\n  \
         <author><name>timesink</name></author>\n",
        time(latest)
    );
    for (series, one) in all {
        let command = xml(&series.what.command);
        let what = format!("{} {}", told(one, series), since(one));
        feed += &format!(
            "  <entry>\n    <title>{command}: {}</title>\n    <id>urn:timesink:history:{:08x}:{}:{}:{}</id>\n    \
             <updated>{}</updated>\n    <content type=\"text\">{}</content>\n  </entry>\n",
            xml(&what),
            crc32fast::hash(format!("{:?}", series.what).as_bytes()),
            xml(&one.figure),
            xml(&one.old),
            xml(&one.new),
            time(one.confirmed_unix_s),
            xml(&format!(
                "{} of {}: {what}. Both sides were measured again in {} pairs.",
                series.name_of(figure_of(one)),
                series.what.command,
                one.pairs.len()
            )),
        );
    }
    feed + "</feed>\n"
}

/// As RFC 3339 has it.
fn time(unix_s: u64) -> String {
    let second = unix_s % 86_400;
    let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
    format!("{}T{hours:02}:{minutes:02}:{seconds:02}Z", day(unix_s))
}

/// Text in which nothing is a mark, and that XML takes.
pub fn xml(text: &str) -> String {
    let text = harmless(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::{confirmed, slower};

    #[test]
    fn only_what_was_confirmed_is_told() {
        let none = slower();
        assert_eq!(markdown(&none), "No change was confirmed.\n");
        assert!(!atom(&none).contains("<entry>"));
        let mut one = confirmed();
        one.series[0].what.command = "a | <b> & \"c\u{1b}\"".to_owned();
        let page = markdown(&one);
        for part in [
            "`a \\| <b> &",
            "slower by 10.0 % (8.0 to 12.0 %)",
            "| somewhere in 0000000000..0000000000 (3 commits) |",
            "20 pairs",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        let feed = atom(&one);
        assert!(
            feed.contains("a | &lt;b&gt; &amp; &quot;c") && !feed.contains('\u{1b}'),
            "{feed}"
        );
        assert!(
            feed.contains("<updated>2026-12-25T12:00:00Z</updated>"),
            "{feed}"
        );
        assert_eq!(feed.matches("<entry>").count(), 1);
    }

    #[test]
    fn more_is_not_always_worse() {
        assert_eq!(by(1.5, None, Figure::Metric, true), "better by 50.0 %");
        assert_eq!(by(0.5, None, Figure::Metric, true), "worse by 50.0 %");
        assert_eq!(
            by(0.9, Some((0.85, 0.95)), Figure::Cpu, false),
            "faster by 10.0 % (5.0 to 15.0 %)"
        );
        assert_eq!(by(2.0, None, Figure::Memory, false), "larger by 100.0 %");
    }

    #[test]
    fn one_commit_is_named() {
        let history = confirmed();
        let mut one = history.series[0].confirmations[0].clone();
        one.commits = Some(1);
        assert_eq!(since(&one), "since 0000000000");
        one.commits = None;
        assert!(since(&one).starts_with("between"));
    }
}
