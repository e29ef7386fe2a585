//! bash: which line of a script started what it waits for, and how it got there.

use std::collections::HashMap;
use std::path::Path;

use timesink_live::{attempts, none_of, root, Folder, Recorded};
use timesink_recording::tables::{Frame, Object, Process, Stack, Thread, Wait};
use timesink_recording::words::{Detail, Language};
use timesink_recording::{ObjectId, StackId};

/// The functions of a script in a stack, the innermost first.
type Chain<'a> = Vec<&'a Frame>;

fn chains<'a>(stacks: &[Stack], frames: &'a [Frame]) -> HashMap<StackId, Chain<'a>> {
    let mut chains: HashMap<StackId, Chain> = HashMap::new();
    for row in stacks {
        let frame = frames.iter().filter(|f| f.frame == row.frame);
        let own = frame.filter(|f| f.language == Language::Shell);
        let callers = row.parent.and_then(|parent| chains.get(&parent));
        let chain = own.chain(callers.into_iter().flatten().copied()).collect();
        chains.insert(row.stack, chain);
    }
    chains
}

/// The lines of a chain as the files have them, without what stands around them; empty where none is told.
fn lines(chain: &Chain, texts: &HashMap<String, Vec<String>>) -> Vec<String> {
    let text = |frame: &&Frame| {
        let line = frame.line.and_then(|line| (line as usize).checked_sub(1));
        let text = line.and_then(|line| texts.get(&frame.file)?.get(line));
        text.map_or("", |text| text.trim()).to_owned()
    };
    chain.iter().map(text).collect()
}

/// The lines of these files, by the names that the shell has for them.
fn texts(folder: &Path) -> HashMap<String, Vec<String>> {
    let names = ["stacks.sh", "stacks-library.sh"];
    let paths = names.map(|name| folder.join(name));
    let lines = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("a script");
        text.lines().map(str::to_owned).collect()
    };
    let texts = paths
        .iter()
        .map(|path| (path.display().to_string(), lines(path)));
    texts.collect()
}

/// What a shell waits for, and the lines that it is at.
struct Seen {
    main: bool,
    detail: Detail,
    /// The command of a child, `sleep 0.022`.
    child: String,
    lines: Vec<String>,
}

fn waits_of(recorded: &Recorded, texts: &HashMap<String, Vec<String>>) -> Vec<Seen> {
    let (frames, stacks) = (recorded.rows::<Frame>(), recorded.rows::<Stack>());
    let chains = chains(&stacks, &frames);
    let (threads, objects) = (recorded.rows::<Thread>(), recorded.rows::<Object>());
    let pids: HashMap<ObjectId, _> = objects.iter().map(|o| (o.object, o.inode)).collect();
    let processes = recorded.rows::<Process>();
    let command = |wait: &Wait| {
        let pid = pids.get(&wait.object?).copied().flatten()?;
        let process = processes.iter().find(|p| u64::from(p.pid) == pid)?;
        Some(process.arguments.replace('\0', " ").trim().to_owned())
    };
    let waits = recorded.rows::<Wait>();
    let in_scripts = waits.iter().filter_map(|wait| {
        let chain = chains.get(&wait.stack?).filter(|chain| !chain.is_empty())?;
        Some(Seen {
            main: wait.thread == threads[0].thread,
            detail: wait.detail,
            child: command(wait).unwrap_or_default(),
            lines: lines(chain, texts),
        })
    });
    in_scripts.collect()
}

/// What must be seen of the first shell: how a line says what it waits for, and from where it is called.
const CHILDREN: [(&str, &[&str]); 5] = [
    ("waits 21", &["work"]),
    ("waits 26", &["inner", "work"]),
    ("waits for a subshell", &["inner", "work"]),
    ("waits 28", &[]),
    ("waits 32", &["from_library"]),
];
/// The same where a child's output is waited for.
const OUTPUT: [(&str, &[&str]); 3] = [
    ("waits 22", &["inner", "work"]),
    ("waits 23", &["inner", "work"]),
    ("waits 27", &[]),
];

fn problems(seen: &[Seen]) -> Vec<String> {
    let mut problems = Vec::new();
    for wait in seen.iter().filter(|wait| wait.detail == Detail::Child) {
        let line = &wait.lines[0];
        // Any child that ends may end a wait for another: of those that only a known line starts this is not so.
        let time = wait.child.strip_prefix("sleep ");
        if !line.is_empty() && time.is_some_and(|time| !line.contains(time)) {
            problems.push(format!("`{}` is waited for in `{line}`", wait.child));
        }
    }
    let of = |detail| seen.iter().filter(move |w| w.main && w.detail == detail);
    for (detail, wanted) in [(Detail::Child, &CHILDREN[..]), (Detail::PipeRead, &OUTPUT)] {
        for (text, callers) in wanted {
            let mut found = of(detail).filter(|wait| wait.lines[0].contains(text));
            if !found.any(|wait| wait.lines[1..] == **callers) {
                problems.push(format!(
                    "{detail}: `{text}` is not seen, by way of {callers:?}"
                ));
            }
        }
    }
    let in_child = |wait: &&Seen| !wait.main && wait.lines[0].contains("waits 25 in a child");
    if seen.iter().filter(in_child).count() < 2 {
        problems.push("a subshell's own child has no line".into());
    }
    let trap = seen.iter().find(|wait| wait.child == "sleep 0.031");
    if trap.is_none_or(|wait| !wait.lines.iter().all(String::is_empty)) {
        problems.push("a trap has a line, or was not seen".into());
    }
    problems
}

/// A shell that waits is at the line that started what it waits for, in functions, loops, subshells, substitutions and
/// files that it reads, and its callers are at theirs. No line is wrong.
#[test]
fn lines_of_bash() {
    let folder = root().join("tests/live/programs");
    let folder = folder.canonicalize().expect("the programs");
    let script = folder.join("stacks.sh");
    let texts = texts(&folder);
    attempts(|| {
        let folder = Folder::new("bash");
        let command = ["bash", script.to_str().unwrap()];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        none_of(&problems(&waits_of(&recorded, &texts)))
    });
}

/// A program that a shell executes is no shell any more, and `bash -c` is in no script.
#[test]
fn no_script() {
    attempts(|| {
        let folder = Folder::new("no-script");
        let command = ["bash", "-c", "sleep 0.1; sleep 0.1; exec sleep 0.1"];
        let recorded = Recorded::run(&folder.join("r.timesink"), &["-q"], &command, 0);
        let frames = recorded.rows::<Frame>();
        let shell = frames.iter().filter(|f| f.language == Language::Shell);
        let problems: Vec<_> = shell.map(|frame| format!("{frame:?}")).collect();
        none_of(&problems)
    });
}
