//! Round after round, until somebody has seen enough or a run fails.

use crate::Schedule;

/// Whether another round is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    On,
    Enough,
}

/// One run of each command.
#[derive(Clone, Debug)]
pub struct Round<T> {
    /// The commands by their numbers, in the order in which they ran.
    pub order: Vec<usize>,
    /// What was measured, by the number of the command.
    pub results: Vec<T>,
}

/// Why there are no more rounds. Whole rounds are kept in either case; half a round is not, because nobody knows what the
/// other half would have been.
#[derive(Debug)]
pub enum Stopped<E> {
    Enough,
    Failed(E),
}

/// Runs rounds. `run` gets the command, and the schedule for what else is drawn; `look` sees the rounds so far.
pub fn rounds<T, E>(
    schedule: &mut Schedule,
    mut run: impl FnMut(usize, &mut Schedule) -> Result<T, E>,
    mut look: impl FnMut(&[Round<T>]) -> Flow,
) -> (Vec<Round<T>>, Stopped<E>) {
    let mut done: Vec<Round<T>> = Vec::new();
    loop {
        let order = schedule.next_round();
        let mut results: Vec<(usize, T)> = Vec::with_capacity(order.len());
        for &command in &order {
            match run(command, schedule) {
                Ok(result) => results.push((command, result)),
                Err(error) => return (done, Stopped::Failed(error)),
            }
        }
        results.sort_by_key(|(command, _)| *command);
        let results = results.into_iter().map(|(_, result)| result).collect();
        done.push(Round { order, results });
        if look(&done) == Flow::Enough {
            return (done, Stopped::Enough);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results stand by command whatever the order was, and a round that was cut short is not there.
    #[test]
    fn results_are_those_of_their_commands() {
        let enough = |done: &[Round<usize>]| match done.len() {
            5 => Flow::Enough,
            _ => Flow::On,
        };
        let mut schedule = Schedule::new(3, 1);
        let (done, stopped) = rounds(&mut schedule, |command, _| Ok::<_, ()>(command), enough);
        assert!(matches!(stopped, Stopped::Enough));
        assert!(done.iter().all(|round| round.results == [0, 1, 2]));
        assert!(done.iter().any(|round| round.order != [0, 1, 2]));
        let mut left = 7;
        let fails = |command: usize, _: &mut Schedule| {
            left -= 1;
            if left == 0 {
                return Err("killed");
            }
            Ok(command)
        };
        let (done, stopped) = rounds(&mut schedule, fails, enough);
        assert!(matches!(stopped, Stopped::Failed("killed")));
        assert_eq!(done.len(), 2);
    }
}
