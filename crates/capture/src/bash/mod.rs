//! bash: which programs are one, where it keeps what, and which line of a script it is at.
//!
//! `recognise` looks at a file; `line` says in which line the shell is, and `merge` puts the functions of the
//! script where they belong among the native frames. Reads no memory of processes: the probes do that
//! (`bash.bpf.h`). Other shells have native frames only, and so has `bash -c`, which is in no script.

use std::ops::Range;
use std::path::Path;

use crate::address_space::{Image, ImageKind};
use crate::interpreters::MergedFrame;
use crate::probes::events::ts_bash;
use crate::probes::ToldScript;
use crate::symbols;

/// What a native frame is to a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptRole {
    /// Executes a command, of whatever kind.
    Command,
    /// Does nothing but lead there.
    Entry,
    /// Waits for a child.
    Wait,
    /// Forks.
    Fork,
    /// Opens files for a command.
    Redirect,
    /// Executes a command for its output, `$(...)`.
    Substitute,
    /// Reads commands.
    Parse,
    Other,
}

const PARTS: [(&str, ScriptRole); 8] = [
    ("execute_command_internal", ScriptRole::Command),
    ("execute_command", ScriptRole::Entry),
    ("wait_for", ScriptRole::Wait),
    ("make_child", ScriptRole::Fork),
    ("do_redirections", ScriptRole::Redirect),
    ("command_substitute", ScriptRole::Substitute),
    ("yyparse", ScriptRole::Parse),
    ("parse_command", ScriptRole::Parse),
];

/// What the file of a bash says.
#[derive(Debug, Clone)]
pub struct Bash {
    /// Where its variables are, as the file's symbol table counts.
    pub places: ts_bash,
    parts: Vec<(Range<u64>, ScriptRole)>,
}

impl Bash {
    /// What the function at this address, as the file counts, is to a script.
    pub fn part(&self, address: u64) -> ScriptRole {
        let found = self
            .parts
            .iter()
            .find(|(range, _)| range.contains(&address));
        found.map_or(ScriptRole::Other, |(_, part)| *part)
    }
}

/// Whether a file may be a bash, by its name: others are not opened.
pub fn may_be(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "bash")
}

/// The bash in this file, if there is one.
pub fn recognise(image: &Image) -> Option<Bash> {
    if image.kind() != ImageKind::File || !may_be(image.path()) {
        return None;
    }
    bash(&symbols::places(image.open().ok()?, is_wanted).ok()?)
}

const VARIABLES: [&str; 5] = [
    "line_number",
    "line_number_for_err_trap",
    "the_printed_command",
    "running_trap",
    "global_variables",
];

fn is_wanted(name: &str) -> bool {
    VARIABLES.contains(&name) || PARTS.iter().any(|(part, _)| *part == name)
}

/// All of it must be there: with less, what it means is not known.
fn bash(places: &[symbols::FoundSymbol]) -> Option<Bash> {
    let named = |name: &str| places.iter().find(|place| place.name == name);
    let [line, simple_line, command, trap, variables] =
        VARIABLES.map(|name| named(name).map(|place| place.start));
    let parts = PARTS.iter().map(|(name, part)| {
        let place = named(name)?;
        Some((place.start..place.start.checked_add(place.size)?, *part))
    });
    Some(Bash {
        places: ts_bash {
            line: line?,
            simple_line: simple_line?,
            command: command?,
            trap: trap?,
            variables: variables?,
        },
        parts: parts.collect::<Option<_>>()?,
    })
}

/// Commands that consist of others, as bash prints them.
const COMPOUND: [&str; 9] = [
    "for ", "while ", "until ", "if ", "case ", "select ", "{ ", "((", "[[",
];

/// In which line of the innermost function's file a shell is; 0: that cannot be told. `parts` are its native frames.
///
/// bash keeps two lines. One is of the last simple command, or `( )`, and is what a shell that waits for
/// it is at. The other is the same while such a command is prepared, and is right while the head of `for`
/// or `case` is expanded; else it is of nothing that is executed.
fn line(parts: &[ScriptRole], script: &ToldScript) -> u32 {
    let Some(at) = parts.iter().position(|part| *part == ScriptRole::Command) else {
        return 0;
    };
    // What the innermost command does, the last thing first.
    let (inner, direct) = (&parts[..at], at.checked_sub(1).map(|at| parts[at]));
    let compound = COMPOUND.iter().any(|word| script.command.starts_with(word));
    let is_simple = script.line == script.simple_line;
    match direct {
        // A trap's lines are counted in its own text.
        _ if script.trap != 0 || inner.contains(&ScriptRole::Parse) => 0,
        Some(ScriptRole::Wait | ScriptRole::Fork) if compound => 0,
        Some(ScriptRole::Wait) => script.simple_line,
        _ if is_simple => script.line,
        _ if inner.contains(&ScriptRole::Redirect) => 0,
        _ if inner.contains(&ScriptRole::Substitute) => script.line,
        _ => 0,
    }
}

/// The stack that is the two together, and the line of each frame of the script. Its functions take the place of all
/// native frames that execute commands; where there are none, nothing is executed yet.
pub fn merge(parts: &[ScriptRole], script: &ToldScript) -> (Vec<MergedFrame>, Vec<u32>) {
    let leads = |part: &ScriptRole| matches!(part, ScriptRole::Command | ScriptRole::Entry);
    let first = parts.iter().position(leads);
    let last = parts.iter().rposition(leads);
    let (Some(first), Some(last)) = (first, last) else {
        return (
            (0..parts.len()).map(MergedFrame::Native).collect(),
            Vec::new(),
        );
    };
    let native = |range: Range<usize>| range.map(MergedFrame::Native);
    let functions = (0..script.frames.len()).map(MergedFrame::Script);
    let steps = native(0..first)
        .chain(functions)
        .chain(native(last + 1..parts.len()));
    let callers = script.frames.iter().map(|frame| frame.called_at);
    let lines = std::iter::once(line(parts, script)).chain(callers);
    (steps.collect(), lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::ScriptFrame;

    /// Native frames as letters, the innermost first.
    fn parts(letters: &str) -> Vec<ScriptRole> {
        let part = |letter: char| match letter {
            'C' => ScriptRole::Command,
            'E' => ScriptRole::Entry,
            'W' => ScriptRole::Wait,
            'F' => ScriptRole::Fork,
            'R' => ScriptRole::Redirect,
            'S' => ScriptRole::Substitute,
            'P' => ScriptRole::Parse,
            _ => ScriptRole::Other,
        };
        letters.chars().map(part).collect()
    }

    fn script(line: u32, simple_line: u32, command: &str) -> ToldScript {
        ToldScript {
            line,
            simple_line,
            command: command.into(),
            ..ToldScript::default()
        }
    }

    fn at(letters: &str, line: u32, simple_line: u32, command: &str) -> u32 {
        super::line(&parts(letters), &script(line, simple_line, command))
    }

    /// A shell that waits is at the command that it waits for, wherever it read last.
    #[test]
    fn waits() {
        assert_eq!(at("sWCEm", 9, 4, "sleep 1"), 4);
        assert_eq!(at("sWCECEm", 9, 4, "( sleep "), 4);
        // `while ...; done | while ...; done`: of no simple command.
        assert_eq!(at("sWCEm", 9, 4, "while re"), 0);
        // `for f in $(find)`: the line of `for`, and not that of the command before it.
        assert_eq!(at("sWSssCEm", 7, 4, "find . -"), 7);
        // `done < <(find)` may be many lines away from what is executed.
        assert_eq!(at("sWSsRCEm", 9, 4, "find . -"), 0);
        assert_eq!(at("sWssssCEm", 9, 4, "lastpipe"), 0);
    }

    /// A shell that forks, opens or computes for a simple command is at that.
    #[test]
    fn simple_commands() {
        assert_eq!(at("sFsCEm", 4, 4, "sleep 1"), 4);
        assert_eq!(at("sFCEm", 4, 4, "sleep 1"), 4);
        assert_eq!(at("sRCEm", 4, 4, "sleep 1"), 4);
        assert_eq!(at("sssCEm", 4, 4, "true"), 4);
        // `while ... &`: forked for no simple command.
        assert_eq!(at("sFCEm", 4, 4, "while re"), 0);
    }

    /// Nothing is told of a shell between its commands, in a trap, or reading.
    #[test]
    fn other_moments() {
        assert_eq!(at("CEm", 9, 4, "true"), 0);
        assert_eq!(at("sPEm", 9, 4, "true"), 0);
        assert_eq!(at("sPsCEm", 4, 4, "eval tru"), 0);
        assert_eq!(at("sm", 4, 4, "true"), 0);
        let trap = ToldScript {
            trap: 3,
            ..script(1, 1, "sleep 1")
        };
        assert_eq!(super::line(&parts("sWCEm"), &trap), 0);
    }

    /// The functions of the script stand where commands are executed, each with the line that it calls the next in.
    #[test]
    fn functions_take_their_place() {
        let frame = |function: &str, called_at| ScriptFrame {
            function: function.into(),
            file: "x.sh".into(),
            called_at,
        };
        let script = ToldScript {
            frames: vec![frame("f", 12), frame("main", 0)],
            ..script(9, 4, "sleep 1")
        };
        let (steps, lines) = merge(&parts("sWCECEm_"), &script);
        let letter = |step: &MergedFrame| match step {
            MergedFrame::Native(index) => "sWCECEm_".as_bytes()[*index] as char,
            MergedFrame::Script(index) => script.frames[*index].function.chars().next().unwrap(),
        };
        let steps: String = steps.iter().map(letter).collect();
        assert_eq!((steps.as_str(), &lines[..2]), ("sWfmm_", &[4, 12][..]));
        let (steps, lines) = merge(&parts("sPm_"), &script);
        assert_eq!((steps.len(), lines.len()), (4, 0));
        assert!(steps
            .iter()
            .all(|step| matches!(step, MergedFrame::Native(_))));
    }

    /// A program that lacks one of the things that are looked for is none whose meaning is known.
    #[test]
    fn all_is_needed() {
        let names = VARIABLES.iter().chain(PARTS.iter().map(|(name, _)| name));
        let place = |(at, name): (usize, &&str)| symbols::FoundSymbol {
            name: (*name).into(),
            start: 0x1000 + 0x100 * at as u64,
            size: 0x80,
            bytes: Vec::new(),
        };
        let places: Vec<_> = names.enumerate().map(place).collect();
        let whole = bash(&places).expect("a bash");
        assert_eq!(whole.places.variables, 0x1400);
        assert_eq!(whole.part(0x157f), ScriptRole::Command);
        assert_eq!(whole.part(0x1580), ScriptRole::Other);
        for missing in 0..places.len() {
            let mut places = places.clone();
            places.remove(missing);
            assert!(bash(&places).is_none());
        }
    }
}
