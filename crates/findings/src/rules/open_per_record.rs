//! One file that is opened and closed again for each small piece that is written to it or read from it.

use std::collections::BTreeSet;

use timesink_analysis::facts::uses::{Act, Use};
use timesink_analysis::replay::What;
use timesink_recording::words::ObjectKind;

use crate::file_functions::act;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Held, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

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

const OPENING: [Act; 2] = [Act::Open, Act::Close];

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    let uses = inquiry.facts.uses.all.iter();
    let often =
        uses.filter(|one| one.done(Act::Open).count as f64 >= RULE.limit(inquiry, &limits::OPENS));
    often.filter_map(|one| suspect(inquiry, one)).collect()
}

fn suspect(inquiry: &Inquiry<'_>, one: &Use) -> Option<Suspect> {
    let file = inquiry.facts.object(one.object)?;
    let (opens, writes, reads) = (
        one.done(Act::Open),
        one.done(Act::Write),
        one.done(Act::Read),
    );
    let count = opens.count.max(1);
    let bytes = writes.bytes.saturating_add(reads.bytes) / count;
    let pieces = writes.count.saturating_add(reads.count) as f64 / count as f64;
    // Who reads it from one end to the other loads it.
    let is_loaded = reads.bytes / count >= file.size.unwrap_or(0).max(1);
    // Opens that failed, and such as only look whether it is there, have nothing written or read.
    if file.kind != ObjectKind::File
        || is_loaded
        || pieces < 0.5
        || pieces > RULE.limit(inquiry, &limits::PIECES)
        || bytes as f64 > RULE.limit(inquiry, &limits::BYTES)
        || one.done(Act::Close).count * 2 < count
    {
        return None;
    }
    let processes = BTreeSet::from([one.process]);
    let region = inquiry
        .stacks
        .region(&inquiry.threads_of(&processes), |function| {
            let act = act(function).filter(|act| OPENING.contains(act))?;
            Some(act as usize)
        });
    let names = OPENING.iter().flat_map(|act| act.calls()).copied();
    let share = inquiry.facts.uses.share_of_time(one, &OPENING);
    let kept = 1.0 - share * (1.0 - 1.0 / count as f64);
    let fix = Fix::scaled(What::Calls(names.collect()), processes, kept);
    let weight = Weight::within(inquiry.busy(one.process), one.ns(&OPENING));
    let title = say![
        one.object,
        " is opened and closed ",
        Piece::Count(count),
        " times, once per ",
        Piece::Bytes(bytes)
    ];
    let suspect = Suspect::new(title, fix, weight)
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
    Some(suspect)
}
