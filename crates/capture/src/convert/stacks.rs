//! From the nodes of stacks to modules, frames and stacks with names. The user side is resolved at once,
//! module by module; kernel frames are added as waits and samples name them.

use std::collections::HashMap;
use std::path::PathBuf;

use timesink_recording::tables::frames::Frame;
use timesink_recording::tables::modules::Module;
use timesink_recording::tables::stacks::Stack;
use timesink_recording::words::{Language, ModuleKind, SymbolSource};
use timesink_recording::{FrameId, ModuleId, RecordingWriter, StackId};

use crate::error::Error;
use crate::probes::events as e;
use crate::symbols::{self, Symbols};

/// A module as the spool tells of it.
#[derive(Debug, Clone)]
pub struct Told {
    pub kind: String,
    pub path: String,
    pub build_id: String,
}

/// What makes a frame: module (as the spool numbers them), offset, which of the calls inlined there.
type Place = (u32, u64, bool, u32);

/// The module number of the kernel: no module of a process has it.
const KERNEL: u32 = u32::MAX;

#[derive(Default)]
pub struct Stacks {
    modules: Vec<Module>,
    frames: Vec<Frame>,
    stacks: Vec<Stack>,
    module_ids: HashMap<u32, ModuleId>,
    frame_ids: HashMap<Place, FrameId>,
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

/// Bytes written in hexadecimal; what is not that ends them.
fn bytes_of(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits
        .map_while(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok())
        .collect()
}

impl Stacks {
    /// Give names to the user side: `nodes` in the order of their numbers, which is callers first.
    pub fn new(nodes: &[e::ts_node], told: &HashMap<u32, Told>, cache: Option<PathBuf>) -> Stacks {
        let mut stacks = Stacks::default();
        let mut symbols = Symbols::new(cache);
        let mut wanted: HashMap<u32, Vec<u64>> = HashMap::new();
        for node in nodes {
            wanted.entry(node.module).or_default().push(looked_up(node));
        }
        let mut names: HashMap<(u32, u64), Vec<symbols::Named>> = HashMap::new();
        let mut modules: Vec<_> = wanted.into_iter().filter(|(m, _)| *m != 0).collect();
        modules.sort_unstable_by_key(|(module, _)| *module);
        for (number, mut offsets) in modules {
            let Some(module) = told.get(&number) else {
                continue;
            };
            offsets.sort_unstable();
            offsets.dedup();
            let source = stacks.resolve(&mut symbols, number, module, &offsets, &mut names);
            stacks.module(number, module, source);
        }
        stacks.of_node.push(None);
        for node in nodes {
            stacks.add_node(node, &names);
        }
        stacks
    }

    fn resolve(
        &self,
        symbols: &mut Symbols,
        number: u32,
        module: &Told,
        offsets: &[u64],
        names: &mut HashMap<(u32, u64), Vec<symbols::Named>>,
    ) -> SymbolSource {
        let resolved = symbols.resolve(
            &symbols::Module {
                path: PathBuf::from(&module.path),
                shown: module.path.clone(),
                build_id: bytes_of(&module.build_id),
            },
            offsets,
        );
        for (&offset, named) in offsets.iter().zip(resolved.frames) {
            names.insert((number, offset), named);
        }
        resolved.source
    }

    fn module(&mut self, number: u32, told: &Told, symbols: SymbolSource) -> ModuleId {
        let module = ModuleId(self.modules.len() as u32);
        self.module_ids.insert(number, module);
        self.modules.push(Module {
            module,
            kind: ModuleKind::from_str(&told.kind).unwrap_or(ModuleKind::File),
            path: told.path.clone(),
            build_id: told.build_id.clone(),
            symbols,
        });
        module
    }

    /// The stack that ends in this node: one frame for the function and one for each call inlined in it.
    fn add_node(&mut self, node: &e::ts_node, names: &HashMap<(u32, u64), Vec<symbols::Named>>) {
        let mut stack = self.of(node.parent);
        let complete = node.complete != 0;
        let nameless = [nameless()];
        let named = names
            .get(&(node.module, looked_up(node)))
            .map(Vec::as_slice)
            .filter(|named| !named.is_empty())
            .unwrap_or(&nameless);
        for (i, named) in named.iter().enumerate().rev() {
            let place = (node.module, node.offset, node.exact != 0, i as u32);
            let frame = self.frame(place, named, Language::Native);
            stack = Some(self.stack(stack, frame, complete));
        }
        self.of_node.push(stack);
    }

    fn frame(&mut self, place: Place, named: &symbols::Named, language: Language) -> FrameId {
        let next = FrameId(self.frames.len() as u32);
        let frame = *self.frame_ids.entry(place).or_insert(next);
        if frame == next {
            self.frames.push(Frame {
                frame,
                module: self.module_ids.get(&place.0).copied(),
                offset: place.1,
                function: named.function.to_string(),
                file: named.file.to_string(),
                line: named.line,
                inlined: named.inlined,
                language,
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

    fn of(&self, node: u32) -> Option<StackId> {
        self.of_node.get(node as usize).copied().flatten()
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
        for (i, &address) in addresses.iter().enumerate().rev() {
            let named = symbols::Named {
                function: names
                    .get(&address)
                    .map(String::as_str)
                    .unwrap_or_default()
                    .into(),
                ..nameless()
            };
            if !self.module_ids.contains_key(&KERNEL) {
                let kernel = Told {
                    kind: ModuleKind::Kernel.to_string(),
                    path: "kernel".into(),
                    build_id: String::new(),
                };
                self.module(KERNEL, &kernel, SymbolSource::Kernel);
            }
            let frame = self.frame((KERNEL, address, i == 0, 0), &named, Language::Kernel);
            stack = Some(self.stack(stack, frame, complete));
        }
        stack
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
