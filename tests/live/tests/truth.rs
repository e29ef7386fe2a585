//! A program whose waits are known by construction is recorded as it was, by timesink's own account and by the program's.

use timesink_live::{attempts, program, Folder, Recorded, Slack, Truth};

/// Not off by more than 2 % and 1 ms.
const SLACK: Slack = Slack {
    share: 0.02,
    ns: 1e6,
};

fn record(options: &[&str]) -> Truth {
    let folder = Folder::new("truth");
    let (out, data) = (folder.join("truth.json"), folder.join("rows.data"));
    let truth = program("truth");
    let command = [&truth, &out, &data].map(|p| p.to_str().expect("a path"));
    let recorded = Recorded::run(&folder.join("t.timesink"), options, &command, 0);
    let truth = std::fs::read_to_string(&out).expect("the truth");
    Truth::of(recorded, &truth, SLACK)
}

/// Each kind of wait is recorded within 2 % or 1 ms of what the program itself measured, in the
/// right thread, about the right thing, and ended by the right one. A busy machine disturbs that, so
/// the best of some recordings counts.
#[test]
fn waits_that_are_known_by_construction() {
    attempts(|| record(&["-q"]).check(false));
}

/// The same with every call timed: then no particular of a wait is missing either.
#[test]
fn with_every_call_timed() {
    attempts(|| record(&["-q", "--exact"]).check(true));
}
