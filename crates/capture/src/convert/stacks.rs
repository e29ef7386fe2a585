//! From the nodes of stacks to modules, frames and stacks with names. The user side is resolved at once,
//! module by module; kernel frames are added as waits and samples name them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use timesink_recording::tables::frames::Frame;
use timesink_recording::tables::modules::Module;
use timesink_recording::tables::stacks::Stack;
use timesink_recording::words::{Language, ModuleKind, SymbolSource};
use timesink_recording::{FrameId, ModuleId, RecordingWriter, StackId};

use crate::error::Error;
use crate::patience::Patience;
use crate::probes::events as e;
use crate::symbols::{self, Symbols};

/// A module as the spool tells of it.
#[derive(Debug, Clone)]
pub struct ToldModule {
    pub kind: String,
    pub path: String,
    pub build_id: String,
    /// Inode, size and time of change.
    pub stamp: Option<(u64, u64, i64)>,
}

impl ToldModule {
    fn kind(&self) -> ModuleKind {
        ModuleKind::from_str(&self.kind).unwrap_or(ModuleKind::File)
    }

    /// Its path without the folders.
    pub fn file_name(&self) -> &str {
        let name = self.path.rsplit('/').next();
        name.unwrap_or(&self.path)
    }

    /// What its names are to be found in, if there is anything.
    pub fn module(&self) -> Option<symbols::Module> {
        let found = symbols::Module::recorded(self.kind(), &self.path, &self.build_id)?;
        // A file that could not be read while it ran cannot be known again.
        let is_known = found.memory.is_some() || !found.build_id.is_empty() || self.stamp.is_some();
        is_known.then_some(symbols::Module {
            stamp: self.stamp,
            ..found
        })
    }
}

/// A function of a script, of Java or of JavaScript, as the spool tells of it.
#[derive(Debug, Clone)]
pub struct ToldFunction {
    pub function: String,
    pub file: String,
    /// Where it begins, if not all of its frames have lines of their own.
    pub line: Option<u32>,
    pub language: Language,
}

/// How a function is written.
struct Written {
    language: Language,
    /// In which line it begins.
    begins: Option<u32>,
}

impl Written {
    fn compiled(language: Language) -> Written {
        Written {
            language,
            begins: None,
        }
    }

    fn told(code: &ToldFunction) -> Written {
        Written {
            language: code.language,
            begins: code.line,
        }
    }
}

/// What looking for names may use.
pub struct Naming<'a> {
    /// Where names are kept from one recording to the next.
    pub cache: Option<PathBuf>,
    pub patience: &'a Patience,
}

/// What makes a frame; modules and functions of scripts as the spool numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FrameKey {
    Code {
        module: u32,
        offset: u64,
        exact: bool,
        /// Which of the calls inlined there.
        inlined: u32,
    },
    /// Code that a runtime made of a function: at the same place there may have been other code before.
    Made {
        module: u32,
        offset: u64,
        exact: bool,
        code: u32,
        line: u32,
        inlined: bool,
    },
    Line {
        code: u32,
        line: u32,
    },
}

/// What is at each offset of each module, and what it is written in.
type Names = HashMap<(u32, u64), (Vec<symbols::Named>, Language)>;

/// The module number of the kernel: no module of a process has it.
const KERNEL: u32 = u32::MAX;

#[derive(Default)]
pub struct StackRows {
    modules: Vec<Module>,
    frames: Vec<Frame>,
    stacks: Vec<Stack>,
    module_ids: HashMap<u32, ModuleId>,
    frame_ids: HashMap<FrameKey, FrameId>,
    scripts: HashMap<String, ModuleId>,
    stack_ids: HashMap<(Option<StackId>, FrameId, bool), StackId>,
    /// Each node's stack, by its number.
    of_node: Vec<Option<StackId>>,
}

/// A call's address is that of the instruction to return to: the one before it is the call.
fn looked_up(node: &e::ts_node) -> u64 {
    node.offset.saturating_sub(u64::from(node.exact == 0))
}

fn nameless() -> symbols::Named {
    symbols::Named {
        function: "".into(),
        file: "".into(),
        line: None,
        inlined: false,
    }
}

/// Names out of a runtime's map.
fn name_made(number: u32, made: &HashMap<u64, String>, names: &mut Names) -> SymbolSource {
    for (&address, name) in made {
        let (named, language) = symbols::understood(name);
        names.insert((number, address), (vec![named], language));
    }
    SymbolSource::Map
}

/// The modules that were told, in the order of their numbers, each with the offsets in it.
fn wanted(nodes: &[e::ts_node], told: &HashMap<u32, ToldModule>) -> Vec<(u32, Vec<u64>)> {
    let mut wanted: HashMap<u32, Vec<u64>> = HashMap::new();
    for node in nodes.iter().filter(|node| told.contains_key(&node.module)) {
        wanted.entry(node.module).or_default().push(looked_up(node));
    }
    let mut modules: Vec<_> = wanted.into_iter().filter(|(m, _)| *m != 0).collect();
    modules.sort_unstable_by_key(|(module, _)| *module);
    for (_, offsets) in &mut modules {
        offsets.sort_unstable();
        offsets.dedup();
    }
    modules
}

impl StackRows {
    /// Give names to the user side: `nodes` in the order of their numbers, which is callers first. How many modules were
    /// not looked into to the end is told, too.
    pub fn new(
        nodes: &[e::ts_node],
        told: &HashMap<u32, ToldModule>,
        made: &HashMap<u32, HashMap<u64, String>>,
        codes: &HashMap<u32, ToldFunction>,
        naming: &Naming<'_>,
    ) -> (StackRows, u64) {
        let mut stacks = StackRows::default();
        let mut told_by_runtime = HashSet::new();
        for node in nodes.iter().filter(|node| codes.contains_key(&node.code)) {
            told_by_runtime.insert(node.module);
        }
        let modules = wanted(nodes, told);
        let asked = modules.iter().filter_map(|(number, offsets)| {
            let module = told[number]
                .module()
                .filter(|_| !made.contains_key(number))?;
            Some((*number, (module, offsets.clone())))
        });
        let (numbers, asked): (Vec<u32>, Vec<_>) = asked.unzip();
        let (resolved, left) =
            symbols::resolve_all(&Symbols::new(naming.cache.clone()), &asked, naming.patience);
        let mut names = Names::new();
        let mut sources = HashMap::new();
        for ((number, (_, offsets)), resolved) in numbers.iter().zip(&asked).zip(resolved) {
            sources.insert(*number, resolved.source);
            for (&offset, named) in offsets.iter().zip(resolved.frames) {
                names.insert((*number, offset), (named, Language::Native));
            }
        }
        for (number, _) in &modules {
            let source = match made.get(number) {
                Some(made) => name_made(*number, made, &mut names),
                None => sources.get(number).copied().unwrap_or(SymbolSource::None),
            };
            let source = match source {
                SymbolSource::None if told_by_runtime.contains(number) => SymbolSource::Runtime,
                source => source,
            };
            stacks.module(*number, &told[number], source);
        }
        stacks.of_node.push(None);
        for node in nodes {
            match codes.get(&node.code) {
                Some(code) if node.module == 0 => stacks.add_line(node, code),
                Some(code) => stacks.add_made(node, code),
                None => stacks.add_node(node, &names),
            }
        }
        (stacks, left)
    }

    /// A module of the spool.
    fn module(&mut self, number: u32, told: &ToldModule, symbols: SymbolSource) {
        let module = self.add_module(told.kind(), &told.path, &told.build_id, symbols);
        self.module_ids.insert(number, module);
    }

    fn script(&mut self, file: &str) -> ModuleId {
        if let Some(&module) = self.scripts.get(file) {
            return module;
        }
        let module = self.add_module(ModuleKind::Script, file, "", SymbolSource::Runtime);
        self.scripts.insert(file.to_owned(), module);
        module
    }

    fn add_module(
        &mut self,
        kind: ModuleKind,
        path: &str,
        build_id: &str,
        symbols: SymbolSource,
    ) -> ModuleId {
        let module = ModuleId(self.modules.len() as u32);
        self.modules.push(Module {
            module,
            kind,
            path: path.to_owned(),
            build_id: build_id.to_owned(),
            symbols,
        });
        module
    }

    /// The stack that ends in this node: one frame for the function and one for each call inlined in it.
    fn add_node(&mut self, node: &e::ts_node, names: &Names) {
        let mut stack = self.of(node.parent);
        let complete = node.complete != 0;
        let nameless = [nameless()];
        let (named, language) = names
            .get(&(node.module, looked_up(node)))
            .filter(|(named, _)| !named.is_empty())
            .map_or((&nameless[..], Language::Native), |(named, language)| {
                (named.as_slice(), *language)
            });
        for (i, named) in named.iter().enumerate().rev() {
            let place = FrameKey::Code {
                module: node.module,
                offset: node.offset,
                exact: node.exact != 0,
                inlined: i as u32,
            };
            let module = self.module_ids.get(&node.module).copied();
            let frame = self.frame(place, module, named, Written::compiled(language));
            stack = Some(self.stack(stack, frame, complete));
        }
        self.of_node.push(stack);
    }

    /// The stack that ends in code that a runtime made of a function.
    fn add_made(&mut self, node: &e::ts_node, code: &ToldFunction) {
        let named = symbols::Named {
            function: code.function.as_str().into(),
            file: code.file.as_str().into(),
            line: (node.line != 0).then_some(node.line).or(code.line),
            inlined: node.inlined != 0,
        };
        let place = FrameKey::Made {
            module: node.module,
            offset: node.offset,
            exact: node.exact != 0,
            code: node.code,
            line: node.line,
            inlined: node.inlined != 0,
        };
        let module = self.module_ids.get(&node.module).copied();
        let frame = self.frame(place, module, &named, Written::told(code));
        let stack = self.stack(self.of(node.parent), frame, node.complete != 0);
        self.of_node.push(Some(stack));
    }

    /// The stack that ends in a line of a script.
    fn add_line(&mut self, node: &e::ts_node, code: &ToldFunction) {
        let line = u32::try_from(node.offset).unwrap_or(0);
        let place = FrameKey::Line {
            code: node.code,
            line,
        };
        // What C implements is in no script.
        let module = (!code.file.is_empty()).then(|| self.script(&code.file));
        let named = symbols::Named {
            function: code.function.as_str().into(),
            file: code.file.as_str().into(),
            line: (line != 0).then_some(line).or(code.line),
            inlined: false,
        };
        let frame = self.frame(place, module, &named, Written::told(code));
        let stack = self.stack(self.of(node.parent), frame, node.complete != 0);
        self.of_node.push(Some(stack));
    }

    fn frame(
        &mut self,
        place: FrameKey,
        module: Option<ModuleId>,
        named: &symbols::Named,
        written: Written,
    ) -> FrameId {
        let next = FrameId(self.frames.len() as u32);
        let frame = *self.frame_ids.entry(place).or_insert(next);
        if frame == next {
            let (offset, exact) = match place {
                FrameKey::Code { offset, exact, .. } | FrameKey::Made { offset, exact, .. } => {
                    (offset, exact)
                }
                FrameKey::Line { line, .. } => (u64::from(line), true),
            };
            self.frames.push(Frame {
                frame,
                module,
                offset,
                returns: !exact,
                function: named.function.to_string(),
                file: named.file.to_string(),
                line: named.line,
                inlined: named.inlined,
                language: written.language,
                begins: written.begins,
            });
        }
        frame
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameId, complete: bool) -> StackId {
        let next = StackId(self.stacks.len() as u32);
        let stack = *self
            .stack_ids
            .entry((parent, frame, complete))
            .or_insert(next);
        if stack == next {
            self.stacks.push(Stack {
                stack,
                parent,
                frame,
                complete,
            });
        }
        stack
    }

    /// The user side that ends in this node.
    pub fn of(&self, node: u32) -> Option<StackId> {
        self.of_node.get(node as usize).copied().flatten()
    }

    /// Whether a stack is in a function by which programs sleep. A runtime may have something else wait for that: Java's
    /// threads wait on a condition variable.
    pub fn sleeps(&self, stack: StackId) -> bool {
        const SLEEPS: [&str; 1] = ["java.lang.Thread.sleep"];
        let mut frames = self.frames_of(stack);
        frames.any(|frame| SLEEPS.contains(&frame.function.as_str()))
    }

    /// Whether the innermost function that a compiler did not make machine code of is Ruby's.
    pub fn is_in_ruby(&self, stack: StackId) -> bool {
        let mut languages = self.frames_of(stack).map(|frame| frame.language);
        let inner =
            languages.find(|language| !matches!(language, Language::Kernel | Language::Native));
        inner == Some(Language::Ruby)
    }

    /// Innermost first.
    fn frames_of(&self, stack: StackId) -> impl Iterator<Item = &Frame> {
        let up = |stack: &StackId| self.stacks[stack.index()].parent;
        let callers = std::iter::successors(Some(stack), up);
        callers.map(|stack| &self.frames[self.stacks[stack.index()].frame.index()])
    }

    /// The stack of a node with kernel frames, innermost first, on top of it.
    pub fn with_kernel(
        &mut self,
        node: u32,
        complete: bool,
        addresses: &[u64],
        names: &HashMap<u64, String>,
    ) -> Option<StackId> {
        let mut stack = self.of(node);
        if addresses.is_empty() {
            return stack;
        }
        let kernel = self.kernel();
        for (i, &address) in addresses.iter().enumerate().rev() {
            let named = symbols::Named {
                function: names
                    .get(&address)
                    .map(String::as_str)
                    .unwrap_or_default()
                    .into(),
                ..nameless()
            };
            let place = FrameKey::Code {
                module: KERNEL,
                offset: address,
                exact: i == 0,
                inlined: 0,
            };
            let written = Written::compiled(Language::Kernel);
            let frame = self.frame(place, Some(kernel), &named, written);
            stack = Some(self.stack(stack, frame, complete));
        }
        stack
    }

    fn kernel(&mut self) -> ModuleId {
        if let Some(&module) = self.module_ids.get(&KERNEL) {
            return module;
        }
        let module = self.add_module(ModuleKind::Kernel, "kernel", "", SymbolSource::Kernel);
        self.module_ids.insert(KERNEL, module);
        module
    }

    pub fn write(self, out: &mut RecordingWriter) -> Result<(), Error> {
        for row in self.modules {
            out.push(row)?;
        }
        for row in self.frames {
            out.push(row)?;
        }
        for row in self.stacks {
            out.push(row)?;
        }
        Ok(())
    }
}
