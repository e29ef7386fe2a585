//! From a function to its name, its script and the line where it begins. A function is an object of its own each time it
//! is made; what all of these share has the name and the script, and is what is remembered.

use std::collections::HashMap;
use std::rc::Rc;

use super::calls;
use super::lines;
use super::objects::{is_object, number, Objects};
use super::Layout;
use crate::java::Memory;

/// What is kept of a name.
const LONGEST_NAME: u64 = 1024;
/// No function has more variables that others see.
const MOST_LOCALS: i32 = 1 << 16;
/// In longer functions no calls are looked for.
const LONGEST_FUNCTION: u32 = 1 << 18;
/// Scripts that are remembered, and ends of lines in all of them.
const MOST_SCRIPTS: usize = 1 << 14;
const MOST_ENDS: usize = 8 << 20;

/// A function, as a stack trace would have it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Function {
    pub name: String,
    /// Empty for what is from no file.
    pub file: String,
    /// Where it begins.
    pub line: Option<u32>,
}

/// What all functions share that come from the same place in a script. By this it is known again: its memory may
/// be another's later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// What is executed: bytecode, or what leads to it.
    code: u64,
    name_or_scope: u64,
    script: u64,
}

impl Shared {
    /// Where that lies which a function shares with others; `None` for what is no function.
    pub fn place(memory: &impl Memory, layout: &Layout, function: u64) -> Option<u64> {
        let objects = Objects { memory, layout };
        let function = objects.settled(function);
        let kind = objects.kind(function)?;
        let shared = objects.word(function, layout.shared)?;
        let is_function = layout.kinds.function.contains(&kind) && is_object(shared);
        is_function.then_some(shared)
    }

    pub fn read(memory: &impl Memory, layout: &Layout, shared: u64) -> Option<Shared> {
        let objects = Objects { memory, layout };
        let kind = objects.kind(shared)?;
        (kind == layout.kinds.shared).then_some(Shared {
            code: objects.word(shared, 8)?,
            name_or_scope: objects.word(shared, layout.name_or_scope)?,
            script: objects.word(shared, layout.script)?,
        })
    }

    /// What is said of its variables, and the script that it is in.
    fn place_in_script<M: Memory>(
        &self,
        objects: &Objects<M>,
        scripts: &mut Scripts,
    ) -> Option<(Scope, Rc<Script>)> {
        let kinds = &objects.layout.kinds;
        let script = match objects.kind(self.script)? {
            // With a debugger, or when covered lines are counted, that stands between.
            kind if Some(kind) == kinds.debug_info => objects.word(self.script, 24)?,
            _ => self.script,
        };
        if objects.kind(script)? != kinds.script || objects.kind(self.name_or_scope)? != kinds.scope
        {
            return None;
        }
        let scope = Scope::read(objects, self.name_or_scope)?;
        Some((scope, scripts.script(objects, script)?))
    }

    /// The bytecode that is executed; `None` where something leads to it that has other code, too.
    pub fn bytecode(&self, memory: &impl Memory, layout: &Layout) -> Option<u64> {
        let objects = Objects { memory, layout };
        let kind = objects.kind(self.code)?;
        (kind == layout.kinds.bytecode).then_some(self.code)
    }
}

impl Function {
    /// The function that has this to share; `None` if there is none, or it is V8's own.
    pub fn read(
        memory: &impl Memory,
        layout: &Layout,
        shared: &Shared,
        scripts: &mut Scripts,
    ) -> Option<Function> {
        let objects = Objects { memory, layout };
        let (scope, script) = shared.place_in_script(&objects, scripts)?;
        Some(Function {
            name: scope.name(&objects)?,
            file: script.name.to_string(),
            line: script.line(scope.start),
        })
    }

    /// The line in which the function that has this to share calls the one of this name, if it does so once.
    pub fn line_of_call(
        memory: &impl Memory,
        layout: &Layout,
        shared: &Shared,
        scripts: &mut Scripts,
        callee: &str,
    ) -> Option<u32> {
        let callee = calls::called(callee)?;
        let objects = Objects { memory, layout };
        let (scope, script) = shared.place_in_script(&objects, scripts)?;
        if scope.end - scope.start > LONGEST_FUNCTION {
            return None;
        }
        let (start, end) = (u64::from(scope.start), u64::from(scope.end));
        let text = objects.slice(script.words[0], start..end)?;
        let call = calls::only_call(&text, callee, scope.start == 0)?;
        script.line(scope.start + u32::try_from(call).ok()?)
    }
}

/// What is said of a function's variables, and of the function itself behind them.
struct Scope {
    name: Option<u64>,
    /// What it is called after what it was assigned to.
    inferred: Option<u64>,
    start: u32,
    end: u32,
}

impl Scope {
    const HAS_CLASS: u32 = 1 << 10;
    /// Where `this` is: in a word of the stack or of the context, which is written down.
    const RECEIVER: u32 = 3 << 7;
    const RECEIVERS: [u32; 2] = [1 << 7, 2 << 7];
    const HAS_NAME: u32 = 3 << 12;
    const HAS_INFERRED: u32 = 1 << 14;

    fn read<M: Memory>(objects: &Objects<M>, scope: u64) -> Option<Scope> {
        let layout = &objects.layout.scope;
        let at = |index: u64| 8 + 8 * index;
        let flags = objects.word(scope, at(0))?;
        // It was a small number first, and is a plain one since.
        let flags = number(flags).map_or(flags as u32, |flags| flags as u32);
        let locals = number(objects.word(scope, at(layout.locals))?)?;
        let locals = u64::try_from(locals)
            .ok()
            .filter(|_| locals <= MOST_LOCALS)?;
        let slots = match locals {
            0 => 0,
            // Each has a name and its properties; many names stand in a table.
            _ => {
                let first = objects.word(scope, at(layout.first_local))?;
                let plain = objects
                    .kind(first)
                    .is_some_and(|kind| objects.is_string(kind));
                if plain {
                    2 * locals
                } else {
                    1 + locals
                }
            }
        };
        let rest: [u64; 7] = objects.words(scope, at(layout.first_local + slots))?;
        let mut next = usize::from(flags & Scope::HAS_CLASS != 0);
        // Before 10 that word is written down here; no name is written as zero.
        let receiver = Scope::RECEIVERS.contains(&(flags & Scope::RECEIVER));
        if receiver && flags & Scope::HAS_NAME != 0 {
            next += usize::from(number(rest[next]).is_some_and(|word| word != 0));
        }
        let mut take = |has: u32, length: usize| {
            let found = (flags & has != 0).then_some(rest[next]);
            next += found.map_or(0, |_| length);
            found
        };
        let name = take(Scope::HAS_NAME, 2);
        let inferred = take(Scope::HAS_INFERRED, 1);
        let place: [u64; 2] = match layout.place {
            Some(place) => objects.words(scope, at(place))?,
            None => [rest[next], rest[next + 1]],
        };
        let (start, end) = (number(place[0])?, number(place[1])?);
        Some(Scope {
            name,
            inferred,
            start: u32::try_from(start).ok().filter(|_| start <= end)?,
            end: u32::try_from(end).ok()?,
        })
    }

    fn name<M: Memory>(&self, objects: &Objects<M>) -> Option<String> {
        let text = |word: u64| match objects.kind(word) {
            Some(kind) if objects.is_string(kind) => objects.text(word, LONGEST_NAME),
            // There is no name, but a number, or an object that says so.
            _ => Some(String::new()),
        };
        for word in [self.name, self.inferred].into_iter().flatten() {
            let name = text(word)?;
            if !name.trim().is_empty() {
                return Some(name.trim().to_owned());
            }
        }
        Some("(anonymous)".to_owned())
    }
}

/// The scripts that functions were found in.
#[derive(Default)]
pub struct Scripts {
    known: HashMap<u64, Rc<Script>>,
    /// How many ends of lines are kept.
    ends: usize,
    /// How many scripts were read since somebody asked.
    read: u32,
}

struct Script {
    /// Its name, its text, and where that begins, by which it is known again.
    words: [u64; 3],
    name: String,
    ends: Option<Vec<u32>>,
    first_line: i32,
}

impl Scripts {
    /// How many were read since this was asked last.
    pub fn take_read(&mut self) -> u32 {
        std::mem::take(&mut self.read)
    }

    fn script<M: Memory>(&mut self, objects: &Objects<M>, script: u64) -> Option<Rc<Script>> {
        let layout = objects.layout;
        // The text comes first, then the name, then what is added to its lines.
        let words: [u64; 3] = objects.words(script, layout.script_name.checked_sub(8)?)?;
        if let Some(known) = self.known.get(&script).filter(|s| s.words == words) {
            return Some(known.clone());
        }
        self.read += 1;
        let [source, name, first_line] = words;
        let name = match objects.kind(name) {
            Some(kind) if objects.is_string(kind) => objects.text(name, LONGEST_NAME)?,
            _ => String::new(),
        };
        let counted = objects.word(script, layout.script_line_ends)?;
        let read = Rc::new(Script {
            words,
            name,
            ends: lines::ends(objects, counted, source),
            first_line: number(first_line)?,
        });
        // Where its text was being moved, there are lines next time.
        let Some(ends) = read.ends.as_ref().map(Vec::len) else {
            return Some(read);
        };
        if self.known.len() >= MOST_SCRIPTS || self.ends + ends > MOST_ENDS {
            self.known.clear();
            self.ends = 0;
        }
        self.ends += ends;
        self.known.insert(script, read.clone());
        Some(read)
    }
}

impl Script {
    /// The line that a character is in.
    fn line(&self, at: u32) -> Option<u32> {
        let before = self.ends.as_ref()?.partition_point(|end| *end < at);
        let line = i64::try_from(before).ok()? + 1 + i64::from(self.first_line);
        u32::try_from(line).ok()
    }
}
