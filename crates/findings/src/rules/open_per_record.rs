//! One file that is opened and closed again for each small piece that is written to it or read from it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::uses::{Act, Use};
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::Region;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::tables::Object;
use timesink_recording::words::ObjectKind;

use crate::file_functions::act;
use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::placed::Placed;
use crate::rule::{Blames, Fix, Held, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "open-per-record",
    looks_for: "one file, opened and closed again for each small piece",
    why: "Each open walks the path, checks permissions and allocates a descriptor, however little is then written.",
    advice: "open the file once and keep it open; reopen it only when it was replaced",
    wrong_if: "others rename or remove the file at any moment, and must find it closed",
    limits: &[&limits::OPENS, &limits::PIECES, &limits::BYTES],
    blames: Blames::Program,
    needs: &[Need::Calls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static OPENS: Limit = Limit {
        name: "opens",
        value: 100.0,
        unit: Unit::Count,
        means: "minimum number of opens by one process",
    };
    pub static PIECES: Limit = Limit {
        name: "pieces",
        value: 4.0,
        unit: Unit::Count,
        means: "maximum number of reads and writes per open, on average",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 4096.0,
        unit: Unit::Bytes,
        means: "maximum bytes per open, on average",
    };
}

/// Reads and writes for an open, at least. Less than one: who opens a file anew before it writes may open it twice.
const USED: f64 = 0.1;
const OPENING: [Act; 2] = [Act::Open, Act::Close];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let uses = inquiry.facts.uses.all.iter();
    let often =
        uses.filter(|one| one.done(Act::Open).count as f64 >= RULE.limit(inquiry, &limits::OPENS));
    let mut often: Vec<&Use> = often.collect();
    often.sort_by_key(|one| Reverse(one.ns(&OPENING)));
    let mut suspects: Vec<Suspect> = Vec::new();
    let mut told: BTreeSet<(ProcessId, ObjectId)> = BTreeSet::new();
    for one in often {
        if told.contains(&(one.process, one.object)) {
            continue;
        }
        let opened = Opened::of(inquiry, one);
        if let Some(suspect) = suspect(inquiry, &opened) {
            told.extend(opened.all().map(|one| (one.process, one.object)));
            suspects.push(suspect);
        }
    }
    suspects
}

/// A file that is opened again and again by one process, and those that it opens as often along with it: the lock of a log, say.
struct Opened<'a> {
    one: &'a Use,
    with: Vec<&'a Use>,
}

/// Files that are opened so often for one of this go with it.
const AS_OFTEN: std::ops::RangeInclusive<f64> = 0.2..=5.0;

/// A call that is made so often for one open, or more often, may be part of it.
const ALIKE: f64 = 0.8;

impl<'a> Opened<'a> {
    fn of(inquiry: &'a Inquiry<'_>, one: &'a Use) -> Opened<'a> {
        let count = one.done(Act::Open).count as f64;
        let is_with = |other: &&Use| {
            let file = inquiry.facts.object(other.object);
            let opens = other.done(Act::Open).count;
            other.process == one.process
                && other.object != one.object
                && file.is_some_and(|file| file.kind == ObjectKind::File && !is_loaded(file, other))
                && AS_OFTEN.contains(&(opens as f64 / count))
                && other.done(Act::Close).count * 2 >= opens
        };
        Opened {
            one,
            with: inquiry.facts.uses.all.iter().filter(is_with).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &'a Use> + '_ {
        std::iter::once(self.one).chain(self.with.iter().copied())
    }

    /// What all the opening and closing takes.
    fn ns(&self) -> u64 {
        let each = self.all().map(|one| one.ns(&OPENING));
        each.fold(0, u64::saturating_add)
    }

    /// Of the time of all such calls of the process, the part that is on these files.
    fn share_of_time(&self, inquiry: &Inquiry<'_>, acts: &[Act]) -> f64 {
        let uses = &inquiry.facts.uses;
        let each = self.all().map(|one| uses.share_of_time(one, acts));
        each.sum::<f64>().min(1.0)
    }

    /// Without all opens and closes but one of each, and how much of the path that is: at least the calls go, most probably
    /// the functions that do nothing else, and at most all that is done from the open to the close.
    fn fix(&self, inquiry: &Inquiry<'_>, region: Option<&Region>) -> (Fix, u64) {
        let processes = BTreeSet::from([self.one.process]);
        let once = 1.0 / self.one.done(Act::Open).count.max(1) as f64;
        let kept = 1.0 - self.share_of_time(inquiry, &OPENING) * (1.0 - once);
        let names = OPENING.iter().flat_map(|act| act.calls()).copied();
        let least = Fix::scaled(What::Calls(names.collect()), processes.clone(), kept);
        let all: BTreeSet<ObjectId> = self.all().map(|one| one.object).collect();
        let placed = |one: &Use, acts: &[Act]| {
            let objects = BTreeSet::from([one.object]);
            let placed = Placed::around_acts(inquiry, &processes, &objects, acts)?;
            Some(placed.meant_for(inquiry, &processes, &all, acts))
        };
        let apart = self
            .all()
            .flat_map(|one| OPENING.map(|act| placed(one, &[act])))
            .flatten();
        let likely = apart.map(|placed| placed.wholly_scaled(&processes, once));
        let (around, around_ns) = self.around(inquiry);
        let (Some(likely), Some(most)) = (united(likely.collect()), placed(self.one, &OPENING))
        else {
            let least = least.changes();
            let likely: Vec<Change> = least.iter().cloned().chain(around).collect();
            let within = region.map(|region| self.within(inquiry, region));
            // Where it does little else.
            let calls_ns = self.ns() + around_ns;
            let within = within.filter(|(_, ns)| (calls_ns..=2 * calls_ns).contains(ns));
            let ns = within.as_ref().map_or(calls_ns, |(_, ns)| *ns);
            let most = within.map_or(likely.clone(), |(change, _)| vec![change]);
            return (Fix::Likely(least, likely, most), ns);
        };
        let most = most.wholly_scaled(&processes, once);
        let most = std::iter::once(most).chain(around).collect();
        let ns = match &likely.what {
            What::Functions(functions) => InCode::through(inquiry, functions.clone())
                .in_program(inquiry, self.one.process)
                .ns(),
            _ => 0,
        };
        let fix = Fix::Likely(least.changes(), vec![likely], most);
        (fix, ns.max(self.ns() + around_ns))
    }

    /// All that is done in the function in which it is opened and closed, and how long that is.
    fn within(&self, inquiry: &Inquiry<'_>, region: &Region) -> (Change, u64) {
        let function = BTreeSet::from([region.function]);
        let process = self.one.process;
        let ns = InCode::through(inquiry, function.clone())
            .in_program(inquiry, process)
            .ns();
        let change = Change {
            what: What::Functions(function),
            processes: Some(BTreeSet::from([process])),
            how: How::Scale(0.0),
        };
        (change, ns)
    }

    /// The calls that a library makes as it opens a file, and the writes, which are gathered in one that stays open.
    fn around(&self, inquiry: &Inquiry<'_>) -> (Vec<Change>, u64) {
        const AS_IT_OPENS: [&str; 7] = [
            "lseek",
            "ioctl",
            "fstat",
            "newfstatat",
            "statx",
            "fcntl",
            "fadvise64",
        ];
        let process = self.one.process;
        let opens: u64 = self.all().map(|one| one.done(Act::Open).count).sum();
        let own = inquiry.facts.calls.iter();
        let own = own.filter(|call| call.process == Some(process));
        let mut counts: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
        for call in own {
            if let Some(name) = AS_IT_OPENS.iter().find(|name| **name == call.call.as_str()) {
                let (count, ns) = counts.entry(name).or_default();
                *count += call.count;
                *ns += call.ns;
            }
        }
        counts.retain(|_, (count, _)| *count as f64 >= opens as f64 * ALIKE);
        let ns: u64 = counts.values().map(|(_, ns)| ns).sum();
        let without = |calls: BTreeSet<&'static str>, share: f64| Change {
            what: What::Calls(calls),
            processes: Some(BTreeSet::from([process])),
            how: How::Scale(1.0 - share),
        };
        let writes = Act::Write.calls().iter().copied().collect();
        let writes_ns: u64 = self.all().map(|one| one.ns(&[Act::Write])).sum();
        let changes = vec![
            without(
                counts.into_keys().collect(),
                self.share_of_time(inquiry, &OPENING),
            ),
            without(writes, self.share_of_time(inquiry, &[Act::Write])),
        ];
        (changes, ns + writes_ns)
    }

    /// The function in which it is opened and closed.
    fn region(&self, inquiry: &Inquiry<'_>) -> Option<Region> {
        let processes = BTreeSet::from([self.one.process]);
        let objects = BTreeSet::from([self.one.object]);
        let by_sites = Placed::around_acts(inquiry, &processes, &objects, &OPENING);
        let by_samples = || {
            let threads = inquiry.threads_of(&processes);
            inquiry.stacks.region(&threads, |function| {
                let act = act(function).filter(|act| OPENING.contains(act))?;
                Some(act as usize)
            })
        };
        by_sites.map(|placed| placed.region).or_else(by_samples)
    }

    /// `bytes`: read and written for each open.
    fn title(&self, bytes: u64) -> Sentence {
        let opens = self.all().map(|one| one.done(Act::Open).count);
        let mut title = say![self.one.object];
        match self.with.as_slice() {
            [] => title.0.push(" is".into()),
            [other] => title
                .0
                .extend([" and ".into(), other.object.into(), " are".into()]),
            more => {
                let more = Piece::Count(more.len() as u64);
                title
                    .0
                    .extend([" and ".into(), more, " more files are".into()]);
            }
        }
        let about = self.all().any(|one| one.estimated);
        title.0.extend([
            " opened and closed ".into(),
            if about { "about " } else { "" }.into(),
            Piece::Count(opens.fold(0, u64::saturating_add)),
            " times, once per ".into(),
            Piece::Bytes(bytes),
        ]);
        title
    }
}

/// The same changes, each function once: what is in two of them is not taken away twice.
fn united(changes: Vec<Change>) -> Option<Change> {
    let mut functions = BTreeSet::new();
    for change in &changes {
        if let What::Functions(of_it) = &change.what {
            functions.extend(of_it.iter().copied());
        }
    }
    // Of functions that do other things as well less is taken away.
    let least = changes.into_iter().reduce(|a, b| match (a.how, b.how) {
        (How::Scale(one), How::Scale(other)) if one < other => b,
        _ => a,
    });
    Some(Change {
        what: What::Functions(functions),
        ..least?
    })
}

/// Whether it is read from one end to the other each time.
fn is_loaded(file: &Object, one: &Use) -> bool {
    let count = one.done(Act::Open).count.max(1);
    one.done(Act::Read).bytes / count >= file.size.unwrap_or(0).max(1)
}

fn suspect(inquiry: &Inquiry<'_>, opened: &Opened<'_>) -> Option<Suspect> {
    let one = opened.one;
    let file = inquiry.facts.object(one.object)?;
    let (opens, writes, reads) = (
        one.done(Act::Open),
        one.done(Act::Write),
        one.done(Act::Read),
    );
    let count = opens.count.max(1);
    let bytes = writes.bytes.saturating_add(reads.bytes) / count;
    let pieces = writes.count.saturating_add(reads.count) as f64 / count as f64;
    // Opens that failed, and such as only look whether it is there, have nothing written or read.
    if file.kind != ObjectKind::File
        || is_loaded(file, one)
        || pieces < USED
        || pieces > RULE.limit(inquiry, &limits::PIECES)
        || bytes as f64 > RULE.limit(inquiry, &limits::BYTES)
        || one.done(Act::Close).count * 2 < count
    {
        return None;
    }
    let region = opened.region(inquiry);
    let (fix, ns) = opened.fix(inquiry, region.as_ref());
    let weight = Weight::within(inquiry.busy(one.process), ns);
    let suspect = Suspect::new(opened.title(bytes), fix, weight)
        .of(one.process)
        .about(Some(one.object))
        .seen_around(inquiry, region.as_ref())
        .held_all(
            inquiry,
            &RULE,
            [
                Held::new("opens", count as f64, &limits::OPENS),
                Held::new("writes and reads for each", pieces, &limits::PIECES),
                Held::new("bytes for each", bytes as f64, &limits::BYTES),
            ],
        )
        .told(say![
            if one.estimated { "about " } else { "" },
            Piece::Count(count),
            " opens, ",
            Piece::Bytes(bytes),
            " read or written per open"
        ])
        .told(say![
            "open and close take ",
            Piece::Time(one.ns(&OPENING) / count),
            ", read and write ",
            Piece::Time((writes.ns + reads.ns) / count)
        ]);
    Some(match opened.with.as_slice() {
        [other] => suspect.told(say![
            other.object,
            " is opened and closed along with it, ",
            Piece::Count(other.done(Act::Open).count),
            " times"
        ]),
        _ => suspect,
    })
}
