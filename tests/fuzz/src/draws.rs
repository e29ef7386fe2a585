//! The numbers that inputs are made by. An input is what a format makes of the numbers that it draws, so another input like it is one
//! for which most of the same numbers are drawn: `Draws` says which, by pieces of the streams of a generator (splitmix64).

use std::fmt;
use std::str::FromStr;

/// What the generator's state grows by with each number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// From so many pieces on, the rest of an input is drawn anew.
const PIECES: usize = 100;

/// So many numbers from a state of the generator on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    state: u64,
    length: usize,
}

/// Which numbers are drawn. It never ends: the last piece is as long as can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draws(Vec<Piece>);

impl Draws {
    /// A stream of its own for each seed and number.
    pub fn of(seed: u64, at: u64) -> Draws {
        let state = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ at.wrapping_mul(0x9e37_79b9);
        Draws(vec![Piece {
            state: state.wrapping_add(STEP),
            length: usize::MAX,
        }])
    }

    /// The first so many of them.
    fn first(&self, mut count: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for piece in &self.0 {
            let length = piece.length.min(count);
            pieces.push(Piece { length, ..*piece });
            count -= length;
        }
        pieces
    }

    /// What comes behind the first so many.
    fn behind(&self, mut count: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for piece in &self.0 {
            let skipped = piece.length.min(count);
            pieces.push(Piece {
                state: piece.state.wrapping_add(STEP.wrapping_mul(skipped as u64)),
                length: match piece.length {
                    usize::MAX => usize::MAX,
                    length => length - skipped,
                },
            });
            count -= skipped;
        }
        pieces
    }

    /// Others like these, of which `drawn` were drawn: some are changed, left out, put in, or all are from somewhere on.
    /// `other`: what the new ones, or the end, are taken from, from `from` on.
    pub fn changed(
        &self,
        drawn: usize,
        (other, from): (&Draws, usize),
        random: &mut Random,
    ) -> Draws {
        let at = match random.below(3) {
            0 => random.below(drawn.min(16)),
            _ => random.below(drawn),
        };
        let few = 1 + random.below(4);
        let new = Draws(other.behind(from));
        let mut pieces = self.first(at);
        match random.below(6) {
            0 | 1 => pieces.extend(new.0.clone()),
            2 => pieces.extend(self.behind(at + few)),
            3 => {
                pieces.extend(new.first(few));
                pieces.extend(self.behind(at));
            }
            _ => {
                pieces.extend(new.first(few));
                pieces.extend(self.behind(at + few));
            }
        }
        pieces.retain(|piece| piece.length > 0);
        if pieces.len() > PIECES {
            pieces.truncate(PIECES);
            pieces.extend(new.0);
        }
        Draws(pieces)
    }
}

/// `STATE:LENGTH,...`, both in hexadecimal digits; the last piece has no length.
impl fmt::Display for Draws {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (at, piece) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{:x}", piece.state)?;
            if piece.length != usize::MAX {
                write!(f, ":{:x}", piece.length)?;
            }
        }
        Ok(())
    }
}

impl FromStr for Draws {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Draws, Self::Err> {
        let piece = |text: &str| {
            let (state, length) = text.split_once(':').unwrap_or((text, ""));
            Ok(Piece {
                state: u64::from_str_radix(state, 16)?,
                length: match length {
                    "" => usize::MAX,
                    length => usize::from_str_radix(length, 16)?,
                },
            })
        };
        text.split(',')
            .map(piece)
            .collect::<Result<_, _>>()
            .map(Draws)
    }
}

/// Draws them.
pub struct Random {
    draws: Draws,
    /// The piece that is drawn from, and how many of it were.
    piece: usize,
    of_piece: usize,
    drawn: usize,
}

impl Random {
    pub fn of(draws: Draws) -> Random {
        Random {
            draws,
            piece: 0,
            of_piece: 0,
            drawn: 0,
        }
    }

    /// How many were drawn.
    pub fn drawn(&self) -> usize {
        self.drawn
    }

    pub fn next(&mut self) -> u64 {
        let pieces = &self.draws.0;
        while self.of_piece >= pieces[self.piece].length {
            (self.piece, self.of_piece) = (self.piece + 1, 0);
        }
        let step = STEP.wrapping_mul(self.of_piece as u64 + 1);
        let mut z = pieces[self.piece].state.wrapping_add(step);
        (self.of_piece, self.drawn) = (self.of_piece + 1, self.drawn + 1);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `end`; 0 of nothing.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// How often something is done. After each round it is drawn whether there is one more: so an input can be changed to one that goes on
/// where it ended.
pub struct Rounds {
    /// So many there are in the mean.
    mean: usize,
    begun: bool,
}

impl Rounds {
    /// In the mean one of these numbers.
    pub fn about(random: &mut Random, means: &[usize]) -> Rounds {
        Rounds {
            mean: *random.one(means),
            begun: false,
        }
    }

    /// True the first time, and then until the last.
    pub fn one_more(&mut self, random: &mut Random) -> bool {
        let is_first = !std::mem::replace(&mut self.begun, true);
        is_first || !random.once_in(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(draws: &Draws, count: usize) -> Vec<u64> {
        let mut random = Random::of(draws.clone());
        (0..count).map(|_| random.next()).collect()
    }

    /// Pieces of streams are the numbers that stand there, and what is printed leads to the same ones.
    #[test]
    fn pieces() {
        let (draws, other) = (Draws::of(1, 7), Draws::of(1, 8));
        let (all, others) = (numbers(&draws, 20), numbers(&other, 20));
        let mut cut = draws.first(5);
        cut.extend(other.behind(3));
        let cut = Draws(cut);
        let expected: Vec<u64> = all[..5].iter().chain(&others[3..18]).copied().collect();
        assert_eq!(numbers(&cut, 20), expected);
        assert_eq!(numbers(&Draws(cut.behind(4)), 10), expected[4..14]);
        assert_eq!(cut.to_string().parse(), Ok(cut));
        assert!("0x,".parse::<Draws>().is_err());
    }

    /// What is made of others keeps most of their numbers, never ends, and does not grow without end.
    #[test]
    fn changes() {
        let mut random = Random::of(Draws::of(2, 0));
        let mut draws = Draws::of(2, 1);
        for at in 0..1000 {
            draws = draws.changed(50, (&Draws::of(2, 2 + at), 0), &mut random);
            assert_eq!(numbers(&draws, 200).len(), 200);
            assert!(draws.0.len() <= PIECES + 1);
        }
        let changed = draws.changed(50, (&Draws::of(3, 0), 0), &mut random);
        let (before, after) = (numbers(&draws, 300), numbers(&changed, 300));
        assert!(before != after && before.iter().any(|number| after.contains(number)));
    }
}
