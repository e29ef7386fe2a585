//! The only way out: all that timesink prints, on standard output and standard error, goes through here (`make tidy` sees to
//! that). What is for people cannot do anything to a terminal but show: control characters and those that turn the
//! direction of text are written as escapes, whoever put them into a name, a path, an argument or a file, and whether or
//! not who made the sentence thought of it. What is for machines escapes by the rules of its own format, and only passes.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use anyhow::Context;

use crate::present::names::harmless;
use crate::present::terminal::Style;

/// The colours of pages (`style::Ink`) and of the help (clap's): only exactly these pass, and only where there are colours.
const COLOURS: [&str; 8] = ["0", "1", "2", "4", "32", "33", "34", "35"];

/// How a page on standard output may look.
pub fn style() -> Style {
    Style::of(&io::stdout())
}

/// How a page on standard error may look.
pub fn style_of_errors() -> Style {
    Style::of(&io::stderr())
}

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A page for people, on standard output.
pub fn page(text: &str, style: &Style) -> anyhow::Result<()> {
    let text = shown(text, style.colour);
    written(put(&mut io::stdout().lock(), &text))
}

/// A page for people, on standard error: standard output is the program's.
pub fn page_of_errors(text: &str, style: &Style) -> anyhow::Result<()> {
    let text = shown(text, style.colour);
    written(put(&mut io::stderr().lock(), &text))
}

/// Standard output for a format that is made for programs and that escapes by itself.
pub fn machines() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Writes all of such a format there.
pub fn for_machines(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut to = machines();
    written(write(&mut to).and_then(|()| to.flush()))
}

/// That something went wrong, or has to be known: a line on standard error that says who says so. Further lines of it are
/// indented, so that none looks like another message.
pub fn tell(what: impl Display) {
    note(format_args!("timesink: {what}"));
}

/// The same without saying who.
pub fn note(what: impl Display) {
    let text = shown(&what.to_string(), false);
    let mut lines = text.trim_end().lines();
    let mut told = lines.next().unwrap_or("").to_owned();
    for line in lines {
        let indent = if line.starts_with("  ") { "" } else { "    " };
        told += &format!("\n{indent}{line}");
    }
    told.push('\n');
    // Nobody is left to be told that nothing can be told.
    let _ = put(&mut io::stderr().lock(), &told);
}

/// What clap says of a command line, which has the arguments as they were given; the exit code.
pub fn usage(error: &clap::Error) -> u8 {
    let text = error.render();
    // As with `note`, a failure to write has no other place to go.
    let _ = match error.use_stderr() {
        true => page_of_errors(&text.to_string(), &Style::PLAIN),
        false if style().colour => page(&text.ansi().to_string(), &style()),
        false => page(&text.to_string(), &Style::PLAIN),
    };
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// What is being done, where standard error is a terminal: one line that takes the place of the one before. An empty one
/// only takes it away. The program that is recorded may be writing to the same terminal.
pub fn progress(line: &str) {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let line = harmless(line);
        let _ = write!(err, "\r\x1b[2K{line}\r").and_then(|()| err.flush());
    }
}

/// Whether anybody sees it.
pub fn is_progress_shown() -> bool {
    io::stderr().is_terminal()
}

/// What a failure to write means.
pub fn written(result: io::Result<()>) -> anyhow::Result<()> {
    result.or_else(|error| match error.kind() {
        // Whoever reads the report has seen enough, as `head` does.
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error).context("cannot write the report"),
    })
}

fn put(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Lines as they may be shown. Colours pass where there are some, and nothing else that is not text.
fn shown(text: &str, colours: bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        let mut parts = line.split("\x1b[");
        safe.push_str(&harmless(parts.next().unwrap_or("")));
        for part in parts {
            let colour = part
                .split_once('m')
                .filter(|(code, _)| colours && COLOURS.contains(code));
            match colour {
                Some((code, rest)) => {
                    safe.push_str(&format!("\x1b[{code}m"));
                    safe.push_str(&harmless(rest));
                }
                None => safe.push_str(&harmless(&format!("\x1b[{part}"))),
            }
        }
        safe.push_str(end);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::names::is_hostile;
    use crate::present::terminal::Ink;

    /// Whatever a text holds, nothing of it acts on a terminal; its lines stay lines.
    #[test]
    fn nothing_hostile_gets_out() {
        let all: String = (0..0x11_0000).filter_map(char::from_u32).collect();
        let hostile = format!("a\x1b[1mb\x1b]0;t\x07\x1b[\n\x1b[31mc\u{202e}\r\x1b\x1b[0m{all}");
        let plain = shown(&hostile, false);
        assert!(!plain.chars().any(|c| c != '\n' && is_hostile(c)));
        assert_eq!(plain.lines().next(), Some("a\\x1b[1mb\\x1b]0;t\\x07\\x1b["));
        let coloured = shown(&hostile, true)
            .replace("\x1b[1m", "")
            .replace("\x1b[0m", "");
        assert!(!coloured.chars().any(|c| c != '\n' && is_hostile(c)));
        assert!(coloured.contains("\\x1b[31mc"), "no colour of ours");
    }

    /// Every colour of a page comes through where there are colours.
    #[test]
    fn colours_of_ours_pass() {
        let style = Style {
            colour: true,
            ..Style::PLAIN
        };
        for ink in [
            Ink::Title,
            Ink::Faint,
            Ink::Warning,
            Ink::Cpu,
            Ink::Ready,
            Ink::Wait,
            Ink::Tracer,
        ] {
            let painted = format!("x {} y\n", style.paint(ink, "words"));
            assert_eq!(shown(&painted, true), painted);
        }
    }
}
