//! What the threads of database servers do, by the functions in their stacks: these are the same whoever asks.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::sockets::{sends, Sockets};
use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::{Event, Function, FunctionIx, Spot, StackIx};
use timesink_analysis::timeline::{Span, Waker};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::Detail;
use timesink_recording::Nanos;

use crate::awaiting::{has_own_place, has_place};
use crate::inquiry::Inquiry;
use crate::served::served_calls;

/// The functions of one server, without what C++ says that they are given.
#[derive(Debug)]
pub struct DatabaseCode {
    /// The files that they are in, without folders.
    files: &'static [&'static str],
    /// In these it waits for a lock that a transaction has.
    locks: &'static [&'static str],
    /// In these of them the lock is one on a row, not on a table.
    rows: &'static [&'static str],
    /// In these of them it waits for its turn to wait for the lock: who lets it go on does not have that yet.
    pub queues: &'static [&'static str],
    /// Its functions that begin so ask its storage for rows. Where the storage's own have no names, who waits in them for a condition
    /// with a time-out waits for a lock on a row.
    storage: Option<&'static str>,
    /// In these it waits for what its client sends.
    reads: &'static [&'static str],
    /// In these it reads a table from the first row to the last.
    pub scans: &'static [&'static str],
    /// In these it does something with each row that it reads, from an index or not.
    pub scanners: &'static [&'static str],
    /// In these it reads rows by an index.
    pub indexes: &'static [&'static str],
    /// In these it sorts rows, which an index may have in order.
    pub sorts: &'static [&'static str],
    /// In functions whose names begin or end so it counts rows, adds them up or changes them: it wants those that it has read.
    takes: (&'static [&'static str], &'static [&'static str]),
}

/// PostgreSQL from 12 on; MariaDB and MySQL.
static DATABASES: [DatabaseCode; 2] = [
    DatabaseCode {
        files: &["postgres"],
        locks: &["ProcSleep"],
        rows: &["LockTuple", "XactLockTableWait"],
        queues: &["LockTuple"],
        storage: None,
        reads: &["secure_read"],
        scans: &["heap_getnextslot"],
        scanners: &["ExecScan"],
        indexes: &["index_getnext_slot", "index_getnext_tid", "index_getbitmap"],
        sorts: &["tuplesort_puttupleslot", "tuplesort_performsort"],
        takes: (
            &[
                "int8inc",
                "heap_update",
                "heap_delete",
                "LookupTupleHashEntry",
            ],
            &["_accum", "_transfn", "_larger", "_smaller", "_sum"],
        ),
    },
    DatabaseCode {
        files: &["mariadbd", "mysqld"],
        locks: &["lock_wait_suspend_thread", "MDL_wait::timed_wait"],
        rows: &["lock_wait_suspend_thread"],
        queues: &[],
        storage: Some("handler::ha_"),
        reads: &["vio_read"],
        scans: &["handler::ha_rnd_next"],
        scanners: &["sub_select"],
        indexes: &[
            "handler::ha_index_read_map",
            "handler::ha_index_read_idx_map",
            "handler::ha_index_next",
            "handler::ha_index_next_same",
        ],
        sorts: &["filesort"],
        takes: (
            &[
                "Item_sum",
                "Aggregator",
                "handler::ha_update_row",
                "handler::ha_delete_row",
            ],
            &[],
        ),
    },
];

impl DatabaseCode {
    /// The servers of which code was seen: most recordings have none, and nobody needs to look at all functions then.
    pub fn seen(inquiry: &Inquiry<'_>) -> Vec<&'static DatabaseCode> {
        let modules = inquiry.stacks.code.modules.iter();
        let files = modules.filter_map(|module| module.path.rsplit('/').next());
        let files: BTreeSet<&str> = files.collect();
        let is_seen = |database: &&DatabaseCode| {
            let mut own = database.files.iter();
            own.any(|file| files.contains(file))
        };
        DATABASES.iter().filter(is_seen).collect()
    }

    /// The stacks that pass through functions of these names.
    pub fn passing(&self, inquiry: &Inquiry<'_>, names: &[&str]) -> Passing {
        self.passing_any(inquiry, |name| names.contains(&name))
    }

    fn passing_any(&self, inquiry: &Inquiry<'_>, is_one: impl Fn(&str) -> bool) -> Passing {
        let code = &inquiry.stacks.code;
        Passing::of(inquiry, |function| {
            let file = code.file_of(function);
            file.is_some_and(|file| self.files.contains(&file)) && is_one(plain(&function.name))
        })
    }

    /// The stacks in which it does something with all rows that it has read.
    pub fn taking(&self, inquiry: &Inquiry<'_>) -> Passing {
        let (begin, end) = self.takes;
        self.passing_any(inquiry, |name| {
            begin.iter().any(|part| name.starts_with(part))
                || end.iter().any(|part| name.ends_with(part))
        })
    }

    /// What tells waits for locks.
    pub fn lock_waits(&self, inquiry: &Inquiry<'_>) -> LockWaits {
        let timed = |function: &Function| function.name.contains("pthread_cond_timedwait");
        let storage = |prefix| self.passing_any(inquiry, |name| name.starts_with(prefix));
        LockWaits {
            locks: self.passing(inquiry, self.locks),
            rows: self.passing(inquiry, self.rows),
            storage: self.storage.map(storage),
            timed: Passing::of(inquiry, timed),
        }
    }
}

/// A name without what C++ says that it is given.
fn plain(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// What tells waits for locks of a server.
pub struct LockWaits {
    locks: Passing,
    rows: Passing,
    storage: Option<Passing>,
    timed: Passing,
}

impl LockWaits {
    /// Whether there can be none.
    pub fn is_empty(&self) -> bool {
        let storage = self.storage.as_ref();
        self.locks.functions.is_empty() && storage.is_none_or(|all| all.functions.is_empty())
    }

    /// Whether a wait is for a lock; for one on a row, then.
    pub fn is_on_row(&mut self, inquiry: &Inquiry<'_>, wait: &Event) -> Option<bool> {
        if self.locks.has(inquiry, wait.stack) {
            return Some(self.rows.has(inquiry, wait.stack));
        }
        let storage = self.storage.as_mut()?;
        let is_one = wait.detail == Detail::Condition
            && storage.has(inquiry, wait.stack)
            && self.timed.has(inquiry, wait.stack);
        is_one.then_some(true)
    }
}

/// The stacks that pass through some functions.
pub struct Passing {
    pub functions: BTreeSet<FunctionIx>,
    known: BTreeMap<StackIx, bool>,
}

impl Passing {
    fn of(inquiry: &Inquiry<'_>, is_one: impl Fn(&Function) -> bool) -> Passing {
        let functions = (0..).map(FunctionIx).zip(&inquiry.stacks.code.functions);
        let meant = functions.filter(|(_, function)| is_one(function));
        Passing {
            functions: meant.map(|(at, _)| at).collect(),
            known: BTreeMap::new(),
        }
    }

    pub fn has(&mut self, inquiry: &Inquiry<'_>, stack: StackIx) -> bool {
        let functions = &self.functions;
        let passes = || {
            let mut all = inquiry.stacks.code.functions_of(stack).into_iter();
            all.any(|function| functions.contains(&function))
        };
        *self.known.entry(stack).or_insert_with(passes)
    }

    /// What a thread does in them.
    pub fn events<'i>(
        &mut self,
        inquiry: &'i Inquiry<'_>,
        slot: usize,
        account: Account,
    ) -> Vec<&'i Event> {
        let own = events(inquiry, slot, account);
        own.filter(|event| self.has(inquiry, event.stack)).collect()
    }
}

/// What a thread does on a processor, or how it waits, with stacks.
pub fn events<'i>(
    inquiry: &'i Inquiry<'_>,
    slot: usize,
    account: Account,
) -> impl DoubleEndedIterator<Item = &'i Event> {
    let thread = inquiry.timeline.threads[slot].thread;
    let events = inquiry.stacks.events_of(thread).iter();
    events.filter(move |event| event.account == account)
}

/// The threads of servers that clients talk to, by their places, each with its waits for what its client sends.
pub struct Sessions<'i> {
    reads: BTreeMap<usize, Vec<&'i Event>>,
}

impl<'i> Sessions<'i> {
    pub fn of(inquiry: &'i Inquiry<'_>, database: &DatabaseCode) -> Sessions<'i> {
        let mut reading = database.passing(inquiry, database.reads);
        let slots = 0..inquiry.timeline.threads.len();
        let reads = slots.map(|slot| (slot, reading.events(inquiry, slot, Account::Wait)));
        Sessions {
            reads: reads.filter(|(_, reads)| !reads.is_empty()).collect(),
        }
    }

    /// The waits of one; none of a thread that is no session.
    pub fn reads(&self, slot: usize) -> &[&'i Event] {
        self.reads.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// How many of its client's requests a session had got by a moment.
    pub fn requests_by(&self, slot: usize, moment: Nanos) -> usize {
        self.reads(slot).partition_point(|read| end(read) <= moment)
    }

    /// The thread of the client that waits for an answer of a session at a moment, by its place, and where it waits.
    pub fn client_at(
        &self,
        inquiry: &Inquiry<'_>,
        slot: usize,
        moment: Nanos,
    ) -> Option<(usize, StackIx)> {
        let last = self.requests_by(slot, moment).checked_sub(1)?;
        let client = ended_by(inquiry, slot, self.reads(slot)[last])?;
        let events = inquiry
            .stacks
            .events_of(inquiry.timeline.threads[client].thread);
        let begun = events.partition_point(|event| event.at <= moment);
        let mut waits = events[..begun].iter().rev();
        let last = waits.find(|event| event.account == Account::Wait)?;
        (end(last) > moment).then_some((client, last.stack))
    }
}

/// When a wait was over.
pub fn end(wait: &Event) -> Nanos {
    Nanos(wait.at.0.saturating_add_unsigned(wait.ns))
}

/// The span of a wait of a thread, with its index.
pub fn span_of<'i>(
    inquiry: &'i Inquiry<'_>,
    slot: usize,
    wait: &Event,
) -> Option<(usize, &'i Span)> {
    let mut from = inquiry.timeline.indexed_from(slot, wait.at);
    from.find(|(_, span)| span.t1 > wait.at)
}

/// The thread that ended a wait of another one, by their places.
pub fn ended_by(inquiry: &Inquiry<'_>, slot: usize, wait: &Event) -> Option<usize> {
    let (_, span) = span_of(inquiry, slot, wait)?;
    match inquiry.timeline.waker(span) {
        Waker::Thread { slot, .. } => Some(slot),
        _ => None,
    }
}

/// Where a client waits for a server of this program; what an event loop waits in says nothing of who asks, so of that where it sends.
pub fn place_of_client(
    inquiry: &Inquiry<'_>,
    client: ProcessId,
    server: ProcessId,
    waits_in: Vec<Spot>,
) -> Vec<Spot> {
    if has_own_place(inquiry, &waits_in) {
        return waits_in;
    }
    let sent = sent_from(inquiry, client, server);
    sent.map_or(waits_in, |stack| inquiry.spots(stack))
}

/// Where a client most often sends to a server of this program, of the places that are somebody's own.
fn sent_from(inquiry: &Inquiry<'_>, client: ProcessId, server: ProcessId) -> Option<StackIx> {
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    let served = served_calls(inquiry, &sockets);
    let served = served.filter(|(process, ..)| inquiry.same_program(*process, server));
    let addresses: BTreeSet<&str> = served
        .filter_map(|(_, object, _)| inquiry.facts.object(object)?.local.as_deref())
        .collect();
    let peers = inquiry.peers().iter();
    let to_it =
        peers.filter(|peer| peer.process == client && addresses.contains(peer.address.as_str()));
    let to_it: BTreeSet<ObjectId> = to_it
        .flat_map(|peer| peer.sockets.iter().copied())
        .collect();
    let mut sent: BTreeMap<StackIx, u64> = BTreeMap::new();
    for thread in inquiry.threads_of(&BTreeSet::from([client])) {
        let sites = inquiry.stacks.sites_of(thread).iter();
        let own = sites.filter(|site| site.object.is_some_and(|object| to_it.contains(&object)));
        for site in own.filter(|site| sends(&site.call)) {
            *sent.entry(site.stack).or_default() += site.count;
        }
    }
    sent.retain(|&stack, _| has_place(inquiry, &inquiry.spots(stack)));
    let most = sent.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(stack, _)| stack)
}
