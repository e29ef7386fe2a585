//! The requests of a server that was attached to: its clients wait for these, and not for the end of any thread.

use timesink_analysis::operations::{Kind, Set};
use timesink_analysis::outlook::OnPath;
use timesink_recording::Mode;

use crate::present::terminal::{operations, units, Report};

/// Fewer requests say little of a server.
const FEW: usize = 30;

/// What the requests of the main program consist of.
pub(super) struct Served<'a> {
    set: &'a Set,
    /// How many were looked at, and their time.
    pub requests: u64,
    pub ns: u64,
    /// They add up to that.
    pub causes: Vec<OnPath>,
}

impl<'a> Served<'a> {
    /// Of a server that was attached to and has a thread or a process for each connection. Of others a request is not known one by one.
    pub fn of(report: &Report<'a>) -> Option<Served<'a>> {
        if report.about.mode != Mode::Attach {
            return None;
        }
        let programs = &report.loaded.programs;
        let main = programs.first(report.main()?.row.process);
        let sets = report.operations.iter().map(|told| &told.set);
        let mut own = sets.filter(|set| {
            let is_main = programs.first(set.process) == main;
            is_main && set.kind == Kind::Request && set.operations.len() >= FEW
        });
        let set = own.next()?;
        let all = report.loaded.recorded().composition(set, report.stacks);
        let causes = all.causes.into_iter().map(|cause| OnPath {
            cause,
            frames: Vec::new(),
            by_timer_ns: 0,
            gain: None,
        });
        Some(Served {
            set,
            requests: all.walked as u64,
            ns: all.ns,
            causes: causes.collect(),
        })
    }

    /// `8.83 ms on average, p50 7.41 ms, p99 37.4 ms · 628 requests handled by python3(12094) on 127.0.0.1:7501`.
    pub fn told(&self, report: &Report) -> String {
        let count = units::count(self.set.operations.len() as u64);
        let time = |share| units::time(self.set.at(share).ns());
        let named = operations::named(report, self.set);
        let average = units::time(self.ns / self.requests.max(1));
        format!(
            "{average} on average, p50 {}, p99 {} · {count} {named}",
            time(0.5),
            time(0.99)
        )
    }
}
