//! Findings that somebody knows of and does not want to read each time: what mutes them, why, and for how long.

use std::fmt;

/// A day of the calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Day {
    /// The day that so many seconds after the start of 1970 lie in, in UTC.
    pub fn of_unix_time(seconds: u64) -> Day {
        const OF_YEAR: [u64; 2] = [365, 366];
        const OF_MONTH: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let is_leap = |year: u16| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let mut left = seconds / 86_400;
        let mut year = 1970;
        while year < u16::MAX && left >= OF_YEAR[usize::from(is_leap(year))] {
            left -= OF_YEAR[usize::from(is_leap(year))];
            year += 1;
        }
        let mut month = 0;
        for (at, days) in OF_MONTH.iter().enumerate() {
            let days = days + u64::from(at == 1 && is_leap(year));
            if left < days {
                break;
            }
            left -= days;
            month = at + 1;
        }
        Day {
            year,
            month: month.min(11) as u8 + 1,
            day: left.min(30) as u8 + 1,
        }
    }
}

/// One entry of a mute file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mute {
    /// A signature; `*` stands for any text.
    pub signature: String,
    pub reason: String,
    /// The last day on which it mutes.
    pub until: Option<Day>,
}

impl Mute {
    /// Whether it is about a finding of this signature.
    pub fn is_about(&self, signature: &str) -> bool {
        is_like(&self.signature, signature)
    }

    pub fn has_expired(&self, today: Day) -> bool {
        self.until.is_some_and(|until| until < today)
    }
}

/// Whether a text is as a pattern says, in which `*` stands for any text, none included.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern without a star is the text itself, and a star is any text.
    #[test]
    fn patterns() {
        for (pattern, text, is) in [
            ("busy in crunch", "busy in crunch", true),
            ("busy in crunch", "busy in crunch by a", false),
            ("busy", "busy in crunch", false),
            ("busy*", "busy in crunch", true),
            ("*", "", true),
            ("busy * by a", "busy in crunch by a", true),
            ("busy * by a", "busy by a", false),
            ("b*y*h", "busy in crunch", true),
            ("a*a", "a", false),
            ("of rows-*.db in x", "of rows-*.db in x", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(is_like(pattern, text), is, "{pattern:?} {text:?}");
        }
    }

    /// A mute holds on its last day, and not on the next.
    #[test]
    fn days() {
        let day = |year, month, day| Day { year, month, day };
        assert_eq!(Day::of_unix_time(0), day(1970, 1, 1));
        assert_eq!(Day::of_unix_time(951_782_400), day(2000, 2, 29));
        assert_eq!(Day::of_unix_time(1_795_219_199), day(2026, 11, 20));
        assert_eq!(Day::of_unix_time(1_798_761_599), day(2026, 12, 31));
        assert_eq!(day(2026, 2, 3).to_string(), "2026-02-03");
        let _no_panic = Day::of_unix_time(u64::MAX);
        let mute = Mute {
            signature: "busy".to_owned(),
            reason: "it computes".to_owned(),
            until: Some(day(2026, 11, 20)),
        };
        assert!(!mute.has_expired(day(2026, 11, 20)));
        assert!(mute.has_expired(day(2026, 11, 21)));
    }
}
