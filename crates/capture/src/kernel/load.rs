//! Loading the probes: all at once where the kernel takes them, else each on its own with the essential ones, so that one
//! that is refused shrinks the recording.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use libbpf_rs::{Object, ObjectBuilder};
use zerocopy::IntoBytes;

use super::needed_types::{self, NeededTypes};
use super::refusal::{self, Refusal};
use super::ProbeSettings;
use crate::calls;
use crate::error::Error;
use crate::host;
use crate::memory_file;
use crate::probes::{events, ProbeInfo, OBJECT};

/// The kernel's types that the probes need, where libbpf can read them.
struct KernelTypes {
    file: File,
    numbers: events::ts_type_numbers,
}

impl KernelTypes {
    fn gather() -> io::Result<KernelTypes> {
        let NeededTypes {
            description,
            numbers,
        } = needed_types::pick(&fs::read(host::KERNEL_TYPES)?)?;
        let mut file = memory_file::create(c"timesink-types", 0)?;
        file.write_all(&description)?;
        Ok(KernelTypes { file, numbers })
    }

    fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }
}

/// Load the object with the programs of these probes only.
fn load_with(
    settings: &ProbeSettings,
    types: &KernelTypes,
    wanted: &[&'static ProbeInfo],
) -> libbpf_rs::Result<Object> {
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
        let wanted = programs.contains(program.name().to_string_lossy().as_ref());
        program.set_autoload(wanted);
        settings.inject.prepare(&mut program)?;
    }
    open.load()
}

fn fill_config(settings: &ProbeSettings, types: &KernelTypes, value: &mut [u8]) {
    let outputs = settings.follow.unwrap_or_default();
    let config = events::ts_config {
        threshold_ns: settings.threshold_ns,
        switch_has_state: u32::from(settings.switch_has_state),
        output_device: outputs.map(|o| o.map_or(0, |o| o.device)),
        unstable_clock: u32::from(!settings.scheduler_clock_stable),
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
    pub object: Object,
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
    if let Ok(object) = load_with(settings, &types, &wanted) {
        let refused = Vec::new();
        return Ok(LoadedProbes { object, refused });
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
    let object = try_with(&taken).map_err(failed)?;
    Ok(LoadedProbes { object, refused })
}
