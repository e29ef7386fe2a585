//! A file that is read here and there in small pieces, each of which waits for the disk by itself.
//!
//! Who reads from front to back never does that: the kernel reads ahead. That the places are far from each other is not
//! guessed, it is in the requests to the disk. What is lost is that the disk is asked for one piece at a time, and could
//! have done many at once.

use std::collections::BTreeSet;

use timesink_analysis::facts::uses::Act;
use timesink_analysis::replay::{entered, Change, How, What};
use timesink_analysis::waits::disk_reads::{DiskRead, DiskReads};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::{Detail, ObjectKind};

use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Held, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "random-small-reads",
    looks_for: "small reads at random offsets of a file, each of which waits for the disk",
    why: "Where the next block is far from the last one, the kernel cannot read ahead, and the disk never has more than one request at a time: each read takes the full latency.",
    advice: "announce the reads in advance (posix_fadvise POSIX_FADV_WILLNEED per offset, io_uring, or several threads) so that the disk has many requests at once; read larger records, or keep an index or the most-read part in memory. Sorting the reads by offset helps a rotating disk, and any disk where the offsets are close together",
    wrong_if: "the next offset is only known from the previous read, and the program has nothing else to read meanwhile",
    limits: &[&limits::READS, &limits::SCATTERED, &limits::BYTES, &limits::IN_FLIGHT, &limits::SHARE],
    blames: Blames::Program,
    needs: &[],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static READS: Limit = Limit {
        name: "reads",
        value: 200.0,
        unit: Unit::Count,
        means: "minimum number of reads far from each other, each waited for",
    };
    pub static SCATTERED: Limit = Limit {
        name: "scattered",
        value: 0.5,
        unit: Unit::Share,
        means: "minimum share of all waits for the file",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 65536.0,
        unit: Unit::Bytes,
        means: "maximum bytes per wait",
    };
    pub static IN_FLIGHT: Limit = Limit {
        name: "in flight",
        value: 2.0,
        unit: Unit::Count,
        means: "maximum number of requests that the disk has at a time, on average",
    };
    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.05,
        unit: Unit::Share,
        means: "minimum share of the critical path in these waits",
    };
}

/// What the kernel reads ahead where nobody set it otherwise, in sectors: what is nearer is no other place.
const NEAR_SECTORS: u64 = 128 * 1024 / 512;
/// What is left of the waits at most: a disk with an arm answers twice as many questions if it may choose their order.
/// At least nothing is: of 5,000 reads of 4 KiB in a file of 256 MB or 1 GB, asked for beforehand, 18 to 26 % of the time
/// was left, of 3,000 of 16 KiB 26 to 34 %, of 2,000 of 64 KiB 35 to 48 % (measured on 2026-11-22), which is less than
/// what the reads had taken on a processor and more than half of it: who does not sleep has not to be woken.
const LEFT: f64 = 0.5;
const LEFT_OF_CALLS: f64 = 0.5;

/// Reads that are far from the one before.
#[derive(Default)]
struct Scattered {
    /// Of all that are known.
    all: u64,
    count: u64,
    bytes: u64,
    in_flight: u64,
    spans: BTreeSet<usize>,
}

impl Scattered {
    fn of(reads: &DiskReads, most_bytes: f64) -> Scattered {
        let mut found = Scattered::default();
        for thread in &reads.threads {
            found.all += thread.len() as u64;
            for pair in thread.windows(2) {
                if let [before, read] = pair {
                    if is_far(before, read) && read.bytes as f64 <= most_bytes {
                        found.add(read);
                    }
                }
            }
        }
        found
    }

    fn add(&mut self, read: &DiskRead) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(read.bytes);
        self.in_flight = self.in_flight.saturating_add(read.in_flight);
        self.spans.insert(read.span);
    }

    fn each(&self, sum: u64) -> f64 {
        sum as f64 / self.count.max(1) as f64
    }
}

fn is_far(before: &DiskRead, read: &DiskRead) -> bool {
    read.first_sector.abs_diff(before.end_sector) > NEAR_SECTORS
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let files = inquiry.waited.disk_reads.iter();
    files.filter_map(|reads| suspect(inquiry, reads)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, reads: &DiskReads) -> Option<Suspect> {
    let (process, file) = (reads.process, reads.object);
    let scattered = Scattered::of(reads, RULE.limit(inquiry, &limits::BYTES));
    let share_of_waits = scattered.count as f64 / scattered.all.max(1) as f64;
    let in_flight = scattered.each(scattered.in_flight);
    if inquiry.facts.object(file)?.kind != ObjectKind::File
        || (scattered.count as f64) < RULE.limit(inquiry, &limits::READS)
        || share_of_waits < RULE.limit(inquiry, &limits::SCATTERED)
        || in_flight > RULE.limit(inquiry, &limits::IN_FLIGHT)
    {
        return None;
    }
    let causes = inquiry.waits_on_path(|key| {
        key.detail == Some(Detail::DiskRead)
            && key.object == Some(file)
            && inquiry.same_program(key.process, process)
    });
    let share = inquiry.on_path_ns(&causes) as f64 / inquiry.outlook.wall_ns.max(1) as f64;
    if share < RULE.limit(inquiry, &limits::SHARE) {
        return None;
    }
    let waits = scattered
        .spans
        .iter()
        .filter_map(|&at| inquiry.timeline.span(at));
    let ns = waits.fold(0u64, |sum, span| sum.saturating_add(span.t1.since(span.t0)));
    let each = scattered.each(scattered.bytes) as u64;
    let title = say![
        file,
        " is read at random offsets ",
        Piece::Count(scattered.count),
        " times, ",
        Piece::Bytes(each),
        " at a time, each waiting for the disk"
    ];
    let suspect = Suspect::new(
        title,
        fix(inquiry, process, file, &scattered),
        Weight::within(causes, ns),
    )
    .of(process)
    .about(Some(file));
    let suspect = seen(inquiry, suspect)
        .held_all(
            inquiry,
            &RULE,
            [
                Held::new("reads", scattered.count as f64, &limits::READS),
                Held::new("share of its waits", share_of_waits, &limits::SCATTERED),
                Held::new("bytes each", each as f64, &limits::BYTES),
                Held::new("reads at a time", in_flight, &limits::IN_FLIGHT),
                Held::new("share of the path", share, &limits::SHARE),
            ],
        )
        .told(say![
            Piece::Count(scattered.count),
            " of ",
            Piece::Count(scattered.all),
            " waits for it returned ",
            Piece::Bytes(each),
            " far from the previous read, in ",
            Piece::Time(ns / scattered.count),
            " each"
        ])
        .told(say![
            "the disk had ",
            Piece::Name(format!("{in_flight:.1}")),
            " requests of this recording at a time (average)"
        ]);
    Some(suspect)
}

/// In the code of the longest waits; where they are too short to be recorded one by one, in the function that reads.
fn seen(inquiry: &Inquiry<'_>, suspect: Suspect) -> Suspect {
    let mut groups = inquiry.waits().iter();
    let group = groups.find(|group| {
        group.detail == Detail::DiskRead
            && Some(group.process) == suspect.process
            && group.object == suspect.object
    });
    if group.is_some_and(|group| group.stack.is_some()) {
        return suspect.seen_in(inquiry, group);
    }
    let threads = inquiry.threads_of(&suspect.process.into_iter().collect());
    let region = inquiry.stacks.region(&threads, |function| {
        let call = entered(function)?;
        Act::Read.calls().contains(&call).then_some(0)
    });
    suspect.seen_around(inquiry, region.as_ref())
}

/// The waits take half as long, or there are none, and no sleeping and waking up either.
fn fix(inquiry: &Inquiry<'_>, process: ProcessId, file: ObjectId, scattered: &Scattered) -> Fix {
    let change = |what, left| Change {
        what,
        processes: Some(BTreeSet::from([process])),
        how: How::Scale(left),
    };
    let waits = |left| change(What::Spans(scattered.spans.clone()), left);
    let uses = &inquiry.facts.uses;
    let mut its = uses.all.iter();
    let its = its.find(|one| one.process == process && one.object == file);
    let share = its.map_or(0.0, |one| uses.share_of_calls(one, Act::Read));
    let calls = What::Calls(Act::Read.calls().iter().copied().collect());
    let calls = change(calls, 1.0 - share * (1.0 - LEFT_OF_CALLS));
    Fix::Between(vec![waits(LEFT)], vec![waits(0.0), calls])
}
