//! Many small questions to one peer, each waited for.

use std::collections::BTreeSet;

use timesink_analysis::operations::sockets::{Role, Sockets};
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::WaitGroup;
use timesink_recording::words::Detail;

use crate::floor;
use crate::inquiry::Inquiry;
use crate::rule::{Fix, Limit, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "round-trips",
    looks_for: "many questions to one peer, one after the other, each waited for",
    why: "Each question costs the way there and back, and the peer's time to begin and to end, however little it asks.",
    advice: "ask for many things at once: a batch, a join, a pipeline",
    wrong_if: "each question depends on the answer to the one before",
    limits: &[
        Limit { name: "waits", value: 10.0, means: "at least so many waits for answers" },
        Limit { name: "bytes", value: 65536.0, means: "bytes read for each, on average, at most: else it is a transfer" },
        Limit { name: "sent", value: 0.5, means: "sends for each wait at least: else it is listening, not asking" },
    ],
    is_innocent: false,
    needs: &[Need::Calls],
    ask,
};

const SENDS: [&str; 6] = ["write", "writev", "send", "sendto", "sendmsg", "sendmmsg"];
const RECEIVES: [&str; 5] = ["read", "readv", "recvfrom", "recvmsg", "recvmmsg"];

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let receives = of.waits().iter().filter(|group| {
        matches!(
            group.detail,
            Detail::NetworkReceive | Detail::UnixReceive | Detail::Poll
        )
    });
    let sockets = Sockets::of(&of.facts.objects, &of.waited.calls);
    // Who is asked on a socket waits for questions there, not for answers.
    let asks = |group: &&WaitGroup| {
        let role = group.object.and_then(|object| sockets.role(object));
        matches!(role, None | Some(Role::Asking))
    };
    receives
        .filter(asks)
        .filter_map(|group| suspect(of, group))
        .collect()
}

fn suspect(of: &Inquiry<'_>, group: &WaitGroup) -> Option<Suspect> {
    let object = group.object?;
    let calls = |names: &[&str]| {
        let calls = of.facts.calls.iter().filter(|call| {
            call.object == Some(object)
                && call.process == Some(group.process)
                && names.contains(&call.call.as_str())
        });
        calls.fold((0u64, 0u64), |(count, bytes), call| {
            (count + call.count, bytes + call.bytes)
        })
    };
    let ((sends, asked), (reads, answered)) = (calls(&SENDS), calls(&RECEIVES));
    let count = group.count();
    let bytes = answered / count.max(1);
    if (count as f64) < RULE.limit(of, "waits")
        || bytes as f64 > RULE.limit(of, "bytes")
        || (sends as f64) < count as f64 * RULE.limit(of, "sent")
        || reads == 0
    {
        return None;
    }
    let causes = of.waits_on_path(|key| {
        key.object == Some(object)
            && key.detail == Some(group.detail)
            && of.same_program(key.process, group.process)
    });
    let title = say![
        object,
        " is asked ",
        Piece::Count(count),
        " times, one question after the other"
    ];
    let fix = Fix::Change(Change {
        what: What::Waits {
            detail: None,
            objects: Some(BTreeSet::from([object])),
        },
        processes: Some(BTreeSet::from([group.process])),
        how: How::Batch(count.min(u64::from(u32::MAX)) as u32),
    });
    // Fewer questions are also fewer calls, and less to be done for each.
    let own = BTreeSet::from([group.process]);
    let fix = fix.with_what_is_around(of, own, &[SENDS.as_slice(), &RECEIVES].concat());
    let suspect = Suspect::new(title, fix, Weight::all(causes))
        .of(group.process)
        .about(Some(object))
        .seen_in(of, Some(group))
        .held(of, &RULE, "waits", count as f64, "waits")
        .held(of, &RULE, "bytes answered", bytes as f64, "bytes")
        .told(say![
            Piece::Count(sends),
            " sends of ",
            Piece::Bytes(asked / sends.max(1)),
            " each, answered with ",
            Piece::Bytes(bytes)
        ])
        .told(say![
            "an answer takes ",
            Piece::Time(group.quantile(0.5)),
            ", nine of ten at most ",
            Piece::Time(group.quantile(0.9))
        ])
        .held_against(floor::round_trip(of, object, group.quantile(0.5)));
    Some(suspect)
}
