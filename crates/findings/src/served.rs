//! What servers are asked.

use std::collections::BTreeMap;

use timesink_analysis::facts::calls::CallSum;
use timesink_analysis::facts::sockets::{receives, Role, Sockets};
use timesink_recording::ids::{ObjectId, ProcessId};

use crate::inquiry::Inquiry;

/// The calls of processes on connections that clients made, each with its process and connection.
pub fn served_calls<'a>(
    inquiry: &'a Inquiry<'_>,
    sockets: &'a Sockets,
) -> impl Iterator<Item = (ProcessId, ObjectId, &'a CallSum)> {
    let calls = inquiry.facts.calls.iter();
    let calls = calls.filter_map(|call| Some((call.process?, call.object?, call)));
    calls.filter(|(_, object, _)| sockets.role(*object) == Some(Role::Served))
}

/// How often each process received something on connections that clients made. What it asks itself, as a test of a server does, does not
/// count.
pub fn requests(inquiry: &Inquiry<'_>, sockets: &Sockets) -> BTreeMap<ProcessId, u64> {
    let mut requests: BTreeMap<ProcessId, u64> = BTreeMap::new();
    // A server has a connection for each request, and few addresses.
    let mut known: BTreeMap<(ProcessId, &str), bool> = BTreeMap::new();
    let mut is_asked_by_itself = |process: ProcessId, object: ObjectId| {
        let served = inquiry.facts.object(object);
        let address = served.and_then(|served| served.local.as_deref());
        address.is_some_and(|address| {
            let asks = known.entry((process, address));
            *asks.or_insert_with(|| asks_itself(inquiry, process, address))
        })
    };
    for (process, object, call) in served_calls(inquiry, sockets) {
        if receives(&call.call) && !is_asked_by_itself(process, object) {
            let of_process = requests.entry(process).or_default();
            *of_process = of_process.saturating_add(call.count.saturating_sub(call.errors));
        }
    }
    requests
}

/// Whether a process has connections of its own to this address.
pub fn asks_itself(inquiry: &Inquiry<'_>, process: ProcessId, address: &str) -> bool {
    let mut peers = inquiry.peers().iter();
    peers.any(|peer| peer.process == process && peer.address == address)
}
