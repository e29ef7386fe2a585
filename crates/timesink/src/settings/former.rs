//! Names that limits had before: settings that were written for an older timesink go on to apply.

/// A limit that was renamed.
struct Former {
    rule: &'static str,
    was: &'static str,
    is: &'static str,
}

const fn former(rule: &'static str, was: &'static str, is: &'static str) -> Former {
    Former { rule, was, is }
}

/// Those of 2026-11-25.
const FORMER: &[Former] = &[
    former("asleep", "part", "share"),
    former("asleep", "in a loop", "loop sleep"),
    former("cold-files", "ms", "time"),
    former("copying", "ms", "time"),
    former("dead-name-server", "least", "timeout"),
    former("eager-start-up", "ms", "time"),
    former("eager-start-up", "before", "before first request"),
    former("fixed-delay", "alike", "spread"),
    former("garbage-collection", "ms", "time"),
    former("growing-search", "in line", "linearity"),
    former("growing-search", "in order", "correlation"),
    former("growing-search", "larger", "piece growth"),
    former("keep-alive-wait", "ends", "closes"),
    former("keep-alive-wait", "least", "length"),
    former("keep-alive-wait", "alike", "spread"),
    former("known-slow-function", "ms", "time"),
    former("large-payload", "dense", "gap"),
    former("linger-at-exit", "least", "length"),
    former("linger-at-exit", "before", "cpu before"),
    former("long-holder", "long", "long holds"),
    former("long-holder", "times", "ratio"),
    former("long-holder", "least", "length"),
    former("many-small-sends", "each", "per response"),
    former("memory-far-larger", "times", "ratio"),
    former("memory-far-larger", "evenly", "evenness"),
    former("memory-reclaim", "work", "cpu"),
    former("name-per-request", "again", "per address"),
    former("niced", "more", "ratio"),
    former("repeated-stat", "looks", "calls"),
    former("retry-back-off", "grows", "growth"),
    former("retry-back-off", "most", "max growth"),
    former("thundering-herd", "quick", "cpu"),
    former("thundering-herd", "found", "with work"),
    former("tls-per-request", "again", "per peer"),
    former("tls-per-request", "each", "handshake"),
    former("user-space-copying", "megabytes", "amount"),
    former("user-space-copying", "differ", "difference"),
    former("user-space-copying", "looks", "other work"),
    former("waits-one-after-another", "least", "length"),
    former("waits-one-after-another", "between", "work between"),
];

/// What a limit of a rule is called now.
pub(super) fn name_now<'n>(rule: &str, name: &'n str) -> &'n str {
    let former = FORMER
        .iter()
        .find(|former| former.rule == rule && former.was == name);
    former.map_or(name, |former| former.is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_findings::registry::RULES;

    /// Each goes to a limit that there is, from a name that none has.
    #[test]
    fn former_names_lead_to_limits() {
        for former in FORMER {
            let rule = RULES.iter().find(|rule| rule.name == former.rule);
            let rule = rule.unwrap_or_else(|| panic!("no rule {}", former.rule));
            let has = |name: &str| rule.limits.iter().any(|limit| limit.name == name);
            assert!(has(former.is), "{} of {}", former.is, former.rule);
            assert!(!has(former.was), "{} of {}", former.was, former.rule);
        }
    }
}
