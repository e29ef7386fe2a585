//! What servers are asked.

use std::collections::BTreeMap;

use timesink_analysis::facts::sockets::{receives, Role, Sockets};
use timesink_recording::ids::ProcessId;

use crate::inquiry::Inquiry;

/// How often each process received something on connections that clients made.
pub fn requests(inquiry: &Inquiry<'_>, sockets: &Sockets) -> BTreeMap<ProcessId, u64> {
    let mut requests: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for call in &inquiry.facts.calls {
        let (Some(process), Some(object)) = (call.process, call.object) else {
            continue;
        };
        if receives(&call.call) && sockets.role(object) == Some(Role::Served) {
            let of_process = requests.entry(process).or_default();
            *of_process = of_process.saturating_add(call.count.saturating_sub(call.errors));
        }
    }
    requests
}
