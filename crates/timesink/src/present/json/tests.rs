//! The JSON report on drawn recordings, and against its documentation.

use std::collections::BTreeSet;

use serde_json::Value;
use timesink_analysis::stacks::{Direction, Filter};
use timesink_comparison::Weights;
use timesink_findings::registry::RULES;
use timesink_recording::notation::{compare_with_kept, draft, Draft};

use super::write;
use crate::bench;
use crate::history::tests::confirmed;
use crate::present::bench::Bench;
use crate::present::names::is_hostile;
use crate::present::samples;
use crate::present::terminal::Table;
use crate::proof::{FactVerdict, Proof, Tried};
use crate::rounds::tests::whole_round;
use crate::settings::Settings;

fn text(drawn: &Draft) -> String {
    text_with(drawn, &Settings::default())
}

fn text_with(drawn: &Draft, settings: &Settings) -> String {
    let path = "nightly-import.timesink";
    samples::present_with(&drawn.recording(), path, settings, |report| {
        let mut out = Vec::new();
        write(report, &mut out).expect("memory takes it");
        String::from_utf8(out).expect("JSON is UTF-8")
    })
}

/// A report in which a finding is muted and a rule is switched off.
fn muted() -> Value {
    let mut settings = Settings::default();
    let mute = "[[mute]]\nsignature = \"flush-*\"\nreason = \"known\"\nuntil = 2026-12-31\n";
    settings.add_mutes(mute, "m.toml");
    settings.add_limits("rules.hot-lock.disabled = true", "t.toml");
    serde_json::from_str(&text_with(&samples::import(), &settings)).expect("it is JSON")
}

fn json(drawn: &Draft) -> Value {
    serde_json::from_str(&text(drawn)).expect("it is JSON")
}

/// Every path that occurs in a value, such as `threads[].causes[].ns`. Keys that are data, not
/// names of fields, are written `*`.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = if at == "lost" || at.ends_with(".errnos") {
                    "*"
                } else {
                    key
                };
                let path = if at.is_empty() {
                    key.to_owned()
                } else {
                    format!("{at}.{key}")
                };
                found.insert(path.clone());
                paths(value, &path, found);
            }
        }
        Value::Array(items) => {
            items
                .iter()
                .for_each(|item| paths(item, &format!("{at}[]"), found));
        }
        _ => (),
    }
}

/// Every field that is written is documented, and nothing else is.
#[test]
fn documented_fields_are_the_fields() {
    let mut written = BTreeSet::new();
    for drawn in samples::all() {
        paths(&json(&drawn), "", &mut written);
    }
    paths(&muted(), "", &mut written);
    are_documented(&written, |page| {
        let report = page.split(COMPARISON);
        report.take(1).collect()
    });
}

/// Every field of a comparison is documented, and nothing else is.
#[test]
fn documented_fields_of_a_comparison_are_the_fields() {
    let mut written = BTreeSet::new();
    let slow = [samples::flushes(200, 5_000, 900)];
    let others = samples::flushes(2, 5_500, 900);
    let mut elsewhere = draft(
        "run wall 1s command ./other
         process 1 pid 800 other executable /srv/other
         thread 1.1 tid 800 other
         object b.db file /srv/data/rows.db
         call 1.1 fdatasync b.db count 3 ns 3ms
         1.1: cpu 0..1ms",
    );
    elsewhere.losses.clear();
    for other in [others, elsewhere] {
        samples::compare(&slow, &[other], |compared| {
            let mut out = Vec::new();
            super::comparison(compared, &mut out).expect("memory takes it");
            let page = serde_json::from_slice(&out).expect("it is JSON");
            paths(&page, "", &mut written);
        });
    }
    samples::compare(
        &[samples::commits(40)],
        &[samples::commits(2)],
        |compared| {
            let mut out = Vec::new();
            super::comparison(compared, &mut out).expect("memory takes it");
            let page = serde_json::from_slice(&out).expect("it is JSON");
            paths(&page, "", &mut written);
        },
    );
    let [here, there] = samples::in_two_places();
    samples::compare(&[here], &[there], |compared| {
        let mut out = Vec::new();
        super::comparison(compared, &mut out).expect("memory takes it");
        let page = serde_json::from_slice(&out).expect("it is JSON");
        paths(&page, "", &mut written);
    });
    are_documented(&written, |page| {
        let comparison = page.split(COMPARISON).nth(1).unwrap_or_default();
        comparison.split(TREE).take(1).collect()
    });
}

/// Every field of a tree of two recordings is documented; each node comes after the one that it is called from, and what a node
/// has beyond those that it calls is its own.
#[test]
fn documented_fields_of_a_tree_are_the_fields() {
    let (many, few) = (samples::commits(40), samples::commits(2));
    let mut out = Vec::new();
    samples::beside(&many, &few, Weights::Both, |both| {
        super::tree(both, Weights::Both, &mut out).expect("memory takes it");
    });
    let page: Value = serde_json::from_slice(&out).expect("it is JSON");
    let mut written = BTreeSet::new();
    paths(&page, "", &mut written);
    are_documented(&written, |page| {
        let tree = page.split(TREE).nth(1).unwrap_or_default();
        tree.split(PROOF).take(1).collect()
    });
    let nodes = page["nodes"].as_array().expect("an array");
    let number = |node: &Value, field: &str| node[field].as_u64().expect("a number");
    let mut left: Vec<u64> = nodes.iter().map(|node| number(node, "a_ns")).collect();
    for (at, node) in nodes.iter().enumerate() {
        match node["parent"].as_u64().map(|parent| parent as usize) {
            Some(parent) => {
                assert!(parent < at);
                left[parent] -= number(node, "a_ns");
            }
            None => assert_eq!(at, 0),
        }
    }
    let own: Vec<u64> = nodes.iter().map(|node| number(node, "own_a_ns")).collect();
    assert_eq!(left, own);
}

/// Every field of a proof is documented, and nothing else is.
#[test]
fn documented_fields_of_a_proof_are_the_fields() {
    let tried = |name: &str, verdict| Tried {
        name: name.to_owned(),
        verdict,
    };
    let why = "it cannot be set for a single process".to_owned();
    let proof = Proof {
        difference_ns: 49_100_000,
        recorded_ns: 150_000_000,
        is_recorded: true,
        rounds: 20,
        run_ns: 147e6,
        facts: vec![
            tried(
                "file a.conf",
                FactVerdict::Confirmed {
                    ns: 32.5e6,
                    lo_ns: 19.9e6,
                    hi_ns: 63.3e6,
                },
            ),
            tried("affinity nice", FactVerdict::Excluded { ns: 6.1e6 }),
            tried(
                "CPU limits cpu.max",
                FactVerdict::Undecided { more: Some(9) },
            ),
            tried("kernel release", FactVerdict::NotTested { why }),
        ],
    };
    let mut out = Vec::new();
    super::proof(&proof, &mut out).expect("memory takes it");
    let page: Value = serde_json::from_slice(&out).expect("it is JSON");
    let verdicts = page["facts"].as_array().expect("facts").iter();
    let verdicts: Vec<_> = verdicts.map(|fact| fact["verdict"].as_str()).collect();
    let wanted = ["confirmed", "excluded", "undecided", "not tested"];
    assert_eq!(verdicts, wanted.map(Some));
    assert_eq!(page["facts"][0]["hi_ns"], 63.3e6);
    let mut written = BTreeSet::new();
    paths(&page, "", &mut written);
    are_documented(&written, |page| {
        let proof = page.split(PROOF).nth(1).unwrap_or_default();
        proof.split(BENCH).take(1).collect()
    });
}

/// Every field of a benchmark is documented, and nothing else is.
#[test]
fn documented_fields_of_a_benchmark_are_the_fields() {
    let mut written = BTreeSet::new();
    let mut add = |shown: &Bench<'_>| {
        let mut out = Vec::new();
        super::bench(shown, &mut out).expect("memory takes it");
        let page = serde_json::from_slice(&out).expect("it is JSON");
        paths(&page, "", &mut written);
    };
    bench::samples::changed(&mut add);
    bench::samples::drifting(&mut add);
    bench::samples::bad_weather(&mut add);
    are_documented(&written, |page| {
        let bench = page.split(BENCH).nth(1).unwrap_or_default();
        bench.split(ROUNDS).take(1).collect()
    });
}

/// Every field of a round is documented, and nothing else is.
#[test]
fn documented_fields_of_rounds_are_the_fields() {
    let page = serde_json::to_value(whole_round()).expect("it is JSON");
    let mut written = BTreeSet::new();
    paths(&page, "", &mut written);
    are_documented(&written, |page| {
        let rounds = page.split(ROUNDS).nth(1).unwrap_or_default();
        rounds.split(HISTORY).take(1).collect()
    });
}

/// Every field of a history is documented, and nothing else is.
#[test]
fn documented_fields_of_a_history_are_the_fields() {
    let mut history = confirmed();
    for result in &mut history.series[0].results[20..] {
        result.place = 2;
    }
    let mut out = Vec::new();
    super::history(&history, None, &mut out).expect("memory takes it");
    let page = serde_json::from_slice(&out).expect("it is JSON");
    let mut written = BTreeSet::new();
    paths(&page, "", &mut written);
    are_documented(&written, |page| {
        let history = page.split(HISTORY).nth(1).unwrap_or_default();
        history.split(VIEWS).take(1).collect()
    });
}

/// Every field of functions, calls and lines is documented, and nothing else is; nodes come after those that they hang on.
#[test]
fn documented_fields_of_views_are_the_fields() {
    let mut written = BTreeSet::new();
    let wanted = [
        Table::Top(3),
        Table::Tree(Direction::Callees),
        Table::Lines("price_of".to_owned()),
    ];
    let page = samples::present_stacks(&samples::coded(), &Filter::default(), |_, _, stacks| {
        let mut out = Vec::new();
        super::views(stacks, &wanted, &mut out).expect("memory takes it");
        serde_json::from_slice::<Value>(&out).expect("it is JSON")
    });
    assert_eq!(page["top"].as_array().map(Vec::len), Some(3));
    assert!(!page["lines"].as_array().expect("lines").is_empty());
    let nodes = page["tree"]["nodes"].as_array().expect("nodes");
    let ns = |node: &Value| node["amount"]["ns"].as_u64().expect("a number");
    let roots = nodes.iter().filter(|node| node["parent"].is_null());
    assert_eq!(Some(roots.map(ns).sum()), page["total"]["ns"].as_u64());
    for (at, node) in nodes.iter().enumerate() {
        assert!(node["parent"]
            .as_u64()
            .is_none_or(|parent| (parent as usize) < at));
    }
    paths(&page, "", &mut written);
    are_documented(&written, |page| {
        let views = page.split(VIEWS).nth(1).unwrap_or_default();
        views.split(RULES_PAGE).take(1).collect()
    });
}

/// Every field of rules is documented, and nothing else is; what a file sets is what they go by.
#[test]
fn documented_fields_of_rules_are_the_fields() {
    let mut settings = Settings::default();
    settings.add_limits("rules.flush-per-record.flushes = 50", "t.toml");
    settings.add_limits("rules.hot-lock.disabled = true", "t.toml");
    let mut out = Vec::new();
    super::rules(RULES, &settings, &mut out).expect("memory takes it");
    let page: Value = serde_json::from_slice(&out).expect("it is JSON");
    let rules = page["rules"].as_array().expect("rules");
    let rule = |name: &str| rules.iter().find(|rule| rule["rule"] == name);
    let flush = rule("flush-per-record").expect("it is there");
    let limits = flush["limits"].as_array().expect("limits");
    let flushes = limits.iter().find(|limit| limit["name"] == "flushes");
    assert_eq!(flushes.expect("it is there")["value"], 50.0);
    assert_eq!(rule("hot-lock").expect("it is there")["is_disabled"], true);
    let mut written = BTreeSet::new();
    paths(&page, "", &mut written);
    are_documented(&written, |page| page.split(RULES_PAGE).skip(1).collect());
}

/// `why --json` has the findings of the report, with the same fields.
#[test]
fn why_has_the_findings_of_the_report() {
    let (drawn, settings) = (samples::import(), Settings::default());
    let report = json(&drawn);
    let asked = |number| {
        samples::present_with(
            &drawn.recording(),
            "nightly-import.timesink",
            &settings,
            |report| {
                let mut out = Vec::new();
                super::findings(report, number, &mut out).expect("memory takes it");
                serde_json::from_slice::<Value>(&out).expect("it is JSON")
            },
        )
    };
    assert_eq!(asked(None)["findings"], report["findings"]);
    let one = asked(Some(1));
    assert_eq!(one["findings"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["findings"][0], report["findings"][0]);
    assert_eq!(one["recording"], report["recording"]);
}

/// Hyperfine's readers find what they look for.
#[test]
fn hyperfine_reads_it() {
    bench::samples::drifting(|shown| {
        let mut out = Vec::new();
        super::hyperfine(shown, &mut out).expect("memory takes it");
        let page: Value = serde_json::from_slice(&out).expect("it is JSON");
        let result = &page["results"][1];
        assert_eq!(result["command"], "dd bs=4k");
        assert_eq!(result["parameters"]["size"], "4k");
        assert_eq!(result["times"].as_array().map(Vec::len), Some(40));
        assert_eq!(result["exit_codes"][0], 0);
        for field in ["mean", "stddev", "median", "user", "system", "min", "max"] {
            let seconds = result[field].as_f64();
            assert!(
                seconds.is_some_and(|s| s > 0.0 && s < 1.0),
                "{field}: {seconds:?}"
            );
        }
    });
}

/// Bencher finds each command with its times in nanoseconds, and the figure that commands print.
#[test]
fn bencher_reads_it() {
    bench::samples::drifting(|shown| {
        let mut out = Vec::new();
        super::bencher(shown, &mut out).expect("memory takes it");
        let page: Value = serde_json::from_slice(&out).expect("it is JSON");
        let latency = &page["dd bs=4k"]["latency"];
        let [lower, value, upper] = ["lower_value", "value", "upper_value"].map(|field| {
            let ns = latency[field].as_f64();
            ns.unwrap_or_else(|| panic!("{field}: {page:#}"))
        });
        assert!(lower <= value && value <= upper && lower > 1e6, "{page:#}");
    });
}

/// The same command twice is two benchmarks, each with its own figures.
#[test]
fn bencher_keeps_equal_commands_apart() {
    bench::samples::drifting(|shown| {
        let jobs = [0, 0].map(|at| shown.jobs[at].clone());
        let mut out = Vec::new();
        let twice = crate::present::bench::Bench {
            jobs: &jobs,
            ..*shown
        };
        super::bencher(&twice, &mut out).expect("memory takes it");
        let page: Value = serde_json::from_slice(&out).expect("it is JSON");
        let [one, other] = ["dd bs=64", "dd bs=64 #2"].map(|name| &page[name]["latency"]["value"]);
        assert!(
            one.is_number() && other.is_number() && one != other,
            "{page:#}"
        );
    });
}

/// Where docs/json.md turns from the report to the comparison.
const COMPARISON: &str = "\n# The JSON of a comparison\n";

/// Where it turns to the tree of two recordings.
const TREE: &str = "\n# The JSON of a tree\n";

/// Where it turns to what `prove` came to.
const PROOF: &str = "\n# The JSON of a proof\n";

/// Where it turns to the benchmark.
const BENCH: &str = "\n# The JSON of a benchmark\n";

/// And where it turns to rounds.
const ROUNDS: &str = "\n# The JSON of rounds\n";

/// And where it turns to the history.
const HISTORY: &str = "\n# The JSON of a history\n";

/// Where it turns to functions, calls and lines.
const VIEWS: &str = "\n# The JSON of functions, calls and lines\n";

/// And where it turns to rules.
const RULES_PAGE: &str = "\n# The JSON of rules\n";

/// These are the fields in the rows of a part of docs/json.md.
fn are_documented(written: &BTreeSet<String>, part: impl Fn(&str) -> String) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = std::fs::read_to_string(page).expect("docs/json.md can be read");
    let cells = |line: &str| {
        line.split('|')
            .map(|cell| cell.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let page = part(&page);
    let rows: Vec<_> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(cells)
        .collect();
    let documented: BTreeSet<String> = rows
        .iter()
        .map(|cells| cells[1].trim_matches('`').to_owned())
        .collect();
    let missing: Vec<_> = written.difference(&documented).collect();
    let surplus: Vec<_> = documented.difference(written).collect();
    assert!(
        missing.is_empty(),
        "written, but not in docs/json.md: {missing:#?}"
    );
    assert!(
        surplus.is_empty(),
        "in docs/json.md, but never written: {surplus:#?}"
    );
    assert!(
        rows.iter()
            .all(|cells| cells.len() == 5 && !cells[3].is_empty()),
        "name, unit, text"
    );
}

/// A whole report, against one kept beside this file. `UPDATE=1 cargo test` writes it anew.
#[test]
fn a_whole_report_stays_as_it_is() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src/present/json/snapshots/import.json"
    );
    let version = format!("{:?}", env!("CARGO_PKG_VERSION"));
    let text = text(&samples::import()).replace(&version, "\"VERSION\"");
    compare_with_kept(file.as_ref(), &text);
}

/// The fields that scripts were promised are there, with what they promise.
#[test]
fn promised_fields_are_there() {
    let report = json(&samples::import());
    assert_eq!(report["version"], 1);
    assert_eq!(report["wall_ns"], 14_210_000_000u64);
    assert_eq!(report["exit_code"], 0);
    assert_eq!(report["unaccounted_pct"], 0.0);
    assert_eq!(report["lost"], serde_json::json!({}));
    let main = &report["threads"][0];
    assert_eq!((&main["pid"], &main["tid"]), (&800.into(), &800.into()));
    assert_eq!(main["name"], "nightly-import");
    assert_eq!(main["tracer_ns"], 70_000_000);
    let flush = &main["causes"][0];
    assert_eq!(
        (&flush["state"], &flush["detail"]),
        (&"wait".into(), &"flush".into())
    );
    assert_eq!(
        (&flush["object"], &flush["count"]),
        (&"rows.db".into(), &1.into())
    );
    assert_eq!(flush["ns"], 13_080_000_000u64);
    assert_eq!(main["behind"][0]["name"], "backup");
}

/// What is muted is no finding, and stands beside them with the reason; so do rules that were switched off.
#[test]
fn what_is_muted_stands_apart() {
    let told = json(&samples::import());
    let finding = &told["findings"][0];
    assert_eq!(finding["rule"], "flush-per-record");
    let signature = "flush-per-record of rows.db by nightly-import";
    assert_eq!(finding["signature"], signature);
    let muted = muted();
    assert_eq!(muted["findings"], serde_json::json!([]));
    assert_eq!(muted["switched_off"], serde_json::json!(["hot-lock"]));
    let wanted = serde_json::json!([{
        "rule": "flush-per-record",
        "title": finding["title"],
        "signature": signature,
        "gain_ns": finding["gain"]["ns"],
        "reason": "known",
        "until": "2026-12-31",
    }]);
    assert_eq!(muted["muted"], wanted);
}

/// The functions of a finding stand beside where they are: a file and a line, or what is known of them.
#[test]
fn findings_say_where_in_the_code() {
    let text = include_str!("../../../../findings/cases/flush-per-record.fires.txt");
    let report = json(&draft(text));
    let finding = &report["findings"][0];
    let frames = ["insert_row", "load_file", "main", "_start"];
    assert_eq!(finding["frames"], serde_json::json!(frames));
    let wanted = serde_json::json!([
        { "file": "/srv/import/import.c", "line": 41 },
        { "file": "/srv/import/import.c", "line": 88 },
        { "file": null, "line": null },
        { "file": null, "line": null },
    ]);
    assert_eq!(finding["places"], wanted);
}

/// A thread's causes add up to its states in the JSON too.
#[test]
fn causes_add_up_in_json() {
    for drawn in [samples::import(), samples::forks(), samples::weather()] {
        for thread in json(&drawn)["threads"].as_array().expect("an array") {
            for state in ["cpu", "ready", "wait", "tracer", "lost"] {
                let causes = thread["causes"].as_array().expect("an array").iter();
                let of = causes.filter(|cause| cause["state"] == state);
                let sum: u64 = of.filter_map(|cause| cause["ns"].as_u64()).sum();
                assert_eq!(thread[format!("{state}_ns")], sum, "{state}: {thread}");
            }
        }
    }
}

/// All time of all threads is in the rows about code, with or without stacks.
#[test]
fn code_adds_up_in_json() {
    for drawn in [samples::import(), samples::coded(), samples::weather()] {
        let report = json(&drawn);
        let sum = |rows: &Value, fields: &[&str]| -> u64 {
            let rows = rows.as_array().expect("an array").iter();
            let numbers =
                rows.flat_map(|row| fields.iter().filter_map(|field| row[*field].as_u64()));
            numbers.sum()
        };
        let states = ["cpu_ns", "ready_ns", "wait_ns", "tracer_ns", "lost_ns"];
        let states = sum(&report["threads"], &states);
        assert_eq!(sum(&report["top"], &["self_ns"]), states);
    }
    let report = json(&samples::coded());
    assert_eq!(report["stacks"]["taken"], 10);
    assert_eq!(report["stacks"]["complete"], 9);
    assert_eq!(report["stacks"]["nameless_frames"], 1);
    assert_eq!(report["stacks"]["dominant"][0]["function"], "import_row");
}

/// What was lost is told by kind; a command ended by a signal has the code a shell would give it.
#[test]
fn losses_and_signals_are_told() {
    let report = json(&samples::weather());
    assert_eq!(report["lost"]["turns"]["count"], 1204);
    assert_eq!(report["exit_code"], 137);
    assert_eq!(report["mended"], "its last second is missing");
    assert_eq!(report["probes"][0]["attached"], false);
}

/// Names arrive as they were, but nothing in the text itself can act on a terminal.
#[test]
fn hostile_names_are_escaped_and_whole() {
    let text = text(&samples::hostile());
    assert!(!text.chars().any(|c| c != '\n' && is_hostile(c)));
    let name = &json(&samples::hostile())["threads"][0]["name"];
    assert_eq!(name, "\u{1b}[2J\r\n\u{9b}31m\u{202e}gpj.exe\u{7}");
}
