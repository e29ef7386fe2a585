//! A handshake of TLS for each connection, and a connection for each question.
//!
//! A handshake is told by the functions it is in. Where a library has no names for those, as OpenSSL has not when it is
//! called from C without its debug file, nothing is said.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{FunctionIx, StackIx};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::{Detail, ObjectKind, State};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Example, Fix, Held, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "tls-per-request",
    looks_for: "a TLS handshake for each of many connections",
    why: "A handshake costs one or two round trips and some of the most expensive arithmetic there is, before the first request can be sent.",
    advice: "keep the connection (a session, a connection pool), or at least resume sessions: one context for all connections",
    wrong_if: "each connection is to a different peer, or must not be linked to the one before",
    limits: &[&limits::CONNECTIONS, &limits::AGAIN, &limits::EACH],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static CONNECTIONS: Limit = Limit {
        name: "connections",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of connections by one process",
    };
    pub static AGAIN: Limit = Limit {
        name: "per peer",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of connections per peer, on average",
    };
    pub static EACH: Limit = Limit {
        name: "handshake",
        value: 1e6,
        unit: Unit::Nanoseconds,
        means: "minimum time of a handshake, on average",
    };
}

/// The outermost function of a handshake, in the libraries that do it.
const HANDSHAKES: [&str; 13] = [
    "SSL_do_handshake",
    "SSL_connect",
    "ossl_statem_connect",
    "state_machine",
    "SSLSocket.do_handshake",
    "SSLObject.do_handshake",
    "gnutls_handshake",
    "mbedtls_ssl_handshake",
    "wolfSSL_connect",
    "crypto/tls.(*Conn).handshakeContext",
    "crypto/tls.(*Conn).HandshakeContext",
    "crypto/tls.(*Conn).Handshake",
    "sun.security.ssl.SSLSocketImpl.startHandshake",
];

/// What a process did in handshakes.
#[derive(Default)]
struct Shaken {
    ns: u64,
    waited_ns: u64,
    functions: BTreeMap<FunctionIx, u64>,
    stacks: BTreeMap<StackIx, u64>,
    examples: Vec<Example>,
}

/// Whether a span, by its index in the timeline, is a wait in a handshake.
pub(super) fn is_in_handshake(inquiry: &Inquiry<'_>, span: usize) -> bool {
    let span = inquiry.timeline.span(span);
    let stack = span.and_then(|span| inquiry.stacks.stack_at(span.thread, span.t0));
    stack.is_some_and(|stack| handshake(inquiry, stack).is_some())
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let shaken = shaken(inquiry).into_iter();
    shaken
        .filter_map(|(process, shaken)| suspect(inquiry, process, shaken))
        .collect()
}

/// Which of its functions a stack is in a handshake by, if it is.
fn handshake(inquiry: &Inquiry<'_>, stack: StackIx) -> Option<FunctionIx> {
    let functions = inquiry.stacks.code.functions_of(stack);
    let mut outermost = functions.into_iter().rev();
    outermost.find(|&function| {
        HANDSHAKES.contains(&inquiry.stacks.code.function(function).name.as_str())
    })
}

fn shaken(inquiry: &Inquiry<'_>) -> BTreeMap<ProcessId, Shaken> {
    let mut all: BTreeMap<ProcessId, Shaken> = BTreeMap::new();
    let known = inquiry.stacks.code.functions.iter();
    let any = known
        .into_iter()
        .any(|function| HANDSHAKES.contains(&function.name.as_str()));
    if !any {
        return all;
    }
    let mut stacks: BTreeMap<StackIx, Option<FunctionIx>> = BTreeMap::new();
    for event in &inquiry.stacks.events {
        let of_stack = stacks.entry(event.stack);
        let Some(function) = *of_stack.or_insert_with(|| handshake(inquiry, event.stack)) else {
            continue;
        };
        let Some(slot) = inquiry.timeline.slot(event.thread) else {
            continue;
        };
        let sum = all
            .entry(inquiry.timeline.threads[slot].process)
            .or_default();
        sum.ns = sum.ns.saturating_add(event.ns);
        if event.account == Account::Wait {
            sum.waited_ns = sum.waited_ns.saturating_add(event.ns);
        }
        *sum.functions.entry(function).or_default() += event.ns;
        *sum.stacks.entry(event.stack).or_default() += event.ns;
        if sum.examples.len() < 3 {
            sum.examples.push(Example {
                thread: event.thread,
                at: event.at,
            });
        }
    }
    all
}

fn suspect(inquiry: &Inquiry<'_>, process: ProcessId, shaken: Shaken) -> Option<Suspect> {
    let peers = inquiry.peers().iter().filter(|peer| {
        peer.process == process && peer.kind == ObjectKind::TcpSocket && peer.connections > 0
    });
    let (count, hosts, most) = peers.fold((0u64, 0u64, None), |(count, hosts, most), peer| {
        let most = most.filter(|most: &&timesink_analysis::waits::peers::Peer| {
            most.connections >= peer.connections
        });
        (count + peer.connections, hosts + 1, most.or(Some(peer)))
    });
    let most = most?;
    let each = shaken.ns as f64 / count.max(1) as f64;
    let again = count as f64 / hosts.max(1) as f64;
    if (count as f64) < RULE.limit(inquiry, &limits::CONNECTIONS)
        || again < RULE.limit(inquiry, &limits::AGAIN)
        || each < RULE.limit(inquiry, &limits::EACH)
    {
        return None;
    }
    let (&function, _) = shaken.functions.iter().max_by_key(|(_, ns)| **ns)?;
    let causes = inquiry.causes(|key| {
        let waits = matches!(
            key.detail,
            Some(Detail::NetworkReceive | Detail::Poll | Detail::NetworkSend)
        );
        inquiry.same_program(key.process, process) && (key.state == State::Cpu || waits)
    });
    let title = say![
        Piece::Count(count),
        " TLS handshakes with ",
        if hosts == 1 {
            "one peer, "
        } else {
            "few peers, most with "
        },
        Piece::Name(most.address.clone())
    ];
    // The first with each is needed.
    let fix = Fix::Change(Change {
        what: What::Function(inquiry.stacks.code.function(function).name.clone()),
        processes: Some(BTreeSet::from([process])),
        how: How::Scale(1.0 / again),
    });
    let mut suspect = Suspect::new(title, fix, Weight::within(causes, shaken.ns))
        .of(process)
        .about(most.sockets.first().copied())
        .held_all(
            inquiry,
            &RULE,
            [
                Held::new("connections", count as f64, &limits::CONNECTIONS),
                Held::new("nanoseconds of handshake for each", each, &limits::EACH),
                Held::new("connections to each peer", again, &limits::AGAIN),
            ],
        )
        .told(say![
            "each takes ",
            Piece::Time(each as u64),
            " in ",
            function,
            ", of which ",
            Piece::Time(shaken.waited_ns / count.max(1)),
            " is waiting for the peer"
        ]);
    suspect.examples = shaken.examples;
    suspect.frames = vec![inquiry.stacks.code.busiest_spot(function, shaken.stacks)];
    Some(suspect.or_in_package(inquiry, process))
}
