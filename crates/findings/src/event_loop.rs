//! Loops of events, as runtimes have them: what their threads wait for in `epoll_wait` is whatever comes first, and where
//! nothing comes, a timer that the program set.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::calls::CallSum;
use timesink_analysis::facts::sockets::{receives, sends, Role, Sockets};
use timesink_analysis::stacks::{futures, is_beam, Code, StackIx};
use timesink_analysis::waits::peers::Peer;
use timesink_analysis::waits::{Came, WaitGroup};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, LossKind, ObjectKind};

use crate::inquiry::Inquiry;

/// Whether the thing is one that a loop of events waits on.
pub fn is_one(inquiry: &Inquiry<'_>, object: Option<ObjectId>) -> bool {
    let object = object.and_then(|object| inquiry.facts.object(object));
    object.is_some_and(|object| match object.kind {
        ObjectKind::Epoll => true,
        ObjectKind::Futex => {
            let mut groups = inquiry.waits().iter();
            groups.any(|group| group.object == Some(object.object) && is_parked(inquiry, group))
        }
        _ => false,
    })
}

/// Whether a loop of events waits there. One that has no I/O to wait for has a condition for its timers.
pub fn waits(inquiry: &Inquiry<'_>, group: &WaitGroup) -> bool {
    is_parked(inquiry, group) || is_one(inquiry, group.object)
}

fn is_parked(inquiry: &Inquiry<'_>, group: &WaitGroup) -> bool {
    let code = &inquiry.stacks.code;
    let stack = group.stack.and_then(|stack| code.stack(stack));
    let waits = |stack| futures::is_parked(code, stack) || is_of_vm(code, stack);
    group.detail == Detail::Condition && stack.is_some_and(waits)
}

/// Whether a virtual machine waits in a stack for the next timer of the program: a scheduler of the BEAM, as no process of Erlang can go
/// on, or the thread of .NET that is there for timers.
fn is_of_vm(code: &Code, stack: StackIx) -> bool {
    let mut functions = code.functions_of(stack).into_iter();
    functions.any(|at| {
        let function = code.function(at);
        match function.name.as_str() {
            "ethr_event_wait" | "ethr_event_twait" => code.file_of(function).is_some_and(is_beam),
            "ThreadpoolMgr::TimerThreadFire()" | "System.Threading.TimerQueue.TimerThread" => true,
            _ => false,
        }
    })
}

/// Who was asked and never answered. A timer that is due may be what the one who asked allowed for that.
pub struct Owed {
    to: BTreeSet<ProcessId>,
    /// The sockets on which a process asks, if it asks anything, and nothing ever came.
    silent: BTreeSet<ObjectId>,
    /// Something was asked, and it is not known by whom.
    to_somebody: bool,
}

impl Owed {
    pub fn of(inquiry: &Inquiry<'_>) -> Owed {
        let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
        let asking = inquiry.facts.objects.iter().filter(|object| {
            matches!(object.kind, ObjectKind::TcpSocket | ObjectKind::UdpSocket)
                && object.remote.is_some()
                && matches!(sockets.role(object.object), None | Some(Role::Asking))
        });
        let mut silent: BTreeMap<ObjectId, BTreeSet<ProcessId>> = asking
            .map(|object| (object.object, BTreeSet::new()))
            .collect();
        let mut unknown: BTreeSet<ObjectId> = silent.keys().copied().collect();
        let mut sent_on: BTreeSet<ObjectId> = BTreeSet::new();
        let mut answering: BTreeSet<&str> = BTreeSet::new();
        let remote = |object: ObjectId| inquiry.facts.object(object)?.remote.as_deref();
        let calls = inquiry.facts.calls.iter();
        for row in calls.filter(|row| row.count > row.errors) {
            let Some(object) = row.object else {
                continue;
            };
            unknown.remove(&object);
            if sends(&row.call) {
                sent_on.insert(object);
            }
            if receives(&row.call) && row.bytes > 0 {
                silent.remove(&object);
                answering.extend(remote(object));
            } else if let Some(by) = silent.get_mut(&object).filter(|_| asks(inquiry, row)) {
                by.extend(row.process);
            }
        }
        // Where the sums of calls were lost, a wait may still say that something came.
        let waits = inquiry.peers().iter().flat_map(|peer| &peer.waits);
        for wait in waits.filter(|wait| wait.receives() && wait.came == Came::Something) {
            unknown.remove(&wait.socket);
            silent.remove(&wait.socket);
        }
        // A connection that was never used, beside others to the same peer that were answered: Go's net/http has such.
        silent.retain(|object, _| {
            sent_on.contains(object) || !remote(*object).is_some_and(|at| answering.contains(at))
        });
        // Else what came may have been lost, as it is told that something was.
        if inquiry.has_lost(LossKind::Calls) {
            unknown.clear();
            silent.clear();
        }
        Owed {
            to_somebody: !unknown.is_empty(),
            silent: silent.keys().copied().collect(),
            to: silent.into_values().flatten().collect(),
        }
    }

    /// Whether something was asked on a socket, and nothing ever came.
    pub fn is_silent(&self, socket: ObjectId) -> bool {
        self.silent.contains(&socket)
    }

    /// Whether somebody owes this process an answer.
    pub fn is_to(&self, process: ProcessId) -> bool {
        self.to_somebody || self.to.contains(&process)
    }
}

/// Whether a call may bring the peer to answer. To connect a socket for datagrams sends nothing: `getaddrinfo` does it to learn its
/// own address.
fn asks(inquiry: &Inquiry<'_>, call: &CallSum) -> bool {
    let object = call.object.and_then(|object| inquiry.facts.object(object));
    sends(&call.call) || object.is_none_or(|object| object.kind != ObjectKind::UdpSocket)
}

/// Whether the recording is of a server whose clients are not on its path: who has answered them all waits for the next one, and its
/// timers go on meanwhile.
pub fn serves_others(inquiry: &Inquiry<'_>, process: ProcessId) -> bool {
    let ledger = &inquiry.facts.ledger;
    let main = ledger.main.and_then(|main| ledger.threads.get(main));
    if !main.is_some_and(|main| inquiry.same_program(main.row.process, process)) {
        return false;
    }
    let on_path = |peer: &Peer| {
        let threads = inquiry.threads_of(&BTreeSet::from([peer.process]));
        let mut threads = threads.iter();
        threads.any(|thread| inquiry.outlook.in_threads.contains_key(thread))
    };
    let mut asking = inquiry.asking().iter();
    asking.any(|clients| {
        let is_asked = |peer: &&Peer| peer.address == clients.address;
        clients.process == process
            && clients.sends > 0
            && !inquiry.peers().iter().filter(is_asked).any(on_path)
    })
}
