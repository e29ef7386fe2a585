//! Stretches of time, and how much of others lies in them.

use timesink_recording::Nanos;

/// Stretches of time, none of which touches another.
#[derive(Default)]
pub struct Stretches {
    /// Each with how long all before it are.
    all: Vec<(Nanos, Nanos, u64)>,
}

impl Stretches {
    pub fn of(mut stretches: Vec<(Nanos, Nanos)>) -> Stretches {
        stretches.sort_unstable();
        let mut all: Vec<(Nanos, Nanos, u64)> = Vec::new();
        for (from, until) in stretches {
            match all.last_mut() {
                Some((_, end, _)) if from <= *end => *end = (*end).max(until),
                last => {
                    let before =
                        last.map_or(0, |(from, until, ns)| ns.saturating_add(until.since(*from)));
                    all.push((from, until, before));
                }
            }
        }
        Stretches { all }
    }

    pub fn each(&self) -> Vec<(Nanos, Nanos)> {
        let each = self.all.iter().map(|(from, until, _)| (*from, *until));
        each.collect()
    }

    pub fn ns(&self) -> u64 {
        self.before(Nanos(i64::MAX))
    }

    /// How much of them lies before a moment.
    fn before(&self, moment: Nanos) -> u64 {
        let begun = self.all.partition_point(|(from, ..)| *from < moment);
        let last = begun.checked_sub(1).map(|last| self.all[last]);
        last.map_or(0, |(from, until, ns)| {
            ns.saturating_add(until.min(moment).since(from))
        })
    }

    /// How much of them lies between two moments.
    pub fn within(&self, from: Nanos, until: Nanos) -> u64 {
        self.before(until).saturating_sub(self.before(from))
    }

    /// What of these stretches lies in them.
    pub fn parts_of(&self, others: &[(Nanos, Nanos)]) -> Vec<(Nanos, Nanos)> {
        let mut parts = Vec::new();
        for &(from, until) in others {
            let first = self.all.partition_point(|(_, end, _)| *end <= from);
            let own = self.all[first..].iter();
            let own = own.take_while(|(begin, ..)| *begin < until);
            parts.extend(own.map(|(begin, end, _)| (from.max(*begin), until.min(*end))));
        }
        parts
    }

    pub fn has(&self, moment: Nanos) -> bool {
        let begun = self.all.partition_point(|(from, ..)| *from <= moment);
        let last = begun.checked_sub(1).map(|last| self.all[last]);
        last.is_some_and(|(_, until, _)| moment < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stretches that touch become one, and what lies between two moments is summed over all of them.
    #[test]
    fn stretches_are_summed() {
        let of = |from, until| (Nanos(from), Nanos(until));
        let stretches = Stretches::of(vec![of(50, 60), of(0, 10), of(5, 20), of(20, 30)]);
        assert_eq!(stretches.ns(), 40);
        assert_eq!(stretches.within(Nanos(10), Nanos(55)), 25);
        assert_eq!(stretches.within(Nanos(30), Nanos(50)), 0);
        assert!(stretches.has(Nanos(29)) && !stretches.has(Nanos(30)));
        assert!(!stretches.has(Nanos(-1)) && !stretches.has(Nanos(60)));
        let parts = stretches.parts_of(&[of(10, 15), of(25, 55)]);
        assert_eq!(parts, [of(10, 15), of(25, 30), of(50, 55)]);
    }
}
