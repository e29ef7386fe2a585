//! A file that is flushed to the disk again and again, with little written in between.
//!
//! A flush waits until the disk says that all is safe, which takes about as long for one row as for thousands. The
//! gain is that of doing without those waits: one flush for all costs so little beside them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::What;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::Detail;

use crate::floor::{self, FLUSHES};
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Held, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::{Piece, Sentence};

pub static RULE: Rule = Rule {
    name: "flush-per-record",
    looks_for: "a file flushed to disk again and again, with little written in between",
    why: "A flush waits until the disk reports that the data are safe. That takes about as long for one row as for a thousand.",
    advice: "commit many rows at once, or buffer the writes and flush at the end",
    wrong_if: "each row must survive a crash on its own",
    limits: &[&limits::FLUSHES, &limits::BYTES],
    blames: Blames::Program,
    needs: &[Need::Calls],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static FLUSHES: Limit = Limit {
        name: "flushes",
        value: 20.0,
        unit: Unit::Count,
        means: "minimum number of flushes of one file",
    };
    pub static BYTES: Limit = Limit {
        name: "bytes",
        value: 65536.0,
        unit: Unit::Bytes,
        means: "maximum bytes written per flush, on average",
    };
}

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    // A database flushes several files for each row: they are one suspect.
    let mut flushed: BTreeMap<ProcessId, Vec<(u64, ObjectId)>> = BTreeMap::new();
    for call in &inquiry.facts.calls {
        let (Some(process), Some(object)) = (call.process, call.object) else {
            continue;
        };
        if FLUSHES.contains(&call.call.as_str())
            && call.count as f64 >= RULE.limit(inquiry, &limits::FLUSHES)
        {
            flushed
                .entry(process)
                .or_default()
                .push((call.count, object));
        }
    }
    flushed
        .into_iter()
        .filter_map(|(process, files)| suspect(inquiry, process, files))
        .collect()
}

/// Whether it is flushed as a part of memory: what was written into that is no call.
fn mapped(inquiry: &Inquiry<'_>, process: ProcessId) -> BTreeSet<ObjectId> {
    let calls = inquiry.facts.calls.iter();
    let flushes = calls.filter(|call| call.call == "msync" && call.process == Some(process));
    flushes.filter_map(|call| call.object).collect()
}

/// How much was written to each file.
fn written(inquiry: &Inquiry<'_>) -> BTreeMap<ObjectId, u64> {
    let files = inquiry.facts.files.iter();
    files
        .map(|file| (file.object, file.bytes_written))
        .collect()
}

/// A file that is made anew under the same name each time, and flushed: a journal beside a database.
struct MadeAnew {
    flushes: u64,
    objects: Vec<ObjectId>,
}

fn made_anew(inquiry: &Inquiry<'_>, process: ProcessId, but: &BTreeSet<ObjectId>) -> Vec<MadeAnew> {
    let mut named: BTreeMap<&str, MadeAnew> = BTreeMap::new();
    let calls = inquiry.facts.calls.iter();
    let own = calls.filter(|call| call.process == Some(process));
    for call in own.filter(|call| FLUSHES.contains(&call.call.as_str())) {
        let object = call.object.and_then(|object| inquiry.facts.object(object));
        let object = object.filter(|object| !but.contains(&object.object));
        if let Some((object, path)) = object.and_then(|o| Some((o.object, o.path.as_deref()?))) {
            let file = named.entry(path).or_insert_with(|| MadeAnew {
                flushes: 0,
                objects: Vec::new(),
            });
            file.flushes = file.flushes.saturating_add(call.count);
            file.objects.push(object);
        }
    }
    let is_often = |file: &MadeAnew| file.flushes as f64 >= RULE.limit(inquiry, &limits::FLUSHES);
    named.into_values().filter(is_often).collect()
}

fn suspect(
    inquiry: &Inquiry<'_>,
    process: ProcessId,
    mut files: Vec<(u64, ObjectId)>,
) -> Option<Suspect> {
    let (sums, mapped) = (written(inquiry), mapped(inquiry, process));
    let often: BTreeSet<ObjectId> = files.iter().map(|(_, object)| *object).collect();
    let written = |object: ObjectId| sums.get(&object).copied().unwrap_or(0);
    files.retain(|&(count, object)| {
        written(object) as f64 / count as f64 <= RULE.limit(inquiry, &limits::BYTES)
    });
    // Where nothing is known to be written it may be much: the calls were lost, or are of a kind that is not counted.
    if !files
        .iter()
        .any(|&(_, object)| written(object) > 0 || mapped.contains(&object))
    {
        return None;
    }
    // The one with something in it: a folder or a journal is flushed for its sake.
    // Counts that are estimated differ a little, too.
    let most = files.iter().map(|(count, _)| *count).max().unwrap_or(0);
    files.sort_by_key(|&(count, object)| {
        let is_rarer = count.saturating_mul(5) < most.saturating_mul(4);
        (is_rarer, Reverse(written(object)), Reverse(count), object)
    });
    let &first = files.first()?;
    let (_, object) = first;
    let mut objects: BTreeSet<ObjectId> = files.iter().map(|(_, object)| *object).collect();
    let anew = made_anew(inquiry, process, &often);
    for file in &anew {
        files.extend(file.objects.first().map(|&object| (file.flushes, object)));
        objects.extend(&file.objects);
    }
    let all: u64 = files.iter().map(|(count, _)| count).sum();
    if floor::flushed_at_best(inquiry, &objects.iter().copied().collect::<Vec<_>>()) {
        return None;
    }
    let bytes: u64 = objects.iter().map(|&object| written(object)).sum();
    let each = bytes / all.max(1);
    let about = |detail: Detail, object: Option<ObjectId>| {
        detail == Detail::Flush && object.is_some_and(|object| objects.contains(&object))
    };
    let waits = inquiry.waits().iter();
    let waits = waits.filter(|group| group.process == process && about(group.detail, group.object));
    let group = waits.clone().next();
    let title = title(first, files.get(1..).unwrap_or_default(), all, each);
    let what = What::Waits {
        detail: Some(Detail::Flush),
        objects: Some(objects.clone()),
    };
    let causes = inquiry.waits_on_path(|key| {
        inquiry.same_program(key.process, process)
            && key.detail.is_some_and(|detail| about(detail, key.object))
    });
    let own = BTreeSet::from([process]);
    let suspect = Suspect::new(title, Fix::without(what, own.clone()), Weight::all(causes))
        .with_whole_items(own, around(&anew))
        .with_all_between()
        .on(objects.iter().copied())
        .of(process)
        .about(Some(object))
        .seen_in_most(inquiry, waits)
        .or_seen_at(inquiry, process, &FLUSHES, &objects)
        .held_all(
            inquiry,
            &RULE,
            [
                Held::new("flushes", all as f64, &limits::FLUSHES),
                Held::new("bytes written for each", each as f64, &limits::BYTES),
            ],
        );
    let suspect = with_figures(suspect, all, bytes, group);
    Some(suspect.held_against(floor::flush(inquiry, process, object)))
}

/// How many flushes there were for what was written, and how long one takes.
fn with_figures(suspect: Suspect, all: u64, bytes: u64, group: Option<&WaitGroup>) -> Suspect {
    let suspect = suspect.told(say![
        Piece::Count(all),
        " flushes for ",
        Piece::Bytes(bytes),
        " written"
    ]);
    match group {
        Some(group) => suspect.told(say![
            "a flush takes ",
            Piece::Time(group.quantile(0.5)),
            " (median)"
        ]),
        None => suspect,
    }
}

/// The calls that go with each record, more than those that wait: a journal that is made anew is removed each time, too.
fn around(made_anew: &[MadeAnew]) -> &'static [&'static [&'static str]] {
    match made_anew.is_empty() {
        true => &[&FLUSHES],
        false => &[&FLUSHES, &["unlink", "unlinkat", "rename", "ftruncate"]],
    }
}

/// What is flushed, and how often.
fn title(first: (u64, ObjectId), others: &[(u64, ObjectId)], all: u64, each: u64) -> Sentence {
    let (count, file) = first;
    match *others {
        [] => say![
            file,
            " is flushed to disk ",
            Piece::Count(count),
            " times, once per ",
            Piece::Bytes(each),
            " written"
        ],
        [(_, other)] => {
            say![
                file,
                " and ",
                other,
                " are flushed to disk ",
                Piece::Count(all),
                " times, once per ",
                Piece::Bytes(each),
                " written"
            ]
        }
        _ => say![
            file,
            " and ",
            Piece::Count(others.len() as u64),
            " more are flushed to disk ",
            Piece::Count(all),
            " times, once per ",
            Piece::Bytes(each),
            " written"
        ],
    }
}
