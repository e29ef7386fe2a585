//! Many small questions to one peer, each waited for.

use std::collections::BTreeSet;

use timesink_analysis::facts::sockets::{Role, Sockets};
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::Detail;

use crate::floor;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "round-trips",
    looks_for: "many requests to one peer, one at a time, each waited for",
    why: "Each request costs a round trip and the peer's fixed cost per request, however little is requested.",
    advice: "batch the requests: one query for many keys, a join, a pipeline",
    wrong_if: "each request depends on the response to the one before",
    limits: &[&limits::WAITS, &limits::IN_TURN, &limits::BYTES, &limits::SENT],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 10.0,
        unit: Unit::Count,
        means: "minimum number of waits for responses",
    };
    pub static IN_TURN: Limit = Limit {
        name: "in turn",
        value: 1000.0,
        unit: Unit::Count,
        means: "or: minimum number of sends, with about as many receives that returned data",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 65536.0,
        unit: Unit::Bytes,
        means: "maximum bytes read per request, on average; more is a transfer",
    };
    pub static SENT: Limit = Limit {
        name: "sent",
        value: 0.5,
        unit: Unit::Count,
        means: "minimum number of sends per wait; with fewer the program is listening",
    };
}

/// Two counts of which the smaller is this part of the larger are about the same.
const ALIKE: f64 = 0.8;

const SENDS: [&str; 6] = ["write", "writev", "send", "sendto", "sendmsg", "sendmmsg"];
const RECEIVES: [&str; 5] = ["read", "readv", "recvfrom", "recvmsg", "recvmmsg"];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let receives = inquiry.waits().iter().filter(|group| {
        matches!(
            group.detail,
            Detail::NetworkReceive | Detail::UnixReceive | Detail::Poll
        )
    });
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    // Who is asked on a socket waits for questions there, not for answers.
    let asks = |group: &&WaitGroup| {
        let role = group.object.and_then(|object| sockets.role(object));
        matches!(role, None | Some(Role::Asking))
    };
    receives
        .filter(asks)
        .filter_map(|group| suspect(inquiry, group))
        .collect()
}

/// Calls of one process on one thing, or on all.
#[derive(Clone, Copy, Default)]
struct Calls {
    count: u64,
    /// Those that did something.
    came: u64,
    bytes: u64,
    ns: u64,
}

impl Calls {
    fn of(
        inquiry: &Inquiry<'_>,
        process: ProcessId,
        object: Option<ObjectId>,
        names: &[&str],
    ) -> Calls {
        let calls = inquiry.facts.calls.iter().filter(|call| {
            call.process == Some(process)
                && (object.is_none() || call.object == object)
                && names.contains(&call.call.as_str())
        });
        calls.fold(Calls::default(), |sum, call| Calls {
            count: sum.count.saturating_add(call.count),
            came: sum
                .came
                .saturating_add(call.count.saturating_sub(call.errors)),
            bytes: sum.bytes.saturating_add(call.bytes),
            ns: sum.ns.saturating_add(call.ns),
        })
    }
}

/// That so many questions are asked at once. Fewer questions are also fewer calls; of these this share is about it.
fn at_once(
    object: ObjectId,
    own: &BTreeSet<ProcessId>,
    count: u64,
    calls: &[&'static str],
    share: f64,
) -> Fix {
    let change = |what, how| Change {
        what,
        processes: Some(own.clone()),
        how,
    };
    let waits = What::Waits {
        detail: None,
        objects: Some(BTreeSet::from([object])),
    };
    let calls = What::Calls(calls.iter().copied().collect());
    let spared = share * (1.0 - 1.0 / count.max(1) as f64);
    Fix::Changes(vec![
        change(waits, How::Batch(u32::try_from(count).unwrap_or(u32::MAX))),
        change(calls, How::Scale(1.0 - spared)),
    ])
}

fn suspect(inquiry: &Inquiry<'_>, group: &WaitGroup) -> Option<Suspect> {
    let object = group.object?;
    let (sent, received) = (
        Calls::of(inquiry, group.process, Some(object), &SENDS),
        Calls::of(inquiry, group.process, Some(object), &RECEIVES),
    );
    let waits = group.count();
    // On the same processor the peer may answer before the question's call is over: not each answer is waited for.
    let count = waits.max(sent.came.min(received.came));
    let bytes = received.bytes / count.max(1);
    // Who takes an answer for each question, thousands of times, asks one after the other whether it waits or not.
    let (fewer, more) = (
        sent.came.min(received.came) as f64,
        sent.came.max(received.came) as f64,
    );
    let in_turn = fewer >= RULE.limit(inquiry, &limits::IN_TURN) && fewer >= more * ALIKE;
    if (waits as f64) < RULE.limit(inquiry, &limits::WAITS) && !in_turn
        || bytes as f64 > RULE.limit(inquiry, &limits::BYTES)
        || (sent.count as f64) < waits as f64 * RULE.limit(inquiry, &limits::SENT)
        || received.count == 0
    {
        return None;
    }
    let mut causes = inquiry.waits_on_path(|key| {
        key.object == Some(object)
            && key.detail == Some(group.detail)
            && inquiry.same_program(key.process, group.process)
    });
    // And what the calls take on a processor.
    let waited: u64 = causes
        .iter()
        .map(|&cause| inquiry.on_path_ns(&[cause]))
        .sum();
    causes.extend(inquiry.busy(group.process));
    let called = sent.ns.saturating_add(received.ns);
    let weight = Weight::within(causes, waited.saturating_add(called));
    let title = say![
        Piece::Count(count),
        " requests to ",
        object,
        ", one at a time"
    ];
    let names = [SENDS.as_slice(), &RECEIVES].concat();
    let share = called as f64 / Calls::of(inquiry, group.process, None, &names).ns.max(1) as f64;
    let own = BTreeSet::from([group.process]);
    let fix = at_once(object, &own, count, &names, share.min(1.0));
    let suspect = Suspect::new(title, fix, weight)
        .with_what_is_around(own, &[&names])
        .of(group.process)
        .about(Some(object))
        .seen_in(inquiry, Some(group))
        .held(inquiry, &RULE, "waits", waits as f64, &limits::WAITS)
        .held(
            inquiry,
            &RULE,
            "bytes answered",
            bytes as f64,
            &limits::BYTES,
        )
        .told(say![
            Piece::Count(sent.count),
            " sends of ",
            Piece::Bytes(sent.bytes / sent.count.max(1)),
            " each; responses of ",
            Piece::Bytes(bytes)
        ])
        .told(say![
            "a response takes ",
            Piece::Time(group.quantile(0.5)),
            " (median), 90th percentile ",
            Piece::Time(group.quantile(0.9))
        ])
        .held_against(floor::round_trip(inquiry, object, group.quantile(0.5)));
    Some(suspect)
}
