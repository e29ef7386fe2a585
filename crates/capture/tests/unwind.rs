//! Stacks of real programs, whose frames are known by construction. Nothing here needs root: the programs are the
//! test's own children.

use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use object::{Object, ObjectSection, ObjectSymbol};
use timesink_capture::address_space::{FilePart, ImageKind, Space, Spaces};
use timesink_capture::unwind::{Ending, Frame, Piece, Registers, Stack, Unwinder};

/// Compile the program anew, for one test.
fn build(name: &str, flags: &[&str]) -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stacks-{name}"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/unwind/stacks.c");
    let built = Command::new("gcc")
        .args(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])
        .args(["-pthread", "-o"])
        .arg(&program)
        .arg(source)
        .args(flags)
        .status();
    assert!(built.expect("gcc runs").success());
    program
}

/// A child that has said that it is ready, and is stopped.
struct Stopped {
    child: Child,
    tid: i32,
}

fn trace(request: libc::c_uint, tid: i32, data: *mut libc::c_void) {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: what data points to, if anything, is what the request asks for.
    let done = unsafe { libc::ptrace(request, tid, none, data) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

fn wait(tid: i32) {
    let mut status = 0;
    // SAFETY: writes the status.
    let waited = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
    assert_eq!(waited, tid);
    assert!(libc::WIFSTOPPED(status), "{status:x}");
}

impl Stopped {
    fn start(program: &Path, arguments: &[&str]) -> Stopped {
        let mut child = Command::new(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let said = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        // The newest thread is the one that is ready.
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).expect("threads");
        let tids = tasks.map(|t| t.expect("a thread").file_name().into_string());
        let tid = tids
            .map(|t| t.expect("text").parse().expect("a number"))
            .max();
        let tid = tid.expect("a thread");
        trace(libc::PTRACE_SEIZE, tid, std::ptr::null_mut());
        trace(libc::PTRACE_INTERRUPT, tid, std::ptr::null_mut());
        wait(tid);
        Stopped { child, tid }
    }

    fn step(&self) {
        trace(libc::PTRACE_SINGLESTEP, self.tid, std::ptr::null_mut());
        wait(self.tid);
    }

    fn spaces(&self) -> Spaces {
        let mut spaces = Spaces::new();
        spaces.seed(self.child.id()).expect("its mappings");
        spaces
    }

    /// Registers, and all of the stack above.
    fn stack(&self) -> (Registers, Vec<u8>) {
        // SAFETY: plain numbers.
        let mut seen: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        trace(libc::PTRACE_GETREGS, self.tid, (&raw mut seen).cast());
        let registers = Registers {
            ip: seen.rip,
            sp: seen.rsp,
            bp: seen.rbp,
            bx: Some(seen.rbx),
            di: None,
        };
        let range = self.mapping(|range, _| range.contains(&seen.rsp));
        let length = (range.end - seen.rsp).min(1 << 20);
        (registers, self.memory(seen.rsp, length))
    }

    /// The outermost part of the first thread's stack, and where it is.
    fn outermost(&self, length: u64) -> (u64, Vec<u8>) {
        let range = self.mapping(|_, name| name == "[stack]");
        let start = range.end - length;
        (start, self.memory(start, length))
    }

    fn mapping(&self, is_meant: impl Fn(&Range<u64>, &str) -> bool) -> Range<u64> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.tid)).expect("maps");
        let mut ranges = maps.lines().filter_map(|line| {
            let (start, end) = line.split(' ').next()?.split_once('-')?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            let name = line.split(' ').next_back()?;
            Some((number(start)?..number(end)?, name))
        });
        let found = ranges.find(|(range, name)| is_meant(range, name));
        found.expect("it is mapped").0
    }

    fn memory(&self, start: u64, length: u64) -> Vec<u8> {
        let mut bytes = vec![0u8; length as usize];
        let ours = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        let theirs = libc::iovec {
            iov_base: start as *mut libc::c_void,
            iov_len: bytes.len(),
        };
        // SAFETY: writes into our own vector, of that length.
        let read = unsafe {
            libc::process_vm_readv(self.tid, &raw const ours, 1, &raw const theirs, 1, 0)
        };
        assert_eq!(read, bytes.len() as isize);
        bytes
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // A traced thread is not gone before its tracer has heard of its end.
        let mut status = 0;
        // SAFETY: writes the status.
        while unsafe { libc::waitpid(self.tid, &raw mut status, libc::__WALL) } == self.tid
            && libc::WIFSTOPPED(status)
        {}
        let _ = self.child.wait();
    }
}

/// Functions of one program, by address.
struct Names(Vec<(u64, u64, String)>);

impl Names {
    fn of(program: &Path) -> Names {
        let bytes = fs::read(program).expect("the program");
        let file = object::File::parse(&bytes[..]).expect("ELF");
        let symbols = file
            .symbols()
            .filter(|s| s.kind() == object::SymbolKind::Text);
        let named = symbols.map(|s| {
            // The entry point has no size.
            let size = s.size().max(1);
            let size = if s.name() == Ok("_start") { 64 } else { size };
            (
                s.address(),
                s.address() + size,
                s.name().unwrap_or("").into(),
            )
        });
        Names(named.collect())
    }

    fn find(&self, address: u64) -> Option<&str> {
        let named = self
            .0
            .iter()
            .find(|(start, end, _)| (*start..*end).contains(&address));
        named.map(|(_, _, name)| name.as_str())
    }
}

struct Seen {
    /// The functions of the program itself, innermost first.
    functions: Vec<String>,
    frames: Vec<Frame>,
    ending: Ending,
}

fn unwind(
    unwinder: &mut Unwinder,
    space: &Space,
    (registers, stack): (Registers, &[u8]),
    about: (&Path, &Names),
) -> Seen {
    let stack = Stack {
        inner: Piece {
            start: registers.sp,
            bytes: stack,
        },
        ..Stack::default()
    };
    unwind_pieces(unwinder, space, (registers, &stack), about)
}

fn unwind_pieces(
    unwinder: &mut Unwinder,
    space: &Space,
    (registers, stack): (Registers, &Stack),
    (program, names): (&Path, &Names),
) -> Seen {
    let mut frames = Vec::new();
    let ending = unwinder.unwind(space, registers, stack, None, &mut frames);
    let own = frames.iter().filter(|frame| {
        let module = frame
            .module
            .and_then(|m| unwinder.modules().get(m.0 as usize));
        module.is_some_and(|m| m.path() == program)
    });
    let name = |frame: &Frame| {
        let found = names.find(frame.address - u64::from(!frame.exact));
        found.unwrap_or("?").to_string()
    };
    Seen {
        functions: own.map(name).collect(),
        frames: frames.clone(),
        ending,
    }
}

/// The same of a stack of which only so much was copied from where it is, and so much from where it begins.
fn functions_of_pieces(program: &Path, arguments: &[&str], inner: usize, outer: u64) -> Seen {
    let stopped = Stopped::start(program, arguments);
    let mut spaces = stopped.spaces();
    let (registers, stack) = stopped.stack();
    let (start, bytes) = stopped.outermost(outer);
    let stack = Stack {
        inner: Piece {
            start: registers.sp,
            bytes: &stack[..inner],
        },
        beyond: Piece {
            start,
            bytes: &bytes,
        },
    };
    let space = spaces.space(stopped.child.id()).expect("known");
    let about = (program, &Names::of(program));
    unwind_pieces(&mut Unwinder::new(), space, (registers, &stack), about)
}

fn functions_of(program: &Path, arguments: &[&str]) -> Seen {
    let stopped = Stopped::start(program, arguments);
    let mut spaces = stopped.spaces();
    let (registers, stack) = stopped.stack();
    let space = spaces.space(stopped.child.id()).expect("known");
    let about = (program, &Names::of(program));
    unwind(&mut Unwinder::new(), space, (registers, &stack), about)
}

/// However a program is linked, its stack is told from the innermost function to the entry point.
#[test]
fn to_the_entry_point() {
    let kinds: [(&str, &[&str]); 4] = [
        ("dynamic", &[]),
        ("fixed", &["-no-pie"]),
        ("static", &["-static"]),
        ("static-pie", &["-static-pie"]),
    ];
    for (name, flags) in kinds {
        let program = build(name, flags);
        let seen = functions_of(&program, &["plain"]);
        let of_libc = [
            "pause",
            "__libc_pause",
            "__libc_start_main",
            "__libc_start_call_main",
        ];
        let own = seen.functions.iter().map(String::as_str);
        let own: Vec<_> = own
            .filter(|f| !f.starts_with("__") && !of_libc.contains(f))
            .collect();
        let expected = [
            "innermost",
            "middle",
            "middle",
            "middle",
            "middle",
            "main",
            "_start",
        ];
        assert_eq!(own, expected, "{name}");
        assert_eq!(seen.ending, Ending::Complete, "{name}");
    }
}

/// Frames without a fixed size, and aligned ones, are left by other registers than the stack pointer.
#[test]
fn odd_frames() {
    let seen = functions_of(&build("odd", &[]), &["frames"]);
    let middle = ["innermost", "middle", "middle", "middle"];
    let outer = ["changing", "aligned", "main", "_start"];
    assert_eq!(seen.functions, [&middle[..], &outer].concat());
    assert_eq!(seen.ending, Ending::Complete);
}

/// A thread's stack ends where it was cloned.
#[test]
fn in_a_thread() {
    let seen = functions_of(&build("thread", &[]), &["thread"]);
    let expected = [
        "innermost",
        "middle",
        "middle",
        "middle",
        "middle",
        "in_thread",
    ];
    assert_eq!(seen.functions, expected);
    assert_eq!(seen.ending, Ending::Complete);
}

/// What a signal interrupted is told, with the very instruction; on a stack of its own, the rest is
/// not in the copy, and that is said.
#[test]
fn through_a_signal() {
    let program = build("signal", &[]);
    let seen = functions_of(&program, &["signal"]);
    let handler = ["innermost", "on_signal"];
    let rest = ["interrupted", "handle", "main", "_start"];
    // A static function may have become part of main.
    let inlined = ["interrupted", "main", "_start"];
    let own: Vec<&str> = seen.functions.iter().map(String::as_str).collect();
    assert!(
        own == [&handler[..], &rest].concat() || own == [&handler[..], &inlined].concat(),
        "{own:?}"
    );
    assert_eq!(seen.ending, Ending::Complete);
    // What runs, what was interrupted, and between them what returns from the signal, which nobody called.
    assert_eq!(seen.frames.iter().filter(|f| f.exact).count(), 3);

    let apart = functions_of(&program, &["other stack"]);
    assert_eq!(
        apart.functions[..3],
        ["innermost", "on_signal", "interrupted"]
    );
    assert_eq!(apart.ending, Ending::OutOfCopy);
    let both = functions_of_pieces(&program, &["other stack"], 4096, 32 << 10);
    assert_eq!(both.functions[..3], apart.functions[..3]);
    assert_eq!(
        both.functions[both.functions.len() - 2..],
        ["main", "_start"]
    );
    assert_eq!(both.ending, Ending::Complete);
}

/// A function with half a megabyte of variables is left for its caller, though nothing of what lies between them was copied:
/// rustc's stacks ended at one that it has near the beginning of each.
#[test]
fn past_a_large_frame() {
    let program = build("large", &[]);
    let expected = [
        "innermost",
        "middle",
        "middle",
        "middle",
        "wide",
        "main",
        "_start",
    ];
    let seen = functions_of_pieces(&program, &["large"], 8192, 32 << 10);
    assert_eq!(seen.functions, expected);
    assert_eq!(seen.ending, Ending::Complete);
    let cut = functions_of_pieces(&program, &["large"], 8192, 8);
    assert_eq!(cut.functions, expected[..5]);
    assert_eq!(cut.ending, Ending::OutOfCopy);
}

/// Where a program goes to another stack and has a table for that, as Rust's `stacker`, its callers on the first one are found.
#[test]
fn from_a_stack_that_was_made() {
    let program = build("made-stack", &[]);
    let expected = ["innermost", "on_made_stack", "go_to", "main", "_start"];
    let seen = functions_of_pieces(&program, &["made stack"], 1024, 32 << 10);
    assert_eq!(seen.functions, expected);
    assert_eq!(seen.ending, Ending::Complete);
}

/// Code that was made while the program ran is followed by its frame pointer.
#[test]
fn through_made_code() {
    let program = build("made", &[]);
    let stopped = Stopped::start(&program, &["jit"]);
    let mut spaces = stopped.spaces();
    let (registers, stack) = stopped.stack();
    let space = spaces.space(stopped.child.id()).expect("known");
    let mut unwinder = Unwinder::new();
    let about = (program.as_path(), &Names::of(&program));
    let seen = unwind(&mut unwinder, space, (registers, &stack), about);
    let own: Vec<_> = seen
        .functions
        .iter()
        .filter(|f| *f != "through_jit")
        .collect();
    assert_eq!(own, ["innermost", "from_jit", "main", "_start"]);
    assert_eq!(seen.ending, Ending::Complete);
    let made = seen.frames.iter().filter(|frame| {
        let module = frame
            .module
            .and_then(|m| unwinder.modules().get(m.0 as usize));
        module.is_some_and(|m| m.kind() == ImageKind::Jit)
    });
    // The return address lies behind the call, the sixth byte of its page.
    assert_eq!(made.map(|f| f.address % 4096).collect::<Vec<_>>(), [6]);
}

/// At every single instruction the whole stack is found: at the start and the end of functions, in the stubs
/// that lead into libraries, and in the library. The one exception is the few instructions of the dynamic
/// linker that keep their frame in a register which is not recorded; there it is said that the callers are missing.
#[test]
fn at_every_instruction() {
    const STEPS: usize = 3000;
    let program = build("every", &["-Wl,-z,lazy"]);
    let bytes = fs::read(&program).expect("the program");
    let file = object::File::parse(&bytes[..]).expect("ELF");
    let stubs = file
        .sections()
        .filter(|s| s.name().is_ok_and(|n| n.starts_with(".plt")));
    let stubs: Vec<_> = stubs.map(|s| s.address()..s.address() + s.size()).collect();
    let about = (program.as_path(), &Names::of(&program));
    let stopped = Stopped::start(&program, &["spin"]);
    let mut spaces = stopped.spaces();
    let space = spaces.space(stopped.child.id()).expect("known");
    let mut unwinder = Unwinder::new();
    let (mut in_stubs, mut in_resolver) = (0, 0);
    for step in 0..STEPS {
        let (registers, stack) = stopped.stack();
        let seen = unwind(&mut unwinder, space, (registers, &stack), about);
        stopped.step();
        let innermost = seen.frames[0].module.expect("code");
        let path = unwinder.modules()[innermost.0 as usize].path();
        if seen.ending == Ending::NoRules && path.to_string_lossy().contains("/ld-") {
            assert_eq!(seen.frames.len(), 1);
            in_resolver += 1;
            continue;
        }
        assert_eq!(seen.ending, Ending::Complete, "{step}: {:x?}", seen.frames);
        let outer = &seen.functions[seen.functions.len().saturating_sub(2)..];
        assert_eq!(outer, ["main", "_start"], "{step}: {registers:x?}");
        let ip = space.find(registers.ip).map(|m| m.in_image(registers.ip));
        in_stubs += usize::from(stubs.iter().any(|s| ip.is_some_and(|ip| s.contains(&ip))));
    }
    assert!(in_stubs > 0, "no stub was met");
    assert!(in_resolver < STEPS / 20, "{in_resolver}");
}

/// However little of a stack was copied, what is told of it is the beginning of the truth, and that
/// it is cut is said.
#[test]
fn cut_short() {
    let program = build("cut", &[]);
    let stopped = Stopped::start(&program, &["plain", "40"]);
    let mut spaces = stopped.spaces();
    let (registers, stack) = stopped.stack();
    let space = spaces.space(stopped.child.id()).expect("known");
    let about = (program.as_path(), &Names::of(&program));
    let mut unwinder = Unwinder::new();
    let whole = unwind(&mut unwinder, space, (registers, &stack), about);
    assert_eq!(whole.ending, Ending::Complete);
    let mut cut = 0;
    for length in (0..stack.len()).step_by(4) {
        let part = (registers, &stack[..length]);
        let seen = unwind(&mut unwinder, space, part, about);
        assert_eq!(seen.frames[..], whole.frames[..seen.frames.len()]);
        if seen.frames.len() < whole.frames.len() {
            assert_eq!(seen.ending, Ending::OutOfCopy, "{length}");
            cut += 1;
        } else if seen.ending == Ending::Complete {
            break;
        }
    }
    assert!(cut > 100, "{cut}");
}

/// A stack without end is cut.
#[test]
fn too_deep() {
    let seen = functions_of(&build("deep", &[]), &["plain", "2000"]);
    assert_eq!(seen.ending, Ending::TooDeep);
    assert_eq!(seen.frames.len(), 1024);
}

/// A program that is replaced while it runs is unwound by what it was.
#[test]
fn replaced_file() {
    let program = build("replaced", &[]);
    let names = Names::of(&program);
    let stopped = Stopped::start(&program, &["plain"]);
    let mut spaces = stopped.spaces();
    fs::remove_file(&program).expect("removed");
    fs::write(&program, "something else").expect("replaced");
    let (registers, stack) = stopped.stack();
    let space = spaces.space(stopped.child.id()).expect("known");
    let mut unwinder = Unwinder::new();
    let seen = unwind(
        &mut unwinder,
        space,
        (registers, &stack),
        (&program, &names),
    );
    assert_eq!(seen.functions.last().map(String::as_str), Some("_start"));
    assert_eq!(seen.ending, Ending::Complete);
    // What it was can still be read, for its names.
    let module = unwinder.modules().iter().find(|m| m.path() == program);
    let part = FilePart {
        offset: 0,
        size: 1000,
        address: 0,
    };
    let bytes = module.expect("its module").read(part).expect("held");
    assert!(bytes.len() == 1000 && bytes.starts_with(b"\x7fELF"));
}

/// An interpreter with its libraries is unwound whole.
#[test]
fn python() {
    let wait = "import time; print('ready', flush=True); time.sleep(1000)";
    let stopped = Stopped::start(Path::new("python3"), &["-c", wait]);
    let mut spaces = stopped.spaces();
    let (registers, stack) = stopped.stack();
    let space = spaces.space(stopped.child.id()).expect("known");
    let mut unwinder = Unwinder::new();
    let mut frames = Vec::new();
    let stack = Stack {
        inner: Piece {
            start: registers.sp,
            bytes: &stack,
        },
        ..Stack::default()
    };
    let ending = unwinder.unwind(space, registers, &stack, None, &mut frames);
    assert_eq!(ending, Ending::Complete, "{frames:x?}");
    assert!(frames.len() > 10, "{frames:x?}");
}
