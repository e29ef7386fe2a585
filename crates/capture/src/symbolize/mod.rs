//! A recording -> the same recording, with the names of native functions looked for again: debug files may
//! have been installed since. Names that were known stay, and nothing else in it changes.
//!
//! A file counts only if it has the build id that was recorded, and so does the small library of the kernel that runs now.
//! Code that runtimes made, scripts and the kernel keep the names that they have: there is nobody left to ask.

mod beside;
mod renamed;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use timesink_recording::tables::{Delay, Frame, Module, Sample, Stack, Wait};
use timesink_recording::words::{Language, SymbolSource};
use timesink_recording::{ModuleId, Recording, RecordingWriter, StackId, TableRow};

use crate::error::Error;
use crate::launch::Identity;
use crate::patience::Patience;
use crate::symbols::{self, Named, Symbols};
use beside::{Beside, Standing};
use renamed::{FrameAddress, Renamed};

/// The frames of a module before or after, inlined calls too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    pub frames: usize,
    pub named: usize,
}

/// What was found for one module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolizedModule {
    pub path: String,
    pub build_id: String,
    pub before: Count,
    pub after: Count,
    /// Where its names now come from.
    pub symbols: SymbolSource,
    /// Why nothing, or less than could be, was found.
    pub fault: Option<String>,
}

/// What was found: new names, and the outcome for each module.
#[derive(Default)]
struct FoundNames {
    names: HashMap<FrameAddress, Vec<Named>>,
    outcomes: HashMap<ModuleId, SymbolizedModule>,
}

/// Look for the names of a recording again. It is replaced in one step, or, if anything fails or nothing better was found,
/// left as it is. It is replaced with the rights of its owner; debug files are read with those of the user who called
/// sudo, if there is one.
pub fn symbolize(
    path: &Path,
    symbols: &Symbols,
    caller: Option<&Identity>,
) -> Result<Vec<SymbolizedModule>, Error> {
    let standing = Standing::at(path)?;
    let beside = standing.beside()?;
    let recording = standing.open()?;
    let modules = recording.rows::<Module>()?;
    let frames = recording.rows::<Frame>()?;
    let mut found = Identity::acting(caller, || find(symbols, &modules, &frames))?;
    if !found.names.is_empty() {
        let stacks = recording.rows::<Stack>()?;
        let renamed = Renamed::new(&frames, &stacks, &found.names);
        let renamed = renamed.map_err(|what| Error::Damaged {
            path: standing.path().to_owned(),
            what,
        })?;
        for (module, outcome) in &mut found.outcomes {
            outcome.after = count(*module, &renamed.frames);
        }
        let modules = modules.iter().map(|module| Module {
            symbols: found
                .outcomes
                .get(&module.module)
                .map_or(module.symbols, |outcome| outcome.symbols),
            ..module.clone()
        });
        write(&recording, modules.collect(), renamed, &beside)?;
        beside.replace()?;
    }
    let mut outcomes: Vec<_> = found.outcomes.into_values().collect();
    outcomes.sort_unstable_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
    Ok(outcomes)
}

fn count(module: ModuleId, frames: &[Frame]) -> Count {
    let own = || frames.iter().filter(|frame| frame.module == Some(module));
    Count {
        frames: own().count(),
        named: own().filter(|frame| !frame.function.is_empty()).count(),
    }
}

fn find(symbols: &Symbols, modules: &[Module], frames: &[Frame]) -> FoundNames {
    let mut found = FoundNames::default();
    let mut own: HashMap<ModuleId, Vec<&Frame>> = HashMap::new();
    for frame in frames.iter().filter(|f| f.language == Language::Native) {
        if let Some(module) = frame.module {
            own.entry(module).or_default().push(frame);
        }
    }
    for module in modules {
        if let Some(frames) = own.get(&module.module) {
            found.look(symbols, module, frames);
        }
    }
    found
}

impl FoundNames {
    /// Look for the names of one module.
    fn look(&mut self, symbols: &Symbols, module: &Module, frames: &[&Frame]) {
        let recorded = symbols::Module::recorded(module.kind, &module.path, &module.build_id);
        let Some(recorded) = recorded else {
            return;
        };
        let before = Count {
            frames: frames.len(),
            named: frames.iter().filter(|f| !f.function.is_empty()).count(),
        };
        let mut outcome = SymbolizedModule {
            path: module.path.clone(),
            build_id: module.build_id.clone(),
            before,
            after: before,
            symbols: module.symbols,
            fault: None,
        };
        if module.build_id.is_empty() {
            let why = "it has no build ID, so its file cannot be identified";
            outcome.fault = Some(why.to_owned());
            self.outcomes.insert(module.module, outcome);
            return;
        }
        let mut places: HashMap<FrameAddress, Vec<&Frame>> = HashMap::new();
        for frame in frames {
            places
                .entry(FrameAddress::of(frame))
                .or_default()
                .push(frame);
        }
        let places: Vec<_> = places.into_iter().collect();
        let offsets: Vec<u64> = places.iter().map(|(place, _)| place.looked_up()).collect();
        let asked = [(recorded, offsets)];
        let (mut resolved, _) = symbols::resolve_all(symbols, &asked, &Patience::without_limit());
        let Some(resolved) = resolved.pop() else {
            return;
        };
        let as_good = symbols::worth(resolved.source) >= symbols::worth(module.symbols);
        outcome.fault = resolved.fault.map(|fault| fault.to_string());
        for ((place, old), new) in places.into_iter().zip(resolved.frames) {
            if is_better(&old, &new, as_good) {
                self.names.insert(place, new);
                if as_good {
                    outcome.symbols = resolved.source;
                }
            }
        }
        self.outcomes.insert(module.module, outcome);
    }
}

/// Whether what was found at a place is something else than what is known of it, and says no less.
fn is_better(old: &[&Frame], new: &[Named], as_good: bool) -> bool {
    if new.iter().all(|named| named.function.is_empty()) {
        return false;
    }
    let said: HashSet<_> = old.iter().map(|f| said(f)).collect();
    let same = |n: &Named| said.contains(&(&*n.function, &*n.file, n.line, n.inlined));
    let nameless = old.iter().all(|frame| frame.function.is_empty());
    let lines = old.iter().any(|f| f.line.is_some()) <= new.iter().any(|n| n.line.is_some());
    (nameless || as_good && lines) && !(old.len() == new.len() && new.iter().all(same))
}

fn said(frame: &Frame) -> (&str, &str, Option<u32>, bool) {
    (&frame.function, &frame.file, frame.line, frame.inlined)
}

/// Write the recording with its new names.
fn write(
    recording: &Recording,
    modules: Vec<Module>,
    renamed: Renamed,
    beside: &Beside<'_>,
) -> Result<(), Error> {
    beside.write(|out| write_rows(recording, modules, renamed, out))
}

fn write_rows(
    recording: &Recording,
    modules: Vec<Module>,
    renamed: Renamed,
    mut out: RecordingWriter,
) -> Result<(), Error> {
    let changed = [
        Module::NAME,
        Frame::NAME,
        Stack::NAME,
        Sample::NAME,
        Delay::NAME,
        Wait::NAME,
    ];
    out.copy(recording, &changed)?;
    let ids = &renamed.ids;
    copy_changed(recording, &mut out, |row: &mut Sample| {
        follow(ids, &mut row.stack)
    })?;
    copy_changed(recording, &mut out, |row: &mut Delay| {
        follow(ids, &mut row.stack)
    })?;
    copy_changed(recording, &mut out, |row: &mut Wait| {
        follow(ids, &mut row.stack);
        follow(ids, &mut row.waker_stack);
    })?;
    for row in modules {
        out.push(row)?;
    }
    for row in renamed.frames {
        out.push(row)?;
    }
    for row in renamed.stacks {
        out.push(row)?;
    }
    out.finish(recording.about().clone())?;
    Ok(())
}

fn follow(ids: &HashMap<StackId, StackId>, stack: &mut Option<StackId>) {
    *stack = stack.and_then(|stack| ids.get(&stack).copied());
}

fn copy_changed<R: TableRow>(
    recording: &Recording,
    out: &mut RecordingWriter,
    change: impl Fn(&mut R),
) -> Result<(), Error> {
    let mut written = Ok(());
    recording.scan::<R>(|rows| {
        for row in rows {
            let mut row = row.clone();
            change(&mut row);
            written = written.clone().and_then(|()| out.push(row));
        }
    })?;
    Ok(written?)
}
