//! Naming the functions of a recording again, with programs that are built here and recordings that are drawn: nothing is
//! run or recorded.

#[path = "../src/symbols/tests/folder.rs"]
mod folder;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use folder::Folder;
use timesink_capture::address_space::vdso;
use timesink_capture::symbolize::{symbolize, Count, SymbolizedModule};
use timesink_capture::symbols::Symbols;
use timesink_recording::tables::{Frame, Module, Sample, Span, Stack, Wait};
use timesink_recording::words::SymbolSource;
use timesink_recording::{notation, Recording, StackId};

impl Folder {
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder");
        let names = entries.map(|e| e.expect("an entry").file_name().into_string());
        let mut names: Vec<_> = names.map(|name| name.expect("a name")).collect();
        names.sort();
        names
    }
}

/// `here` is inside of a function that is inlined into one that is inlined into `outer`, and `back` is where `outer`
/// returns to in `main`.
const PROGRAM: &str = r#"
static inline __attribute__((always_inline)) int inner(int x)
{
	__asm__ volatile(".globl here\nhere: nop");
	return x * 3;
}
static inline __attribute__((always_inline)) int middle(int x)
{
	return inner(x + 1) + 1;
}
__attribute__((noinline)) int outer(int x)
{
	return middle(x) ^ 5;
}
int main(int argc, char **argv)
{
	(void)argv;
	int y = outer(argc);
	__asm__ volatile(".globl back\nback: nop");
	return y;
}
"#;

/// A program without names, `prog`, and beside it a folder with what was stripped from it.
fn built() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path("prog.c"), PROGRAM).expect("a source file");
    folder.run(
        "gcc -g -O2 -o prog prog.c && nm prog > labels && mkdir debug
         objcopy --only-keep-debug prog debug/whatever && strip prog",
    );
    folder
}

/// A recording of the program in which no frame of it has a name, in the folder `r`.
fn drawn(folder: &Folder) -> PathBuf {
    let labels = fs::read_to_string(folder.path("labels")).expect("the labels");
    let label = |name: &str| {
        let line = labels.lines().find(|l| l.ends_with(&format!(" {name}")));
        let address = line.and_then(|line| line.split(' ').next()).expect(name);
        u64::from_str_radix(address, 16).expect(name)
    };
    let prog = folder.path("prog");
    let mut draft = notation::draft(&format!(
        r#"
        run wall 20ms
        process 1 pid 100 prog
        thread 1.1 tid 100 prog
        frame caller function "" module {prog} offset {back}
        frame place function "" module {prog} offset {here}
        frame script function work module /x.py file /x.py line 3 language python kind script
        frame other function known module /lib/gone.so offset 64 file known.c line 7
        object rows.db file
        1.1: cpu 0..5ms | wait 5ms..20ms flush rows.db by block device stack "caller;place;script" waker_stack "caller"
        sample 1.1 1ms weight 3ms stack "caller;place"
        sample 1.1 2ms weight 2ms stack "other;script;caller;place;place"
        sample 1.1 3ms weight 1ms
        "#,
        prog = prog.display(),
        back = label("back"),
        here = label("here"),
    ));
    for frame in &mut draft.frames {
        frame.returns = frame.offset == label("back");
    }
    let build_id = build_id(&prog);
    for module in &mut draft.modules {
        if module.path.ends_with("prog") {
            module.build_id = build_id.clone();
            module.symbols = SymbolSource::None;
        }
        if module.path == "/lib/gone.so" {
            module.build_id = "ab".repeat(20);
        }
    }
    let path = folder.path("r");
    draft.write(&path).expect("a recording");
    path
}

fn build_id(program: &Path) -> String {
    let notes = Command::new("readelf").arg("-n").arg(program).output();
    let notes = String::from_utf8(notes.expect("readelf").stdout).expect("text");
    let line = notes.lines().find(|line| line.contains("Build ID: "));
    let id = line
        .and_then(|line| line.split(": ").nth(1))
        .expect("an id");
    id.trim().to_owned()
}

fn with_debug(folder: &Folder) -> Symbols {
    let mut symbols = Symbols::new(None);
    symbols.look_in(&folder.path("debug")).expect("the folder");
    symbols
}

fn of<'a>(outcomes: &'a [SymbolizedModule], name: &str) -> &'a SymbolizedModule {
    let found = outcomes.iter().find(|o| o.path.ends_with(name));
    found.expect("the module is told of")
}

/// A stack as text, the outermost frame first, with a `+` before what is inlined.
fn shown(recording: &Recording, stack: Option<StackId>) -> String {
    let stacks = recording.rows::<Stack>().expect("stacks");
    let frames = recording.rows::<Frame>().expect("frames");
    let mut names = Vec::new();
    let mut at = stack;
    while let Some(id) = at {
        let row = stacks.iter().find(|row| row.stack == id).expect("a stack");
        let frame = frames.iter().find(|f| f.frame == row.frame).expect("it");
        let sign = if frame.inlined { "+" } else { "" };
        let line = frame.line.map_or(String::new(), |line| format!(":{line}"));
        names.push(format!("{sign}{}{line}", frame.function));
        at = row.parent;
    }
    names.reverse();
    names.join(";")
}

const NAMED: &str = "main:18;outer:13;+middle:9;+inner:4";

/// What must be true of the drawn recording when it has its names.
fn check_named(path: &Path) {
    let recording = Recording::open(path).expect("a recording");
    let samples = recording.rows::<Sample>().expect("samples");
    let stacks: Vec<_> = samples.iter().map(|s| shown(&recording, s.stack)).collect();
    let recursion =
        "known:7;work:3;main:18;outer:13;+middle:9;+inner:4;outer:13;+middle:9;+inner:4";
    assert_eq!(stacks, [NAMED, recursion, ""]);
    let waits = recording.rows::<Wait>().expect("waits");
    assert_eq!(shown(&recording, waits[0].stack), format!("{NAMED};work:3"));
    assert_eq!(shown(&recording, waits[0].waker_stack), "main:18");
    assert_eq!(recording.rows::<Span>().expect("spans").len(), 2);
    let modules = recording.rows::<Module>().expect("modules");
    let prog = modules.iter().find(|m| m.path.ends_with("prog"));
    assert_eq!(prog.expect("the program").symbols, SymbolSource::Debug);
    // A parent stands before its children, and ids are places.
    for (i, row) in recording
        .rows::<Stack>()
        .expect("stacks")
        .iter()
        .enumerate()
    {
        assert_eq!(row.stack.index(), i);
        assert!(row.parent.is_none_or(|parent| parent.index() < i));
    }
}

/// A program without names gets them from a debug file in a folder, whatever the file is called: functions, lines, and
/// calls that were inlined. All else stays, and a second time there is nothing to do.
#[test]
fn a_stripped_program_gets_its_names() {
    let folder = built();
    let path = drawn(&folder);
    let bare = symbolize(&path, &Symbols::new(None), None).expect("done");
    let none = Count {
        frames: 2,
        named: 0,
    };
    assert_eq!(
        (of(&bare, "prog").before, of(&bare, "prog").after),
        (none, none)
    );
    let outcomes = symbolize(&path, &with_debug(&folder), None).expect("done");
    let all = Count {
        frames: 4,
        named: 4,
    };
    assert_eq!(
        (of(&outcomes, "prog").before, of(&outcomes, "prog").after),
        (none, all)
    );
    // Nobody has that library any more: what was known of it stays.
    assert_eq!(of(&outcomes, "gone.so").after.named, 1);
    check_named(&path);
    let changed = fs::metadata(path.join("frames.parquet")).expect("it").ino();
    let again = symbolize(&path, &with_debug(&folder), None).expect("done");
    assert_eq!(
        (of(&again, "prog").before, of(&again, "prog").after),
        (all, all)
    );
    assert_eq!(
        fs::metadata(path.join("frames.parquet")).expect("it").ino(),
        changed
    );
    // Without the debug file nothing is unlearned.
    symbolize(&path, &Symbols::new(None), None).expect("done");
    check_named(&path);
    assert_eq!(folder.names(), ["debug", "labels", "prog", "prog.c", "r"]);
}

/// The program itself may be gone, or another one in its place.
#[test]
fn a_program_that_is_gone_gets_its_names() {
    for replacement in ["rm prog", "cp /bin/true prog", "rm prog; mkdir prog"] {
        let folder = built();
        let path = drawn(&folder);
        folder.run(replacement);
        symbolize(&path, &with_debug(&folder), None).expect("done");
        check_named(&path);
    }
}

/// A packed recording stays packed, and a link to a recording stays a link.
#[test]
fn a_packed_recording_gets_its_names() {
    let folder = built();
    let path = drawn(&folder);
    let packed = folder.path("r.tar");
    timesink_recording::pack(&path, &packed).expect("packed");
    fs::set_permissions(&packed, fs::Permissions::from_mode(0o640)).expect("its rights");
    folder.run("ln -s r.tar link");
    symbolize(&folder.path("link"), &with_debug(&folder), None).expect("done");
    check_named(&packed);
    assert_eq!(folder.run("tar tf r.tar | head -1"), "r/recording.json\n");
    assert!(folder.path("link").is_symlink());
    assert_eq!(fs::metadata(&packed).expect("it").mode() & 0o777, 0o640);
    assert_eq!(
        folder.names(),
        ["debug", "labels", "link", "prog", "prog.c", "r", "r.tar"]
    );
}

/// The kernel's small library is in no file, and gets its names where the same kernel runs; that of another kernel gets none.
#[test]
fn the_kernels_library_gets_its_names() {
    let folder = Folder::new();
    let own = vdso::own().expect("every kernel for this processor has one");
    fs::write(folder.path("vdso.so"), own).expect("a file");
    let listing = folder.run("nm -D --without-symbol-versions vdso.so");
    let line = listing.lines().find(|l| l.ends_with(" __vdso_time"));
    let place = line.and_then(|line| line.split(' ').next()).expect("it");
    let mut draft = notation::draft(&format!(
        r#"
        run wall 1ms
        process 1 pid 100 prog
        thread 1.1 tid 100 prog
        frame time function "" module [vdso] kind vdso offset {}
        1.1: cpu 0..1ms
        sample 1.1 1ms weight 1ms stack "time"
        "#,
        u64::from_str_radix(place, 16).expect("an address")
    ));
    for (build_id, name) in [
        ("ab".repeat(20), ""),
        (build_id(&folder.path("vdso.so")), "__vdso_time"),
    ] {
        draft.modules[0].build_id = build_id;
        let path = folder.path(&format!("r{name}"));
        draft.write(&path).expect("a recording");
        symbolize(&path, &Symbols::new(None), None).expect("done");
        let frames = Recording::open(&path)
            .expect("it")
            .rows::<Frame>()
            .expect("it");
        assert_eq!(frames[0].function, name);
    }
}

/// Files of another build are never used, whatever they are called and wherever they lie; nor is any file for a module
/// without a build id.
#[test]
fn another_build_is_never_used() {
    let folder = built();
    let path = drawn(&folder);
    folder.run("gcc -g -O1 -o other prog.c && cp other debug/whatever && cp other prog");
    let id = build_id(&folder.path("prog"));
    let recorded = Recording::open(&path)
        .expect("it")
        .rows::<Module>()
        .expect("it");
    let recorded = recorded.into_iter().find(|m| m.path.ends_with("prog"));
    let recorded = recorded.expect("the program").build_id;
    assert_ne!(id, recorded);
    let (first, rest) = recorded.split_at(2);
    folder.run(&format!(
        "mkdir -p debug/.build-id/{first} && cp other debug/.build-id/{first}/{rest}.debug"
    ));
    let outcomes = symbolize(&path, &with_debug(&folder), None).expect("done");
    let prog = of(&outcomes, "prog");
    assert_eq!((prog.after.named, prog.symbols), (0, SymbolSource::None));
    let fault = prog.fault.as_deref().expect("a fault");
    assert!(fault.contains("build id"), "{fault}");

    let without = built();
    let path = drawn(&without);
    let whole = Recording::open(&path).expect("it");
    let mut modules = whole.rows::<Module>().expect("it");
    modules.iter_mut().for_each(|m| m.build_id.clear());
    let mut out = timesink_recording::RecordingWriter::create(&without.path("s")).expect("it");
    out.copy(&whole, &["modules"]).expect("copied");
    modules
        .into_iter()
        .for_each(|m| out.push(m).expect("a row"));
    out.finish(whole.about().clone()).expect("finished");
    let outcomes = symbolize(&without.path("s"), &with_debug(&without), None).expect("done");
    assert_eq!(of(&outcomes, "prog").after.named, 0);
}

/// What somebody else put into the recording's folder would be lost: it is told, and nothing changes.
#[test]
fn nothing_of_others_is_lost() {
    let folder = built();
    let path = drawn(&folder);
    fs::write(path.join("notes.txt"), "mine").expect("a file");
    let before = folder.run("cat r/*.parquet | sha256sum");
    let error = symbolize(&path, &with_debug(&folder), None).expect_err("refused");
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(folder.run("cat r/*.parquet | sha256sum"), before);
    assert_eq!(folder.run("cat r/notes.txt"), "mine");
    assert_eq!(folder.names(), ["debug", "labels", "prog", "prog.c", "r"]);
}

/// What a killed timesink left beside the recording is in nobody's way; where one is at work, another waits its turn.
#[test]
fn leftovers_are_no_obstacle() {
    let folder = built();
    let path = drawn(&folder);
    folder.run("mkdir -p r.new/folder && echo half > r.new/folder/frames.parquet");
    let lock = fs::File::open(folder.path("r.new")).expect("the folder");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let error = symbolize(&path, &with_debug(&folder), None).expect_err("refused");
    assert!(
        error.to_string().contains("another process is working"),
        "{error}"
    );
    drop(lock);
    symbolize(&path, &with_debug(&folder), None).expect("done");
    check_named(&path);
    assert_eq!(folder.names(), ["debug", "labels", "prog", "prog.c", "r"]);
}

/// A recording whose tables do not fit together is left as it is.
#[test]
fn a_damaged_recording_is_left() {
    let folder = built();
    let path = drawn(&folder);
    let whole = Recording::open(&path).expect("it");
    let mut stacks = whole.rows::<Stack>().expect("stacks");
    stacks.reverse();
    let mut out = timesink_recording::RecordingWriter::create(&folder.path("s")).expect("it");
    out.copy(&whole, &["stacks"]).expect("copied");
    stacks
        .into_iter()
        .for_each(|row| out.push(row).expect("a row"));
    out.finish(whole.about().clone()).expect("finished");
    let before = folder.run("cat s/* | sha256sum");
    let error = symbolize(&folder.path("s"), &with_debug(&folder), None).expect_err("refused");
    assert!(error.to_string().contains("a lost caller"), "{error}");
    assert_eq!(folder.run("cat s/* | sha256sum"), before);
}
