//! What somebody may have meant who wrote a name that there is not.

/// The known name that is nearest to a text, if one is near.
pub fn nearest<'k>(text: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    /// Names are short, and so is what could be meant for one.
    const LONGEST: usize = 64;
    if text.len() > LONGEST {
        return None;
    }
    let near = known.map(|name| (steps(text, name), name));
    let near = near.filter(|(steps, name)| *steps <= (name.len() / 3).max(1));
    near.min().map(|(_, name)| name)
}

/// How many letters have to be put in, left out or changed to make one text of the other.
fn steps(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, c) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (at, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(c != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slip is understood, and something else is not taken for a slip.
    #[test]
    fn slips() {
        let known = || ["flush-per-record", "hot-lock", "busy"].into_iter();
        assert_eq!(
            nearest("flush-per-recrod", known()),
            Some("flush-per-record")
        );
        assert_eq!(nearest("hotlock", known()), Some("hot-lock"));
        assert_eq!(nearest("bussy", known()), Some("busy"));
        assert_eq!(nearest("garbage", known()), None);
        assert_eq!(nearest("", known()), None);
        assert_eq!(nearest(&"x".repeat(100_000), known()), None);
    }
}
