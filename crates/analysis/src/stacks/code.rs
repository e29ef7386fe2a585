//! The code that stacks are made of: functions, files and lines, and who called whom.
//!
//! Frames are places; views are about functions. A function is a name in a module, for scripts also
//! in a file. Frames without a name are one function of their module: their offsets tell nobody
//! anything.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_recording::ids::{FrameId, StackId};
use timesink_recording::tables::{Frame, Module, Stack};
use timesink_recording::words::{Language, ModuleKind};

use super::crates::{is_bare, of_compiler};
use crate::slots::Slots;

/// A stack, as an index into what [`Code`] keeps. It is only made by a [`Code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackIx(u32);

impl StackIx {
    /// Its place among [`Code::nodes`].
    pub fn place(self) -> u32 {
        self.0
    }
}

/// A node of the tree that stacks share: a frame with all that called it.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// The caller, by its place among the nodes; it comes before.
    pub parent: Option<u32>,
    /// `None` if that row is missing.
    pub frame: Option<&'a Frame>,
    pub function: FunctionIx,
    pub complete: bool,
}

/// A function, as an index into [`Code::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionIx(pub u32);

/// Where a stack passes through a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub function: FunctionIx,
    /// As an index into [`Code::frames`]; `None` if that row is missing.
    pub frame: Option<usize>,
}

/// What a function of JavaScript without a name is called.
const ANONYMOUS: &str = "(anonymous)";

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Empty for all that has no name in its module.
    pub name: String,
    /// As an index into [`Code::modules`].
    pub module: Option<usize>,
    /// Where its first frame seen is from; empty if that is not known.
    pub file: String,
    /// Where it begins, of a function of JavaScript that has no name: many of one file have none.
    pub line: Option<u32>,
    pub language: Language,
}

impl Function {
    /// Whether it is run by an interpreter or a virtual machine: a script's, or Java's.
    pub fn is_script(&self) -> bool {
        !matches!(self.language, Language::Native | Language::Kernel)
    }
}

/// A node of the tree that stacks share.
#[derive(Clone, Copy, Debug)]
struct Link {
    parent: Option<u32>,
    /// As an index into `frames`; `None` if that row is missing.
    frame: Option<u32>,
    complete: bool,
    /// A caller that it names is not there, so that it ends too early.
    broken: bool,
}

/// Where Cargo and Go keep the sources of what others made.
const SOURCES: [&str; 2] = ["/registry/src/", "/pkg/mod/"];

/// More frames than this are not followed; the outer ones then count as missing.
const DEEPEST: usize = 1024;

/// Modules, frames, functions and stacks.
#[derive(Clone, Debug)]
pub struct Code {
    pub modules: Vec<Module>,
    pub frames: Vec<Frame>,
    pub functions: Vec<Function>,
    /// For each frame, its function.
    function_of: Vec<FunctionIx>,
    /// For each function, the first that is the same one.
    first_of: Vec<FunctionIx>,
    links: Vec<Link>,
    slots: Slots,
    /// What stands for a frame whose row is missing.
    unknown: FunctionIx,
}

impl Code {
    /// The code of a recording, from its tables.
    pub fn new(modules: Vec<Module>, frames: Vec<Frame>, stacks: &[Stack]) -> Code {
        let mut code = Code {
            slots: Slots::new(stacks.iter().map(|stack| stack.stack.0)),
            links: Vec::with_capacity(stacks.len()),
            functions: Vec::new(),
            function_of: Vec::with_capacity(frames.len()),
            first_of: Vec::new(),
            unknown: FunctionIx(0),
            modules,
            frames,
        };
        code.find_functions();
        let frame_slots = Slots::new(code.frames.iter().map(|frame| frame.frame.0));
        let frame = |id: FrameId| frame_slots.get(id.0).map(|at| at as u32);
        for (at, stack) in stacks.iter().enumerate() {
            // A parent stands before its children; what says otherwise could be a circle.
            let parent = stack.parent.map(|parent| code.slots.get(parent.0));
            let found = parent.flatten().filter(|&parent| parent < at);
            let broken = parent.is_some() && found.is_none_or(|at| code.links[at].broken);
            code.links.push(Link {
                parent: found.map(|parent| parent as u32),
                frame: frame(stack.frame),
                complete: stack.complete && !broken,
                broken,
            });
        }
        code
    }

    fn find_functions(&mut self) {
        type Key<'a> = (&'a str, Language, Option<usize>, &'a str, Option<u32>);
        let modules = Slots::new(self.modules.iter().map(|module| module.module.0));
        let mut known: FxHashMap<Key, FunctionIx> = FxHashMap::default();
        for frame in &self.frames {
            let module = frame.module.and_then(|module| modules.get(module.0));
            let in_file = module.is_some_and(|at| {
                matches!(self.modules[at].kind, ModuleKind::Script | ModuleKind::Jit)
            });
            // What a compiler has put into another function may have no more of a name than `new` or `{closure#0}`, in each file again.
            let bare = frame.function.starts_with('{') || is_bare(&frame.function, &frame.file);
            let file = if in_file || bare {
                frame.file.as_str()
            } else {
                ""
            };
            let next = FunctionIx(self.functions.len() as u32);
            let has_no_name = frame.language == Language::JavaScript
                && matches!(frame.function.as_str(), "" | ANONYMOUS);
            let line = frame.line.filter(|_| has_no_name);
            // The interpreter has one code of a function of JavaScript, and each compiler another, in modules of their own.
            let is_one = frame.language == Language::JavaScript && !frame.file.is_empty();
            let in_module = module.filter(|_| !is_one);
            let file = if is_one { frame.file.as_str() } else { file };
            let key = (
                frame.function.as_str(),
                frame.language,
                in_module,
                file,
                line,
            );
            let function = *known.entry(key).or_insert(next);
            if function == next {
                self.functions.push(Function {
                    name: frame.function.clone(),
                    module,
                    file: frame.file.clone(),
                    line,
                    language: frame.language,
                });
            }
            self.function_of.push(function);
        }
        self.unknown = FunctionIx(self.functions.len() as u32);
        self.functions.push(Function {
            name: String::new(),
            module: None,
            file: String::new(),
            line: None,
            language: Language::Native,
        });
        let mut of_java: FxHashMap<&str, FunctionIx> = FxHashMap::default();
        let all = self.functions.iter().zip(0..);
        self.first_of = all
            .map(|(function, at)| match function.language {
                Language::Java => *of_java.entry(&function.name).or_insert(FunctionIx(at)),
                _ => FunctionIx(at),
            })
            .collect();
    }

    /// The first function that is the same one: of Java there are several codes of one, interpreted, and compiled once or twice.
    pub fn one(&self, function: FunctionIx) -> FunctionIx {
        let first = self.first_of.get(function.0 as usize);
        first.copied().unwrap_or(function)
    }

    /// The stack with this number.
    pub fn stack(&self, id: StackId) -> Option<StackIx> {
        self.slots.get(id.0).map(|at| StackIx(at as u32))
    }

    /// Whether it reaches to where its thread began.
    pub fn is_complete(&self, stack: StackIx) -> bool {
        let link = self.links.get(stack.0 as usize);
        link.is_some_and(|link| link.complete)
    }

    /// All nodes of the tree that stacks share, in the order of the table.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.links.iter().map(|link| {
            let at = link.frame.map(|at| at as usize);
            Node {
                parent: link.parent,
                frame: at.and_then(|at| self.frames.get(at)),
                function: at.map_or(self.unknown, |at| self.function_of[at]),
                complete: link.complete,
            }
        })
    }

    fn links_of(&self, stack: StackIx) -> impl Iterator<Item = &Link> {
        let link = |at: u32| self.links.get(at as usize);
        std::iter::successors(link(stack.0), move |before| link(before.parent?)).take(DEEPEST)
    }

    /// Its frames, the innermost first, each with its index in [`Code::frames`] and its function.
    pub fn frames_of(
        &self,
        stack: StackIx,
    ) -> impl Iterator<Item = (Option<(usize, &Frame)>, FunctionIx)> {
        self.links_of(stack).map(|link| match link.frame {
            Some(at) => {
                let at = at as usize;
                (Some((at, &self.frames[at])), self.function_of[at])
            }
            None => (None, self.unknown),
        })
    }

    /// Its functions, the innermost first. Neighbours without a name in the same module are one.
    pub fn functions_of(&self, stack: StackIx) -> Vec<FunctionIx> {
        let spots = self.walked(stack);
        spots.map(|spot| spot.function).collect()
    }

    /// The same, each with where it is in its function.
    pub fn spots_of(&self, stack: StackIx) -> Vec<Spot> {
        self.walked(stack).collect()
    }

    fn walked(&self, stack: StackIx) -> impl Iterator<Item = Spot> + '_ {
        let mut before = None;
        let spots = self.frames_of(stack).map(|(frame, function)| Spot {
            function,
            frame: frame.map(|(at, _)| at),
        });
        spots.filter(move |spot| {
            let again = before.replace(spot.function) == Some(spot.function);
            !(again && self.function(spot.function).name.is_empty())
        })
    }

    /// Where in a function most of the time of these stacks was, by lines: it is told by one of the frames of that line.
    pub fn busiest_spot(
        &self,
        function: FunctionIx,
        stacks: impl IntoIterator<Item = (StackIx, u64)>,
    ) -> Spot {
        let mut lines: BTreeMap<(&str, Option<u32>), (u64, usize)> = BTreeMap::new();
        for (stack, ns) in stacks {
            let mut frames = self.frames_of(stack);
            let innermost = frames.find(|&(_, of)| of == function);
            if let Some((Some((at, frame)), _)) = innermost {
                let (sum, _) = lines.entry((&frame.file, frame.line)).or_insert((0, at));
                *sum = sum.saturating_add(ns);
            }
        }
        let most = lines.into_values().max_by_key(|&(ns, _)| ns);
        Spot {
            function,
            frame: most.map(|(_, at)| at),
        }
    }

    /// The place in code where a spot is.
    pub fn frame(&self, spot: Spot) -> Option<&Frame> {
        self.frames.get(spot.frame?)
    }

    /// A function.
    pub fn function(&self, function: FunctionIx) -> &Function {
        let at = (function.0 as usize).min(self.functions.len() - 1);
        &self.functions[at]
    }

    /// The module of a function.
    pub fn module_of(&self, function: FunctionIx) -> Option<&Module> {
        self.modules.get(self.function(function).module?)
    }

    /// The file that a function's code is in, without its folder.
    pub fn file_of(&self, function: &Function) -> Option<&str> {
        self.modules.get(function.module?)?.path.rsplit('/').next()
    }

    /// The functions of a stack that somebody can change: those of the program itself, if there are any, else those of
    /// libraries that others made. What a language brings along and what interprets a script is none of it.
    pub fn own_of(&self, spots: &[Spot]) -> Vec<Spot> {
        let is_own = |&Spot { function, .. }: &Spot| {
            !self.is_system(function) && !self.is_before_main(function)
        };
        let mut own: Vec<Spot> = spots.iter().copied().filter(is_own).collect();
        let is_inside = |spot: &Spot| self.is_of_runtime(spot.function);
        if !own.iter().all(is_inside) {
            own.retain(|spot| !is_inside(spot));
        }
        let is_script = |spot: &Spot| self.function(spot.function).is_script();
        let is_mine = |spot: &Spot| !self.is_installed(spot.function);
        let is_compiled = |spot: &Spot| !self.is_of_language(spot.function);
        type Choice<'a> = &'a dyn Fn(&Spot) -> bool;
        let of_scripts: [Choice; 3] = [
            &|spot| is_script(spot) && is_mine(spot),
            &|spot| is_script(spot) && !self.is_standard(spot.function),
            &is_compiled,
        ];
        let of_programs: [Choice; 3] = [
            &|spot| is_compiled(spot) && is_mine(spot),
            &is_compiled,
            &|spot| !self.is_go_inside(spot.function),
        ];
        let choices: &[Choice] = match own.iter().any(is_script) {
            true => &of_scripts,
            false => &of_programs,
        };
        if let Some(is_best) = choices.iter().find(|is| own.iter().any(is)) {
            own.retain(is_best);
        }
        own
    }

    /// Where the program's own functions call into libraries: the function that they call, and the one that the stack is
    /// about, which is its innermost. Nothing where the stack is about one of their own.
    pub fn library_of(&self, spots: &[Spot]) -> Vec<Spot> {
        let is_script = |spot: &&Spot| self.function(spot.function).is_script();
        let script = spots.iter().any(|spot| is_script(&spot));
        let is_code = |spot: &&Spot| match script {
            true => is_script(spot),
            false => self.is_of_program(spot.function),
        };
        let code: Vec<&Spot> = spots.iter().filter(is_code).collect();
        let own = code
            .iter()
            .position(|spot| !self.is_installed(spot.function));
        let Some([innermost, .., called]) = own.map(|own| &code[..own]) else {
            let called = own.and_then(|own| code[..own].first());
            return called.map(|spot| **spot).into_iter().collect();
        };
        vec![**called, **innermost]
    }

    /// Whether a function does nothing but call where the program begins. Of those of the C library, which may be linked
    /// into the program, only names that no program may give to its own functions count.
    pub fn is_before_main(&self, function: FunctionIx) -> bool {
        const BEFORE: [&str; 7] = [
            "runtime.goexit",
            "runtime.main",
            "_start",
            "__libc_start_main",
            "__libc_start_main_impl",
            "__libc_start_call_main",
            "__clone3",
        ];
        let found = self.function(function);
        found.language == Language::Native && BEFORE.contains(&found.name.as_str())
    }

    /// Whether a function came with its language or was installed as a library, and is not the program's own.
    pub fn is_installed(&self, function: FunctionIx) -> bool {
        const OF_JAVA: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
        let found = self.function(function);
        let file = found.file.as_str();
        match found.language {
            Language::Java => OF_JAVA.iter().any(|start| found.name.starts_with(start)),
            Language::Native => {
                self.is_of_hotspot(function)
                    || SOURCES.iter().any(|folder| file.contains(folder))
                    || self.module_of(function).is_some_and(is_system_library)
            }
            Language::Python => {
                let of_version =
                    |after: &str| after.starts_with(|next: char| next.is_ascii_digit());
                file.starts_with('<') || file.split("/lib/python").skip(1).any(of_version)
            }
            Language::JavaScript => file.starts_with("node:") || file.contains("/node_modules/"),
            // What is in no file is implemented in C.
            Language::Php => {
                file.is_empty() || file.contains("/vendor/") || file.starts_with("/usr/share/php")
            }
            Language::Ruby => {
                let folders = ["/lib/ruby/", "/gems/"];
                file.starts_with("<internal:") || folders.iter().any(|part| file.contains(part))
            }
            Language::Perl => {
                let folders = ["/usr/share/perl", "/lib/perl", "/share/perl5/"];
                let of_machine = file.starts_with("/usr/lib/") && file.contains("/perl");
                of_machine || folders.iter().any(|part| file.contains(part))
            }
            _ => false,
        }
    }

    /// Whether a function came with its language itself: libraries that others made are none of it.
    pub fn is_standard(&self, function: FunctionIx) -> bool {
        const OF_OTHERS: [&str; 6] = [
            "/site-packages/",
            "/dist-packages/",
            "/node_modules/",
            "/vendor/",
            "/gems/",
            "/share/perl5/",
        ];
        let file = self.function(function).file.as_str();
        self.is_installed(function)
            && !OF_OTHERS
                .iter()
                .chain(&SOURCES)
                .any(|folder| file.contains(folder))
    }

    /// Whether only Go's runtime is at work in a stack, for itself: its scheduler, its monitor.
    pub fn is_go_alone(&self, spots: &[Spot]) -> bool {
        let functions = spots.iter().map(|spot| self.function(spot.function));
        let mut outside = functions.filter(|function| function.language == Language::Native);
        let has_any = outside.clone().next().is_some();
        has_any && outside.all(|function| function.name.starts_with("runtime."))
    }

    /// Of a stack, innermost first, the part that a loop of events called: who called the loop asked for none of it.
    pub fn within_loop<'s>(&self, spots: &'s [Spot]) -> &'s [Spot] {
        /// Where asyncio runs its loop.
        const LOOPS: [&str; 2] = ["/asyncio/base_events.py", "/asyncio/runners.py"];
        let is_loop = |spot: &Spot| {
            let file = &self.function(spot.function).file;
            LOOPS.iter().any(|end| file.ends_with(end))
        };
        let outside = spots.iter().position(is_loop);
        &spots[..outside.unwrap_or(spots.len())]
    }

    /// Whether a function is of the program or of a library that others made: neither of the system nor of its language.
    pub fn is_of_program(&self, function: FunctionIx) -> bool {
        !self.is_system(function) && !self.is_of_language(function)
    }

    /// The same of compiled functions and of scripts, whose language has its library in files.
    pub fn is_user_code(&self, function: FunctionIx) -> bool {
        self.is_of_program(function) && !self.is_standard(function)
    }

    /// Whether a function is compiled code of a runtime of Java, Python, Ruby or JavaScript.
    pub fn is_of_runtime(&self, function: FunctionIx) -> bool {
        let found = self.function(function);
        let file = self.file_of(found);
        let is_nodes = |file| matches!(file, "node" | "nodejs") || file.starts_with("libnode.so");
        found.language == Language::Native
            && file.is_some_and(|file| is_runtimes_file(file) || is_nodes(file))
    }

    /// Whether a compiled function came with its language, which is linked into the program: Go's packages and runtime, the
    /// libraries of Rust and C++.
    pub fn is_of_language(&self, function: FunctionIx) -> bool {
        const LIBRARIES: [&str; 4] = ["std::", "core::", "alloc::", "__gnu_cxx::"];
        let found = self.function(function);
        // `<core::fmt::Formatter as ...>`, `<&mut W as core::fmt::Write>`: a method of a library's type or trait.
        let name = found.name.trim_start_matches(['<', '&', '(']);
        let name = name.strip_prefix("mut ").unwrap_or(name);
        found.language == Language::Native
            && (LIBRARIES.iter().any(|start| name.starts_with(start))
                || is_of_go(&found.name)
                || of_compiler(&found.file).is_some() && is_bare(name, &found.file))
    }

    /// Whether a function is of Go's runtime or of what its packages share: what they do for a program is told by their own names.
    fn is_go_inside(&self, function: FunctionIx) -> bool {
        let found = self.function(function);
        let package = package_of_go(&found.name).filter(|_| found.language == Language::Native);
        package.is_some_and(|package| matches!(package, "runtime" | "internal" | "syscall"))
    }

    /// Whether it is a piece of code that Java's virtual machine makes for itself, by the name that it gives it.
    fn is_of_hotspot(&self, function: FunctionIx) -> bool {
        const PIECES: [&str; 3] = ["StubRoutines (", "Interpreter", "I2C/C2I adapters"];
        let name = &self.function(function).name;
        let module = self.module_of(function);
        module.is_some_and(|module| module.kind == ModuleKind::Jit)
            && PIECES.iter().any(|piece| name.starts_with(piece))
    }

    /// Whether a function belongs to the system rather than to the program: the kernel, the C
    /// library, the dynamic loader, what Node.js brings along, a stub on the way to another module, or something that
    /// has no name.
    pub fn is_system(&self, function: FunctionIx) -> bool {
        let found = self.function(function);
        let is_stub = found.name.ends_with("@plt");
        let is_nodes_own = found.file.starts_with("node:");
        if found.name.is_empty() || is_stub || is_nodes_own || found.language == Language::Kernel {
            return true;
        }
        let Some(module) = self.module_of(function) else {
            return false;
        };
        let file = module.path.rsplit('/').next().unwrap_or_default();
        matches!(module.kind, ModuleKind::Kernel | ModuleKind::Vdso)
            || [
                "libc.so",
                "libc-",
                "libpthread",
                "ld-linux",
                "ld-musl",
                "ld-2",
            ]
            .iter()
            .any(|start| file.starts_with(start))
    }
}

/// Whether a file of code is a library that the system, or who looks after it, installed.
fn is_system_library(module: &Module) -> bool {
    const FOLDERS: [&str; 4] = ["/usr/lib/", "/lib/", "/usr/lib64/", "/usr/local/lib/"];
    let file = module.path.rsplit('/').next().unwrap_or_default();
    let is_library = file.ends_with(".so") || file.contains(".so.");
    is_library && FOLDERS.iter().any(|folder| module.path.starts_with(folder))
}

/// Whether the compiled code of a runtime of Java, Python or Ruby is in a file of that name.
pub(super) fn is_runtimes_file(file: &str) -> bool {
    const NAMES: [&str; 4] = ["libjvm.", "libpython", "python", "libruby"];
    NAMES.iter().any(|name| file.starts_with(name))
}

fn is_of_go(name: &str) -> bool {
    package_of_go(name).is_some()
}

/// The first part of the path of one of the packages that come with Go, if a function is of one: those of others have a dot in
/// that part, or are `main`. What a compiler of C adds to a name (`sort.isra.0`) is no package's function.
fn package_of_go(name: &str) -> Option<&str> {
    const PACKAGES: [&str; 42] = [
        "archive",
        "bufio",
        "bytes",
        "cmp",
        "compress",
        "container",
        "context",
        "crypto",
        "database",
        "debug",
        "embed",
        "encoding",
        "errors",
        "expvar",
        "flag",
        "fmt",
        "go",
        "hash",
        "html",
        "image",
        "internal",
        "io",
        "iter",
        "log",
        "maps",
        "math",
        "mime",
        "net",
        "os",
        "path",
        "reflect",
        "regexp",
        "runtime",
        "slices",
        "sort",
        "strconv",
        "strings",
        "sync",
        "syscall",
        "testing",
        "time",
        "unicode",
    ];
    const ADDED: [&str; 7] = [
        "isra",
        "part",
        "constprop",
        "cold",
        "llvm",
        "lto_priv",
        "localalias",
    ];
    let path = name.split(['(', '[']).next().unwrap_or(name);
    let end = path
        .find('/')
        .or_else(|| path.find('.'))
        .unwrap_or(path.len());
    let first = &path[..end];
    let function = name.get(end..).and_then(|rest| rest.split_once('.'));
    let is_added = |function: &str| ADDED.iter().any(|added| function.starts_with(added));
    let is_of_go =
        PACKAGES.contains(&first) && function.is_some_and(|(_, function)| !is_added(function));
    is_of_go.then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of Go's own packages are told from those of the program and of others, and of C's.
    #[test]
    fn packages_of_go() {
        let own = [
            "syscall.Fdatasync",
            "internal/runtime/syscall.RawSyscall6",
            "os.(*File).Sync",
            "encoding/json.Marshal",
            "slices.SortFunc[go.shape.[]main/x.T]",
        ];
        assert_eq!(own.map(is_of_go), [true; 5]);
        let others = [
            "go.etcd.io/bbolt.(*Tx).Commit",
            "main.main",
            "main.(*job).run",
            "sort.isra.0",
            "time",
            "example.com/os.Run",
            "",
        ];
        assert_eq!(others.map(is_of_go), [false; 7]);
    }
}
