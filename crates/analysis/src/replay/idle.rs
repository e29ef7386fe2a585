//! Loops of events that wait for a timer in a replay. In the recording nothing came meanwhile; where something comes sooner now, the
//! loop would have heard it, and set the next timer so much sooner: timers of several requests run side by side.

use rustc_hash::FxHashMap;

/// What loops waited for timers, and what came meanwhile.
#[derive(Default)]
pub(super) struct IdleLoops {
    /// By strand.
    loops: FxHashMap<usize, IdleLoop>,
    /// When those events happened that a loop had not come to yet.
    pub(super) happened: FxHashMap<u32, f64>,
}

/// So many waits of a loop are kept at least, and twice as many at most: what comes was seldom heard of so long ago.
const KEPT: usize = 4096;

/// The waits of one loop for timers.
#[derive(Default)]
struct IdleLoop {
    /// In the order of time, each with how long they took from the first to its end.
    waits: Vec<IdleWait>,
    /// So much of its next timers has gone by already.
    credit: f64,
}

struct IdleWait {
    from: f64,
    until: f64,
    sum: f64,
}

impl IdleLoop {
    /// How long it had waited for timers until a moment.
    fn idle_until(&self, moment: f64) -> f64 {
        let begun = self.waits.partition_point(|wait| wait.from < moment);
        match begun.checked_sub(1) {
            Some(last) => self.waits[last].sum - (self.waits[last].until - moment).max(0.0),
            None => self
                .waits
                .first()
                .map_or(0.0, |first| first.sum - (first.until - first.from)),
        }
    }
}

impl IdleLoops {
    /// What is left of a timer that a loop is to wait for.
    pub(super) fn left(&mut self, strand: usize, ns: f64) -> f64 {
        let Some(idle) = self.loops.get_mut(&strand) else {
            return ns;
        };
        let gone = idle.credit.min(ns);
        idle.credit -= gone;
        ns - gone
    }

    /// A loop waits for a timer.
    pub(super) fn until(&mut self, strand: usize, from: f64, until: f64) {
        let idle = self.loops.entry(strand).or_default();
        let before = idle.waits.last().map_or(0.0, |wait| wait.sum);
        if idle.waits.len() >= 2 * KEPT {
            idle.waits.drain(..KEPT);
        }
        idle.waits.push(IdleWait {
            from,
            until,
            sum: before + until - from,
        });
    }

    /// A loop has come to where it hears of an event: it waits for that, or would have heard it while it waited for timers.
    pub(super) fn comes_to(&mut self, strand: usize, event: u32, waits: bool) {
        let happened = self.happened.remove(&event).filter(|_| !waits);
        if let Some(idle) = self.loops.get_mut(&strand) {
            let all = idle.waits.last().map_or(0.0, |wait| wait.sum);
            idle.credit = happened.map_or(0.0, |at| all - idle.idle_until(at));
        }
    }
}
