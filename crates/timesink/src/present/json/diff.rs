//! A comparison as JSON. A field here is a field of docs/json.md; a test compares them.

use serde::Serialize;
use timesink_comparison::{
    CallCount, CallDifference, Difference, Digest, Does, Range, RecurrenceDifference,
    RecurrenceKind, RecurrenceTimes, Role, RoleDifference, RoleTimes, Row, Total, Work,
};

use super::environment::{self, EnvironmentPage};
use crate::present::compared::{self, Compared};

#[derive(Serialize)]
pub(super) struct Page<'a> {
    version: u32,
    wall_difference_ns: i64,
    is_within_spread: bool,
    a: SidePage<'a>,
    b: SidePage<'a>,
    aligned: AlignedPage<'a>,
    differences: Vec<RowPage<'a>>,
    not_attributed_ns: i64,
    findings: Vec<FoundPage<'a>>,
    prediction: Option<PredictionPage>,
    environment: EnvironmentPage<'a>,
    calls: Vec<CallPage<'a>>,
    threads: Vec<RolePage<'a>>,
    operations: Vec<RecurrencePage<'a>>,
}

#[derive(Serialize)]
struct SidePage<'a> {
    recordings: &'a [String],
    command: &'a [String],
    directory: &'a str,
    wall_ns: u64,
    spread: RangePage,
    counts: CountsPage,
    unknown_ns: u64,
    lost: u64,
    has_stacks: bool,
    has_calls: bool,
    is_estimated: bool,
    mended: Option<&'a str>,
}

#[derive(Serialize)]
struct CountsPage {
    processes: u64,
    threads: u64,
    calls: u64,
    bytes: u64,
    page_faults: u64,
    switches: u64,
}

#[derive(Serialize)]
struct RangePage {
    lo_ns: u64,
    hi_ns: u64,
}

#[derive(Serialize)]
struct AlignedPage<'a> {
    a_share: f64,
    b_share: f64,
    is_unlike: bool,
    renamed: Vec<RenamedPage<'a>>,
}

#[derive(Serialize)]
struct RenamedPage<'a> {
    a: &'a str,
    b: &'a str,
}

#[derive(Serialize)]
struct RowPage<'a> {
    title: String,
    change: &'static str,
    difference_ns: i64,
    by_count_ns: Option<i64>,
    by_each_ns: Option<i64>,
    is_within_spread: bool,
    program: &'a str,
    program_in_b: Option<&'a str>,
    kind: &'static str,
    act: Option<&'a str>,
    thing: Option<&'a str>,
    functions: &'a [String],
    place: Option<&'a str>,
    counts_waits: bool,
    with: Vec<WithPage>,
    a: TotalPage,
    b: TotalPage,
}

#[derive(Serialize)]
struct WithPage {
    what: String,
    times: f64,
}

#[derive(Serialize)]
struct TotalPage {
    ns: u64,
    count: Option<u64>,
    at_least: Option<u64>,
    is_estimated: bool,
    spread: RangePage,
}

#[derive(Serialize)]
struct FoundPage<'a> {
    side: &'static str,
    rule: &'static str,
    signature: &'a str,
    gain_ns: i64,
    lo_ns: i64,
    hi_ns: i64,
}

#[derive(Serialize)]
struct PredictionPage {
    gone: usize,
    lo_ns: i64,
    hi_ns: i64,
    measured_ns: i64,
    verdict: &'static str,
}

#[derive(Serialize)]
struct CallPage<'a> {
    program: &'a str,
    act: Option<&'a str>,
    thing: Option<&'a str>,
    a: CountPage,
    b: CountPage,
}

#[derive(Serialize)]
struct RolePage<'a> {
    program: &'a str,
    role: &'static str,
    name: Option<&'a str>,
    a: RoleTimesPage,
    b: RoleTimesPage,
}

#[derive(Serialize)]
struct RecurrencePage<'a> {
    program: &'a str,
    kind: &'static str,
    address: Option<&'a str>,
    function: Option<&'a str>,
    waits: Vec<&'static str>,
    a: Option<RecurrenceTimesPage>,
    b: Option<RecurrenceTimesPage>,
}

#[derive(Serialize)]
struct RecurrenceTimesPage {
    count: u64,
    rate: Option<f64>,
    p50_ns: u64,
    p99_ns: Option<u64>,
    ns: u64,
}

#[derive(Serialize)]
struct RoleTimesPage {
    threads: u64,
    path_ns: u64,
    cpu_ns: u64,
    ready_ns: u64,
    wait_ns: u64,
}

#[derive(Serialize)]
struct CountPage {
    count: u64,
    at_least: u64,
    ns: u64,
    bytes: u64,
    errors: u64,
    is_estimated: bool,
}

pub(super) fn page<'a>(compared: &'a Compared<'a>) -> Page<'a> {
    let comparison = compared.comparison;
    let aligned = &comparison.aligned;
    let renamed = aligned.renamed.iter();
    let found = comparison.findings.iter().map(|(side, found)| FoundPage {
        side: side.word(),
        rule: found.rule,
        signature: &found.signature,
        gain_ns: found.gain_ns,
        lo_ns: found.lo_ns,
        hi_ns: found.hi_ns,
    });
    Page {
        version: super::VERSION,
        wall_difference_ns: comparison.wall.difference_ns(),
        is_within_spread: comparison.wall.is_within_spread(),
        a: side(compared.a, &comparison.a, comparison.wall.a),
        b: side(compared.b, &comparison.b, comparison.wall.b),
        aligned: AlignedPage {
            a_share: aligned.a_share,
            b_share: aligned.b_share,
            is_unlike: aligned.is_unlike(),
            renamed: renamed.map(|(a, b)| RenamedPage { a, b }).collect(),
        },
        differences: comparison.rows.iter().map(row).collect(),
        not_attributed_ns: comparison.not_attributed.difference_ns(),
        findings: found.collect(),
        environment: environment::environment(compared.environment),
        prediction: comparison.prediction.map(|one| PredictionPage {
            gone: one.gone,
            lo_ns: one.lo_ns,
            hi_ns: one.hi_ns,
            measured_ns: one.measured_ns,
            verdict: one.verdict.word(),
        }),
        calls: comparison.calls.iter().map(call).collect(),
        threads: comparison.roles.iter().map(role).collect(),
        operations: comparison.recurrences.iter().map(recurrence).collect(),
    }
}

fn side<'a>(recordings: &'a [String], digest: &'a Digest, spread: Range) -> SidePage<'a> {
    let weather = &digest.weather;
    let counts = digest.counts();
    SidePage {
        recordings,
        command: &digest.command,
        directory: &digest.directory,
        wall_ns: digest.wall_ns,
        spread: range(spread),
        counts: CountsPage {
            processes: counts.processes,
            threads: counts.threads,
            calls: counts.calls,
            bytes: counts.bytes,
            page_faults: counts.page_faults,
            switches: counts.switches,
        },
        unknown_ns: weather.unknown_ns,
        lost: weather.lost,
        has_stacks: weather.has_stacks,
        has_calls: weather.has_calls,
        is_estimated: weather.is_estimated,
        mended: weather.mended.as_deref(),
    }
}

fn range(range: Range) -> RangePage {
    RangePage {
        lo_ns: range.lo_ns,
        hi_ns: range.hi_ns,
    }
}

fn row(row: &Row) -> RowPage<'_> {
    let does = match &row.about {
        Difference::Work(does) => Some(does),
        Difference::Processes | Difference::OtherCode => None,
    };
    let (act, thing) = does.map_or((None, None), act_and_thing);
    let with = compared::with(row).into_iter();
    RowPage {
        title: compared::sentence(row),
        change: row.effect.change.word(),
        difference_ns: row.difference_ns(),
        by_count_ns: row.effect.count_ns,
        by_each_ns: row.effect.each_ns,
        is_within_spread: row.is_within_spread(),
        program: &row.program,
        program_in_b: row.program_in_b.as_deref(),
        kind: kind(&row.about),
        act,
        thing,
        functions: match does {
            Some(Does::Code { chain }) => chain,
            _ => &[],
        },
        place: row.place.as_deref(),
        counts_waits: row.counts_waits,
        with: with.map(|(what, times)| WithPage { what, times }).collect(),
        a: total(&row.a, row.a_range),
        b: total(&row.b, row.b_range),
    }
}

fn total(total: &Total, spread: Range) -> TotalPage {
    TotalPage {
        ns: total.ns,
        count: total.count,
        at_least: match total.is_estimated {
            true => Some(total.at_least),
            false => total.count,
        },
        is_estimated: total.is_estimated,
        spread: range(spread),
    }
}

fn kind(about: &Difference) -> &'static str {
    match about {
        Difference::Processes => "processes",
        Difference::OtherCode => "other code",
        Difference::Work(does) => match does {
            Does::Calls { .. } => "calls",
            Does::PageFaults => "page faults",
            Does::Waits { .. } => "waits",
            Does::Code { .. } => "code",
            Does::Ready => "ready",
            Does::Throttled => "throttled",
            Does::Exit => "exit",
            Does::Unknown => "unknown",
        },
    }
}

fn act_and_thing(does: &Does) -> (Option<&str>, Option<&str>) {
    let (act, thing) = match does {
        Does::Calls { act, thing } => (act.word(), thing),
        Does::Waits { detail, thing } => (detail.as_str(), thing),
        _ => return (None, None),
    };
    (
        Some(act),
        Some(thing.name()).filter(|name| !name.is_empty()),
    )
}

fn call(of: &CallDifference) -> CallPage<'_> {
    let Work { program, does } = &of.work;
    let (act, thing) = act_and_thing(does);
    CallPage {
        program,
        act,
        thing,
        a: count(&of.a),
        b: count(&of.b),
    }
}

fn count(calls: &CallCount) -> CountPage {
    CountPage {
        count: calls.count,
        at_least: calls.at_least,
        ns: calls.ns,
        bytes: calls.bytes,
        errors: calls.errors,
        is_estimated: calls.is_estimated,
    }
}

fn role(difference: &RoleDifference) -> RolePage<'_> {
    let (role, name) = match &difference.role.role {
        Role::Main => ("main", None),
        Role::Named(name) => ("named", Some(name.as_str())),
        Role::In(function) => ("in", Some(function.as_str())),
        Role::Other => ("other", None),
    };
    let times = |times: &RoleTimes| RoleTimesPage {
        threads: times.threads,
        path_ns: times.path_ns,
        cpu_ns: times.cpu_ns,
        ready_ns: times.ready_ns,
        wait_ns: times.wait_ns,
    };
    RolePage {
        program: &difference.role.program,
        role,
        name,
        a: times(&difference.a),
        b: times(&difference.b),
    }
}

fn recurrence(difference: &RecurrenceDifference) -> RecurrencePage<'_> {
    let times = |times: Option<RecurrenceTimes>| {
        times.map(|times| RecurrenceTimesPage {
            count: times.count,
            rate: times.rate,
            p50_ns: times.p50_ns,
            p99_ns: times.p99_ns,
            ns: times.ns,
        })
    };
    let mut page = RecurrencePage {
        program: &difference.recurrence.program,
        kind: "loop",
        address: None,
        function: None,
        waits: Vec::new(),
        a: times(difference.a),
        b: times(difference.b),
    };
    match &difference.recurrence.what {
        RecurrenceKind::Operations { kind, thing } => {
            page.kind = kind.word();
            page.address = Some(thing.name()).filter(|name| !name.is_empty());
        }
        RecurrenceKind::LoopIn(function) => page.function = Some(function),
        RecurrenceKind::Loop(steps) => {
            let words = steps.iter().map(|(detail, _)| detail.as_str());
            page.waits = words.collect();
        }
    }
    page
}
