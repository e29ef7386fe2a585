//! Small writes each of which waits until the disk says that it is safe: a file opened with O_SYNC or O_DSYNC.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::replay::What;
use timesink_analysis::uses::Act;
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::rule::{Fix, Limit, Need, Rule, Suspect, Weight};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "synchronous-writes",
    looks_for: "small writes of a file that was opened to make each of them safe (O_SYNC, O_DSYNC)",
    why: "Each write waits until the disk says that it is safe, which takes about as long for a row as for a thousand.",
    advice: "write many rows at once, or open it without O_SYNC and flush when a batch is done",
    wrong_if: "each write must survive a crash on its own",
    limits: &[
        Limit { name: "writes", value: 20.0, means: "at least so many that waited, of one file" },
        Limit { name: "bytes", value: 65536.0, means: "bytes each, on average, at most" },
    ],
    is_innocent: false,
    needs: &[Need::Calls],
    ask,
};

fn ask(of: &Inquiry<'_>) -> Vec<Suspect> {
    let mut files: BTreeMap<(ProcessId, ObjectId), Vec<&WaitGroup>> = BTreeMap::new();
    let waits = of.waits().iter().filter(|group| {
        group.detail == Detail::Flush && Act::Write.calls().contains(&group.call.as_str())
    });
    for group in waits {
        if let Some(object) = group.object {
            let key = (group.process, object);
            files.entry(key).or_default().push(group);
        }
    }
    let suspects = files.into_iter();
    suspects
        .filter_map(|((process, object), groups)| suspect(of, process, object, &groups))
        .collect()
}

fn suspect(
    of: &Inquiry<'_>,
    process: ProcessId,
    object: ObjectId,
    groups: &[&WaitGroup],
) -> Option<Suspect> {
    let mut uses = of.facts.uses.all.iter();
    let one = uses.find(|one| one.process == process && one.object == object)?;
    let writes = one.done(Act::Write);
    let each = writes.bytes / writes.count.max(1);
    let waits: u64 = groups.iter().map(|group| group.count()).sum();
    // One write may wait several times.
    let waited = waits.min(writes.count);
    if (waited as f64) < RULE.limit(of, "writes") || each as f64 > RULE.limit(of, "bytes") {
        return None;
    }
    let causes = of.waits_on_path(|key| {
        key.detail == Some(Detail::Flush)
            && key.object == Some(object)
            && of.same_program(key.process, process)
    });
    let title = say![
        object,
        " is written to ",
        Piece::Count(writes.count),
        " times, and each write waits for the disk"
    ];
    let what = What::Waits {
        detail: Some(Detail::Flush),
        objects: Some(BTreeSet::from([object])),
    };
    let fix = Fix::without(what, BTreeSet::from([process]));
    let group = groups.first().copied();
    let suspect = Suspect::new(title, fix, Weight::all(causes))
        .of(process)
        .about(Some(object))
        .seen_in(of, group)
        .held(of, &RULE, "writes that waited", waited as f64, "writes")
        .held(of, &RULE, "bytes each", each as f64, "bytes")
        .told(say![
            Piece::Count(writes.count),
            " writes of ",
            Piece::Bytes(each),
            ", ",
            Piece::Time(writes.ns / writes.count.max(1)),
            " each"
        ]);
    Some(suspect)
}
