//! One set of operations looked at closely: the path of the slowest and of the one in the middle, and what the slow
//! ones have that the others do not.

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_recording::ids::{ObjectId, ThreadId};
use timesink_recording::tables::Object;
use timesink_recording::words::{ObjectKind, State};

use super::{Operation, Recorded, Set};
use crate::facts::sockets::well_known;
use crate::path::{causes_of, Cause, InCode, Key, Path, Segment, Walker};
use crate::stacks::{FunctionIx, Stacks};

/// A set looked at closely.
#[derive(Clone, Debug)]
pub struct Detail {
    pub slowest: One,
    pub median: One,
    pub unlike: Result<Unlike, NoDifference>,
}

/// The paths of all operations of a set together; of more than a few thousand, of evenly chosen ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composition {
    /// How many operations these are.
    pub walked: usize,
    /// Their time.
    pub ns: u64,
    /// Longest first; they add up to that.
    pub causes: Vec<Cause>,
}

/// The path of one operation.
#[derive(Clone, Debug)]
pub struct One {
    pub operation: Operation,
    pub thread: ThreadId,
    /// Longest first; they add up to its time.
    pub causes: Vec<(Cause, Vec<FunctionIx>)>,
}

/// Why slow operations are not held against the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDifference {
    /// There are too few to tell chance from cause.
    Few,
    /// None is much slower than the others.
    Alike,
}

/// Slow operations, held against the others.
#[derive(Clone, Debug)]
pub struct Unlike {
    pub slow: usize,
    pub others: usize,
    /// The shortest of the slow.
    pub slow_from_ns: u64,
    /// Mean times of one.
    pub slow_ns: u64,
    pub others_ns: u64,
    /// So many of the slow and of the others were walked, if not all.
    pub walked: (usize, usize),
    /// What slow ones have more of, most first.
    pub causes: Vec<Differs<Key>>,
    /// The same by the program's own functions, with what of the system they called, by samples and waits.
    pub functions: Vec<Differs<FunctionIx>>,
}

/// What one slow operation has, and one of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs<T> {
    pub what: T,
    /// The functions of the heaviest stack in slow ones, innermost first.
    pub frames: Vec<FunctionIx>,
    /// Mean times of one.
    pub slow_ns: u64,
    pub others_ns: u64,
    /// The share of operations that have it at all.
    pub slow_share: f64,
    pub others_share: f64,
}

/// Fewer operations than these say nothing of what makes one slow.
const FEW: usize = 30;
/// Of slow ones there must be so many.
const FEW_SLOW: usize = 3;
/// So many are walked on either side; of more, evenly chosen ones.
const WALKED: usize = 4000;
/// What makes less of the difference is left out.
const SMALL: f64 = 0.02;
/// Time on a processor, with about 500 samples a second, of which less says nothing of where it was.
const SAMPLED_NS: u64 = 20_000_000;
/// Functions in fewer of the slow operations are chance.
const SEEN: usize = 5;
/// So many causes and functions are told.
const ROWS: usize = 12;

impl Recorded<'_> {
    /// Looks closely at a set.
    pub fn detail(&self, set: &Set, stacks: &Stacks) -> Detail {
        let mut closely = Closely::of(self, stacks);
        Detail {
            slowest: closely.one(set.at(1.0)),
            median: closely.one(set.at(0.5)),
            unlike: closely.unlike(set),
        }
    }

    /// What the operations of a set consist of.
    pub fn composition(&self, set: &Set, stacks: &Stacks) -> Composition {
        let mut closely = Closely::of(self, stacks);
        let mut segments: Vec<Segment> = Vec::new();
        let walked = some(&set.operations);
        for one in &walked {
            segments.extend(closely.path(*one).segments);
        }
        Composition {
            walked: walked.len(),
            ns: segments.iter().map(Segment::ns).sum(),
            causes: causes_of(&segments, |segment| closely.key(segment, Told::InAll)),
        }
    }
}

/// Where the slow ones begin among operations in the order of their lengths.
fn slow_from(operations: &[Operation]) -> Result<usize, NoDifference> {
    let count = operations.len();
    if count < FEW {
        return Err(NoDifference::Few);
    }
    let median = operations[(count - 1) / 2].ns();
    let twice = operations.partition_point(|one| one.ns() <= median.saturating_mul(2));
    // What is slow for another reason than being at one end of the same crowd is far from the middle.
    if (FEW_SLOW..=count / 4).contains(&(count - twice)) {
        return Ok(twice);
    }
    let tenth = count - (count / 10).max(FEW_SLOW);
    match operations[tenth].ns() as f64 >= median as f64 * 1.5 {
        true => Ok(tenth),
        false => Err(NoDifference::Alike),
    }
}

/// At most so many, evenly chosen.
fn some(operations: &[Operation]) -> Vec<Operation> {
    let every = operations.len().div_ceil(WALKED).max(1);
    operations.iter().copied().step_by(every).collect()
}

/// The time of something, and how many operations have it.
type Sums<T> = FxHashMap<T, (u64, usize)>;

/// What operations on one side have.
#[derive(Default)]
struct Side {
    walked: usize,
    causes: Sums<Key>,
    functions: Sums<FunctionIx>,
    code: InCode,
}

impl Side {
    /// A sample stands for the time since the one before, which may be longer than the operation that it hit: no more
    /// is told by functions than there is.
    fn fit(&mut self) {
        let whole = self
            .causes
            .values()
            .map(|(ns, _)| u128::from(*ns))
            .sum::<u128>();
        let told = self
            .functions
            .values()
            .map(|(ns, _)| u128::from(*ns))
            .sum::<u128>();
        if told > whole {
            for (ns, _) in self.functions.values_mut() {
                let fitting = u128::from(*ns) * whole / told;
                *ns = u64::try_from(fitting).unwrap_or(u64::MAX);
            }
        }
    }

    fn mean(&self, ns: u64) -> u64 {
        ns / self.walked.max(1) as u64
    }

    fn share(&self, have: usize) -> f64 {
        have as f64 / self.walked.max(1) as f64
    }
}

struct Closely<'a> {
    recorded: &'a Recorded<'a>,
    stacks: &'a Stacks,
    things: Things,
    walker: Walker<'a>,
}

impl<'a> Closely<'a> {
    fn of(recorded: &'a Recorded<'a>, stacks: &'a Stacks) -> Closely<'a> {
        Closely {
            recorded,
            stacks,
            things: Things::of(&recorded.facts.objects),
            walker: Walker::new(recorded.timeline),
        }
    }
}

impl Closely<'_> {
    fn path(&mut self, one: Operation) -> Path {
        self.walker.between(one.slot, one.from, one.until)
    }

    fn one(&mut self, operation: Operation) -> One {
        let path = self.path(operation);
        let key = |segment: &Segment| self.key(segment, Told::Once);
        let mut code = InCode::default();
        code.add(&path, self.recorded.timeline, self.stacks, key);
        let with_frames = |cause: Cause| (cause, self.frames(&code, &cause.key, cause.ns));
        One {
            thread: self.recorded.timeline.threads[operation.slot].thread,
            causes: path.causes_by(key).into_iter().map(with_frames).collect(),
            operation,
        }
    }

    /// Where in the code a cause was. Of a few samples of the processor that is chance.
    fn frames(&self, code: &InCode, key: &Key, ns: u64) -> Vec<FunctionIx> {
        match key.state {
            State::Cpu if ns < SAMPLED_NS => Vec::new(),
            _ => code.frames(key, self.stacks),
        }
    }

    /// The cause of a segment, with the thing that was waited for as far as it says something.
    fn key(&self, segment: &Segment, told: Told) -> Key {
        let process = self.recorded.timeline.threads[segment.slot].process;
        let key = Key::of(segment, self.recorded.programs.first(process));
        Key {
            object: key
                .object
                .and_then(|object| self.things.told_as(object, told)),
            ..key
        }
    }

    fn unlike(&mut self, set: &Set) -> Result<Unlike, NoDifference> {
        let at = slow_from(&set.operations)?;
        let (others, slow) = set.operations.split_at(at);
        let mean = |operations: &[Operation]| {
            let sum = operations
                .iter()
                .fold(0u128, |sum, one| sum + u128::from(one.ns()));
            u64::try_from(sum / operations.len().max(1) as u128).unwrap_or(u64::MAX)
        };
        let (slow_ns, others_ns) = (mean(slow), mean(others));
        let (slow_side, others_side) = (self.side(slow), self.side(others));
        let least = (slow_ns.saturating_sub(others_ns) as f64 * SMALL).max(1.0);
        let mut causes = differing(
            slow_side.shown(&slow_side.causes),
            others_side.shown(&others_side.causes),
            least,
        );
        for cause in &mut causes {
            let all_ns = cause.slow_ns.saturating_mul(slow_side.walked as u64);
            cause.frames = self.frames(&slow_side.code, &cause.what, all_ns);
        }
        let mut often = slow_side.functions.clone();
        often.retain(|_, (_, have)| *have >= SEEN);
        let functions = differing(
            slow_side.shown(&often),
            others_side.shown(&others_side.functions),
            least,
        );
        Ok(Unlike {
            slow: slow.len(),
            others: others.len(),
            slow_from_ns: slow.first().map_or(0, Operation::ns),
            slow_ns,
            others_ns,
            walked: (slow_side.walked, others_side.walked),
            causes,
            functions,
        })
    }

    fn side(&mut self, operations: &[Operation]) -> Side {
        let mut side = Side::default();
        for one in some(operations) {
            let path = self.path(one);
            let mut here: FxHashMap<Key, u64> = FxHashMap::default();
            for segment in &path.segments {
                *here.entry(self.key(segment, Told::InAll)).or_default() += segment.ns();
            }
            for (key, ns) in here {
                let (sum, have) = side.causes.entry(key).or_default();
                *sum = sum.saturating_add(ns);
                *have += 1;
            }
            let mut code = InCode::default();
            code.add(&path, self.recorded.timeline, self.stacks, |segment| {
                self.key(segment, Told::InAll)
            });
            for (function, ns) in code.functions(self.stacks) {
                let (sum, have) = side.functions.entry(function).or_default();
                *sum = sum.saturating_add(ns);
                *have += 1;
            }
            side.code.merge(code);
            side.walked += 1;
        }
        side.fit();
        side
    }
}

/// A side, and the sums of it that are compared.
struct Shown<'a, T> {
    side: &'a Side,
    sums: &'a Sums<T>,
}

impl Side {
    fn shown<'a, T>(&'a self, sums: &'a Sums<T>) -> Shown<'a, T> {
        Shown { side: self, sums }
    }
}

/// What the first side has more of by so much at least, most first.
fn differing<T: Copy + Eq + Ord + std::hash::Hash>(
    slow: Shown<'_, T>,
    others: Shown<'_, T>,
    least: f64,
) -> Vec<Differs<T>> {
    let differs = slow.sums.iter().map(|(what, (ns, have))| {
        let (their_ns, they_have) = others.sums.get(what).copied().unwrap_or_default();
        Differs {
            what: *what,
            frames: Vec::new(),
            slow_ns: slow.side.mean(*ns),
            others_ns: others.side.mean(their_ns),
            slow_share: slow.side.share(*have),
            others_share: others.side.share(they_have),
        }
    });
    let more = |one: &Differs<T>| one.slow_ns.saturating_sub(one.others_ns);
    let mut differs: Vec<Differs<T>> = differs.filter(|one| more(one) as f64 >= least).collect();
    differs.sort_by_key(|one| (std::cmp::Reverse(more(one)), one.what));
    differs.truncate(ROWS);
    differs
}

/// How many operations are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Once,
    InAll,
}

/// As what a thing is told.
struct Things {
    /// Where many operations are looked at: not the connection, but whom to.
    told_as: FxHashMap<ObjectId, ObjectId>,
    /// What nobody knows by its name.
    nameless: FxHashSet<ObjectId>,
}

impl Things {
    fn of(objects: &[Object]) -> Things {
        let mut first: FxHashMap<&str, ObjectId> = FxHashMap::default();
        let mut told_as = FxHashMap::default();
        let nameless = objects.iter().filter(|o| o.kind == ObjectKind::Epoll);
        let nameless = nameless.map(|object| object.object).collect();
        for object in objects {
            let known = match object.kind {
                ObjectKind::File
                | ObjectKind::Directory
                | ObjectKind::Device
                | ObjectKind::BlockDevice
                | ObjectKind::Terminal
                | ObjectKind::Futex => Some(object.object),
                // Of connections the end that stays the same.
                ObjectKind::TcpSocket | ObjectKind::UdpSocket | ObjectKind::UnixSocket => {
                    let remote = object.remote.as_deref();
                    let lasting = remote.filter(|remote| well_known(remote));
                    let lasting = lasting.or(object.local.as_deref());
                    lasting.map(|end| *first.entry(end).or_insert(object.object))
                }
                // Children, pipes and their like are made for one operation.
                _ => None,
            };
            told_as.extend(known.map(|known| (object.object, known)));
        }
        Things { told_as, nameless }
    }

    fn told_as(&self, object: ObjectId, told: Told) -> Option<ObjectId> {
        match told {
            Told::Once => Some(object).filter(|object| !self.nameless.contains(object)),
            Told::InAll => self.told_as.get(&object).copied(),
        }
    }
}
