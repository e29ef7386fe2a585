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

/// Runs rounds after those that were run `before`. `run` gets the command, and the schedule for what else is drawn; `look` sees
/// all rounds so far.
pub fn rounds<T, E>(
    schedule: &mut Schedule,
    before: Vec<Round<T>>,
    mut run: impl FnMut(usize, &mut Schedule) -> Result<T, E>,
    mut look: impl FnMut(&[Round<T>]) -> Flow,
) -> (Vec<Round<T>>, Stopped<E>) {
    let mut done = before;
    if !done.is_empty() && look(&done) == Flow::Enough {
        return (done, Stopped::Enough);
    }
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
        let (done, stopped) = rounds(
            &mut schedule,
            Vec::new(),
            |command, _| Ok::<_, ()>(command),
            enough,
        );
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
        let (done, stopped) = rounds(&mut schedule, Vec::new(), fails, enough);
        assert!(matches!(stopped, Stopped::Failed("killed")));
        assert_eq!(done.len(), 2);
    }

    /// Rounds of before count, and if they are enough none is run.
    #[test]
    fn rounds_go_on_after_those_of_before() {
        let mut schedule = Schedule::new(2, 1);
        let one = || Round {
            order: vec![0, 1],
            results: vec![7, 7],
        };
        let enough = |done: &[Round<usize>]| match done.len() {
            0..3 => Flow::On,
            _ => Flow::Enough,
        };
        let run = |command: usize, _: &mut Schedule| Ok::<_, ()>(command);
        let (done, _) = rounds(&mut schedule, vec![one(), one()], run, enough);
        let results: Vec<_> = done.into_iter().map(|round| round.results).collect();
        assert_eq!(results, [[7, 7], [7, 7], [0, 1]]);
        let never = |_: usize, _: &mut Schedule| Err("it is run");
        let before = vec![one(), one(), one()];
        let (done, stopped) = rounds(&mut schedule, before, never, enough);
        assert!(done.len() == 3 && matches!(stopped, Stopped::Enough));
    }
}
