//! Who runs when: every round holds each command once, in an order of its own.

use fastrand::Rng;

/// Orders of rounds, the same for the same seed.
pub struct Schedule {
    commands: usize,
    random: Rng,
}

impl Schedule {
    pub fn new(commands: usize, seed: u64) -> Schedule {
        Schedule {
            commands,
            random: Rng::with_seed(seed),
        }
    }

    /// The commands of the next round, by their numbers, in the order in which they run.
    pub fn next_round(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.commands).collect();
        self.random.shuffle(&mut order);
        order
    }

    /// A number from 0 to this, this not included: for what else is to differ from run to run.
    pub fn draw(&mut self, below: usize) -> usize {
        match below {
            0 => 0,
            below => self.random.usize(..below),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round holds each command once, orders differ, each command is first about as often, and a seed says it all.
    #[test]
    fn each_round_holds_each_command_once() {
        let mut first = [0usize; 3];
        let (mut schedule, mut again) = (Schedule::new(3, 7), Schedule::new(3, 7));
        for _ in 0..3000 {
            let order = schedule.next_round();
            assert_eq!(order, again.next_round());
            first[order[0]] += 1;
            let mut sorted = order;
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(first.iter().all(|n| (900..1100).contains(n)), "{first:?}");
    }
}
