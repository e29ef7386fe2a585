//! Commands that a report suggests: words that a shell takes as they are meant.

use super::names;

/// A word as it is to be typed. Characters that would act on a terminal are shown as escapes instead: a name with
/// such in it has to be typed by hand.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", names::harmless(text).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::word;

    /// A word stays one word, and nothing in it is run.
    #[test]
    fn words_stay_words() {
        assert_eq!(word("a/b-2.timesink"), "a/b-2.timesink");
        assert_eq!(word("flush rows.db"), "'flush rows.db'");
        assert_eq!(word("$(reboot)"), "'$(reboot)'");
        assert_eq!(word("it's"), "'it'\\''s'");
        assert_eq!(word(""), "''");
        assert_eq!(word("a\u{1b}[2J"), "'a\\x1b[2J'");
    }
}
