//! What an unknown name may have been meant to be.

/// The known name that is nearest to a text, if one is near.
pub fn nearest<'k>(text: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    /// Names are short, and so is what could be meant for one.
    const LONGEST: usize = 64;
    if text.len() > LONGEST {
        return None;
    }
    let near = known.map(|name| (strsim::levenshtein(text, name), name));
    let near = near.filter(|(steps, name)| *steps <= (name.len() / 3).max(1));
    near.min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A typing error is recognised, and a different word is not taken for one.
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
