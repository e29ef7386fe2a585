//! Asks all rules, and decides what is told: what is on the path and long enough, each cause once, by the most special
//! rule that explains it, with a gain from the replay.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::outlook::Patience;
use timesink_analysis::path::{Key, Segment};
use timesink_analysis::replay::{Change, Gain, Gains, Processors, What};
use timesink_analysis::stacks::StackIx;
use timesink_recording::words::ObjectKind;

use crate::floor;
use crate::inquiry::Inquiry;
use crate::mutes::{Day, Mute};
use crate::registry::RULES;
use crate::rule::{Blames, Fix, Need, Rule, Suspect, Weight};
use crate::rules::{asleep, event_loop_blocked, fixed_delay, one_request_at_a_time};
use crate::sentence::{Piece, Sentence};
use crate::signature::signature;

/// Of the wall time, and at least so long: less is not worth telling.
const SHARE: f64 = 0.02;
const LEAST_NS: u64 = 20_000_000;
/// From here on it is a main cause.
const MAIN: f64 = 0.10;
/// A suspect most of whose time is told already is told already.
const TOLD: f64 = 0.5;
/// Of two that share this much of the later one's time, the later one ranks after the earlier one, unless it saves so many
/// times as much.
const SHARED: f64 = 0.2;
const AS_MUCH: f64 = 1.2;
/// So many at least are asked what they would buy, and more where replays are short: each is one.
const LEAST: usize = 12;

/// What a runtime does follows from what the program does, and is told after that where it takes less of the path. Measured: 0.20
/// where the same files were loaded again and again, 0.11 with a quadratic parser; 0.58 where it was allocation itself.
const MOSTLY: f64 = 0.3;

/// Rules that tell of sleeps.
static SLEEPS: [&Rule; 2] = [&asleep::RULE, &fixed_delay::RULE];
/// Rules that tell of a thread that blocks others, and accuse nobody.
static BLOCKS: [&Rule; 2] = [&event_loop_blocked::RULE, &one_request_at_a_time::RULE];

/// What is shorter than this is not told.
pub fn least_told_ns(wall_ns: u64) -> u64 {
    ((wall_ns as f64 * SHARE) as u64).max(LEAST_NS)
}

/// One cause, told.
#[derive(Clone, Debug)]
pub struct Finding {
    pub rule: &'static Rule,
    pub suspect: Suspect,
    /// On the path, and as a share of the wall time.
    pub on_path_ns: u64,
    pub share: f64,
    pub gain: Gain,
    pub main: bool,
    /// What identifies it from run to run; see [`crate::signature`].
    pub signature: String,
    /// What muted it, until a day that is over.
    pub expired: Option<Mute>,
}

impl Finding {
    fn is_by(&self, rules: &[&Rule]) -> bool {
        rules.iter().any(|rule| rule.name == self.rule.name)
    }

    /// Whether it is of sleeps.
    pub fn is_of_sleeps(&self) -> bool {
        self.is_by(&SLEEPS)
    }

    /// Whether it may say why who waits for others does so in turn: it accuses somebody, or is of a thread that blocks others.
    pub fn may_be_why_in_turn(&self) -> bool {
        self.rule.accuses() || self.is_by(&BLOCKS)
    }

    /// What to do.
    pub fn advice(&self) -> &str {
        let own = self.suspect.advice.as_deref();
        own.unwrap_or(self.rule.advice)
    }

    /// What it is expected to save, but for the part that others have in it: where these have the CPUs, that is another finding's.
    fn own_gain_ns(&self) -> i64 {
        let along = self.suspect.along;
        let own = self.on_path_ns.saturating_add(along.own_ns) as f64;
        let share = own / (own + along.others_ns as f64).max(1.0);
        (self.gain.ns as f64 * share) as i64
    }
}

/// A cause that somebody does not want to be told.
#[derive(Debug)]
pub struct Muted {
    pub finding: Finding,
    pub mute: Mute,
}

/// A cause on the path that no rule accuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    /// As an index into the outlook's causes.
    pub cause: usize,
    pub ns: u64,
    /// The machine cannot do it quicker.
    pub at_floor: bool,
}

/// A rule that could not be asked, and what it lacked.
#[derive(Debug, Clone, Copy)]
pub struct NotAsked {
    pub rule: &'static Rule,
    pub lacks: Need,
}

/// All that is to be said of a recording.
#[derive(Debug, Default)]
pub struct Findings {
    /// What saves most first; what accuses nobody last.
    pub told: Vec<Finding>,
    /// Longest first.
    pub cleared: Vec<Cleared>,
    pub not_asked: Vec<NotAsked>,
    /// Known, and not to be told again.
    pub muted: Vec<Muted>,
    /// Rules with suspects that were not examined, because there were too many.
    pub not_examined: Vec<&'static Rule>,
    /// Rules that were switched off.
    pub switched_off: Vec<&'static Rule>,
}

impl Findings {
    /// Whether a lock was told of already: the most special rule speaks of it, the others do not.
    fn tells_of(&self, suspect: &Suspect, inquiry: &Inquiry<'_>) -> bool {
        let object = suspect
            .object
            .and_then(|object| inquiry.facts.object(object));
        let is_lock = object.is_some_and(|object| object.kind == ObjectKind::Futex);
        let mut told = self.told.iter().map(|finding| &finding.suspect);
        is_lock && told.any(|t| t.object == suspect.object && t.process == suspect.process)
    }

    /// Asks all rules.
    pub fn of(inquiry: &Inquiry<'_>, gains: &Gains<'_>) -> Findings {
        let wall_ns = inquiry.outlook.wall_ns;
        let least = least_told_ns(wall_ns);
        let mut findings = Findings::default();
        let mut explained = Explained::default();
        let mut asked = 0;
        let most = LEAST.max(Patience::SHORT.steps / gains.steps().max(1));
        for rule in RULES {
            if inquiry.limits.is_off(rule.name) {
                findings.switched_off.push(rule);
                continue;
            }
            if let Some(&lacks) = rule.needs.iter().find(|need| !inquiry.has(**need)) {
                findings.not_asked.push(NotAsked { rule, lacks });
                continue;
            }
            let mut suspects = (rule.ask)(inquiry);
            let weight = |suspect: &Suspect| Explained::default().left(inquiry, &suspect.weight);
            suspects.sort_by_key(|suspect| Reverse(weight(suspect)));
            for mut suspect in suspects {
                let on_path_ns = weight(&suspect);
                let new_ns = explained.left(inquiry, &suspect.weight);
                let told = (new_ns as f64) < on_path_ns as f64 * TOLD && !suspect.is_why_in_turn;
                let told = told || findings.tells_of(&suspect, inquiry);
                if on_path_ns < least || told {
                    continue;
                }
                if asked >= most {
                    findings.not_examined.push(rule);
                    continue;
                }
                asked += 1;
                if let Some(around) = suspect.around.take() {
                    suspect.fix = suspect.fix.with(&around, inquiry, gains);
                }
                let mut gain = gain(inquiry, &suspect.fix, gains);
                if !rule.accuses() || matches!(suspect.fix, Fix::Processors) {
                    // It says how long something takes, so it saves that at most, and what it says to go along with that: without it
                    // the rest of the path is still there.
                    let most = on_path_ns.saturating_add(suspect.along.ns());
                    gain = gain.within(gains.at_most(most));
                }
                if gain.ns < least as i64 {
                    continue;
                }
                explained.add(
                    inquiry,
                    &suspect.weight,
                    explains_at_most(&gain, on_path_ns),
                );
                suspect.told.extend(by_tag(inquiry, &suspect.weight));
                findings.told.push(Finding {
                    rule,
                    on_path_ns,
                    share: on_path_ns as f64 / wall_ns.max(1) as f64,
                    main: gain.ns as f64 >= wall_ns as f64 * MAIN,
                    signature: signature(inquiry, rule, &suspect),
                    expired: None,
                    suspect,
                    gain,
                });
            }
        }
        in_order(&mut findings.told, inquiry);
        findings.cleared = cleared(inquiry, &explained, &findings.told, gains, least);
        findings
    }

    /// Takes out what is muted. Its cause stays explained: no other rule speaks of it instead.
    pub fn mute(&mut self, mutes: &[Mute], today: Day) {
        for mut finding in std::mem::take(&mut self.told) {
            let about = mutes.iter().filter(|m| m.is_about(&finding.signature));
            let (expired, valid): (Vec<&Mute>, Vec<&Mute>) =
                about.partition(|mute| mute.has_expired(today));
            match valid.first() {
                Some(&mute) => self.muted.push(Muted {
                    finding,
                    mute: mute.clone(),
                }),
                None => {
                    finding.expired = expired.first().map(|&mute| mute.clone());
                    self.told.push(finding);
                }
            }
        }
    }
}

/// What saves most comes first. Where two are about the same time and save about as much, the one that was told first is
/// the more special: it comes as far ahead as the other.
///
/// What is not expected to be a main cause, and may save nothing that is worth telling, does not come before where the time goes: of
/// `cargo build` 0.5 to 12 % by larger pages (6 % expected) stood before 92 % busy. The least main cause that came true with
/// less than a tenth expected, a client's connection for each request, has 8 to 70 % (2026-11-25).
fn in_order(told: &mut Vec<Finding>, inquiry: &Inquiry<'_>) {
    let least = least_told_ns(inquiry.outlook.wall_ns);
    let mut saved: Vec<i64> = told.iter().map(Finding::own_gain_ns).collect();
    for (at, finding) in told.iter().enumerate().rev() {
        let is_general = |general: &Finding| {
            let shared_ns = shared(inquiry, &finding.suspect.weight, &general.suspect.weight);
            let is_about_it = shared_ns as f64 > general.on_path_ns as f64 * SHARED;
            let saves_as_much = finding.gain.ns as f64 * AS_MUCH >= general.gain.ns as f64;
            let is_cause = matches!(general.rule.blames, Blames::Program | Blames::Runtime);
            is_about_it && saves_as_much && is_cause
        };
        let later = (at + 1..told.len()).filter(|&later| is_general(&told[later]));
        let most = later.map(|later| saved[later]).max();
        saved[at] = saved[at].max(most.unwrap_or(0));
    }
    let mut order: Vec<(i64, Finding)> = saved.into_iter().zip(told.drain(..)).collect();
    order.sort_by_key(|(saved, finding)| {
        let is_first = match finding.rule.blames {
            Blames::Program => finding.main || finding.gain.lo_ns >= least as i64,
            Blames::Runtime => finding.share >= MOSTLY,
            Blames::Nobody | Blames::Machine => false,
        };
        (!is_first, Reverse(*saved))
    });
    told.extend(order.into_iter().map(|(_, finding)| finding));
    order_by_most(told);
    put_much_before_little(told);
    put_who_waits_before_who_sleeps(told, inquiry);
}

/// What accuses nobody, but is expected to save this many times as much as a cause, stands before it...
const SEVERAL: i64 = 3;

/// ...where that is no main one and cannot save as much either: of a program of which 89 % was computing a cause of 5 % was told first.
/// One that may save more than it is expected to stays before it: the least expected of those that came true, messages one at a
/// time, was 6 %, with at most 99 %, and saved 96 % (2026-11-22).
fn put_much_before_little(told: &mut [Finding]) {
    for at in 1..told.len() {
        let much = &told[at];
        let accuses_nobody = much.rule.blames == Blames::Nobody;
        if !accuses_nobody || matches!(much.suspect.fix, Fix::Processors) {
            continue;
        }
        let expected = much.own_gain_ns();
        let is_little = |little: &&Finding| {
            let (ns, most) = (little.gain.ns, little.gain.hi_ns);
            let expects_more = expected >= ns.saturating_mul(SEVERAL) && expected > most;
            little.rule.accuses() && !little.main && expects_more
        };
        let before = told[..at].iter().rev().take_while(is_little).count();
        told[at - before..=at].rotate_right(1);
    }
}

/// Who waits in turn for what others do stands before the sleeps of these: a peer that takes its time for each answer is asked side by side, and
/// need not be quicker. An event loop that was blocked by requests to a server beside it was told after that server's sleeps (2026-11-29).
fn put_who_waits_before_who_sleeps(told: &mut [Finding], inquiry: &Inquiry<'_>) {
    for at in 1..told.len() {
        let waits = &told[at];
        if !waits.suspect.is_why_in_turn {
            continue;
        }
        let is_behind = |sleeps: &&Finding| {
            let (own, others) = (&waits.suspect, &sleeps.suspect);
            let shared_ns = shared(inquiry, &others.weight, &own.weight);
            sleeps.is_of_sleeps()
                && others.process != own.process
                && shared_ns as f64 > sleeps.on_path_ns as f64 * SHARED
                && waits.gain.hi_ns >= sleeps.gain.ns
        };
        let before = told[..at].iter().rev().take_while(is_behind).count();
        told[at - before..=at].rotate_right(1);
    }
}

/// What accuses nobody stands in the order of the most that it may save, as that is shown. What needs more CPUs counts half, and what
/// has no place in the code a quarter: a server that fills the CPUs was told to get more of them before it was told what it computes,
/// where somebody can begin.
fn order_by_most(told: &mut Vec<Finding>) {
    let mut slots: Vec<Option<Finding>> = told.drain(..).map(Some).collect();
    let accuses_nobody = |slot: &&mut Option<Finding>| {
        let finding = slot.as_ref();
        finding.is_some_and(|finding| finding.rule.blames == Blames::Nobody)
    };
    let mut places: Vec<_> = slots.iter_mut().filter(accuses_nobody).collect();
    let own = places.iter_mut().filter_map(|slot| slot.take());
    let mut own: Vec<Finding> = own.collect();
    own.sort_by_key(|finding| {
        let most = finding.gain.hi_ns;
        let has_place = !finding.suspect.frames.is_empty();
        Reverse(match finding.suspect.fix {
            Fix::Processors => most / 2,
            _ if has_place => most,
            _ => most / 4,
        })
    });
    for (slot, finding) in places.into_iter().zip(own) {
        *slot = Some(finding);
    }
    told.extend(slots.into_iter().flatten());
}

/// What a suspect was at work for, if its time is that of its causes: `by tag: storage/scrub/crc 63 %, storage/log 20 %`.
fn by_tag(inquiry: &Inquiry<'_>, weight: &Weight) -> Option<Sentence> {
    /// So many are named, each with such a share at least.
    const NAMED: usize = 3;
    const LEAST: f64 = 0.1;
    /// So much of its causes a suspect is.
    const MOST: f64 = 0.8;
    let tags = inquiry.outlook.tags.as_ref()?;
    let all = inquiry.on_path_ns(&weight.causes).max(1) as f64;
    if (weight.at_most_ns as f64) < all * MOST {
        return None;
    }
    let shares = tags.of_causes(weight.causes.iter().copied());
    let shares = shares.into_iter().map(|(tag, ns)| (tag, ns as f64 / all));
    let mut told = Vec::new();
    for (tag, share) in shares.filter(|(_, share)| *share >= LEAST).take(NAMED) {
        told.push(if told.is_empty() { "by tag: " } else { ", " }.into());
        told.extend([
            Piece::Name(tag.to_owned()),
            " ".into(),
            Piece::Percent(share * 100.0),
        ]);
    }
    (!told.is_empty()).then_some(Sentence(told))
}

/// How much of the path two may both be about.
fn shared(inquiry: &Inquiry<'_>, one: &Weight, other: &Weight) -> u64 {
    if !one.stacks.is_empty() && !other.stacks.is_empty() {
        let known: BTreeSet<_> = one.stacks.iter().map(|on| (on.cause, on.stack)).collect();
        let stacks = other.stacks.iter();
        let both = stacks.filter(|on| known.contains(&(on.cause, on.stack)));
        return both.map(|on| on.ns).fold(0, u64::saturating_add);
    }
    let in_both = one.causes.iter().copied();
    let in_both = in_both.filter(|cause| other.causes.contains(cause));
    let whole = inquiry.on_path_ns(&in_both.collect::<Vec<_>>());
    whole.min(one.at_most_ns).min(other.at_most_ns)
}

/// What a fix would buy.
fn gain(inquiry: &Inquiry<'_>, fix: &Fix, gains: &Gains<'_>) -> Gain {
    let processors = match fix {
        Fix::Between(one, other) => {
            let [one, other] = gains.of_each([one, other]);
            return Gain::between(one, other);
        }
        Fix::AtLeast(least, most) => {
            let [least, most] = gains.of_each([least, most]);
            return least.at_least(most);
        }
        Fix::Likely(least, likely, most) => {
            let [least, likely, most] = gains.of_each([least, likely, most]);
            return likely.at_least(most).at_most(least);
        }
        Fix::Change(_) | Fix::Changes(_) => None,
        Fix::AllProcessors(_) => Some(Processors::Any(inquiry.outlook.processors)),
        Fix::Processors => Some(Processors::Any(u32::MAX)),
    };
    gains.of(&fix.changes(), processors)
}

/// How much a finding explains at most: one that saves little of what it is about leaves the rest to others. A program that made a client for
/// each of 60 requests, each in a thread of its own, was told to start the threads at once, and save 0.06 s of 2.6 (2026-11-29).
fn explains_at_most(gain: &Gain, on_path_ns: u64) -> u64 {
    const LITTLE: f64 = 0.1;
    let most = u64::try_from(gain.hi_ns).unwrap_or(0);
    match (most as f64) < on_path_ns as f64 * LITTLE {
        true => most,
        false => u64::MAX,
    }
}

/// How much of each cause on the path is explained by what was told.
#[derive(Default)]
struct Explained {
    causes: BTreeMap<usize, u64>,
    /// Of code: which stacks of which causes.
    stacks: BTreeSet<(usize, StackIx)>,
}

impl Explained {
    fn of_cause(&self, inquiry: &Inquiry<'_>, cause: usize) -> u64 {
        let whole = inquiry.on_path_ns(&[cause]);
        whole - self.causes.get(&cause).copied().unwrap_or(0).min(whole)
    }

    /// How much of a suspect is not explained yet.
    fn left(&self, inquiry: &Inquiry<'_>, weight: &Weight) -> u64 {
        let left = weight
            .causes
            .iter()
            .map(|&cause| self.of_cause(inquiry, cause));
        let left = left.fold(0, u64::saturating_add);
        left.min(self.of_code(weight))
    }

    /// The same by the stacks that it is, if these are known.
    fn of_code(&self, weight: &Weight) -> u64 {
        let told = weight
            .stacks
            .iter()
            .filter(|on| self.stacks.contains(&(on.cause, on.stack)));
        weight
            .at_most_ns
            .saturating_sub(told.map(|on| on.ns).fold(0, u64::saturating_add))
    }

    fn add(&mut self, inquiry: &Inquiry<'_>, weight: &Weight, most: u64) {
        let whole = self.of_code(weight);
        let mut rest = whole.min(most);
        if rest == whole {
            let stacks = weight.stacks.iter();
            self.stacks.extend(stacks.map(|on| (on.cause, on.stack)));
        }
        for &cause in &weight.causes {
            let part = self.of_cause(inquiry, cause).min(rest);
            rest -= part;
            *self.causes.entry(cause).or_default() += part;
        }
    }
}

/// The long causes most of which nobody accuses.
fn cleared(
    inquiry: &Inquiry<'_>,
    explained: &Explained,
    told: &[Finding],
    gains: &Gains<'_>,
    least: u64,
) -> Vec<Cleared> {
    let whole = |cause: usize| inquiry.on_path_ns(&[cause]);
    let is_long = |cause: usize, ns: u64| ns >= least && ns as f64 > whole(cause) as f64 * TOLD;
    let causes = inquiry.outlook.causes.iter().enumerate();
    let left = causes.map(|(cause, on_path)| Cleared {
        cause,
        ns: explained.of_cause(inquiry, cause),
        at_floor: floor::is_reached(inquiry, &on_path.cause.key),
    });
    let mut left: Vec<Cleared> = left.filter(|one| is_long(one.cause, one.ns)).collect();
    if left.is_empty() || told.is_empty() {
        return left;
    }
    // What goes with a cause that is told is explained by it: the work for each item beside the wait that was counted.
    let key = |one: &Cleared| inquiry.outlook.causes[one.cause].cause.key;
    let keys: Vec<Key> = left.iter().map(key).collect();
    let kept = kept_by_fixes(inquiry, &keys, told, gains);
    for (one, share) in left.iter_mut().zip(kept) {
        one.ns = one.ns.min((whole(one.cause) as f64 * share) as u64);
    }
    left.retain(|one| is_long(one.cause, one.ns));
    left
}

/// The share of each of these causes that the fixes of what is told leave at most, in the threads that the path was in.
fn kept_by_fixes(
    inquiry: &Inquiry<'_>,
    causes: &[Key],
    told: &[Finding],
    gains: &Gains<'_>,
) -> Vec<f64> {
    #[derive(Clone, Copy, Default)]
    struct Sum {
        kept: f64,
        all: f64,
    }
    let accused = told.iter().filter(|finding| finding.rule.accuses());
    // That all goes that is done from the first item to the last is a guess: it explains no code.
    let is_known = |change: &Change| !matches!(change.what, What::Between(_) | What::Stretches(_));
    let changes = accused.flat_map(|told| told.suspect.fix.most());
    let changes: Vec<Change> = changes.filter(is_known).collect();
    let (factors, _) = gains.factors(&changes);
    let mut sums: Vec<Option<Sum>> = vec![None; causes.len()];
    let threads = inquiry.timeline.threads.iter().enumerate();
    let on_path = threads.filter(|(_, row)| inquiry.outlook.in_threads.contains_key(&row.thread));
    for (slot, thread) in on_path {
        let process = inquiry.programs.first(thread.process);
        for (index, span) in inquiry.timeline.indexed(slot) {
            // Most spans are of no such cause: they are to cost little.
            if !causes.iter().any(|cause| cause.state == span.state) {
                continue;
            }
            let segment = Segment {
                slot,
                t0: span.t0,
                t1: span.t1,
                state: span.state,
                detail: span.detail,
                object: span.object(),
                unknown: None,
            };
            let key = Key::of(&segment, process);
            let Some(at) = causes.iter().position(|cause| *cause == key) else {
                continue;
            };
            let factor = factors.get(index).map_or(1.0, |&factor| f64::from(factor));
            let ns = segment.ns() as f64;
            let sum = sums[at].get_or_insert_default();
            sum.kept += ns * factor.min(1.0);
            sum.all += ns;
        }
    }
    let share = |sum: Option<Sum>| sum.map_or(1.0, |Sum { kept, all }| kept / all.max(1.0));
    sums.into_iter().map(share).collect()
}
