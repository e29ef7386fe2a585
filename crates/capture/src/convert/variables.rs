//! Locks that lie in variables of a program or a library get the names of those; others there, the file's with the place in it.

use std::collections::{BTreeMap, HashMap};

use timesink_recording::ProcessId;

use crate::spool::LoadedModule;
use crate::symbols::{self, Symbols};

use super::lives::Lives;
use super::objects::Objects;
use super::stacks::{Naming, ToldModule};

/// Gives locks their names, as far as there is patience to look for them.
pub fn name_locks(
    objects: &mut Objects,
    lives: &Lives,
    loaded: &[LoadedModule],
    modules: &HashMap<u32, ToldModule>,
    naming: &Naming<'_>,
) {
    let mut of_process: HashMap<ProcessId, Vec<&LoadedModule>> = HashMap::new();
    for one in loaded {
        let main = lives.by_tid(one.pid, lives.at(one.at));
        if let Some(process) = main.and_then(|thread| lives.process_of(thread)) {
            of_process.entry(process).or_default().push(one);
        }
    }
    // By module and offset, in an order that does not change from run to run.
    let mut places: BTreeMap<u32, BTreeMap<u64, Vec<_>>> = BTreeMap::new();
    for (process, address, object) in objects.futexes() {
        let loaded = of_process.get(&process).map_or(&[][..], Vec::as_slice);
        if let Some((module, offset)) = place(loaded, address) {
            let of_module = places.entry(module).or_default();
            of_module.entry(offset).or_default().push(object);
        }
    }
    let asked = places.iter().filter_map(|(number, offsets)| {
        let module = modules.get(number)?.module()?;
        Some((*number, (module, offsets.keys().copied().collect())))
    });
    let (numbers, asked): (Vec<u32>, Vec<_>) = asked.unzip();
    let symbols = Symbols::new(naming.cache.clone());
    let found = symbols::variables_of_all(&symbols, &asked, naming.patience);
    let mut names: HashMap<(u32, u64), String> = HashMap::new();
    for ((number, (_, offsets)), found) in numbers.iter().zip(&asked).zip(found) {
        let found = offsets.iter().zip(found);
        names.extend(found.filter_map(|(offset, name)| Some(((*number, *offset), name?))));
    }
    for (number, offsets) in &places {
        let file = modules.get(number).map_or("", ToldModule::file_name);
        for (offset, ids) in offsets {
            let name = names.remove(&(*number, *offset));
            let name = name.unwrap_or_else(|| format!("{file}+{offset:#x}"));
            for &id in ids {
                objects.rename(id, &name);
            }
        }
    }
}

/// The one file that an address lies in, and where in it. If a process had two there, one after the other, it is not known which.
fn place(loaded: &[&LoadedModule], address: u64) -> Option<(u32, u64)> {
    let holding = loaded
        .iter()
        .filter(|one| (one.start..one.end).contains(&address));
    let mut places = holding.map(|one| (one.module, address.wrapping_sub(one.moved)));
    let first = places.next()?;
    places.all(|other| other == first).then_some(first)
}
