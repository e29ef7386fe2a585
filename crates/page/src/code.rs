//! `code`: functions, and stacks as a tree.

use rustc_hash::{FxHashMap, FxHashSet};
use timesink_analysis::stacks::{FunctionIx, Missing};
use timesink_recording::words::Language;

use crate::model::{Code, FunctionKind, Functions, Nodes};
use crate::places::from_one;
use crate::Page;

/// Why time has no stack, in the order of the page.
pub(crate) const MISSING: [Missing; 6] = [
    Missing::Cpu,
    Missing::Ready,
    Missing::Wait,
    Missing::ShortWait,
    Missing::Tracer,
    Missing::Lost,
];

impl Page<'_> {
    /// All code that stacks are of.
    pub fn code(&self) -> Code {
        let code = &self.loaded.stacks.code;
        let mut nodes = Nodes::default();
        for node in code.nodes() {
            nodes.parent.push(from_one(node.parent));
            nodes.function.push(code.one(node.function).0);
            nodes
                .line
                .push(node.frame.and_then(|frame| frame.line).unwrap_or(0));
            nodes
                .cut
                .push(u32::from(node.parent.is_none() && !node.complete));
        }
        let modules = code.modules.iter();
        Code {
            modules: modules
                .map(|module| self.words.name(&module.path))
                .collect(),
            functions: self.functions(),
            nodes,
            missing: MISSING.map(|missing| self.words.missing(missing)).to_vec(),
        }
    }

    fn functions(&self) -> Functions {
        let code = &self.loaded.stacks.code;
        let interpreters = self.interpreters();
        let mut functions = Functions::default();
        let mut files: FxHashMap<&str, u32> = FxHashMap::default();
        for (at, function) in code.functions.iter().enumerate() {
            let file = match function.file.as_str() {
                "" => None,
                file => {
                    let next = functions.files.len() as u32;
                    let known = *files.entry(file).or_insert(next);
                    if known == next {
                        functions.files.push(self.words.name(file));
                    }
                    Some(known)
                }
            };
            functions.name.push(self.words.name(&function.name));
            functions
                .module
                .push(from_one(function.module.map(|module| module as u32)));
            functions.file.push(from_one(file));
            functions
                .kind
                .push(self.kind(FunctionIx(at as u32), &interpreters));
        }
        functions
    }

    /// Modules that run code of another language: those whose functions call the outermost of it. As places in the code's list.
    fn interpreters(&self) -> FxHashSet<usize> {
        let code = &self.loaded.stacks.code;
        let language = |function: FunctionIx| code.function(function).language;
        let is_run = |function| !matches!(language(function), Language::Native | Language::Kernel);
        let mut modules = FxHashSet::default();
        // By place: whether a node is within such code. A parent stands before its children.
        let mut within: Vec<bool> = Vec::new();
        let mut functions: Vec<FunctionIx> = Vec::new();
        for node in code.nodes() {
            let function = code.one(node.function);
            let parent = node.parent.map(|parent| parent as usize);
            let in_parent = parent.is_some_and(|parent| within[parent]);
            if is_run(function) && !in_parent {
                let caller = parent.map(|parent| functions[parent]);
                modules.extend(caller.and_then(|caller| code.function(caller).module));
            }
            within.push(in_parent || is_run(function));
            functions.push(function);
        }
        modules
    }

    fn kind(&self, function: FunctionIx, interpreters: &FxHashSet<usize>) -> FunctionKind {
        let code = &self.loaded.stacks.code;
        let native = code.function(function);
        let is_interpreter = native.language == Language::Native
            && native
                .module
                .is_some_and(|module| interpreters.contains(&module));
        let is_begin = code.is_before_main(function);
        if code.function(function).language == Language::Kernel {
            return FunctionKind::Kernel;
        }
        let is_of_program = code.is_user_code(function);
        match is_of_program && !is_begin && !is_interpreter {
            false => FunctionKind::Runtime,
            true if code.is_installed(function) => FunctionKind::Library,
            true => FunctionKind::Own,
        }
    }
}
