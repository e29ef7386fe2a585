//! Waits that end because their time is over, not because what was waited for came.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::sockets::{Role, Sockets};
use timesink_analysis::replay::What;
use timesink_analysis::waits::{Over, WaitGroup};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, Language, ObjectKind, State, WakeSource};

use crate::event_loop::{self, Owed};
use crate::inquiry::Inquiry;
use crate::interpreter_lock;
use crate::picked::Picked;
use crate::rule::{Blames, Fix, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "expired-timeouts",
    looks_for: "waits that end because their timeout expires",
    why: "What was waited for did not happen, and the program continued only when the timeout expired.",
    advice: "find out why nothing came: a peer that is down, a name server that does not respond, a signal that nobody sends",
    wrong_if: "the wait is a pause, and nothing is expected to end it",
    limits: &[&limits::WAITS, &limits::FEW, &limits::SHARE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static WAITS: Limit = Limit {
        name: "waits",
        value: 3.0,
        unit: Unit::Count,
        means: "minimum number of waits that timed out",
    };
    /// Measured: 98 % where a Java program waits 3 s for members of a cluster that never come.
    pub static FEW: Limit = Limit {
        name: "share of path",
        value: 0.1,
        unit: Unit::Share,
        means: "or: minimum share of the critical path that they take, at a condition that nobody signals, or after a request that nobody answers",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.8,
        unit: Unit::Share,
        means: "minimum share of the waits with the same timeout that timed out",
    };
}

/// A timer may be a little early by the clock of the recording, and late by this: what lasted longer had another timeout.
const WHOLE: f64 = 0.95;
const LATE: f64 = 1.5;
const LATE_NS: f64 = 1e6;

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let waits = inquiry.waits().iter();
    let waits = waits.filter(|group| is_receiving(group.detail));
    // Who waits for Python's own lock asks for it again and again: that is another matter.
    let waits = waits.filter(|group| !interpreter_lock::is_one(inquiry, group));
    // Who waits for connections has nobody who owes it one: servers look now and then whether they are to end.
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    let listens = |object| sockets.role(object) == Some(Role::Listening);
    let waits = waits.filter(|group| !group.object.is_some_and(listens));
    // A loop of events that nobody owes an answer waits for the program's own timers.
    let owed = Owed::of(inquiry);
    let waits =
        waits.filter(|group| !event_loop::waits(inquiry, group) || owed.is_to(group.process));
    let all = by_peer(inquiry, waits);
    let all = all.iter();
    all.filter_map(|all| suspect(inquiry, &owed, all)).collect()
}

/// Waits that are alike: for one thing, or for connections to one peer, which a program makes again when one does not come.
struct Waits {
    group: WaitGroup,
    objects: BTreeSet<Option<ObjectId>>,
}

impl Waits {
    fn add(&mut self, group: &WaitGroup) {
        self.objects.insert(group.object);
        self.group.lengths.extend(&group.lengths);
        self.group.lengths.sort_unstable();
        self.group.over = match (self.group.over, group.over) {
            (Some(one), Some(other)) if is_about(one.asked_ns, other.asked_ns) => Some(Over {
                expired: one.expired + other.expired,
                asked: one.asked + other.asked,
                ..one
            }),
            (one, other) => one.into_iter().chain(other).max_by_key(|over| over.expired),
        };
    }
}

/// Whether two timeouts are the same but for what passes before the call.
fn is_about(one_ns: u64, other_ns: u64) -> bool {
    one_ns.min(other_ns) as f64 >= one_ns.max(other_ns) as f64 * WHOLE
}

/// Those for connections to one peer together, and those for datagrams.
fn by_peer<'a>(inquiry: &Inquiry<'_>, groups: impl Iterator<Item = &'a WaitGroup>) -> Vec<Waits> {
    let mut all: Vec<Waits> = Vec::new();
    let mut known: BTreeMap<(ProcessId, Detail, &str, &str), usize> = BTreeMap::new();
    for group in groups {
        let object = group.object.and_then(|object| inquiry.facts.object(object));
        // Sockets for datagrams that are not connected may send to anybody: all of a process are one.
        let peer = object.and_then(|object| match object.kind {
            ObjectKind::TcpSocket => object.remote.as_deref(),
            ObjectKind::UdpSocket => Some(object.remote.as_deref().unwrap_or_default()),
            _ => None,
        });
        let key = peer.map(|peer| (group.process, group.detail, group.call.as_str(), peer));
        match key.and_then(|key| known.get(&key)) {
            Some(&at) => all[at].add(group),
            None => {
                known.extend(key.map(|key| (key, all.len())));
                all.push(Waits {
                    group: group.clone(),
                    objects: BTreeSet::from([group.object]),
                });
            }
        }
    }
    all
}

/// What was asked just before each of these waits, and nobody ever answered; nothing if that is not known of all.
fn unanswered(inquiry: &Inquiry<'_>, owed: &Owed, waits: &BTreeSet<usize>) -> BTreeSet<ObjectId> {
    let sent = waits.iter().map(|&at| inquiry.waited.known(at)?.sent);
    let silent = sent.map(|socket| socket.filter(|&socket| owed.is_silent(socket)));
    silent.collect::<Option<_>>().unwrap_or_default()
}

fn suspect(inquiry: &Inquiry<'_>, owed: &Owed, all: &Waits) -> Option<Suspect> {
    let group = &all.group;
    let over = group.over?;
    if (over.expired as f64) < over.asked as f64 * RULE.limit(inquiry, &limits::SHARE)
        || is_scheduler(inquiry, group)
        || is_pause(inquiry, group)
    {
        return None;
    }
    let causes = inquiry.waits_on_path(|key| {
        key.detail == Some(group.detail)
            && all.objects.contains(&key.object)
            && inquiry.same_program(key.process, group.process)
    });
    let picked = Picked::of(inquiry, group.process, those(inquiry, all, over));
    let expired = picked.count() as f64;
    let on_path_ns = inquiry.on_path_ns(&causes).min(picked.ns());
    let share = on_path_ns as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    let unanswered = unanswered(inquiry, owed, picked.spans());
    // A poll may be a look at the clock, whatever came after it; not where something was asked that nobody answers.
    let few = match group.detail {
        Detail::Condition | Detail::Event => share >= RULE.limit(inquiry, &limits::FEW),
        _ => !unanswered.is_empty() && share >= RULE.limit(inquiry, &limits::FEW),
    };
    if expired < RULE.limit(inquiry, &limits::WAITS) && !few {
        return None;
    }
    let title = title(inquiry, group, &unanswered, over, picked.count());
    let fix = Fix::without(
        What::Spans(picked.spans().clone()),
        BTreeSet::from([group.process]),
    );
    let suspect = Suspect::new(title, fix, Weight::within(causes, picked.ns()))
        .of(group.process)
        .about(group.object)
        .seen_in(inquiry, Some(group))
        .held(inquiry, &RULE, "expired", expired, &limits::WAITS)
        .figure("asked for", over.asked_ns as f64, "ns")
        .told(say![
            Piece::Count(over.expired),
            " of ",
            Piece::Count(over.asked),
            " with this timeout, of ",
            Piece::Count(group.count()),
            " waits in all"
        ]);
    Some(suspect)
}

fn title(
    inquiry: &Inquiry<'_>,
    group: &WaitGroup,
    unanswered: &BTreeSet<ObjectId>,
    over: Over,
    expired: u64,
) -> Sentence {
    let mut title = match group.detail {
        Detail::Condition => say![group.process, " times out waiting on a condition variable"],
        _ => say![
            group.process,
            " times out in ",
            Piece::Name(group.call.clone())
        ],
    };
    let remote = |object| inquiry.facts.object(object)?.remote.clone();
    let mut asked = unanswered.iter().filter_map(|&socket| remote(socket));
    if let Some(peer) = group.object.and_then(remote).or_else(|| asked.next()) {
        title
            .0
            .extend([", waiting for ".into(), Piece::Name(peer), ",".into()]);
    }
    title.0.extend([
        " ".into(),
        Piece::Count(expired),
        if expired == 1 { " time" } else { " times" }.into(),
        ", after ".into(),
        Piece::Time(over.asked_ns),
    ]);
    if expired > 1 {
        title.0.push(" each".into());
    }
    title
}

/// Whether such a wait may bring what was waited for.
fn is_receiving(detail: Detail) -> bool {
    matches!(
        detail,
        Detail::Poll
            | Detail::Condition
            | Detail::NetworkReceive
            | Detail::UnixReceive
            | Detail::Event
    )
}

/// Whether a wait that its time ended is followed by another that brings what was waited for: then it was only a look at the clock. If
/// something was sent in between, or that comes at once, it was asked for again.
fn is_tick(inquiry: &Inquiry<'_>, at: usize, asked_ns: u64) -> bool {
    /// What comes in less than this part of the time is the answer to something that was asked again. Measured: 3 ms after 5 s where a
    /// resolver asks again; from no time to all of it where curl waits for a server 200 ms at a time.
    const AT_ONCE: f64 = 0.1;
    /// With more on a processor in between, something else was done.
    const LOOK: f64 = 0.1;
    let Some(wait) = inquiry.timeline.span(at) else {
        return false;
    };
    let later = (at + 1..).map_while(|at| Some((at, inquiry.timeline.span(at)?)));
    let mut looked_ns = 0;
    for (at, span) in later.take_while(|(_, span)| span.thread == wait.thread) {
        let ns = span.t1.since(span.t0);
        match (span.state, span.wake_source) {
            (State::Cpu, _) => looked_ns += ns,
            (State::Wait, Some(WakeSource::Timer)) => looked_ns = 0,
            // What it does then is another matter, such as to wait for a thread to end.
            (State::Wait, _) if !is_receiving(span.detail) => break,
            (State::Wait, _) => {
                let known = inquiry.waited.known(at);
                let was_asked = known.is_some_and(|known| known.sent.is_some());
                return !was_asked && ns as f64 > asked_ns as f64 * AT_ONCE;
            }
            _ => {}
        }
        if looked_ns as f64 > asked_ns as f64 * LOOK {
            break;
        }
    }
    false
}

/// The waits that such a time ended.
fn those<'a>(
    inquiry: &'a Inquiry<'_>,
    all: &'a Waits,
    over: Over,
) -> impl Iterator<Item = usize> + 'a {
    let group = &all.group;
    let waits = inquiry.single_waits(|process| process == group.process);
    let asked = over.asked_ns as f64;
    let as_asked = asked * WHOLE..=(asked * LATE).max(asked + LATE_NS);
    let of_it = waits.filter(move |&(at, span)| {
        span.detail == group.detail
            && all.objects.contains(&span.object())
            && span.wake_source == Some(WakeSource::Timer)
            && as_asked.contains(&(span.t1.since(span.t0) as f64))
            && !is_tick(inquiry, at, over.asked_ns)
            && inquiry.timeline.paces().pace(at).is_none()
    });
    of_it.map(|(at, _)| at)
}

/// Where a runtime waits for the next moment of a timer: that it comes is what is waited for.
fn is_scheduler(inquiry: &Inquiry<'_>, group: &WaitGroup) -> bool {
    const SCHEDULERS: [&str; 5] = [
        "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take",
        "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.poll",
        "java.util.concurrent.ThreadPoolExecutor.getTask",
        "java.util.TimerThread.mainLoop",
        "Timer.run",
    ];
    let mut functions = inquiry.functions(group.stack);
    functions.any(|function| {
        let is_one = SCHEDULERS.contains(&function.name.as_str());
        is_one && (function.language == Language::Java || function.is_script())
    })
}

/// Whether a program waits at a condition again and again at one place, and nobody ever signals it: such a wait is a pause that may be cut
/// short, or a look now and then whether something has happened.
pub(super) fn is_pause(inquiry: &Inquiry<'_>, group: &WaitGroup) -> bool {
    /// Who is told to end is woken for that.
    const AT_THE_END: u64 = 1;
    let place = |group: &WaitGroup| {
        let own = inquiry.stacks.code.own_of(&inquiry.frames(group.stack));
        own.first().map(|spot| spot.function)
    };
    let at = place(group);
    let groups = inquiry.waits().iter();
    let same = groups.filter(|other| {
        other.process == group.process
            && other.detail == Detail::Condition
            && other.asked > 0
            && !interpreter_lock::is_one(inquiry, other)
            && place(other) == at
    });
    let (asked, expired) = same.fold((0, 0), |(asked, expired), other| {
        (asked + other.asked, expired + other.expired)
    });
    group.detail == Detail::Condition && expired >= 2 && asked - expired <= AT_THE_END
}
