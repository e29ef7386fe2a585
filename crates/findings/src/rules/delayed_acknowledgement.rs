//! Questions or answers sent in small pieces, of which the second waits until the first is acknowledged, and the other side
//! puts that off.
//!
//! Neither the pieces nor the acknowledgement are recorded: it is told by the length of the waits, which is that of the
//! kernel's timer, by more sends than messages of the other side, and by no option having been set on the sockets. Of a
//! peer that is not recorded its options are not known: there the answers must have come in pieces.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use timesink_analysis::facts::sockets::{receives, sends};
use timesink_analysis::waits::peers::{Peer, PeerWait};
use timesink_analysis::waits::quantile;
use timesink_recording::ids::ObjectId;
use timesink_recording::words::ObjectKind;

use crate::inquiry::Inquiry;
use crate::picked::Picked;
use crate::rule::{Blames, Need, Rule, Suspect};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "delayed-acknowledgement",
    looks_for: "responses that all take 40 ms, where requests or responses are sent in small pieces",
    why: "The second small piece is held until the first is acknowledged (Nagle's algorithm), and the other side delays the acknowledgement by 40 ms, hoping to send it with its own next message.",
    advice: "send each message at once (one write, writev, a buffer), or set TCP_NODELAY, on the side that sends in pieces",
    wrong_if: "the peer itself needs 40 ms for each response",
    limits: &[&limits::WAITS, &limits::SHORTEST, &limits::LONGEST, &limits::SHARE, &limits::SENDS, &limits::BYTES, &limits::ANSWERED],
    blames: Blames::Program,
    needs: &[Need::WholeCalls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of waits of that length",
    };
    pub static SHORTEST: Limit = Limit {
        name: "shortest",
        value: 38e6,
        unit: Unit::Nanoseconds,
        means: "minimum length of such a wait",
    };
    pub static LONGEST: Limit = Limit {
        name: "longest",
        value: 50e6,
        unit: Unit::Nanoseconds,
        means: "maximum length of such a wait",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.6,
        unit: Unit::Share,
        means: "minimum share of waits of that length, among all waits longer than half of it",
    };
    pub static SENDS: Limit = Limit {
        name: "sends",
        value: 1.5,
        unit: Unit::Count,
        means: "minimum number of sends per response waited for",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 1400.0,
        unit: Unit::Bytes,
        means: "maximum bytes per send, on average; larger sends are not held back",
    };
    pub static ANSWERED: Limit = Limit {
        name: "answered",
        value: 16384.0,
        unit: Unit::Bytes,
        means:
            "maximum bytes per piece of a response, on average; of larger ones little is held back",
    };
}

/// So many are more than one each: who waits for the beginning of each answer and for its rest waits nearly twice.
const TWICE: f64 = 1.25;
/// So long an acknowledgement is put off at least, in nanoseconds; with a slow clock a little longer.
const PUT_OFF_NS: f64 = 40e6;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let ends = OtherEnds::of(inquiry);
    let asked = inquiry.peers().iter();
    let asking = inquiry.asking().iter();
    let suspects = asked.filter_map(|peer| asker(inquiry, peer, &ends));
    suspects
        .chain(asking.filter_map(|peer| answerer(inquiry, peer, &ends)))
        .collect()
}

/// What one side of connections does on them.
#[derive(Clone, Copy, Default)]
struct Side {
    sends: u64,
    receives: u64,
    options: u64,
}

/// Connections of which both ends are in the recording.
struct OtherEnds<'a> {
    by_addresses: BTreeMap<(&'a str, &'a str), ObjectId>,
    sides: BTreeMap<ObjectId, Side>,
}

impl<'a> OtherEnds<'a> {
    fn of(inquiry: &'a Inquiry<'_>) -> OtherEnds<'a> {
        let objects = inquiry.facts.objects.iter();
        let sockets = objects.filter(|object| object.kind == ObjectKind::TcpSocket);
        let by_addresses = sockets.filter_map(|socket| {
            let addresses = (socket.local.as_deref()?, socket.remote.as_deref()?);
            Some((addresses, socket.object))
        });
        let mut sides: BTreeMap<ObjectId, Side> = BTreeMap::default();
        for call in &inquiry.facts.calls {
            let Some(object) = call.object else {
                continue;
            };
            let came = call.count.saturating_sub(call.errors);
            let side = sides.entry(object).or_default();
            match call.call.as_str() {
                "setsockopt" => side.options += came,
                name if sends(name) => side.sends = side.sends.saturating_add(came),
                name if receives(name) => side.receives = side.receives.saturating_add(came),
                _ => {}
            }
        }
        OtherEnds {
            by_addresses: by_addresses.collect(),
            sides,
        }
    }

    /// The other ends of these sockets that are in the recording.
    fn ends<'e>(
        &'e self,
        inquiry: &'e Inquiry<'_>,
        peer: &'e Peer,
    ) -> impl Iterator<Item = ObjectId> + 'e {
        let sockets = peer.sockets.iter();
        sockets.filter_map(|&socket| {
            let socket = inquiry.facts.object(socket)?;
            let addresses = (socket.remote.as_deref()?, socket.local.as_deref()?);
            self.by_addresses.get(&addresses).copied()
        })
    }

    /// Waits there that are as long: whoever gets the rest of a message last waits for it.
    fn waits(&self, inquiry: &Inquiry<'_>, peer: &Peer, long: RangeInclusive<f64>) -> Vec<usize> {
        let ends: BTreeSet<ObjectId> = self.ends(inquiry, peer).collect();
        let waits = inquiry.single_waits(|_| true);
        let waits = waits.filter(|(_, span)| {
            span.object().is_some_and(|object| ends.contains(&object))
                && long.contains(&(span.t1.since(span.t0) as f64))
        });
        waits.map(|(at, _)| at).collect()
    }

    /// What is done on the other ends of these sockets, if any is in the recording.
    fn side(&self, inquiry: &Inquiry<'_>, peer: &Peer) -> Option<Side> {
        let ends = self.ends(inquiry, peer).filter_map(|end| {
            let side = self.sides.get(&end);
            side.filter(|side| side.receives > 0)
        });
        ends.copied().reduce(|sum, side| Side {
            sends: sum.sends.saturating_add(side.sends),
            receives: sum.receives.saturating_add(side.receives),
            options: sum.options.saturating_add(side.options),
        })
    }
}

/// Waits of the length that an acknowledgement is put off.
struct PutOff<'a> {
    peer: &'a Peer,
    waits: Picked,
    /// How long each was put off, shortest first.
    lengths: Vec<u64>,
    /// Of all waits that are nearly as long.
    share: f64,
    /// How many waits there are in all.
    all: u64,
    /// The shortest of them, in nanoseconds.
    quickest_ns: f64,
}

impl<'a> PutOff<'a> {
    /// `took` says for how long a wait was one for the peer; `None`: it was not.
    fn of(
        inquiry: &Inquiry<'_>,
        peer: &'a Peer,
        ends: &OtherEnds<'_>,
        took: impl Fn(&PeerWait) -> Option<u64>,
    ) -> Option<PutOff<'a>> {
        let (shortest, longest) = (
            RULE.limit(inquiry, &limits::SHORTEST),
            RULE.limit(inquiry, &limits::LONGEST),
        );
        let waits = || {
            let waits = peer.waits.iter();
            waits.filter_map(|wait| Some((wait.span, took(wait)?)))
        };
        let alike = || waits().filter(|(_, ns)| (shortest..=longest).contains(&(*ns as f64)));
        let put_off = Picked::of(inquiry, peer.process, alike().map(|(span, _)| span));
        let mut lengths: Vec<u64> = alike().map(|(_, ns)| ns).collect();
        lengths.sort_unstable();
        let long = waits().filter(|(_, ns)| *ns as f64 > shortest / 2.0);
        let share = put_off.count() as f64 / long.count().max(1) as f64;
        let is_told = peer.kind == ObjectKind::TcpSocket
            && !peer.estimated
            && put_off.count() as f64 >= RULE.limit(inquiry, &limits::WAITS)
            && share >= RULE.limit(inquiry, &limits::SHARE);
        is_told.then_some(())?;
        let at_other_ends = ends.waits(inquiry, peer, shortest..=longest);
        Some(PutOff {
            peer,
            waits: put_off.and_of_others(inquiry, at_other_ends),
            lengths,
            share,
            all: waits().count() as u64,
            quickest_ns: waits().map(|(_, ns)| ns as f64).min_by(f64::total_cmp)?,
        })
    }

    /// The suspect: what is sent, `each` for each message of the other side, is sent in pieces of so many bytes.
    fn suspect(&self, inquiry: &Inquiry<'_>, title: Sentence, each: f64, bytes: u64) -> Suspect {
        let put_off = &self.waits;
        let lengths = self.lengths.iter();
        let sum_ns: f64 = lengths.map(|ns| *ns as f64).sum();
        let length = sum_ns / self.lengths.len().max(1) as f64;
        // What the peer takes itself: as long as its quickest answer, else at most what is more than is put off.
        let is_known = self.quickest_ns < RULE.limit(inquiry, &limits::SHORTEST);
        let itself = match is_known {
            true => self.quickest_ns,
            false => (length - PUT_OFF_NS).max(0.0),
        };
        let mut suspect = put_off.suspect(inquiry, title, itself / length);
        if !is_known {
            suspect.fix = suspect.fix.or_at_most(0.0);
        }
        let count = put_off.count() as f64;
        suspect
            .about(self.peer.sockets.first().copied())
            .held(inquiry, &RULE, "answers", count, &limits::WAITS)
            .held(
                inquiry,
                &RULE,
                "share of the long waits",
                self.share,
                &limits::SHARE,
            )
            .held(
                inquiry,
                &RULE,
                "sends for each answer",
                each,
                &limits::SENDS,
            )
            .held(
                inquiry,
                &RULE,
                "bytes in each send",
                bytes as f64,
                &limits::BYTES,
            )
    }

    /// How long so much of them (0.5: half) are put off at most.
    fn quantile(&self, part: f64) -> u64 {
        quantile(&self.lengths, part)
    }

    fn delayed(&self) -> Sentence {
        let most = self.quantile(0.9);
        say!["an acknowledgement is delayed by 40 ms or slightly more: 90th percentile of the waits ", Piece::Time(most)]
    }
}

/// From the side of who asks: its requests come in pieces, or the answers do.
fn asker(inquiry: &Inquiry<'_>, peer: &Peer, ends: &OtherEnds<'_>) -> Option<Suspect> {
    let alone = |wait: &PeerWait| wait.awaits_answer().then_some(wait.ns);
    let Some(put_off) = PutOff::of(inquiry, peer, ends, alone) else {
        // Whose connections are used at the same time waits for whichever has something next: each is looked at by itself.
        let among_many = |wait: &PeerWait| wait.since_ns.filter(|_| wait.receives());
        let put_off = PutOff::of(inquiry, peer, ends, among_many)?;
        return answered_in_pieces(inquiry, &put_off, ends);
    };
    let sends = peer.sends as f64 / put_off.all.max(1) as f64;
    let bytes = peer.sent_bytes / peer.sends.max(1);
    // What was set before it was recorded is not known: only of connections that were seen being made.
    if peer.connections == 0
        || peer.options > 0
        || sends < RULE.limit(inquiry, &limits::SENDS)
        || bytes as f64 > RULE.limit(inquiry, &limits::BYTES)
    {
        return answered_in_pieces(inquiry, &put_off, ends);
    }
    let title = say![
        Piece::Count(put_off.waits.count()),
        " responses of ",
        Piece::Name(peer.address.clone()),
        " take ",
        Piece::Time(put_off.quantile(0.5)),
        " each: the request waits for an acknowledgement"
    ];
    let suspect = put_off
        .suspect(inquiry, title, sends, bytes)
        .told(say![
            Piece::Count(peer.sends),
            " sends of ",
            Piece::Bytes(bytes),
            " each for ",
            Piece::Count(put_off.all),
            " responses, and no option set on the connection"
        ])
        .told(put_off.delayed());
    Some(suspect)
}

/// The peer sends its answer in pieces. What it does is seen if it is in the recording; else each answer is waited for
/// twice, for its beginning and for the rest.
fn answered_in_pieces(
    inquiry: &Inquiry<'_>,
    put_off: &PutOff<'_>,
    ends: &OtherEnds<'_>,
) -> Option<Suspect> {
    let (peer, count) = (put_off.peer, put_off.waits.count());
    let each = peer.receives as f64 / peer.sends.max(1) as f64;
    let bytes = peer.received_bytes / peer.receives.max(1);
    let least = RULE.limit(inquiry, &limits::SENDS);
    let is_other =
        |side: Side| side.options > 0 || (side.sends as f64) < side.receives as f64 * least;
    if each < least
        || bytes as f64 > RULE.limit(inquiry, &limits::ANSWERED)
        || count as f64 > peer.sends as f64 * TWICE
        || (waits_for(inquiry, peer) as f64) < count as f64 * TWICE
        || ends.side(inquiry, peer).is_some_and(is_other)
    {
        return None;
    }
    let title = say![
        Piece::Count(count),
        " responses of ",
        Piece::Name(peer.address.clone()),
        " take ",
        Piece::Time(put_off.quantile(0.5)),
        " each: their later pieces wait for an acknowledgement"
    ];
    let suspect = put_off
        .suspect(inquiry, title, each, bytes)
        .told(say![
            Piece::Count(peer.sends),
            " requests were answered in ",
            Piece::Count(peer.receives),
            " pieces of ",
            Piece::Bytes(bytes),
            ": ",
            Piece::Name(peer.address.clone()),
            " sends them one by one"
        ])
        .told(put_off.delayed());
    Some(suspect)
}

/// From the side of who answers: the next request comes when the last piece of the answer was let go.
fn answerer(inquiry: &Inquiry<'_>, peer: &Peer, ends: &OtherEnds<'_>) -> Option<Suspect> {
    let put_off = PutOff::of(inquiry, peer, ends, |wait| {
        wait.receives().then_some(wait.ns)
    })?;
    let each = peer.sends as f64 / peer.receives.max(1) as f64;
    let bytes = peer.sent_bytes / peer.sends.max(1);
    // Who asks tells it, if that is in the recording.
    if peer.at_once
        || peer.connections == 0
        || peer.options > 0
        || each < RULE.limit(inquiry, &limits::SENDS)
        || bytes as f64 > RULE.limit(inquiry, &limits::ANSWERED)
        || ends.side(inquiry, peer).is_some()
    {
        return None;
    }
    let title = say![
        Piece::Count(put_off.waits.count()),
        " requests to ",
        Piece::Name(peer.address.clone()),
        " come ",
        Piece::Time(put_off.quantile(0.5)),
        " after the response: its later pieces wait for an acknowledgement"
    ];
    let suspect = put_off
        .suspect(inquiry, title, each, bytes)
        .told(say![
            Piece::Count(peer.sends),
            " sends of ",
            Piece::Bytes(bytes),
            " each for ",
            Piece::Count(peer.receives),
            " requests, and no option set on the connections"
        ])
        .told(put_off.delayed());
    Some(suspect)
}

/// How often a process waited for a peer, the short waits too, which have no rows.
fn waits_for(inquiry: &Inquiry<'_>, peer: &Peer) -> usize {
    let threads = inquiry.timeline.threads.iter().enumerate();
    let own = threads.filter(|(_, thread)| thread.process == peer.process);
    let spans = own.flat_map(|(slot, _)| inquiry.timeline.spans_of(slot));
    spans.filter(|span| peer.is_waited_for_in(span)).count()
}
