//! Loading the probes: all at once where the kernel takes them, else each on its own with the essential ones, so that one
//! that is refused shrinks the recording.

use std::collections::HashSet;

use libbpf_rs::{Object, ObjectBuilder};
use zerocopy::IntoBytes;

use super::refusal::{self, Refusal};
use super::ProbeSettings;
use crate::calls;
use crate::error::Error;
use crate::probes::{events, ProbeInfo, OBJECT};

/// Load the object with the programs of these probes only.
fn load_with(settings: &ProbeSettings, wanted: &[&'static ProbeInfo]) -> libbpf_rs::Result<Object> {
    let programs: HashSet<&str> = wanted
        .iter()
        .flat_map(|p| p.programs.iter().map(|(name, _)| *name))
        .collect();
    let mut builder = ObjectBuilder::default();
    let mut open = builder.name("timesink")?.open_memory(OBJECT)?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if settings.follow.is_none() && matches!(name.as_str(), "strangers" | "newcomers") {
            map.set_autocreate(false)?;
        }
        if name.ends_with("rodata.config") {
            if let Some(value) = map.initial_value_mut() {
                fill_config(settings, value);
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

fn fill_config(settings: &ProbeSettings, value: &mut [u8]) {
    let outputs = settings.follow.unwrap_or_default();
    let config = events::ts_config {
        threshold_ns: settings.threshold_ns,
        switch_has_state: u32::from(settings.switch_has_state),
        output_device: outputs.map(|o| o.map_or(0, |o| o.device)),
        unstable_clock: u32::from(!settings.scheduler_clock_stable),
        output_key: outputs.map(|o| o.map_or(0, |o| o.key)),
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
    refusal::listen();
    let wanted: Vec<_> = settings.probes().collect();
    if let Ok(object) = load_with(settings, &wanted) {
        let refused = Vec::new();
        return Ok(LoadedProbes { object, refused });
    }
    let essential: Vec<_> = wanted.iter().copied().filter(|p| p.essential).collect();
    let try_with = |probes: &[&'static ProbeInfo]| {
        refusal::listen();
        load_with(settings, probes).map_err(|error| refusal::why(&error))
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
