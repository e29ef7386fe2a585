//! Queries that read a whole table each, and answer little.
//!
//! The stacks of a server say when it reads a table from its first row to its last, and what it does with each row. Who reads a
//! table for its own sake gets much of it: what each query answers is held against that. A table of which each query wants a few
//! rows lacks an index.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::sockets::{receives, sends, Role, Sockets};
use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::StackIx;
use timesink_recording::ids::ProcessId;

use crate::database_code::{DatabaseCode, Passing, Sessions, DATABASES};
use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Held, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "table-scan",
    looks_for: "queries that read a whole table each, and answer little",
    why: "Without an index the database reads every row to find the few that are asked for, once per query.",
    advice: "look at the query's plan with EXPLAIN, and create an index on the columns that it filters or joins by",
    wrong_if: "each query needs most rows of the table, as a report does, or the table has so few rows that the database prefers to read all",
    limits: &[&limits::QUERIES, &limits::BYTES, &limits::EACH, &limits::SHARE, &limits::MS],
    blames: Blames::Program,
    needs: &[Need::Stacks, Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static QUERIES: Limit = Limit {
        name: "queries",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of queries in which samples show that a table is read",
    };
    /// Measured 2026-11-30: 40 to 164 bytes for a row of PostgreSQL and MariaDB; 4.3 kB for a hundred rows of PostgreSQL.
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 8192.0,
        unit: Unit::Bytes,
        means: "maximum bytes that the server sends per query; more may be much of the table",
    };
    /// Measured 2026-11-30: 10 to 20 ms for a table of 200,000 rows, so that a thousand rows are read in about that time.
    pub static EACH: Limit = Limit {
        name: "time each",
        value: 100_000.0,
        unit: Unit::Nanoseconds,
        means: "minimum time in it per request to the server; what takes less is a small table",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in which tables are read so",
    };
    pub static MS: Limit = Limit {
        name: "time",
        value: 50.0,
        unit: Unit::Milliseconds,
        means: "minimum time in it",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let databases = DATABASES.iter();
    databases
        .flat_map(|database| in_servers(inquiry, database))
        .collect()
}

/// Of each program of these servers.
fn in_servers(inquiry: &Inquiry<'_>, database: &DatabaseCode) -> Vec<Suspect> {
    let passing = |names| database.passing(inquiry, names);
    let mut scans = passing(database.scans);
    if scans.functions.is_empty() {
        return Vec::new();
    }
    let mut indexes = passing(database.indexes);
    // What is done with rows is done with those of an index as well.
    let scanners = InCode::through(inquiry, passing(database.scanners).functions);
    let mut functions = scans.functions.clone();
    if !scanners
        .stacks
        .iter()
        .any(|on| indexes.has(inquiry, on.stack))
    {
        functions.extend(scanners.functions);
    }
    let scanned = InCode::through(inquiry, functions);
    let scanning = scanned.stacks.iter();
    let scanning = scanning.filter_map(|on| inquiry.process_of(on.thread));
    let programs: BTreeSet<ProcessId> = scanning
        .map(|process| inquiry.programs.first(process))
        .collect();
    let sessions = Sessions::of(inquiry, database);
    let suspects = programs.into_iter();
    suspects
        .filter_map(|program| {
            let own = scanned.clone().in_program(inquiry, program);
            suspect(
                inquiry,
                program,
                &own,
                Queries::of(inquiry, program, &sessions, &mut scans),
            )
        })
        .collect()
}

/// Queries in which samples show that a table is read from the first row to the last.
struct Queries {
    count: u64,
    /// Where clients wait for the answers, by how long, and whose threads these are.
    asked_in: BTreeMap<(ProcessId, StackIx), u64>,
}

impl Queries {
    fn of(
        inquiry: &Inquiry<'_>,
        program: ProcessId,
        sessions: &Sessions<'_>,
        scans: &mut Passing,
    ) -> Queries {
        let mut queries = Queries {
            count: 0,
            asked_in: BTreeMap::new(),
        };
        for (slot, thread) in inquiry.timeline.threads.iter().enumerate() {
            if inquiry.programs.first(thread.process) != program || sessions.reads(slot).is_empty()
            {
                continue;
            }
            let mut seen: BTreeSet<usize> = BTreeSet::new();
            for sample in scans.events(inquiry, slot, Account::Cpu) {
                seen.insert(sessions.requests_by(slot, sample.at));
                if let Some((client, stack)) = sessions.client_at(inquiry, slot, sample.at) {
                    let process = inquiry.timeline.threads[client].process;
                    *queries.asked_in.entry((process, stack)).or_default() += sample.ns;
                }
            }
            queries.count += seen.len() as u64;
        }
        queries
    }
}

/// What clients send to a server, and what that answers.
struct Served {
    requests: u64,
    bytes: u64,
}

impl Served {
    fn of(inquiry: &Inquiry<'_>, program: ProcessId) -> Served {
        let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
        let mut served = Served {
            requests: 0,
            bytes: 0,
        };
        for call in &inquiry.facts.calls {
            let role = call.object.and_then(|object| sockets.role(object));
            let process = call.process.filter(|_| role == Some(Role::Served));
            if !process.is_some_and(|process| inquiry.same_program(process, program)) {
                continue;
            }
            if sends(&call.call) {
                served.bytes = served.bytes.saturating_add(call.bytes);
            } else if receives(&call.call) {
                let came = call.count.saturating_sub(call.errors);
                served.requests = served.requests.saturating_add(came);
            }
        }
        served
    }
}

fn suspect(
    inquiry: &Inquiry<'_>,
    program: ProcessId,
    scanned: &InCode,
    queries: Queries,
) -> Option<Suspect> {
    let (ns, _) = scanned.enough(inquiry, &RULE, &limits::SHARE, &limits::MS)?;
    if (queries.count as f64) < RULE.limit(inquiry, &limits::QUERIES) {
        return None;
    }
    let served = Served::of(inquiry, program);
    let bytes = served.bytes.checked_div(served.requests)?;
    let each_ns = ns.checked_div(served.requests)?;
    if bytes as f64 > RULE.limit(inquiry, &limits::BYTES)
        || (each_ns as f64) < RULE.limit(inquiry, &limits::EACH)
    {
        return None;
    }
    let title = say![
        program,
        " reads whole tables for at least ",
        Piece::Count(queries.count),
        " queries that return ",
        Piece::Bytes(bytes),
        " each"
    ];
    let fix = Fix::Changes(vec![scanned.scaled_in(inquiry, program, 0.0)]);
    let mut suspect = scanned
        .suspect_held(inquiry, &RULE, &limits::SHARE, &limits::MS, title, fix)
        .held_all(
            inquiry,
            &RULE,
            [
                Held::new("queries", queries.count as f64, &limits::QUERIES),
                Held::new("bytes sent per query", bytes as f64, &limits::BYTES),
                Held::new("time each", each_ns as f64, &limits::EACH),
            ],
        )
        .told(say![
            Piece::Time(ns),
            " of the critical path: reading rows one by one and checking each"
        ]);
    let asked = queries.asked_in.into_iter().max_by_key(|(_, ns)| *ns);
    if let Some(((client, stack), _)) = asked {
        suspect.process = Some(client);
        suspect.frames = inquiry.spots(stack);
    }
    Some(suspect)
}
