//! Reading samples, stacks and frames.

use super::parser::{longest, Parser, Words};
use crate::ids::{FrameId, ModuleId, StackId};
use crate::tables::{Frame, Module, Sample, Stack};
use crate::units::Nanos;
use crate::words::{Language, ModuleKind, SymbolSource};

impl Parser {
    pub(super) fn sample(&mut self, mut words: Words) {
        let mut sample = Sample {
            thread: self.thread_name(&mut words),
            t: Nanos(self.time(&mut words)),
            processor: 0,
            kernel: false,
            address: 0,
            weight_ns: None,
            stack: None,
        };
        while let Some(key) = words.next() {
            match key.as_str() {
                "weight" => sample.weight_ns = Some(self.length(&mut words)),
                "stack" => sample.stack = Some(self.stack(&mut words)),
                "kernel" => sample.kernel = true,
                "on" => sample.processor = self.number(&mut words),
                "address" => sample.address = self.number(&mut words),
                _ => self.fail(format!("{key:?} is not known of a sample")),
            }
        }
        self.draft.samples.push(sample);
    }

    /// A line about a frame that stacks will name.
    pub(super) fn frame(&mut self, mut words: Words) {
        let name = self.word(&mut words);
        if self.code.frames.contains_key(&name) {
            self.fail(format!("frame {name:?} was named before"));
        }
        let mut frame = plain_frame(&name);
        let (mut path, mut kind) = (None, None);
        while let Some(key) = words.next() {
            match key.as_str() {
                "function" => frame.function = self.word(&mut words),
                "module" => path = Some(self.word(&mut words)),
                "kind" => kind = Some(self.word_of(&mut words, ModuleKind::from_str)),
                "file" => frame.file = self.word(&mut words),
                "line" => frame.line = Some(self.number(&mut words)),
                "offset" => frame.offset = self.number(&mut words),
                "inlined" => frame.inlined = true,
                "begins" => frame.begins = Some(self.number(&mut words)),
                "language" => frame.language = self.word_of(&mut words, Language::from_str),
                _ => self.fail(format!("{key:?} is not known of a frame")),
            }
        }
        let usual = match frame.language {
            Language::Native => ModuleKind::File,
            Language::Kernel => ModuleKind::Kernel,
            Language::JavaScript | Language::Java | Language::DotNet | Language::Erlang => {
                ModuleKind::Jit
            }
            _ => ModuleKind::Script,
        };
        frame.module = path.map(|path| self.module(&path, kind.unwrap_or(usual)));
        self.add_frame(&name, frame);
    }

    /// A word of a closed set, which may have spaces in it.
    fn word_of<T>(&self, words: &mut Words, parse: impl Fn(&str) -> Option<T>) -> T {
        let ahead: Vec<String> = words.clone().take(3).collect();
        match longest(&ahead, parse) {
            Some((found, taken)) => {
                words.by_ref().take(taken).for_each(drop);
                found
            }
            None => self.fail(format!("{:?} is not one of the words", ahead.join(" "))),
        }
    }

    fn module(&mut self, path: &str, kind: ModuleKind) -> ModuleId {
        if let Some(&known) = self.code.modules.get(path) {
            return known;
        }
        let module = ModuleId(self.draft.modules.len() as u32 + 1);
        self.draft.modules.push(Module {
            module,
            kind,
            path: path.to_owned(),
            build_id: String::new(),
            symbols: SymbolSource::Table,
        });
        self.code.modules.insert(path.to_owned(), module);
        module
    }

    fn add_frame(&mut self, name: &str, row: Frame) -> FrameId {
        let frame = FrameId(self.draft.frames.len() as u32 + 1);
        self.draft.frames.push(Frame { frame, ..row });
        self.code.frames.insert(name.to_owned(), frame);
        frame
    }

    /// The stack that the next word writes, the outermost function first.
    pub(super) fn stack(&mut self, words: &mut Words) -> StackId {
        let text = self.word(words);
        let (complete, names) = match text.strip_prefix("...;") {
            Some(rest) => (false, rest),
            None => (true, text.as_str()),
        };
        let mut parent = None;
        for name in names.split(';') {
            let frame = match self.code.frames.get(name) {
                Some(&known) => known,
                None => self.add_frame(name, plain_frame(name)),
            };
            parent = Some(self.stack_of(parent, frame, complete));
        }
        match parent {
            Some(stack) => stack,
            None => self.fail("a stack has at least one function"),
        }
    }

    fn stack_of(&mut self, parent: Option<StackId>, frame: FrameId, complete: bool) -> StackId {
        let next = StackId(self.draft.stacks.len() as u32 + 1);
        let stack = *self
            .code
            .stacks
            .entry((parent, frame, complete))
            .or_insert(next);
        if stack == next {
            self.draft.stacks.push(Stack {
                stack,
                parent,
                frame,
                complete,
            });
        }
        stack
    }
}

fn plain_frame(name: &str) -> Frame {
    Frame {
        frame: FrameId(0),
        module: None,
        offset: 0,
        function: name.to_owned(),
        file: String::new(),
        line: None,
        returns: false,
        inlined: false,
        language: Language::Native,
        begins: None,
    }
}
