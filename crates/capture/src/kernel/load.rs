//! Loading the probes: all at once where the kernel takes them, else each on its own with the essential ones, so that one
//! that is refused shrinks the recording.
//!
//! What takes long is the kernel's verifier, which goes through one program at a time for each thread that asks. So where there are
//! processors for it, half of the programs are loaded by a second thread, as a second object with the maps of the first.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};

use libbpf_rs::{
    AsRawLibbpf, Map, MapCore, Object, ObjectBuilder, OpenObject, Program, ProgramMut,
};
use zerocopy::IntoBytes;

use super::description::Description;
use super::needed_types::{self, NeededTypes};
use super::refusal::{self, Refusal};
use super::ProbeSettings;
use crate::calls;
use crate::error::Error;
use crate::memory_file;
use crate::probes::calls as calls_probe;
use crate::probes::{events, interrupts, sampler, ProbeInfo, OBJECT};

/// The kernel's types that the probes need, where libbpf can read them.
struct KernelTypes {
    file: File,
    numbers: events::ts_type_numbers,
    count_from_queue: Option<i64>,
}

impl KernelTypes {
    fn gather() -> io::Result<KernelTypes> {
        let NeededTypes {
            description,
            numbers,
            count_from_queue,
        } = needed_types::pick(&Description::of_kernel()?)?;
        let mut file = memory_file::create(c"timesink-types", 0)?;
        file.write_all(&description)?;
        Ok(KernelTypes {
            file,
            numbers,
            count_from_queue,
        })
    }

    fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }
}

/// Open the object, to load the programs of these probes only.
fn open_with(
    settings: &ProbeSettings,
    types: &KernelTypes,
    wanted: &[&'static ProbeInfo],
) -> libbpf_rs::Result<OpenObject> {
    let programs: HashSet<&str> = wanted
        .iter()
        .flat_map(|p| p.programs.iter().map(|(name, _)| *name))
        .collect();
    let mut builder = ObjectBuilder::default();
    builder.name("timesink")?.btf_custom_path(types.path())?;
    let mut open = builder.open_memory(OBJECT)?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if settings.follow.is_none() && matches!(name.as_str(), "strangers" | "newcomers") {
            map.set_autocreate(false)?;
        }
        if name.ends_with("rodata.config") {
            if let Some(value) = map.initial_value_mut() {
                fill_config(settings, types, value);
            }
        }
        if name == "stack_scratch" {
            // A part for each processor, by its number.
            let processors = settings.processors.iter().max().map_or(1, |last| last + 1);
            let contexts = map.max_entries();
            map.set_max_entries(contexts * processors)?;
        }
    }
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let is_spared = types.count_from_queue.is_some() && name == interrupts::SOFTIRQ_DONE;
        program.set_autoload(programs.contains(name.as_str()) && !is_spared);
        settings.inject.prepare(&mut program)?;
    }
    Ok(open)
}

/// Load the object with the programs of these probes only.
fn load_with(
    settings: &ProbeSettings,
    types: &KernelTypes,
    wanted: &[&'static ProbeInfo],
) -> libbpf_rs::Result<Objects> {
    let object = open_with(settings, types, wanted)?.load()?;
    Ok(Objects(vec![object]))
}

/// The probes whose programs take the verifier about as long as those of all others.
const BESIDE: [&str; 2] = [calls_probe::INFO.name, sampler::INFO.name];

/// The same, in two threads.
fn load_in_two(
    settings: &ProbeSettings,
    types: &KernelTypes,
    wanted: &[&'static ProbeInfo],
) -> libbpf_rs::Result<Objects> {
    let (beside, rest): (Vec<_>, Vec<_>) = wanted
        .iter()
        .partition(|probe| BESIDE.contains(&probe.name));
    let mut first = open_with(settings, types, &rest)?;
    prepare(&mut first)?;
    let mut second = open_with(settings, types, &beside)?;
    for mut map in second.maps_mut() {
        if let Some(fd) = descriptor(&first, map.name()) {
            map.reuse_fd(fd)?;
        }
    }
    std::thread::scope(|scope| {
        let second = scope.spawn(move || second.load());
        let first = first.load();
        let second = second
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(Objects(vec![first?, second?]))
    })
}

/// Make the maps of an object. What was done is not done again as it is loaded.
#[allow(unsafe_code)]
fn prepare(object: &mut OpenObject) -> libbpf_rs::Result<()> {
    // SAFETY: it is open, and stays so: it is its owner who loads it.
    let code = unsafe { libbpf_sys::bpf_object__prepare(object.as_libbpf_object().as_ptr()) };
    match code {
        0 => Ok(()),
        code => Err(libbpf_rs::Error::from_raw_os_error(-code)),
    }
}

/// The map of this name that was made, if it was.
#[allow(unsafe_code)]
fn descriptor<'a>(object: &'a OpenObject, name: &OsStr) -> Option<BorrowedFd<'a>> {
    let map = object.maps().find(|map| map.name() == name)?;
    // SAFETY: it is a map of an open object.
    let fd = unsafe { libbpf_sys::bpf_map__fd(map.as_libbpf_object().as_ptr()) };
    // SAFETY: the object keeps it for as long as it lives itself.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

/// What was loaded, together: objects that share their maps, and each have some of the programs.
pub struct Objects(Vec<Object>);

impl Objects {
    pub fn map(&self, name: &str) -> Option<Map<'_>> {
        let mut maps = self.0.iter().flat_map(Object::maps);
        maps.find(|map| map.name() == name)
    }

    /// Those that were loaded.
    pub fn programs(&self) -> impl Iterator<Item = Program<'_>> {
        let all = self.0.iter().flat_map(Object::progs);
        all.filter(|program| program.autoload())
    }

    pub fn program_mut(&mut self, name: &str) -> Option<ProgramMut<'_>> {
        let all = self.0.iter().flat_map(Object::progs_mut);
        let mut loaded = all.filter(|program| program.autoload());
        loaded.find(|program| program.name() == name)
    }
}

fn fill_config(settings: &ProbeSettings, types: &KernelTypes, value: &mut [u8]) {
    let outputs = settings.follow.unwrap_or_default();
    let config = events::ts_config {
        threshold_ns: settings.threshold_ns,
        switch_has_state: u32::from(settings.switch_has_state),
        output_device: outputs.map(|o| o.map_or(0, |o| o.device)),
        unstable_clock: u32::from(!settings.scheduler_clock_stable),
        count_from_queue: types.count_from_queue.unwrap_or_default(),
        output_key: outputs.map(|o| o.map_or(0, |o| o.key)),
        types: types.numbers,
        call_words: calls::words(),
    };
    let bytes = config.as_bytes();
    let length = bytes.len().min(value.len());
    value[..length].copy_from_slice(&bytes[..length]);
}

/// A probe that would not load, and why.
pub struct Refused {
    pub probe: &'static ProbeInfo,
    pub why: Refusal,
}

/// What this kernel took.
pub struct LoadedProbes {
    pub objects: Objects,
    pub refused: Vec<Refused>,
}

/// Load what this kernel takes. The usual case is one attempt; only where that fails are the probes
/// tried one by one.
pub fn load(settings: &ProbeSettings) -> Result<LoadedProbes, Error> {
    let types = KernelTypes::gather().map_err(|source| Error::System {
        doing: "reading which types the kernel has",
        source,
    })?;
    refusal::listen();
    let wanted: Vec<_> = settings.probes().collect();
    let all = match settings.processors.len() {
        0 | 1 => load_with(settings, &types, &wanted),
        _ => load_in_two(settings, &types, &wanted),
    };
    if let Ok(objects) = all {
        let refused = Vec::new();
        return Ok(LoadedProbes { objects, refused });
    }
    let essential: Vec<_> = wanted.iter().copied().filter(|p| p.essential).collect();
    let try_with = |probes: &[&'static ProbeInfo]| {
        refusal::listen();
        load_with(settings, &types, probes).map_err(|error| refusal::why(&error))
    };
    let failed = |why: Refusal| Error::Probes {
        step: "loaded",
        why,
    };
    try_with(&essential).map_err(failed)?;
    let mut taken = essential.clone();
    let mut refused = Vec::new();
    for &probe in wanted.iter().filter(|p| !p.essential) {
        let mut with = essential.clone();
        with.push(probe);
        match try_with(&with) {
            Ok(_) => taken.push(probe),
            Err(why) => refused.push(Refused { probe, why }),
        }
    }
    let objects = try_with(&taken).map_err(failed)?;
    Ok(LoadedProbes { objects, refused })
}
