//! Names of threads, processes and things, harmless to a terminal.
//!
//! Every name in a recording was chosen by somebody else, perhaps so that it moves the cursor,
//! rewrites a line or turns the direction of text. Such characters are shown as escapes.

use std::borrow::Cow;
use std::fmt::Write as _;

use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::{ProcessLedger, Who};
use timesink_analysis::operations::{Kind, Set};
use timesink_analysis::stacks::{Code, FunctionIx, Spot};
use timesink_comparison::FactDifference;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::words::{ModuleKind, ObjectKind};

use super::{file_name, Report};

/// Whether a character would do something to a terminal other than show.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Where the socket of operations is served, or whom it asks.
pub fn address<'a>(facts: &'a Facts, set: &Set, socket: ObjectId) -> Option<&'a str> {
    let socket = facts.object(socket)?;
    match set.kind {
        Kind::Asked => socket.remote.as_deref().or(socket.path.as_deref()),
        _ => socket.local.as_deref(),
    }
}

/// What is told of a fact for the run that lacks it.
pub fn absent(fact: &FactDifference) -> &'static str {
    match fact.may_be_unseen {
        true => "(not seen: its system calls were timed for only part of the run)",
        false => "(none)",
    }
}

/// The text with hostile characters written as escapes.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_hostile(c) && u32::from(c) < 0x100 => {
                // Writing to a String cannot fail.
                let _ = write!(safe, "\\x{:02x}", u32::from(c));
            }
            c if is_hostile(c) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// `name(id)`, or what there is of it.
fn named(name: &str, id: u32) -> String {
    if name.is_empty() {
        return format!("({id})");
    }
    format!("{}({id})", harmless(name))
}

/// A thread as `name(tid)`.
pub fn thread(facts: &Facts, id: ThreadId) -> String {
    match facts.ledger.thread(id) {
        Some(thread) => named(&thread.row.name, thread.row.tid),
        None => "a thread that was lost".to_owned(),
    }
}

/// A process; the main one needs no number to be known by.
pub fn process_in(report: &Report, id: ProcessId) -> String {
    match report.main().is_some_and(|main| main.row.process == id) {
        true => process_name(report.facts, id).into_owned(),
        false => process(report.facts, id),
    }
}

/// A process by its name alone.
pub fn process_name(facts: &Facts, id: ProcessId) -> Cow<'_, str> {
    match facts.ledger.process(id) {
        Some(process) => harmless(&process.row.name),
        None => "a process that was lost".into(),
    }
}

/// A process as `name(pid)`.
pub fn process(facts: &Facts, id: ProcessId) -> String {
    match facts.ledger.process(id) {
        Some(process) => named(&process.row.name, process.row.pid),
        None => "a process that was lost".to_owned(),
    }
}

/// The same by another name than its own.
pub fn process_called(facts: &Facts, id: ProcessId, name: &str) -> String {
    match facts.ledger.process(id) {
        Some(process) => named(name, process.row.pid),
        None => "a process that was lost".to_owned(),
    }
}

/// Who had a processor.
pub fn who(facts: &Facts, who: Who) -> String {
    match who {
        Who::Thread(id) => thread(facts, id),
        Who::Outsider(tid) => named(facts.outsiders.name(tid), tid),
        Who::Idle => "an idle processor waking up".to_owned(),
        Who::Unlisted => "others, too many to list".to_owned(),
    }
}

/// A thing, by what identifies it to a person. A child process goes by its name where the
/// recording has it: its label is only a number.
pub fn object(facts: &Facts, id: ObjectId) -> String {
    let Some(object) = facts.object(id) else {
        return format!("object {id} (name lost)");
    };
    if object.kind == ObjectKind::Child {
        // The kernel reuses process ids; a name that may be another process's is worse than none.
        let is_it = |child: &&ProcessLedger| object.inode == Some(child.row.pid.into());
        let mut children = facts.ledger.processes.iter().filter(is_it);
        if let (Some(child), None) = (children.next(), children.next()) {
            return named(&child.row.name, child.row.pid);
        }
    }
    match object
        .path
        .as_deref()
        .filter(|path| object.label.is_empty() && !path.is_empty())
    {
        Some(path) => harmless(path).into_owned(),
        None => harmless(&object.label).into_owned(),
    }
}

/// A thing; a path below the directory that the program was started in is told from there.
pub fn object_in(report: &Report, id: ObjectId) -> String {
    object_below(report.facts, &report.about.directory, id)
}

/// A thing; a path below a directory is told from there.
pub fn object_below(facts: &Facts, directory: &str, id: ObjectId) -> String {
    let name = object(facts, id);
    let below = name
        .strip_prefix(directory)
        .and_then(|rest| rest.strip_prefix('/'));
    match below {
        Some(below) if !directory.is_empty() && !below.is_empty() => below.to_owned(),
        _ => name,
    }
}

/// A function by its name; what has none is told by its module.
pub fn function(code: &Code, function: FunctionIx) -> String {
    let name = &code.function(function).name;
    if !name.is_empty() {
        return harmless(name).into_owned();
    }
    match origin(code, function) {
        Some(origin) => format!("(no name in {origin})"),
        None => "(no name)".to_owned(),
    }
}

/// Types that a function was made for, in a sentence: `Vec<T>::push` says more than `Vec::push`, a hundred letters do not.
const LONGEST_TYPES: usize = 20;

/// What a name ends with that was too long to be kept.
const CUT: &str = "... [cut]";

/// A name without long lists of types: `scan<a::b::Row, {closure_env#0}<a::b::Row>>` is `scan`.
fn without_types(name: &str) -> Cow<'_, str> {
    if name.len() <= LONGEST_TYPES || !name.contains('<') {
        return name.into();
    }
    let mut short = String::new();
    let mut rest = name;
    while let Some(start) = rest.find('<') {
        let (before, from) = rest.split_at(start);
        let Some(length) = length_of_types(from).filter(|_| !before.ends_with("operator")) else {
            // A name that was cut has lost the end of its types.
            if from.ends_with(CUT) && !before.is_empty() {
                short.push_str(before);
                rest = "";
            }
            break;
        };
        let (types, after) = from.split_at(length);
        short.push_str(before);
        // `<Reader as Read>::read` begins with what it is a function of.
        if short.is_empty() {
            short = format!("<{}>", without_types(&types[1..length - 1]));
        } else if types.len() <= LONGEST_TYPES {
            short.push_str(types);
        } else if short.ends_with("::") {
            // `query::<Key>::{closure}` keeps one pair of colons.
            short.truncate(short.len() - 2);
        }
        rest = after;
    }
    short.push_str(rest);
    short.into()
}

/// The length of what stands between a bracket, which the text begins with, and its own closing one, both included.
fn length_of_types(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            // `->` is no bracket.
            '>' if before != '-' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

/// A function by its name, without long lists of types.
fn function_in_short(code: &Code, of: FunctionIx) -> String {
    without_types(&function(code, of)).into_owned()
}

/// A function as a sentence names it. `<module>`, `(anonymous)` and `{closure#0}` there are many of: the file, and the line if it is known,
/// say which.
pub fn function_told(code: &Code, of: FunctionIx) -> String {
    let name = function_in_short(code, of);
    let found = code.function(of);
    match place(&file_in_short(&found.file), found.line) {
        Some(place) if name.starts_with(['<', '(', '{']) => format!("{name} {place}"),
        _ => name,
    }
}

/// A function with where it is from.
pub fn function_in(code: &Code, of: FunctionIx) -> String {
    let name = function(code, of);
    match origin(code, of) {
        Some(origin) if !code.function(of).name.is_empty() => format!("{name} · {origin}"),
        _ => name,
    }
}

/// A function with the file and the line where a stack passes through it, as far as they are known.
pub fn function_at(code: &Code, spot: Spot) -> String {
    let name = function(code, spot.function);
    let place = code
        .frame(spot)
        .and_then(|frame| place(&file_in_short(&frame.file), frame.line));
    match place {
        Some(place) => format!("{name} {place}"),
        None => name,
    }
}

/// A function as a call: `store()`. A name that tells its parameters, or of what is no function, stays as it is.
pub fn call(code: &Code, of: FunctionIx) -> String {
    called(&function_in_short(code, of))
}

/// The same of its name. Erlang's tell how many parameters there are: `shop:price/1`.
pub fn called(name: &str) -> String {
    let arity = name.rsplit_once('/').map_or("", |(_, arity)| arity);
    let has_arity = !arity.is_empty() && arity.bytes().all(|byte| byte.is_ascii_digit());
    match has_arity || name.ends_with([')', '>']) {
        true => name.to_owned(),
        false => format!("{name}()"),
    }
}

/// Calls, the innermost first: `store() import.c:120, called from main():73`. A file is named once.
pub fn calls_at(code: &Code, spots: &[Spot]) -> String {
    let mut file = "";
    let calls = spots.iter().map(|spot| {
        let call = call(code, spot.function);
        let Some(frame) = code.frame(*spot) else {
            return call;
        };
        let place = place(&file_in_short(&frame.file), frame.line);
        match (place, frame.line) {
            (Some(_), Some(line)) if frame.file == file => format!("{call}:{line}"),
            (Some(_), None) if frame.file == file => call,
            (Some(place), _) => {
                file = &frame.file;
                format!("{call} {place}")
            }
            (None, _) => call,
        }
    });
    calls.collect::<Vec<_>>().join(", called from ")
}

/// A file without its folders, but with the package that it is of: many of them have an `index.js` or a `base.py`.
fn file_in_short(path: &str) -> Cow<'_, str> {
    const PACKAGES: [&str; 3] = ["/node_modules/", "/site-packages/", "/dist-packages/"];
    let name = file_name(path);
    let within = PACKAGES
        .iter()
        .filter_map(|folder| path.rsplit_once(folder));
    let Some((_, within)) = within.min_by_key(|(_, within)| within.len()) else {
        return name.into();
    };
    // `@scope/package` is one name.
    let parts = 1 + usize::from(within.starts_with('@'));
    let ends = within.match_indices('/').map(|(at, _)| at);
    match ends.clone().nth(parts - 1) {
        None => name.into(),
        Some(end) if ends.count() == parts => format!("{}/{name}", &within[..end]).into(),
        Some(end) => format!("{}/…/{name}", &within[..end]).into(),
    }
}

/// `import.c:120`, or only the file where no line is known; `None` without a file.
pub fn place(file: &str, line: Option<u32>) -> Option<String> {
    let line = line.map_or(String::new(), |line| format!(":{line}"));
    (!file.is_empty()).then(|| format!("{}{line}", harmless(file)))
}

/// Where a function is from, in short: the last part of its module's path.
fn origin(code: &Code, function: FunctionIx) -> Option<String> {
    let module = code.module_of(function)?;
    let path = match module.kind {
        ModuleKind::Kernel => "kernel",
        _ => file_name(&module.path),
    };
    (!path.is_empty()).then(|| harmless(path).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing that a name holds can move a cursor, start a sequence or turn text around.
    #[test]
    fn hostile_names_become_harmless() {
        assert_eq!(harmless("a\x1b[2Jb"), "a\\x1b[2Jb");
        assert_eq!(harmless("a\r\nb\tc"), "a\\r\\nb\\tc");
        assert_eq!(harmless("\u{9b}31m"), "\\x9b31m");
        assert_eq!(harmless("x\u{202e}exe.txt"), "x\\u{202e}exe.txt");
        assert_eq!(
            harmless("\u{2066}\u{200f}\u{7f}"),
            "\\u{2066}\\u{200f}\\x7f"
        );
        for c in (0..=0x10ffff)
            .filter_map(char::from_u32)
            .filter(|c| c.is_control())
        {
            assert!(!harmless(&c.to_string()).chars().any(is_hostile));
        }
    }

    #[test]
    fn files_of_packages_are_told_with_these() {
        for (path, told) in [
            ("/srv/app/index.js", "index.js"),
            ("index.js", "index.js"),
            ("", ""),
            ("/app/node_modules/chokidar/index.js", "chokidar/index.js"),
            ("/app/node_modules/a/node_modules/b/lib/x.js", "b/…/x.js"),
            ("/app/node_modules/@hapi/hoek/lib/x.js", "@hapi/hoek/…/x.js"),
            ("/app/node_modules/@hapi/hoek.js", "hoek.js"),
            ("/venv/lib/python3.13/site-packages/six.py", "six.py"),
            (
                "/usr/lib/python3/dist-packages/yaml/loader.py",
                "yaml/loader.py",
            ),
        ] {
            assert_eq!(file_in_short(path), told, "{path}");
        }
    }

    /// A sentence has no room for the types that a function was made for.
    #[test]
    fn long_types_are_left_out_of_names() {
        let cases = [
            (
                "scan<a::tables::Span, a::store::{impl#0}::decode::{closure_env#0}<a::Span>>",
                "scan",
            ),
            (
                "std::vector<int, std::allocator<int>>::push_back(int&&)",
                "std::vector::push_back(int&&)",
            ),
            ("Vec<T>::push", "Vec<T>::push"),
            ("<module>", "<module>"),
            (
                "<alloc::vec::Vec<timesink::Row, Global> as Extend>::extend",
                "<alloc::vec::Vec as Extend>::extend",
            ),
            (
                "operator<<(std::ostream&, a_long_name_of_a_type)",
                "operator<<(std::ostream&, a_long_name_of_a_type)",
            ),
            ("call<fn(a::First) -> a::Second, a::Third>", "call"),
            ("query::run::<a::First, a::Second>", "query::run"),
            (
                "query::run::<a::First, a::Second>::{closure#1}",
                "query::run::{closure#1}",
            ),
            ("with<a::b, c::d<e::f, g::h... [cut]", "with"),
            (
                "<a::b, c::d<e::f, g::h... [cut]",
                "<a::b, c::d<e::f, g::h... [cut]",
            ),
            (
                "unbalanced<a::b::c::d::e::f::g::h",
                "unbalanced<a::b::c::d::e::f::g::h",
            ),
            (
                "unbalanced a::b::c::d::e::f::g::h>",
                "unbalanced a::b::c::d::e::f::g::h>",
            ),
            ("<<<<<<<<<<<<<<<<<<<<<<<<<<<", "<<<<<<<<<<<<<<<<<<<<<<<<<<<"),
            (
                "->->->->->->->->->->->->->->->",
                "->->->->->->->->->->->->->->->",
            ),
        ];
        for (name, want) in cases {
            assert_eq!(without_types(name), want, "{name}");
        }
    }

    /// A function is shown as a call, unless its name tells what it is called with.
    #[test]
    fn functions_are_shown_as_calls() {
        for (name, call) in [
            ("store", "store()"),
            ("Store::get(int)", "Store::get(int)"),
            ("shop:price/1", "shop:price/1"),
            ("a/b", "a/b()"),
        ] {
            assert_eq!(called(name), call);
        }
    }

    /// Ordinary names, in any script, stay as they are.
    #[test]
    fn ordinary_names_stay() {
        for name in ["rows.db", "Zürich", "データ", "[kworker/0:1-events]", "a b"] {
            assert_eq!(harmless(name), name);
        }
    }
}
