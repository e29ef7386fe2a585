//! What a task waited for in the runtime, by the runtime's functions in which it was left.

use super::GroupKind;
use crate::stacks::{Code, Function, StackIx};

/// What a parked task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Parking {
    /// Somebody to send on a channel, or to put something into a queue.
    Receive,
    /// Somebody to receive what it sends on a channel, or to take something out of a queue.
    Send,
    /// Any of several channels.
    Select,
    /// A lock.
    Lock,
    /// Somebody to release a semaphore.
    Semaphore,
    /// A connection of a pool that others use.
    Connection,
    /// A function that a thread of a pool runs.
    Pool,
    /// Others to be done, or to tell it to go on.
    Others,
    Timer,
    /// The network, a pipe, or another file that the runtime polls.
    Network,
    /// Not known, or something of the runtime's own.
    Runtime,
}

/// The functions by which Go's goroutines wait, and what for. The first that is found counts, from the innermost outwards.
const GO: [(&str, Parking); 14] = [
    ("runtime.chanrecv", Parking::Receive),
    ("runtime.chansend", Parking::Send),
    ("runtime.selectgo", Parking::Select),
    ("runtime.block", Parking::Select),
    ("runtime.netpollblock", Parking::Network),
    ("runtime.timeSleep", Parking::Timer),
    ("time.Sleep", Parking::Timer),
    ("runtime.notifyListWait", Parking::Others),
    ("sync.runtime_notifyListWait", Parking::Others),
    ("sync.runtime_SemacquireWaitGroup", Parking::Others),
    ("sync.runtime_Semacquire", Parking::Others),
    ("sync.runtime_SemacquireMutex", Parking::Lock),
    ("internal/sync.runtime_SemacquireMutex", Parking::Lock),
    ("sync.runtime_SemacquireRWMutex", Parking::Lock),
];

/// The functions of asyncio by which coroutines wait, and what for: the innermost one counts, and what awaits a future or a task
/// itself waits for others.
const ASYNCIO: [(&str, Parking); 16] = [
    ("sleep", Parking::Timer),
    ("Lock.acquire", Parking::Lock),
    ("Semaphore.acquire", Parking::Semaphore),
    ("Condition.wait", Parking::Others),
    ("Event.wait", Parking::Others),
    ("Barrier._block", Parking::Others),
    ("Barrier._wait", Parking::Others),
    ("Queue.get", Parking::Receive),
    ("Queue.put", Parking::Send),
    ("StreamReader._wait_for_data", Parking::Network),
    ("FlowControlMixin._drain_helper", Parking::Network),
    ("BaseSelectorEventLoop.sock_recv", Parking::Network),
    ("BaseSelectorEventLoop.sock_sendall", Parking::Network),
    ("BaseSelectorEventLoop.sock_connect", Parking::Network),
    ("BaseSelectorEventLoop.sock_accept", Parking::Network),
    ("to_thread", Parking::Pool),
];

/// The functions of libraries that have a pool of connections, or a semaphore of their own: who waits in them for somebody to tell it to go
/// on waits for those. Of Go a part of the name.
const POOLS_OF_GO: [(&str, Parking); 4] = [
    ("database/sql.(*DB).conn", Parking::Connection),
    (".(*ConnPool).waitTurn", Parking::Connection),
    ("/puddle/", Parking::Connection),
    ("/semaphore.(*Weighted).Acquire", Parking::Semaphore),
];

/// The same of Python: the end of the file, and the end of the function's name.
const POOLS_OF_PYTHON: [(&str, &str); 5] = [
    (
        "/aiohttp/connector.py",
        "BaseConnector._wait_for_available_connection",
    ),
    ("/asyncpg/pool.py", "_acquire_impl"),
    (
        "/httpcore/_async/connection_pool.py",
        "AsyncPoolRequest.wait_for_connection",
    ),
    ("/psycopg_pool/pool_async.py", "WaitingClient.wait"),
    (
        "/redis/asyncio/connection.py",
        "BlockingConnectionPool.get_connection",
    ),
];

/// Where the library keeps asyncio.
const ASYNCIO_FOLDER: &str = "/asyncio/";

fn pool_of_go(function: &Function) -> Option<Parking> {
    let is_one = |part: &str| {
        let behind = function.name.split_once(part).map(|(_, behind)| behind);
        // A name goes on: connectionOpener waits for work.
        let goes_on = |behind: &str| behind.starts_with(|c: char| c.is_alphanumeric());
        behind.is_some_and(|behind| part.ends_with('/') || !goes_on(behind))
    };
    let mut known = POOLS_OF_GO.iter();
    let known = known.find(|(part, _)| is_one(part));
    known.map(|(_, parking)| *parking)
}

fn pool_of_python(function: &Function) -> Option<Parking> {
    let mut known = POOLS_OF_PYTHON.iter();
    let is_one = |(file, name): &(&str, &str)| {
        function.file.ends_with(file) && function.name.ends_with(name)
    };
    known.any(is_one).then_some(Parking::Connection)
}

impl Parking {
    /// What a task waited for that was left in this stack.
    pub fn of(code: &Code, stack: StackIx, kind: GroupKind) -> Parking {
        let (parking, in_library): (Parking, fn(&Function) -> Option<Parking>) = match kind {
            GroupKind::Goroutine => (Parking::of_goroutine(code, stack), pool_of_go),
            GroupKind::Coroutine => (Parking::of_coroutine(code, stack), pool_of_python),
            GroupKind::Future | GroupKind::Callback | GroupKind::VirtualThread => {
                return Parking::Runtime;
            }
        };
        // Another task tells it to go on: a library that makes a connection itself waits for the network.
        let by_another = matches!(
            parking,
            Parking::Receive | Parking::Select | Parking::Others
        );
        let functions = code.functions_of(stack).into_iter();
        let mut found = functions.filter_map(|function| in_library(code.function(function)));
        let found = by_another.then(|| found.next()).flatten();
        found.unwrap_or(parking)
    }

    /// Whether it is something that some tasks have while others wait for it.
    pub fn is_contended(self) -> bool {
        matches!(
            self,
            Parking::Lock | Parking::Semaphore | Parking::Connection
        )
    }

    /// Whether it may be: in Go a channel serves as a semaphore, which is taken by sending to it.
    pub fn may_be_contended(self, kind: GroupKind) -> bool {
        self.is_contended() || self == Parking::Send && kind == GroupKind::Goroutine
    }

    fn of_goroutine(code: &Code, stack: StackIx) -> Parking {
        let functions = code.functions_of(stack).into_iter();
        let mut known = functions.filter_map(|function| {
            let name = &code.function(function).name;
            let known = GO.iter().find(|(known, _)| {
                // There are several of those for locks that are shared.
                name == known
                    || *known == "sync.runtime_SemacquireRWMutex" && name.starts_with(known)
            });
            known.map(|(_, parking)| *parking)
        });
        known.next().unwrap_or(Parking::Runtime)
    }

    fn of_coroutine(code: &Code, stack: StackIx) -> Parking {
        let functions = code.functions_of(stack);
        let Some(innermost) = functions.first().map(|function| code.function(*function)) else {
            return Parking::Runtime;
        };
        if !innermost.file.contains(ASYNCIO_FOLDER) {
            return Parking::Others;
        }
        let known = ASYNCIO.iter().find(|(known, _)| innermost.name == *known);
        known.map_or(Parking::Runtime, |(_, parking)| *parking)
    }

    /// The word for it, as in the JSON report, by what kind of task waits.
    pub fn word(self, kind: GroupKind) -> &'static str {
        let is_go = kind == GroupKind::Goroutine;
        match self {
            Parking::Receive if is_go => "channel receive",
            Parking::Receive => "queue get",
            Parking::Send if is_go => "channel send",
            Parking::Send => "queue put",
            Parking::Select => "select",
            Parking::Lock => "lock",
            Parking::Semaphore => "semaphore",
            Parking::Connection => "connection pool",
            Parking::Pool => "thread pool",
            Parking::Others if is_go => "other goroutines",
            Parking::Others => "futures",
            Parking::Timer => "timer",
            Parking::Network => "network",
            Parking::Runtime => "runtime",
        }
    }
}
