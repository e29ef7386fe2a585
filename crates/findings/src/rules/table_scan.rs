//! Queries that read a whole table each, and answer little.
//!
//! The stacks of a server say when it reads a table from its first row to its last, and what it does with each row. Who reads a
//! table for its own sake gets much of it: what each query answers is held against that. A table of which each query wants a few
//! rows lacks an index.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::sockets::{receives, sends, Sockets};
use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{FunctionIx, StackIx};
use timesink_recording::ids::ProcessId;

use crate::database_code::{place_of_client, DatabaseCode, Passing, Sessions};
use crate::in_code::{self, InCode};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Held, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;
use crate::served::served_calls;

pub static RULE: Rule = Rule {
    name: "table-scan",
    looks_for: "queries that each scan a whole table and return little",
    why: "Without an index the database reads every row to find the few that match, for each query.",
    advice: "look at the query's plan with EXPLAIN, and create an index on the columns that it filters or joins by",
    wrong_if: "each query needs most rows of the table, as a report does, or the table is so small that the database prefers to scan it",
    limits: &[&limits::QUERIES, &limits::BYTES, &limits::EACH, &limits::SHARE, &in_code::MS],
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
        means: "minimum number of samples in which a table is read, and of requests to the server",
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
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    DatabaseCode::seen(inquiry)
        .into_iter()
        .flat_map(|database| in_servers(inquiry, database))
        .collect()
}

/// Of each program of these servers.
fn in_servers<'i>(inquiry: &'i Inquiry<'i>, database: &DatabaseCode) -> Vec<Suspect> {
    let passing = |names| database.passing(inquiry, names);
    let scans = passing(database.scans);
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
    let mut look = Look {
        inquiry,
        sessions: Sessions::of(inquiry, database),
        scans,
        takes: database.taking(inquiry),
        scanned,
        sorts: passing(database.sorts).functions,
    };
    let programs = programs.into_iter();
    programs
        .filter_map(|program| look.suspect(program))
        .collect()
}

/// What is known of the servers of one kind.
struct Look<'i> {
    inquiry: &'i Inquiry<'i>,
    sessions: Sessions<'i>,
    scans: Passing,
    takes: Passing,
    /// What the path did as tables were read.
    scanned: InCode,
    sorts: BTreeSet<FunctionIx>,
}

/// What samples say of the threads of a server.
#[derive(Default)]
struct Seen {
    /// In how many of them a table is read.
    scans: u64,
    scans_ns: u64,
    /// How long they do something with all rows that they have read.
    takes_ns: u64,
    /// Where clients wait for the answers, by how long, and whose threads these are.
    asked_in: BTreeMap<(ProcessId, StackIx), u64>,
}

/// What clients send to a server, and what that answers.
struct Served {
    requests: u64,
    bytes: u64,
}

impl Served {
    fn of(inquiry: &Inquiry<'_>, program: ProcessId) -> Served {
        let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
        let calls = served_calls(inquiry, &sockets);
        let own = calls.filter(|(process, ..)| inquiry.same_program(*process, program));
        let mut served = Served {
            requests: 0,
            bytes: 0,
        };
        for (_, _, call) in own {
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

impl Look<'_> {
    fn seen(&mut self, program: ProcessId) -> Seen {
        let inquiry = self.inquiry;
        let mut seen = Seen::default();
        for (slot, thread) in inquiry.timeline.threads.iter().enumerate() {
            if inquiry.programs.first(thread.process) != program {
                continue;
            }
            for sample in self.scans.events(inquiry, slot, Account::Cpu) {
                seen.scans += 1;
                seen.scans_ns = seen.scans_ns.saturating_add(sample.ns);
                let client = self.sessions.client_at(inquiry, slot, sample.at);
                if let Some((client, stack)) = client {
                    let process = inquiry.timeline.threads[client].process;
                    *seen.asked_in.entry((process, stack)).or_default() += sample.ns;
                }
            }
            let takes = self.takes.events(inquiry, slot, Account::Cpu);
            seen.takes_ns += takes.iter().map(|sample| sample.ns).sum::<u64>();
        }
        seen
    }

    fn suspect(&mut self, program: ProcessId) -> Option<Suspect> {
        /// Of what reading takes, that part of counting, adding up or changing says that more than a few rows are wanted. Measured
        /// 2026-11-30: 0 where single rows are asked for, also if these are changed; 25 to 370 % where all rows are added up or changed.
        const TAKES: f64 = 0.05;
        let inquiry = self.inquiry;
        let scanned = self.scanned.clone().in_program(inquiry, program);
        let (ns, _) = scanned.enough(inquiry, &RULE, &limits::SHARE, &in_code::MS)?;
        let seen = self.seen(program);
        let served = Served::of(inquiry, program);
        let queries = seen.scans.min(served.requests);
        let bytes = served.bytes.checked_div(served.requests)?;
        let each_ns = ns.checked_div(served.requests)?;
        if (queries as f64) < RULE.limit(inquiry, &limits::QUERIES)
            || bytes as f64 > RULE.limit(inquiry, &limits::BYTES)
            || (each_ns as f64) < RULE.limit(inquiry, &limits::EACH)
        {
            return None;
        }
        let title = say![
            program,
            " scans whole tables for queries that return ",
            Piece::Bytes(bytes),
            " each"
        ];
        // An index may have the rows in order, too.
        let sorted = InCode::through(inquiry, self.sorts.clone()).in_program(inquiry, program);
        let change = |code: &InCode| code.scaled_in(inquiry, program, 0.0);
        let is_taking = seen.takes_ns as f64 >= seen.scans_ns as f64 * TAKES;
        let fix = match (is_taking, sorted.ns()) {
            (true, _) => Fix::Change(change(&scanned)).or_nothing(),
            (_, 0) => Fix::Change(change(&scanned)),
            _ => Fix::AtLeast(
                vec![change(&scanned)],
                vec![change(&scanned), change(&sorted)],
            ),
        };
        let mut suspect = scanned
            .suspect_held(inquiry, &RULE, &limits::SHARE, &in_code::MS, title, fix)
            .held_all(
                inquiry,
                &RULE,
                [
                    Held::new("samples of queries", queries as f64, &limits::QUERIES),
                    Held::new("bytes sent per query", bytes as f64, &limits::BYTES),
                    Held::new("time each", each_ns as f64, &limits::EACH),
                ],
            )
            .told(say![
                Piece::Time(ns),
                " of the critical path is spent reading rows one by one and checking each"
            ]);
        if is_taking {
            suspect = suspect.told(say![
                "it also aggregates or updates rows: an index saves nothing if a query needs all of them"
            ]);
        }
        let asked = seen.asked_in.into_iter().max_by_key(|(_, ns)| *ns);
        if let Some(((client, stack), _)) = asked {
            suspect.process = Some(client);
            suspect.frames = place_of_client(inquiry, client, program, inquiry.spots(stack));
        }
        Some(suspect)
    }
}
