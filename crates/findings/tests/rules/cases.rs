//! The cases of the rules: `cases/RULE.fires.txt`, where it is told first, and `cases/RULE.silent-WHY.txt`, which only
//! look like it. A line `# told: RULE` in one of the latter says what else is rightly told of it.

use std::collections::BTreeMap;
use std::path::Path;

use timesink_findings::registry::RULES;
use timesink_recording::notation::recording;

use crate::drawn::told_of;

/// All cases by their names without `.txt`.
pub fn cases() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = std::fs::read_dir(folder).expect("the folder of cases");
    let case = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.expect("a case").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("its name");
        let text = std::fs::read_to_string(&path).expect("its text");
        (name.to_owned(), text)
    };
    files.map(case).collect()
}

/// The text of a case.
#[track_caller]
pub fn case(name: &str) -> String {
    let text = cases().remove(name);
    text.unwrap_or_else(|| panic!("there is no cases/{name}.txt"))
}

/// Each rule is told first where it should be.
#[test]
fn rules_fire() {
    let cases = cases();
    let firing = cases.iter().filter_map(|(name, text)| {
        let (rule, kind) = name.split_once('.')?;
        kind.starts_with("fires").then_some((name, rule, text))
    });
    let mut wrong = Vec::new();
    for (name, rule, text) in firing {
        let told = told_of(&recording(text));
        if told.first().map(|(rule, _)| *rule) != Some(rule) {
            wrong.push(format!("cases/{name}.txt: told {told:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// And nobody is accused where it should not be.
#[test]
fn rules_are_silent() {
    let mut wrong = Vec::new();
    for (name, text) in cases().iter().filter(|(name, _)| name.contains(".silent")) {
        let allowed: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# told: "))
            .collect();
        let told = told_of(&recording(text)).into_iter().map(|(rule, _)| rule);
        // What accuses nobody may be told of any case but its own.
        let own = name.split_once('.').map(|(rule, _)| rule);
        let accuses = |rule: &str| {
            let known = RULES.iter().find(|known| known.name == rule);
            known.is_some_and(|known| known.accuses()) || own == Some(rule)
        };
        let accused: Vec<&str> = told.filter(|rule| accuses(rule)).collect();
        if accused != allowed {
            wrong.push(format!(
                "cases/{name}.txt: told {accused:?}, not {allowed:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every case is of a rule, so that none is passed over for a slip in its name.
#[test]
fn cases_are_of_rules() {
    for name in cases().keys() {
        let (rule, kind) = name.split_once('.').expect("RULE.fires or RULE.silent-WHY");
        let of_kind = |start: &str| kind.strip_prefix(start);
        assert!(
            RULES.iter().any(|known| known.name == rule),
            "{name}: no such rule"
        );
        assert!(
            kind == "fires" || of_kind("fires-").or(of_kind("silent-")).is_some(),
            "{name}: fires, fires-WHY or silent-WHY"
        );
    }
}

/// A rule without a case that fires is not known to work, and one without a near-miss may accuse anybody.
#[test]
fn every_rule_has_its_cases() {
    let cases = cases();
    for rule in RULES {
        let has = |kind: &str| {
            let start = format!("{}.{kind}", rule.name);
            cases.keys().any(|name| name.starts_with(&start))
        };
        assert!(has("fires"), "cases/{}.fires.txt is missing", rule.name);
        assert!(
            has("silent-"),
            "cases/{}.silent-WHY.txt is missing",
            rule.name
        );
    }
}
