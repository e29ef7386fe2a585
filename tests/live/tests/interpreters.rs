//! PHP, Ruby and Perl: the functions of a script, its files and its lines, in what waits and what computes, as Debian ships them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use timesink_live::{attempts, none_of, output, root, timesink, Chain, Folder, Recorded};
use timesink_recording::tables::{Frame, Sample, Wait};
use timesink_recording::words::Language;
use timesink_recording::StackId;

struct Interpreter {
    language: Language,
    command: &'static str,
    script: &'static str,
    /// What a line waits for is said at its end; in which functions, the innermost first.
    waits: &'static [(&'static str, &'static [&'static str])],
    /// What its code in a text of its own is in.
    evaluated: &'static str,
    computes: &'static str,
    /// Code on the command line that sleeps, and the function that does.
    inline: (&'static str, &'static str),
    asleep: &'static str,
}

const PHP: Interpreter = Interpreter {
    language: Language::Php,
    command: "php",
    script: "stacks.php",
    waits: &[
        ("waits 21", &["Work::asleep", "outer", "{main}"]),
        ("waits 22", &["{closure}", "calls_back", "{main}"]),
        ("waits 23", &["in_child", "{main}"]),
    ],
    evaluated: "evaluated",
    computes: "Work::compute",
    inline: (
        "-r",
        "function asleep() { usleep(50000); } usleep(100000); asleep();",
    ),
    asleep: "asleep",
};

const RUBY: Interpreter = Interpreter {
    language: Language::Ruby,
    command: "ruby",
    script: "stacks.rb",
    waits: &[
        (
            "waits 21",
            &["asleep", "outer", "block in <main>", "<main>"],
        ),
        (
            "waits 22",
            &[
                "block in calls_back",
                "calls_back",
                "block in <main>",
                "<main>",
            ],
        ),
        ("waits 23", &["in_child", "block in <main>", "<main>"]),
        ("waits 26", &["in_thread", "block in <main>"]),
    ],
    evaluated: "evaluated",
    computes: "compute",
    inline: ("-e", "def asleep() sleep 0.05 end; sleep 0.1; asleep"),
    asleep: "asleep",
};

const PERL: Interpreter = Interpreter {
    language: Language::Perl,
    command: "perl",
    script: "stacks.pl",
    waits: &[
        ("waits 21", &["Work::asleep", "main::outer", "{main}"]),
        ("waits 22", &["main::calls_back", "{main}"]),
        ("waits 23", &["main::in_child", "{main}"]),
    ],
    evaluated: "main::evaluated",
    computes: "Work::compute",
    inline: (
        "-e",
        "sub asleep { select(undef, undef, undef, 0.05) } select(undef, undef, undef, 0.1); asleep()",
    ),
    asleep: "main::asleep",
};

/// So many samples must be seen where it computes, of some hundred.
const ENOUGH: usize = 40;

/// The functions of a script in a stack, the innermost first.
fn own<'a>(chain: &'a Chain, interpreter: &Interpreter) -> Vec<&'a Frame> {
    let frames = chain.frames.iter().map(AsRef::as_ref);
    let is_own = |f: &&Frame| f.language == interpreter.language && !f.file.is_empty();
    frames.filter(is_own).collect()
}

struct Seen {
    chains: HashMap<StackId, Chain>,
    waits: Vec<Wait>,
    samples: Vec<Sample>,
    /// The script, and its lines.
    path: PathBuf,
    lines: Vec<String>,
}

impl Seen {
    fn run(interpreter: &Interpreter, script: &Path, folder: &Folder) -> Seen {
        let command = [interpreter.command, script.to_str().expect("a path")];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let text = std::fs::read_to_string(script).expect("the script");
        Seen {
            chains: recorded.chains(),
            waits: recorded.rows(),
            samples: recorded.rows(),
            path: script.into(),
            lines: text.lines().map(str::to_owned).collect(),
        }
    }

    /// The text of the line that a frame of the script is at.
    fn line(&self, frame: &Frame) -> &str {
        let is_here = Path::new(&frame.file) == self.path;
        let line = frame.line.filter(|_| is_here);
        let line = line.and_then(|line| self.lines.get((line as usize).checked_sub(1)?));
        line.map_or("", String::as_str)
    }

    fn problems(&self, interpreter: &Interpreter) -> Vec<String> {
        let mut problems = Vec::new();
        let chains = self.waits.iter().filter_map(|w| self.chains.get(&w.stack?));
        let asleep: Vec<Vec<&Frame>> = chains.map(|c| own(c, interpreter)).collect();
        let names = |frames: &[&Frame]| -> Vec<String> {
            frames.iter().map(|f| f.function.clone()).collect()
        };
        for (text, functions) in interpreter.waits {
            let is_it = |frames: &&Vec<&Frame>| {
                let line = frames.first().map(|frame| self.line(frame));
                names(frames) == **functions && line.is_some_and(|line| line.contains(text))
            };
            if !asleep.iter().any(|frames| is_it(&frames)) {
                let seen: BTreeSet<Vec<String>> = asleep.iter().map(|f| names(f)).collect();
                problems.push(format!(
                    "`{text}` is not seen in {functions:?}, but {seen:?}"
                ));
            }
        }
        let is_evaluated = |frames: &&Vec<&Frame>| {
            names(frames).first().map(String::as_str) == Some(interpreter.evaluated)
        };
        if !asleep.iter().any(|frames| is_evaluated(&frames)) {
            problems.push("what is evaluated has no name".into());
        }
        let computing = self.samples.iter().filter_map(|sample| {
            let frames = own(self.chains.get(&sample.stack?)?, interpreter);
            frames
                .first()
                .copied()
                .filter(|f| f.function == interpreter.computes)
        });
        let lines: Vec<&str> = computing.map(|frame| self.line(frame)).collect();
        let right = lines
            .iter()
            .filter(|line| line.contains("computes"))
            .count();
        // The line of its end, too, is seen now and then.
        if right < ENOUGH || lines.len() - right > lines.len() / 20 {
            problems.push(format!(
                "of {} samples {right} are where it computes",
                lines.len()
            ));
        }
        problems
    }
}

/// The functions and lines of a script are seen, whether it waits or computes; in a child; and in what it evaluates. A file's
/// name does what it likes, and nobody's terminal.
fn lines_of(interpreter: &Interpreter) {
    let programs = root().join("tests/live/programs").canonicalize();
    let script = programs.expect("the programs").join(interpreter.script);
    attempts(|| {
        let folder = Folder::new(interpreter.command);
        let seen = Seen::run(interpreter, &script, &folder);
        none_of(&seen.problems(interpreter))
    });
    attempts(|| {
        let folder = Folder::new(interpreter.command);
        let hostile = folder.join("a\x1b[31m\n\u{202e}b");
        std::fs::copy(&script, &hostile).expect("a copy");
        let seen = Seen::run(interpreter, &hostile, &folder);
        let recording = folder.join("r.timesink");
        let report = output(Command::new(timesink()).arg("report").arg(recording)).exits(0);
        let mut problems = seen.problems(interpreter);
        if report.text().contains(['\x1b', '\u{202e}']) {
            problems.push("the name of the file is printed as it is".into());
        }
        none_of(&problems)
    });
    attempts(|| {
        let folder = Folder::new(interpreter.command);
        let (option, code) = interpreter.inline;
        let command = [interpreter.command, option, code];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let chains = recorded.chains();
        let waits = recorded.rows::<Wait>();
        let stacks = waits.iter().filter_map(|w| chains.get(&w.stack?));
        let is_it = |chain: &Chain| {
            own(chain, interpreter)
                .first()
                .is_some_and(|frame| frame.function == interpreter.asleep && frame.line == Some(1))
        };
        let seen = stacks.into_iter().any(is_it);
        none_of(&Vec::from_iter(
            (!seen).then(|| "code on the command line".to_owned()),
        ))
    });
}

/// What must be true of PHP; its own functions, which are in no file, are seen too.
#[test]
fn lines_of_php() {
    lines_of(&PHP);
    attempts(|| {
        let folder = Folder::new("php");
        let command = ["php", "-r", "usleep(100000); sleep(1);"];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let frames = recorded.rows::<Frame>();
        let is_sleep = |f: &Frame| f.language == Language::Php && f.function == "sleep";
        let found = frames.iter().find(|f| is_sleep(f));
        let right = found.is_some_and(|f| f.file.is_empty() && f.module.is_none());
        none_of(&Vec::from_iter(
            (!right).then(|| format!("sleep is {found:?}")),
        ))
    });
}

/// What must be true of Ruby.
#[test]
fn lines_of_ruby() {
    lines_of(&RUBY);
}

/// What must be true of Perl.
#[test]
fn lines_of_perl() {
    lines_of(&PERL);
}
