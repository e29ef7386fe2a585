//! Rules as JSON: what each looks for, and its limits as they are set here. A field here is a field of docs/json.md; a test compares
//! them.

use serde::Serialize;
use timesink_findings::rule::{Limit, Rule};

use crate::settings::Settings;

#[derive(Serialize)]
pub(super) struct RulesPage {
    version: u32,
    rules: Vec<RulePage>,
}

#[derive(Serialize)]
struct RulePage {
    rule: &'static str,
    looks_for: &'static str,
    why: &'static str,
    advice: &'static str,
    wrong_if: &'static str,
    accuses: bool,
    needs: Vec<&'static str>,
    limits: Vec<LimitPage>,
    is_disabled: bool,
}

#[derive(Serialize)]
struct LimitPage {
    name: &'static str,
    value: f64,
    default: f64,
    unit: &'static str,
    means: &'static str,
}

pub(super) fn page(rules: &[&Rule], settings: &Settings) -> RulesPage {
    RulesPage {
        version: super::VERSION,
        rules: rules.iter().map(|rule| rule_page(rule, settings)).collect(),
    }
}

fn rule_page(rule: &Rule, settings: &Settings) -> RulePage {
    let limits = rule.limits.iter();
    RulePage {
        rule: rule.name,
        looks_for: rule.looks_for,
        why: rule.why,
        advice: rule.advice,
        wrong_if: rule.wrong_if,
        accuses: rule.accuses(),
        needs: rule.needs.iter().map(|need| need.word()).collect(),
        limits: limits
            .map(|limit| limit_page(rule, limit, settings))
            .collect(),
        is_disabled: settings.switched_off(rule).is_some(),
    }
}

fn limit_page(rule: &Rule, limit: &Limit, settings: &Settings) -> LimitPage {
    LimitPage {
        name: limit.name,
        value: settings
            .limit(rule, limit)
            .map_or(limit.value, |(value, _)| value),
        default: limit.value,
        unit: limit.unit.word(),
        means: limit.means,
    }
}
