//! `compare`: two recordings beside each other, as `timesink diff` has them.

use timesink_comparison::{
    CallCount, CallDifference, Digest, FactDifference, Range, RecurrenceDifference,
    RecurrenceTimes, RoleDifference, RoleTimes, Row,
};
use timesink_page::model::{
    CallDifferenceRow, Compare, CompareSide, DifferenceRow, FactRow, FindingSides, RecurrenceRow,
    RecurrenceSide, RoleRow, StateSums,
};

use crate::present::compared::{self, Compared};
use crate::present::names::{absent, harmless};
use crate::present::terminal::{self, Amount, Style};

fn name(text: &str) -> String {
    harmless(text).into_owned()
}

pub fn compare(compared: &Compared<'_>) -> Compare {
    let comparison = compared.comparison;
    let wall = &comparison.wall;
    let style = &Style::PLAIN;
    let findings = comparison
        .findings
        .iter()
        .map(|(side, found)| FindingSides {
            side: side.word().to_owned(),
            rule: found.rule.to_owned(),
            signature: name(&found.signature),
            gain_ns: found.gain_ns,
        });
    let prediction = terminal::came_true(comparison, style);
    Compare {
        head: terminal::compared_head(compared, style),
        a: side(compared.a, &comparison.a, wall.a),
        b: side(compared.b, &comparison.b, wall.b),
        difference_ns: wall.difference_ns(),
        is_within_spread: wall.is_within_spread(),
        rows: comparison.rows.iter().map(row).collect(),
        not_attributed_ns: comparison.not_attributed.difference_ns(),
        findings: findings.collect(),
        prediction: prediction.first().map(|line| line.trim().to_owned()),
        facts: compared.environment.facts.iter().map(fact).collect(),
        calls: comparison.calls.iter().map(call).collect(),
        threads: comparison.roles.iter().map(role).collect(),
        recurrences: comparison.recurrences.iter().map(recurrence).collect(),
        text: terminal::comparison(compared, Amount::All, style),
    }
}

fn side(recordings: &[String], digest: &Digest, range: Range) -> CompareSide {
    let counts = digest.counts();
    CompareSide {
        recordings: recordings.iter().map(|text| name(text)).collect(),
        command: digest.command.iter().map(|text| name(text)).collect(),
        directory: name(&digest.directory),
        wall_ns: digest.wall_ns,
        lo_ns: range.lo_ns,
        hi_ns: range.hi_ns,
        processes: counts.processes,
        threads: counts.threads,
        calls: counts.calls,
        bytes: counts.bytes,
        page_faults: counts.page_faults,
        switches: counts.switches,
        unknown_ns: digest.weather.unknown_ns,
        lost: digest.weather.lost,
    }
}

fn row(row: &Row) -> DifferenceRow {
    let with = compared::with(row).into_iter().map(|(what, _)| what);
    DifferenceRow {
        title: compared::sentence(row),
        change: row.effect.change.word().to_owned(),
        evidence: compared::evidence(row),
        difference_ns: row.difference_ns(),
        by_count_ns: row.effect.count_ns,
        by_each_ns: row.effect.each_ns,
        is_within_spread: row.is_within_spread(),
        program: name(&row.program),
        with: with.collect(),
        a_ns: row.a.ns,
        b_ns: row.b.ns,
        a_count: row.a.count,
        b_count: row.b.count,
        is_estimated: row.a.is_estimated || row.b.is_estimated,
    }
}

fn fact(fact: &FactDifference) -> FactRow {
    let value = |value: &Option<String>| match value {
        Some(value) => name(value),
        None => absent(fact).to_owned(),
    };
    let lines = fact.lines.iter().map(|line| {
        let told = |line: &Option<String>| line.as_deref().map_or(String::new(), name);
        [told(&line.a), told(&line.b)]
    });
    FactRow {
        kind: fact.kind.as_str().to_owned(),
        what: name(&fact.key),
        a: value(&fact.a),
        b: value(&fact.b),
        lines: lines.collect(),
        explains: fact.explains,
    }
}

fn call(difference: &CallDifference) -> CallDifferenceRow {
    let CallCount {
        count: a_count,
        ns: a_ns,
        bytes: a_bytes,
        ..
    } = difference.a;
    CallDifferenceRow {
        title: compared::call(&difference.work),
        a_count,
        b_count: difference.b.count,
        a_ns,
        b_ns: difference.b.ns,
        a_bytes,
        b_bytes: difference.b.bytes,
    }
}

fn role(difference: &RoleDifference) -> RoleRow {
    let sums = |times: &RoleTimes| StateSums {
        cpu_ns: times.cpu_ns,
        runnable_ns: times.ready_ns,
        blocked_ns: times.wait_ns,
        ..StateSums::default()
    };
    RoleRow {
        title: terminal::role_name(&difference.role),
        a_threads: difference.a.threads,
        b_threads: difference.b.threads,
        a: sums(&difference.a),
        b: sums(&difference.b),
        a_path_ns: difference.a.path_ns,
        b_path_ns: difference.b.path_ns,
    }
}

fn recurrence(difference: &RecurrenceDifference) -> RecurrenceRow {
    let side = |times: RecurrenceTimes| RecurrenceSide {
        count: times.count,
        p50_ns: times.p50_ns,
        p99_ns: times.p99_ns,
        ns: times.ns,
    };
    RecurrenceRow {
        title: terminal::recurrence_name(&difference.recurrence),
        a: difference.a.map(side),
        b: difference.b.map(side),
    }
}
