//! Lines that are written once and stand for many.

/// Replaces `for NAME in FIRST..LAST` (with the last) up to its `end` by the lines between, once for each number. In
/// them `{NAME}`, `{12NAME}` and `{12NAME+3}` are that number, times twelve, and three more. Such lines nest. A line
/// keeps the number that it has in the text.
///
/// # Panics
/// If a `for` is not understood or has no `end`, with its line number.
pub(super) fn unrolled<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(usize, String)> {
    let mut lines = lines
        .enumerate()
        .map(|(index, line)| (index + 1, line.to_owned()))
        .collect::<Vec<_>>()
        .into_iter();
    block(&mut lines, None)
}

/// More lines than any test draws, whose longest loops have 4,000 rounds of a few lines: a slip in a number would otherwise take all
/// memory. 600,000 took 1.6 s to be analysed.
const MOST: usize = 100_000;

fn block(
    lines: &mut impl Iterator<Item = (usize, String)>,
    opened: Option<usize>,
) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    while let Some((number, line)) = lines.next() {
        match line.trim().strip_prefix("for ") {
            Some(head) => {
                let Some((name, first, last)) = head_of(head) else {
                    panic!("notation, line {number}: for NAME in FIRST..LAST is meant");
                };
                let inner = block(lines, Some(number));
                let times = last.saturating_sub(first).saturating_add(1).max(0) as usize;
                let more = times.saturating_mul(inner.len().max(1));
                if more.saturating_add(all.len()) > MOST {
                    panic!("notation, line {number}: more than {MOST} lines");
                }
                for value in first..=last {
                    let filled = |(at, line): &(usize, String)| (*at, filled(line, name, value));
                    all.extend(inner.iter().map(filled));
                }
            }
            None if line.trim() == "end" && opened.is_some() => return all,
            None => all.push((number, line)),
        }
    }
    if let Some(number) = opened {
        panic!("notation, line {number}: a for without its end");
    }
    all
}

fn head_of(head: &str) -> Option<(&str, i64, i64)> {
    let (name, range) = head.split_once(" in ")?;
    let (first, last) = range.trim().split_once("..")?;
    Some((name.trim(), first.parse().ok()?, last.parse().ok()?))
}

/// A line with the numbers in it that are made of this name.
fn filled(line: &str, name: &str, value: i64) -> String {
    let mut parts = line.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let inner = part.split_once('}');
        match inner.and_then(|(inner, rest)| Some((reckoned(inner, name, value)?, rest))) {
            Some((number, rest)) => text += &format!("{number}{rest}"),
            // Of another loop, or no loop at all.
            None => text += &format!("{{{part}"),
        }
    }
    text
}

fn reckoned(inner: &str, name: &str, value: i64) -> Option<i64> {
    let (factor, rest) = inner.split_once(name)?;
    let factor: i64 = if factor.is_empty() {
        1
    } else {
        factor.parse().ok()?
    };
    let added: i64 = if rest.is_empty() {
        0
    } else {
        rest.parse().ok()?
    };
    Some(factor * value + added)
}

#[cfg(test)]
mod tests {
    use super::unrolled;

    fn lines(text: &str) -> Vec<String> {
        unrolled(text.lines())
            .into_iter()
            .map(|(_, line)| line)
            .collect()
    }

    /// Numbers are filled in, also within one another; other braces stay.
    #[test]
    fn lines_are_written_once_for_each_number() {
        let text = "a\nfor n in 1..2\nx {n} {12n+3} {m}\nfor m in 5..6\n{n}{m-1}\nend\nend\nz";
        let all = ["a", "x 1 15 {m}", "14", "15", "x 2 27 {m}", "24", "25", "z"];
        assert_eq!(lines(text), all);
    }

    /// A fault in a test's text is told with its line.
    #[test]
    #[should_panic(expected = "line 2")]
    fn a_for_without_an_end() {
        lines("a\nfor n in 1..2\nx");
    }

    /// Found by fuzzing: a loop that nobody can have meant took all memory.
    #[test]
    #[should_panic(expected = "line 1: more than")]
    fn a_for_without_a_sensible_number() {
        lines("for n in 1..9223372036854775807\nx\nend");
    }

    /// Found by fuzzing: 600,000 lines of spans took more than two seconds. Loops that follow each other count together.
    #[test]
    #[should_panic(expected = "line 4: more than")]
    fn loops_that_take_seconds_together() {
        lines("for n in 1..60000\nx\nend\nfor n in 1..60000\nx\nend");
    }
}
