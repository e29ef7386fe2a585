//! A lock of a database that transactions wait for, on a row or a table, while another transaction keeps it.
//!
//! To the kernel a server's thread waits for an event or a condition. Its stack says that it is a lock, and who ends the wait is who
//! had it, from its own last wait for a lock on. Who keeps one for long mostly waits for its client meanwhile, which does something
//! else before it commits: what that is its own stacks say. A wait that a timer ends, and after which the thread waits for no lock, has
//! failed: PostgreSQL looks for deadlocks only after a second.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{Event, StackIx};
use timesink_analysis::stretches::Stretches;
use timesink_analysis::timeline::locks::Hold;
use timesink_analysis::waits::quantile;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{State, WakeSource};
use timesink_recording::Nanos;

use crate::database_code::{
    end, ended_by, events, place_of_client, span_of, DatabaseCode, Sessions,
};
use crate::holding::{no_processor, Holding};
use crate::inquiry::Inquiry;
use crate::interpreter_lock::turns_beside;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{waits_told, Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "database-lock",
    looks_for: "a database lock that transactions wait for while another one holds it, or until they fail",
    why: "A transaction that waits for the lock does nothing until the one that holds it ends, so they run one after the other.",
    advice: "keep the transaction that holds the lock short: lock and update what others want last, right before the commit; or spread it over several rows",
    wrong_if: "the transactions must see each other's changes in this order, and all that is done under the lock belongs to them",
    limits: &[&limits::HELD],
    blames: Blames::Program,
    needs: &[Need::Stacks],
    ask,
};

const ORDER: &str = "lock rows in the same order in every transaction (sort them by key first), or in one statement; the server's log shows which statements deadlock";
const OUTSIDE: &str = "move the slow work before the lock is taken, or after the commit that releases it, so that the lock is held only while the database works";

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static HELD: Limit = Limit {
        name: "held",
        value: 0.05,
        unit: Unit::Share,
        means: "minimum share of the run in which such a lock is held while others wait, or waited for in vain",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    DatabaseCode::seen(inquiry)
        .into_iter()
        .flat_map(|database| of_servers(inquiry, database))
        .collect()
}

/// What the servers of one kind wait for, by their program.
fn of_servers(inquiry: &Inquiry<'_>, database: &DatabaseCode) -> Vec<Suspect> {
    let mut locks = database.lock_waits(inquiry);
    if locks.is_empty() {
        return Vec::new();
    }
    let mut queues = database.passing(inquiry, database.queues);
    let sessions = Sessions::of(inquiry, database);
    let mut servers: BTreeMap<ProcessId, Server<'_>> = BTreeMap::new();
    for (slot, thread) in inquiry.timeline.threads.iter().enumerate() {
        let program = inquiry.programs.first(thread.process);
        for wait in events(inquiry, slot, Account::Wait) {
            let Some(is_on_row) = locks.is_on_row(inquiry, wait) else {
                continue;
            };
            let server = servers.entry(program).or_insert_with(|| Server {
                program,
                sessions: &sessions,
                waits: BTreeMap::new(),
            });
            server.waits.entry(slot).or_default().push(LockWait {
                wait,
                is_on_row,
                is_queued: queues.has(inquiry, wait.stack),
            });
        }
    }
    let servers = servers.values();
    let suspects = servers.flat_map(|server| [server.in_vain(inquiry), server.suspect(inquiry)]);
    suspects.flatten().collect()
}

/// A wait for a lock.
struct LockWait<'i> {
    wait: &'i Event,
    is_on_row: bool,
    /// For its turn to wait for the lock.
    is_queued: bool,
}

/// A program that serves, and the waits for locks of its threads, by their places.
struct Server<'i> {
    program: ProcessId,
    sessions: &'i Sessions<'i>,
    waits: BTreeMap<usize, Vec<LockWait<'i>>>,
}

impl Server<'_> {
    fn suspect(&self, inquiry: &Inquiry<'_>) -> Option<Suspect> {
        let holds = self.holds(inquiry);
        let held_ns = together_ns(&holds);
        let share = held_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
        if share < RULE.limit(inquiry, &limits::HELD) || no_processor(inquiry, &holds) {
            return None;
        }
        let waits = self.spans(inquiry);
        let weight = Weight::within(inquiry.causes(|key| key.state != State::Lost), held_ns);
        let (idle, clients) = self.idle(inquiry, &holds);
        let fix = self.without_waiting(inquiry, &waits, &clients);
        let suspect = Suspect::new(self.title(&holds), fix, weight)
            .held(inquiry, &RULE, "held", share, &limits::HELD)
            .shown_at(inquiry, waits.iter().copied())
            .told(told_waits(inquiry, &waits));
        let idle_ns = together_ns(&idle);
        if 2 * idle_ns <= held_ns {
            return Some(self.in_server(inquiry, &holds, suspect));
        }
        let idle = idle_ns as f64 / held_ns.max(1) as f64;
        let suspect = suspect.advised(OUTSIDE.to_owned()).told(say![
            "the transaction that holds the lock waits for its client for ",
            Piece::Percent(idle * 100.0),
            " of that time"
        ]);
        Some(self.in_clients(inquiry, &clients, suspect.of(self.program)))
    }

    /// Waits that a timer ends, and after which the thread waits for no lock: the transaction has failed.
    fn in_vain(&self, inquiry: &Inquiry<'_>) -> Option<Suspect> {
        let ended = self.waits.iter();
        let ended = ended.flat_map(|(&slot, waits)| failed(inquiry, slot, waits));
        let ended: Vec<Hold> = ended.collect();
        let waited_ns = together_ns(&ended);
        let share = waited_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
        if share < RULE.limit(inquiry, &limits::HELD) {
            return None;
        }
        let mut lengths: Vec<u64> = ended.iter().map(Hold::ns).collect();
        lengths.sort_unstable();
        let mut title = self.transactions(ended.len());
        title.0.extend([
            " waits for a lock for ".into(),
            Piece::Time(quantile(&lengths, 0.5)),
            " and fails: a deadlock or a timeout".into(),
        ]);
        // Others wait behind those who wait in vain.
        let waits = self.spans(inquiry);
        let weight = Weight::within(inquiry.causes(|key| key.state != State::Lost), waited_ns);
        let suspect = Suspect::new(title, self.without_waiting(inquiry, &waits, &[]), weight)
            .advised(ORDER.to_owned())
            .shown_at(inquiry, waits.iter().copied())
            .held(inquiry, &RULE, "held", share, &limits::HELD)
            .told(told_waits(inquiry, &waits));
        Some(self.asked(inquiry, &ended, suspect))
    }

    /// That nobody waits for a lock, nor in turn for what the threads that do have beside it.
    fn without_waiting(
        &self,
        inquiry: &Inquiry<'_>,
        waits: &BTreeSet<usize>,
        clients: &[Hold],
    ) -> Fix {
        let spans = waits.iter().filter_map(|&at| inquiry.timeline.span(at));
        let all_ns = spans.map(|span| span.t1.since(span.t0)).sum();
        let sessions: BTreeSet<usize> = self.waits.keys().copied().collect();
        let asking = sessions.iter().flat_map(|&session| {
            let reads = self.sessions.reads(session).iter();
            reads.filter_map(move |read| ended_by(inquiry, session, read))
        });
        let asking: BTreeSet<usize> = asking.collect();
        let mut never = turns_beside(inquiry, &asking, |_| true, all_ns);
        never.extend(turns_beside(inquiry, &sessions, |_| true, all_ns));
        never.extend(waits);
        let without = |spans: BTreeSet<usize>| {
            vec![Change {
                what: What::Spans(spans),
                processes: None,
                how: How::Never,
            }]
        };
        // Few threads work for many sessions: a loop of events, whose waits come one after the other in a replay. Without the lock
        // it waits for as many at a time as there are sessions.
        if 2 * asking.len() > sessions.len() {
            return Fix::Changes(without(never));
        }
        let at_a_time = sessions.len().max(2);
        let in_turn = |every: usize| {
            let kept = clients.iter().enumerate();
            let gone = kept.filter(|(at, _)| (at + 1) % every != 0);
            let gone = gone.flat_map(|(_, hold)| waits_within(inquiry, hold));
            without(never.iter().copied().chain(gone).collect())
        };
        let (likely, most) = (in_turn(at_a_time), in_turn(usize::MAX));
        Fix::Likely(without(never), likely, most)
    }

    /// What takes place in the database while the lock is kept.
    fn in_server(&self, inquiry: &Inquiry<'_>, holds: &[Hold], suspect: Suspect) -> Suspect {
        let suspect = match Holding::of(inquiry, holds) {
            Some(holding) => suspect.told(holding.told(inquiry)),
            None => suspect,
        };
        self.asked(inquiry, holds, suspect)
    }

    /// Where clients wait for sessions in these stretches.
    fn asked(&self, inquiry: &Inquiry<'_>, holds: &[Hold], mut suspect: Suspect) -> Suspect {
        let asked = self.asked_in(inquiry, holds);
        let asking = asked.map(|(client, _)| inquiry.timeline.threads[client].process);
        suspect.frames = asked.map_or(Vec::new(), |(_, stack)| inquiry.spots(stack));
        let process = asking.unwrap_or(self.program);
        self.placed(inquiry, suspect.of(process))
    }

    /// What clients do while the server waits for them.
    fn in_clients(&self, inquiry: &Inquiry<'_>, clients: &[Hold], suspect: Suspect) -> Suspect {
        let Some(holding) = Holding::of(inquiry, clients) else {
            return suspect;
        };
        let client = clients.iter().max_by_key(|hold| hold.ns());
        let process = client.map(|client| inquiry.timeline.threads[client.holder].process);
        let mut suspect = suspect.told(holding.told(inquiry));
        suspect.frames = holding.frames;
        suspect.process = process.or(suspect.process);
        self.placed(inquiry, suspect)
    }

    /// Where a loop of events is seen, the place that asks.
    fn placed(&self, inquiry: &Inquiry<'_>, mut suspect: Suspect) -> Suspect {
        let client = suspect
            .process
            .filter(|process| !inquiry.same_program(*process, self.program));
        if let Some(client) = client {
            suspect.frames = place_of_client(inquiry, client, self.program, suspect.frames);
        }
        suspect
    }

    fn title(&self, holds: &[Hold]) -> Sentence {
        let lengths = long_ones(holds);
        let mut waits = self.waits.values().flatten();
        let kept = match waits.all(|one| one.is_on_row) {
            true => " holds a row lock for ",
            false => " holds a lock for ",
        };
        let mut title = self.transactions(lengths.len());
        title.0.extend([
            kept.into(),
            Piece::Time(quantile(&lengths, 0.5)),
            " while others wait for it".into(),
        ]);
        title
    }

    /// How many transactions do what follows.
    fn transactions(&self, count: usize) -> Sentence {
        match count {
            1 => say!["a transaction in ", self.program],
            _ => say![
                Piece::Count(count as u64),
                " times a transaction in ",
                self.program
            ],
        }
    }

    /// The waits as indexes of spans.
    fn spans(&self, inquiry: &Inquiry<'_>) -> BTreeSet<usize> {
        let waits = self.waits.iter();
        let waits = waits.flat_map(|(&slot, waits)| waits.iter().map(move |one| (slot, one.wait)));
        let spans = waits.filter_map(|(slot, wait)| {
            let (at, span) = span_of(inquiry, slot, wait)?;
            (span.state == State::Wait).then_some(at)
        });
        spans.collect()
    }

    /// When threads kept a lock that others waited for: each from when it got that itself, or another one came.
    fn holds(&self, inquiry: &Inquiry<'_>) -> Vec<Hold> {
        let mut kept: BTreeMap<usize, Vec<(Nanos, Nanos)>> = BTreeMap::new();
        for (&waiting, waits) in &self.waits {
            for LockWait { wait, .. } in waits.iter().filter(|one| !one.is_queued) {
                let Some(holder) = ended_by(inquiry, waiting, wait) else {
                    continue;
                };
                let own = self.waits.get(&holder).map_or(&[][..], Vec::as_slice);
                let before = own.partition_point(|one| end(one.wait) <= end(wait));
                let got = before.checked_sub(1).map(|last| end(own[last].wait));
                let from = got.map_or(wait.at, |got| got.max(wait.at));
                // Others end a wait that is cancelled.
                let is_session = !self.sessions.reads(holder).is_empty();
                if is_session && from < end(wait) {
                    kept.entry(holder).or_default().push((from, end(wait)));
                }
            }
        }
        let holds = kept.into_iter().flat_map(|(holder, kept)| {
            let kept = Stretches::of(kept).each().into_iter();
            kept.map(move |(from, until)| hold(holder, from, until))
        });
        let mut holds: Vec<Hold> = holds.collect();
        holds.sort_by_key(|hold| (hold.from, hold.holder));
        holds
    }

    /// For how long of these the holders wait for their clients; and the same by the clients' threads, as far as these are known.
    fn idle(&self, inquiry: &Inquiry<'_>, holds: &[Hold]) -> (Vec<Hold>, Vec<Hold>) {
        let (mut idle, mut clients) = (Vec::new(), Vec::new());
        for held in holds {
            let first = self.sessions.requests_by(held.holder, held.from);
            let meanwhile = self.sessions.reads(held.holder)[first..].iter();
            for read in meanwhile.take_while(|read| read.at < held.until) {
                let (from, until) = (read.at.max(held.from), end(read).min(held.until));
                idle.push(hold(held.holder, from, until));
                let client = ended_by(inquiry, held.holder, read);
                clients.extend(client.map(|client| hold(client, from, until)));
            }
        }
        (idle, clients)
    }

    /// Who waits for the server while it works under the lock, and where mostly.
    fn asked_in(&self, inquiry: &Inquiry<'_>, holds: &[Hold]) -> Option<(usize, StackIx)> {
        let mut asked: BTreeMap<(usize, StackIx), u64> = BTreeMap::new();
        for hold in holds {
            let middle = Nanos(hold.from.0 + (hold.until.0 - hold.from.0) / 2);
            if let Some(client) = self.sessions.client_at(inquiry, hold.holder, middle) {
                *asked.entry(client).or_default() += hold.ns();
            }
        }
        let most = asked.into_iter().max_by_key(|(_, ns)| *ns);
        most.map(|(place, _)| place)
    }
}

/// Waits of a session that a timer ends, and after which it waits for no lock: the transaction has failed. A server may look whether
/// there is a deadlock, and wait on.
fn failed(inquiry: &Inquiry<'_>, slot: usize, waits: &[LockWait<'_>]) -> Vec<Hold> {
    let is_lock = |event: &Event| {
        let at = waits.partition_point(|one| one.wait.at < event.at);
        waits.get(at).is_some_and(|one| one.wait.at == event.at)
    };
    let mut failed = Vec::new();
    let mut began: Option<Nanos> = None;
    for LockWait { wait, .. } in waits {
        let from = began.take().unwrap_or(wait.at);
        let by_timer = span_of(inquiry, slot, wait).is_some_and(|(_, span)| {
            span.wake_source == Some(WakeSource::Timer) && span.waker().is_none()
        });
        if !by_timer {
            continue;
        }
        let events = inquiry
            .stacks
            .events_of(inquiry.timeline.threads[slot].thread);
        let next = events.partition_point(|event| event.at < end(wait));
        let mut later = events[next..].iter();
        let next = later.find(|event| event.account == Account::Wait);
        match next.is_some_and(is_lock) {
            true => began = Some(from),
            false => failed.push(hold(slot, from, end(wait))),
        }
    }
    failed
}

/// The lengths of those that are nearly all of the time, the shortest first: who only hands a lock on hardly keeps it.
fn long_ones(holds: &[Hold]) -> Vec<u64> {
    const NEARLY_ALL: f64 = 0.95;
    let mut lengths: Vec<u64> = holds.iter().map(Hold::ns).collect();
    lengths.sort_unstable();
    let all_ns = lengths.iter().fold(0u64, |all, ns| all.saturating_add(*ns));
    let mut short_ns = 0u64;
    let short = lengths.iter().take_while(|ns| {
        short_ns = short_ns.saturating_add(**ns);
        (short_ns as f64) < all_ns as f64 * (1.0 - NEARLY_ALL)
    });
    let short = short.count();
    lengths.split_off(short)
}

/// How long these stretches take, what they have in common once.
fn together_ns(holds: &[Hold]) -> u64 {
    Stretches::of(holds.iter().map(|hold| (hold.from, hold.until)).collect()).ns()
}

fn hold(holder: usize, from: Nanos, until: Nanos) -> Hold {
    Hold {
        holder,
        from,
        until,
        own_ns: until.since(from),
    }
}

/// The waits of a thread that lie mostly within a stretch of it, as indexes of spans.
fn waits_within(inquiry: &Inquiry<'_>, hold: &Hold) -> Vec<usize> {
    let from = inquiry.timeline.indexed_from(hold.holder, hold.from);
    let within = from.take_while(|(_, span)| span.t0 < hold.until);
    let waits = within.filter(|(_, span)| {
        let ns = span.t1.min(hold.until).since(span.t0.max(hold.from));
        span.state == State::Wait && 2 * ns >= span.t1.since(span.t0)
    });
    waits.map(|(at, _)| at).collect()
}

/// How many waits there are, and how long.
fn told_waits(inquiry: &Inquiry<'_>, waits: &BTreeSet<usize>) -> Sentence {
    let spans = waits.iter().filter_map(|&at| inquiry.timeline.span(at));
    let mut lengths: Vec<u64> = spans.map(|span| span.t1.since(span.t0)).collect();
    lengths.sort_unstable();
    waits_told(&lengths)
}
