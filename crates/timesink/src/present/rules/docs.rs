//! The pages in `docs/rules`, one for each rule, against what the registry and the cases make of them.
//! `UPDATE=1 cargo test` writes them anew; look at the difference before you keep it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use timesink_findings::registry::RULES;
use timesink_findings::rule::Rule;
use timesink_recording::notation::{compare_with_kept, draft};

use super::{amount, page, parts, sentence};
use crate::present::samples;
use crate::present::terminal::{self, Style};
use crate::settings::Settings;

const GENERATED: &str =
    "<!-- Made of the rule itself and of its case: UPDATE=1 cargo test -p timesink -->";

fn within_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The WHY of the report on the case that a rule fires on, and what the case is.
fn example(rule: &Rule) -> String {
    let file = format!("crates/findings/cases/{}.fires.txt", rule.name);
    let text = std::fs::read_to_string(within_project(&file));
    let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
    let about = text.lines().map_while(|line| line.strip_prefix("# "));
    let about: Vec<&str> = about.collect();
    let why = samples::present(&draft(&text), "case.timesink", |report| {
        terminal::why(report, &Style::PLAIN)
    });
    format!(
        "## Example\n\n{}\n([the recording](../../{file}), drawn as text)\n\n```\n{}```\n",
        about.join(" "),
        why
    )
}

/// A text in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn document(rule: &Rule) -> String {
    let mut page = format!(
        "{GENERATED}\n# {}\n\n{}\n",
        rule.name,
        sentence(rule.looks_for)
    );
    for (heading, text) in parts(rule) {
        page += &format!("\n**{heading}.** {text}\n");
    }
    page += "\n## Limits\n\n";
    if rule.limits.is_empty() {
        page += "It goes by none of its own.\n";
    } else {
        page += "| limit | value | meaning |\n|---|---|---|\n";
    }
    for limit in rule.limits {
        page += &format!(
            "| `{}` | {} | {} |\n",
            limit.name,
            amount(limit.unit, limit.value),
            cell(limit.means)
        );
    }
    page + "\n" + &example(rule)
}

fn table() -> String {
    let mut page = format!(
        "{GENERATED}\n# The rules\n\nWhat the reports' WHY goes by, in the order in which they speak: of one cause only the first \
         is told. `timesink rules` prints the same.\n\n| rule | what it looks for | what to do |\n|---|---|---|\n"
    );
    for rule in RULES {
        page += &format!(
            "| [{0}]({0}.md) | {1} | {2} |\n",
            rule.name,
            cell(rule.looks_for),
            cell(rule.advice)
        );
    }
    page
}

/// Each rule has its page, as the rule is now, and there is no page of a rule that is gone.
#[test]
fn pages_of_rules_are_as_the_rules() {
    let folder = within_project("docs/rules");
    let mut wanted: BTreeMap<String, String> = RULES
        .iter()
        .map(|rule| (format!("{}.md", rule.name), document(rule)))
        .collect();
    wanted.insert("README.md".to_owned(), table());
    for (name, text) in &wanted {
        compare_with_kept(&folder.join(name), text);
    }
    for entry in std::fs::read_dir(&folder).expect("docs/rules") {
        let page = entry.expect("a page").file_name();
        let page = page.to_string_lossy();
        assert!(
            wanted.contains_key(&*page),
            "{page} is of no rule: remove it"
        );
    }
}

/// What is set otherwise is said where the rule is shown, with where that is.
#[test]
fn what_is_set_is_shown() {
    let mut settings = Settings::default();
    settings.add_limits(
        "[rules.flush-per-record]\nflushes = 50\ndisabled = true\n",
        "/home/a/timesink.toml",
    );
    let rule = RULES.iter().find(|rule| rule.name == "flush-per-record");
    let shown = page(rule.expect("it is there"), &settings, &Style::PLAIN);
    assert!(
        shown.contains("flushes = 50 (set in /home/a/timesink.toml, default 20)"),
        "{shown}"
    );
    assert!(
        shown.contains("Disabled in /home/a/timesink.toml"),
        "{shown}"
    );
}
