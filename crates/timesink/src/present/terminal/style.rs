//! How a page may look: colours, bars, width. And how wide a text is on a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What the output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
    /// Bars, and names cut to fit; a pipe gets the names whole.
    pub terminal: bool,
    /// Columns.
    pub width: usize,
}

/// Columns where nobody says how many there are.
pub const DEFAULT_WIDTH: usize = 100;
/// Tables do not fit fewer columns than this; a narrower terminal breaks lines.
pub const NARROWEST: usize = 40;
/// More columns than this do not make a page easier to read.
pub const WIDEST: usize = 200;

impl Style {
    /// The style for a pipe or a file.
    pub const PLAIN: Style = Style {
        colour: false,
        terminal: false,
        width: DEFAULT_WIDTH,
    };

    /// The style for a stream as it is now. `NO_COLOR` (when not empty) and `TERM=dumb` take the colour away, the bars stay.
    /// What is no terminal is as wide as `COLUMNS` says, where that is exported.
    pub fn of(stream: &(impl std::io::IsTerminal + std::os::fd::AsFd)) -> Style {
        if !stream.is_terminal() {
            return Style::piped(std::env::var("COLUMNS").ok().as_deref());
        }
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let size = terminal_size::terminal_size_of(stream);
        let width = size.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0));
        Style {
            colour: !set("NO_COLOR") && !dumb,
            terminal: true,
            width: width.clamp(NARROWEST, WIDEST),
        }
    }

    /// The style for a pipe, with as many columns as somebody wants.
    fn piped(columns: Option<&str>) -> Style {
        let columns = columns.and_then(|columns| columns.trim().parse::<usize>().ok());
        match columns.filter(|columns| *columns > 0) {
            None => Style::PLAIN,
            Some(columns) => Style {
                colour: false,
                terminal: true,
                width: columns.clamp(NARROWEST, WIDEST),
            },
        }
    }

    /// The text in a colour, where there are colours.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        match ink.code() {
            Some(code) if self.colour && !text.trim().is_empty() => {
                format!("\x1b[{code}m{text}\x1b[0m")
            }
            _ => text.to_owned(),
        }
    }
}

/// What a colour stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Title,
    /// What may be overlooked.
    Faint,
    /// What should not be overlooked.
    Warning,
    Cpu,
    Ready,
    Wait,
    Tracer,
}

impl Ink {
    fn code(self) -> Option<&'static str> {
        match self {
            Ink::Plain => None,
            Ink::Title => Some("1"),
            Ink::Faint => Some("2"),
            Ink::Warning => Some("33"),
            Ink::Cpu => Some("32"),
            Ink::Ready => Some("33"),
            Ink::Wait => Some("34"),
            Ink::Tracer => Some("35"),
        }
    }
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces after it.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text with spaces before it.
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The start of a text, ending in `…` if it was longer.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// The words of a text that fit beside a `…`, which says that there are more.
pub fn cut_at_word(text: &str, columns: usize) -> String {
    let mut kept = text;
    while width(kept) + 2 > columns {
        match kept.rfind(' ') {
            Some(space) => kept = &kept[..space],
            None => return cut(text, columns),
        }
    }
    format!("{kept} …")
}

/// A sentence broken into lines that fit a terminal, the first of them after `indent`, the others two columns
/// further in. A pipe gets it whole.
pub fn wrap(text: &str, indent: &str, ink: Ink, style: &Style) -> Vec<String> {
    if !style.terminal {
        return vec![style.paint(ink, &format!("{indent}{text}"))];
    }
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    for word in text.split(' ') {
        let needed = width(&line) + 1 + width(word);
        if needed > style.width && !line.trim().is_empty() {
            lines.push(style.paint(ink, &line));
            line = format!("{indent}  ");
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(style.paint(ink, &line));
    lines
}

/// A line without colours, cut where a terminal ends.
pub fn fit(line: String, style: &Style) -> String {
    if style.terminal {
        cut(&line, style.width)
    } else {
        line
    }
}

/// The end of a text, beginning with `…` if it was longer: of a path, the end tells more.
pub fn cut_front(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 1;
    for c in text.chars().rev() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// A bar of at most `cells` columns, in eighths of a column.
pub fn bar(share: f64, cells: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cut text never takes more columns than it was given, wide characters included.
    #[test]
    fn cuts_fit() {
        for text in [
            "",
            "a",
            "/var/lib/data/rows.db",
            "データデータデータ",
            "e\u{301}e\u{301}",
        ] {
            for columns in 1..30 {
                assert!(width(&cut(text, columns)) <= columns, "{text} in {columns}");
                assert!(
                    width(&cut_front(text, columns)) <= columns,
                    "{text} in {columns}"
                );
            }
        }
        assert_eq!(cut_front("/var/lib/rows.db", 8), "…rows.db");
    }

    /// A sentence was cut in the middle of a word.
    #[test]
    fn sentences_are_cut_between_words() {
        assert_eq!(cut_at_word("in store() import.c:73", 14), "in store() …");
        assert_eq!(cut_at_word("in store()", 14), "in store() …");
        assert_eq!(cut_at_word("a_very_long_word", 8), "a_very_…");
    }

    /// `COLUMNS` was ignored when the output was a pipe.
    #[test]
    fn a_pipe_is_as_wide_as_columns_says() {
        assert_eq!(Style::piped(None), Style::PLAIN);
        assert_eq!(Style::piped(Some("")), Style::PLAIN);
        assert_eq!(Style::piped(Some("0")), Style::PLAIN);
        let narrow = Style::piped(Some("60"));
        assert_eq!(
            (narrow.width, narrow.terminal, narrow.colour),
            (60, true, false)
        );
    }

    /// A bar grows by eighths and stays within its cells.
    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(0.5, 10), "█████");
        assert_eq!(bar(0.0125, 10), "▏");
        assert_eq!(bar(7.0, 3), "███");
    }
}
