//! The waits of one kind for the disk that a program has on the path: how long, how many, and what it would be without them.

use std::collections::BTreeMap;

use timesink_analysis::path::Cause;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Detail;

use crate::inquiry::Inquiry;
use crate::say;
use crate::sentence::{Piece, Sentence};

pub struct DiskWaits {
    pub process: ProcessId,
    detail: Detail,
    /// As indexes into the outlook's causes.
    pub causes: Vec<usize>,
    pub ns: u64,
    pub count: u64,
    /// Of the wall time.
    pub share: f64,
}

impl DiskWaits {
    /// Those of each program.
    pub fn by_program(inquiry: &Inquiry<'_>, detail: Detail) -> Vec<DiskWaits> {
        let mut programs: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
        for cause in inquiry.waits_on_path(|key| key.detail == Some(detail)) {
            let process = inquiry.outlook.causes[cause].cause.key.process;
            programs.entry(process).or_default().push(cause);
        }
        let programs = programs.into_iter();
        let waits = programs.map(|(process, causes)| {
            let ns = inquiry.on_path_ns(&causes);
            let counts = causes
                .iter()
                .map(|&at| inquiry.outlook.causes[at].cause.count);
            DiskWaits {
                process,
                detail,
                ns,
                count: counts.sum(),
                share: ns as f64 / inquiry.outlook.wall_ns.max(1) as f64,
                causes,
            }
        });
        waits.collect()
    }

    /// The causes on the path that they are.
    pub fn on_path<'a>(&'a self, inquiry: &'a Inquiry<'_>) -> impl Iterator<Item = &'a Cause> {
        let causes = self.causes.iter();
        causes.map(|&at| &inquiry.outlook.causes[at].cause)
    }

    /// That they take so many times as long.
    pub fn scaled(&self, inquiry: &Inquiry<'_>, left: f64) -> Change {
        Change {
            what: What::Waits {
                detail: Some(self.detail),
                objects: None,
            },
            processes: Some(inquiry.of_program(self.process)),
            how: How::Scale(left),
        }
    }

    /// Those that were recorded one by one and are alike, the longest of them.
    pub fn group<'a>(&self, inquiry: &'a Inquiry<'_>) -> Option<&'a WaitGroup> {
        inquiry.waits().iter().find(|group| {
            group.detail == self.detail && inquiry.same_program(group.process, self.process)
        })
    }

    /// `200 waits of 3.00 ms; 60.0 % of the critical path`.
    pub fn told(&self) -> Sentence {
        say![
            Piece::Count(self.count),
            " waits of ",
            Piece::Time(self.ns / self.count.max(1)),
            "; ",
            Piece::Percent(self.share * 100.0),
            " of the critical path"
        ]
    }
}
