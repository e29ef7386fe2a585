//! The tables of frames and stacks with new names. A place can turn out to have more or fewer inlined calls than was
//! known, so frames and stacks are renumbered. Pure.

use std::collections::HashMap;

use timesink_recording::tables::{Frame, Stack};
use timesink_recording::{FrameId, ModuleId, StackId};

use crate::symbols::Named;

/// Where a frame is. Calls that are inlined there have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameAddress {
    module: Option<ModuleId>,
    offset: u64,
    returns: bool,
}

impl FrameAddress {
    pub fn of(frame: &Frame) -> FrameAddress {
        FrameAddress {
            module: frame.module,
            offset: frame.offset,
            returns: frame.returns,
        }
    }

    /// The address whose names are those of the place: the call is before the instruction to return to.
    pub fn looked_up(&self) -> u64 {
        self.offset.saturating_sub(u64::from(self.returns))
    }
}

#[derive(Default)]
pub struct Renamed {
    pub frames: Vec<Frame>,
    pub stacks: Vec<Stack>,
    /// What became of each stack.
    pub ids: HashMap<StackId, StackId>,
    kept: HashMap<FrameId, FrameId>,
    made: HashMap<(FrameAddress, usize), FrameId>,
    numbers: HashMap<(Option<StackId>, FrameId, bool), StackId>,
}

impl Renamed {
    /// Fails if the tables contradict each other, and says how.
    pub fn new(
        frames: &[Frame],
        stacks: &[Stack],
        names: &HashMap<FrameAddress, Vec<Named>>,
    ) -> Result<Renamed, String> {
        let frames: HashMap<FrameId, &Frame> = frames.iter().map(|f| (f.frame, f)).collect();
        let mut places: HashMap<StackId, FrameAddress> = HashMap::new();
        let mut renamed = Renamed::default();
        for row in stacks {
            let frame = frames
                .get(&row.frame)
                .ok_or("a stack refers to a frame that is missing")?;
            let place = FrameAddress::of(frame);
            let parent = match row.parent {
                Some(parent) => Some(renamed.ids.get(&parent).copied().ok_or("a lost caller")?),
                None => None,
            };
            let beneath = row.parent.and_then(|parent| places.get(&parent));
            let new = match (names.get(&place), parent) {
                // What is inlined came with the function that it is inlined into.
                (Some(_), Some(parent)) if frame.inlined && beneath == Some(&place) => parent,
                (Some(named), _) => renamed.add_place(parent, frame, named, row.complete),
                (None, _) => {
                    let frame = renamed.keep(frame);
                    renamed.add(parent, frame, row.complete)
                }
            };
            renamed.ids.insert(row.stack, new);
            places.insert(row.stack, place);
        }
        Ok(renamed)
    }

    /// A function and the calls inlined in it, the innermost of which is first.
    fn add_place(
        &mut self,
        parent: Option<StackId>,
        old: &Frame,
        named: &[Named],
        complete: bool,
    ) -> StackId {
        let innermost = self.make(old, 0, &named[0]);
        let mut caller = parent;
        for (i, named) in named.iter().enumerate().skip(1).rev() {
            let frame = self.make(old, i, named);
            caller = Some(self.add(caller, frame, complete));
        }
        self.add(caller, innermost, complete)
    }

    fn keep(&mut self, frame: &Frame) -> FrameId {
        let next = FrameId(self.frames.len() as u32);
        let id = *self.kept.entry(frame.frame).or_insert(next);
        if id == next {
            self.frames.push(Frame {
                frame: id,
                ..frame.clone()
            });
        }
        id
    }

    fn make(&mut self, old: &Frame, which: usize, named: &Named) -> FrameId {
        let next = FrameId(self.frames.len() as u32);
        let id = *self
            .made
            .entry((FrameAddress::of(old), which))
            .or_insert(next);
        if id == next {
            self.frames.push(Frame {
                frame: id,
                function: named.function.to_string(),
                file: named.file.to_string(),
                line: named.line,
                inlined: named.inlined,
                ..old.clone()
            });
        }
        id
    }

    fn add(&mut self, parent: Option<StackId>, frame: FrameId, complete: bool) -> StackId {
        let next = StackId(self.stacks.len() as u32);
        let stack = *self
            .numbers
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
}
