//! Which thread had which tag when.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{ProcessId, ThreadId};
use timesink_recording::tables::{Tag, TagTurn};
use timesink_recording::{Nanos, Recording};

/// A path by its index; none: no tag.
pub type Whose = Option<usize>;

/// From one moment to another.
pub type Stretch = (Nanos, Nanos);

/// The tags of a recording's threads.
pub struct Tagged {
    pub paths: Vec<String>,
    /// Processes that said anything.
    processes: Vec<ProcessId>,
    /// From when on a thread was seen to have which.
    by_thread: FxHashMap<ThreadId, Vec<(Nanos, Whose)>>,
}

impl Tagged {
    /// None if no program said anything.
    pub fn of(recording: &Recording) -> timesink_recording::Result<Option<Tagged>> {
        let rows = recording.rows::<Tag>()?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut paths: Vec<String> = Vec::new();
        let mut known: FxHashMap<&str, usize> = FxHashMap::default();
        let mut path_of = FxHashMap::default();
        for row in rows.iter() {
            let path = *known.entry(&row.path).or_insert_with(|| {
                paths.push(row.path.clone());
                paths.len() - 1
            });
            path_of.insert(row.tag, path);
        }
        let mut turns: FxHashMap<ThreadId, Vec<TagTurn>> = FxHashMap::default();
        recording.scan(|rows: &[TagTurn]| {
            for row in rows {
                turns.entry(row.thread).or_default().push(row.clone());
            }
        })?;
        let turns = turns.into_iter().map(|(thread, mut turns)| {
            turns.sort_by_key(|turn| (turn.t0, turn.t1));
            let whose = |turn: &TagTurn| path_of.get(&turn.tag?).copied();
            let turns = turns.iter().map(|turn| (turn.t0, whose(turn)));
            (thread, turns.collect())
        });
        Ok(Some(Tagged {
            processes: rows.iter().map(|row| row.process).collect(),
            by_thread: turns.collect(),
            paths,
        }))
    }

    /// Whether a process said anything.
    pub fn speaks(&self, process: ProcessId) -> bool {
        self.processes.contains(&process)
    }

    /// The last tag that was seen by a moment.
    pub fn at(&self, thread: ThreadId, moment: Nanos) -> Whose {
        let turns = self.by_thread.get(&thread)?;
        let begun = turns.partition_point(|(from, _)| *from <= moment);
        turns.get(begun.checked_sub(1)?)?.1
    }

    /// When threads had this tag, or one whose path goes on from it.
    pub fn stretches(&self, path: &str) -> BTreeMap<ThreadId, Vec<Stretch>> {
        let is_in = |known: &str| {
            let rest = known.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_meant = |whose: Whose| {
            let known = whose.and_then(|whose| self.paths.get(whose));
            known.is_some_and(|known| is_in(known))
        };
        let of_thread = |turns: &Vec<(Nanos, Whose)>| {
            let ends = turns.iter().skip(1).map(|(from, _)| *from);
            let ends = ends.chain([Nanos::MAX]);
            let turns = turns.iter().zip(ends);
            let meant = turns.filter(|((_, whose), _)| is_meant(*whose));
            meant.map(|((from, _), end)| (*from, end)).collect()
        };
        let threads = self.by_thread.iter();
        let stretches = threads.map(|(&thread, turns)| (thread, of_thread(turns)));
        stretches
            .filter(|(_, stretches): &(_, Vec<Stretch>)| !stretches.is_empty())
            .collect()
    }
}
