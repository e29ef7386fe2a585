//! Loading and attaching the probes. One that this kernel refuses shrinks the recording and is told;
//! only the essential ones end it.

mod control;
mod description;
mod inject;
mod load;
mod needed_types;
mod refusal;
mod symbols;
mod types;
mod watched;

use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use libbpf_rs::{Iter, Link, MapCore, MapFlags, MapHandle, ProgramImpl};
use zerocopy::IntoBytes;

use crate::budget::CountedEvents;
use crate::error::Error;
use crate::perf_event;
use crate::probes::{self, events, follow, interrupts, terminals, ProbeInfo, PROBES};
use crate::spool::Note;

pub use control::Control;
pub use inject::Inject;
use load::{LoadedProbes, Objects, Refused};
pub use refusal::Refusal;
pub use types::{check as check_fields, Fields};

/// How one probe fared.
#[derive(Debug, Clone)]
pub struct Granted {
    pub probe: &'static str,
    pub attached: bool,
    /// Why not.
    pub refusal: Refusal,
    /// What is missing without it.
    pub without: &'static str,
    /// What it gives.
    pub gives: &'static str,
}

impl Granted {
    fn outcome(probe: &ProbeInfo, outcome: Result<(), Refusal>) -> Granted {
        Granted {
            probe: probe.name,
            attached: outcome.is_ok(),
            refusal: outcome.err().unwrap_or_default(),
            without: probe.without,
            gives: probe.gives,
        }
    }

    pub fn note(&self) -> Note {
        Note::Probe {
            probe: self.probe.into(),
            attached: self.attached,
            reason: self.refusal.reason.clone(),
            without: self.without.into(),
        }
    }
}

/// What is to be recorded.
#[derive(Debug, Clone)]
pub struct ProbeSettings {
    pub threshold_ns: u64,
    pub rate_hz: u64,
    /// `sched_switch` passes the previous state (kernel 5.18 and newer).
    pub switch_has_state: bool,
    /// Whether the scheduler's clock ticks as ours does.
    pub scheduler_clock_stable: bool,
    pub processors: Vec<u32>,
    /// Where our own output and errors go, if that is a pipe or a socket: those at its other end do not come in; `None`
    /// if nobody comes in at all.
    pub follow: Option<[Option<FileKey>; 2]>,
    /// What tests have this kernel refuse.
    pub inject: Inject,
}

/// A pipe or a socket as the probes know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKey {
    pub key: u64,
    pub device: u32,
}

impl ProbeSettings {
    /// The probes that are wanted, in their order.
    fn probes(&self) -> impl Iterator<Item = &'static ProbeInfo> + '_ {
        let wanted = |probe: &&ProbeInfo| self.follow.is_some() || probe.name != follow::INFO.name;
        PROBES.iter().copied().filter(wanted)
    }
}

/// The probes, loaded; each set of links in the order in which it was attached.
pub struct Kernel {
    // Links go before the objects that they belong to.
    links: Vec<(&'static ProbeInfo, Vec<Link>)>,
    samplers: Vec<OwnedFd>,
    objects: Objects,
    control: Control,
    wanted: Vec<&'static ProbeInfo>,
    inject: Inject,
    pub granted: Vec<Granted>,
}

/// What the verifier had to do with a program, which must not grow beyond what old kernels allow.
#[derive(Debug, Clone)]
pub struct Verified {
    pub program: String,
    /// Instructions that it went through; 0 before 5.16, which does not tell.
    pub instructions: u32,
}

/// How all probes fared: what `doctor` shows.
pub struct Tried {
    pub probes: Vec<Granted>,
    pub programs: Vec<Verified>,
}

/// Try every probe on its own.
pub fn try_probes(settings: &ProbeSettings) -> Result<Tried, Error> {
    let all = ProbeSettings {
        follow: Some([None; 2]),
        ..settings.clone()
    };
    let mut kernel = Kernel::load(&all)?;
    kernel.attach()?;
    Ok(Tried {
        probes: kernel.granted.clone(),
        programs: kernel.verified(),
    })
}

impl Kernel {
    pub fn load(settings: &ProbeSettings) -> Result<Kernel, Error> {
        let LoadedProbes { objects, refused } = load::load(settings)?;
        let control = objects.map("control").ok_or(Error::Probes {
            step: "loaded",
            why: "no control map".to_string().into(),
        })?;
        let control = Control::map(control.as_fd().as_raw_fd())?;
        control.next_call_epoch();
        let granted = refused
            .into_iter()
            .map(|Refused { probe, why }| Granted::outcome(probe, Err(why)))
            .collect();
        let mut kernel = Kernel {
            links: Vec::new(),
            samplers: Vec::new(),
            objects,
            control,
            granted,
            wanted: settings.probes().collect(),
            inject: settings.inject.clone(),
        };
        kernel.samplers = open_samplers(settings);
        Ok(kernel)
    }

    /// What the verifier had to do with each program.
    fn verified(&self) -> Vec<Verified> {
        let loaded = self.objects.programs();
        let verified = |program: ProgramImpl<'_, _>| Verified {
            program: program.name().to_string_lossy().into_owned(),
            instructions: verified_instructions(program.as_fd()),
        };
        loaded.map(verified).collect()
    }

    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Attach everything, the sampler last.
    pub fn attach(&mut self) -> Result<(), Error> {
        for probe in self.wanted.clone() {
            if self.granted.iter().any(|g| g.probe == probe.name) {
                continue;
            }
            let outcome = self.attach_probe(probe);
            if let (Err(why), true) = (&outcome, probe.essential) {
                return Err(Error::Probes {
                    step: "attached",
                    why: why.clone().into(),
                });
            }
            let outcome = outcome.map_err(Refusal::from);
            self.granted.push(Granted::outcome(probe, outcome));
        }
        Ok(())
    }

    fn attach_probe(&mut self, probe: &'static ProbeInfo) -> Result<(), String> {
        if probe.name == terminals::INFO.name {
            self.find_terminal_work()?;
        }
        let mut links = Vec::new();
        for (name, tracepoint) in probe.programs {
            let Some(program) = self.objects.program_mut(name) else {
                // That one is loaded only where it is needed.
                if *name == interrupts::SOFTIRQ_DONE {
                    continue;
                }
                return Err(format!("no program {name}"));
            };
            if *name == "on_sample" {
                if self.samplers.is_empty() {
                    return Err("the kernel opened no processor-clock events".into());
                }
                for sampler in self.samplers.drain(..) {
                    let link = program
                        .attach_perf_event(sampler.as_raw_fd())
                        .map_err(|e| e.to_string())?;
                    // From now on it is the link's, which closes it.
                    let _ = sampler.into_raw_fd();
                    links.push(link);
                }
            } else if self.inject.loses_argument(name) {
                let link = program.attach_raw_tracepoint(inject::POOR_TRACEPOINT);
                links.push(link.map_err(|e| format!("{name} on {tracepoint}: {e}"))?);
            } else if !tracepoint.is_empty() {
                links.push(
                    program
                        .attach()
                        .map_err(|e| format!("{name} on {tracepoint}: {e}"))?,
                );
            }
        }
        self.links.push((probe, links));
        Ok(())
    }

    /// Detach one probe; true if it was attached.
    pub fn detach(&mut self, probe: &str) -> bool {
        let before = self.links.len();
        self.links.retain(|(p, _)| p.name != probe);
        before != self.links.len()
    }

    /// Start timing calls anew after a pause.
    pub fn attach_calls(&mut self) -> Result<(), String> {
        self.control.next_call_epoch();
        self.attach_probe(&probes::calls::INFO)
    }

    /// Pause timing calls. That of a thread which is in one now stays as it was: with the epoch left as it is, all that the thread is
    /// seen at work for until the next window would be taken for what it has done since that call began.
    pub fn detach_calls(&mut self) {
        self.detach("calls");
        self.control.next_call_epoch();
    }

    pub fn has(&self, probe: &str) -> bool {
        self.granted.iter().any(|g| g.probe == probe && g.attached)
    }

    /// Track every thread of these processes from now on.
    pub fn seed(&mut self, pids: &[u32]) -> Result<(), Error> {
        self.enter("seeds", pids, 0)?;
        self.seed_rest(pids)
    }

    /// Track the threads of these processes that are not tracked yet. The processes have been entered in `seeds`.
    pub fn seed_rest(&mut self, pids: &[u32]) -> Result<(), Error> {
        self.walk_tasks("seed")?;
        // Their numbers may come to be those of others.
        let seeds = self.writable("seeds")?;
        for pid in pids {
            let _ = seeds.delete(&pid.to_ne_bytes());
        }
        Ok(())
    }

    /// What these processes, which ran before, have given epoll for their descriptors.
    pub fn know_watched(&self, pids: &[u32]) -> Result<(), Error> {
        let map = self.writable("watched")?;
        for watched in pids.iter().flat_map(|&pid| watched::of(pid)) {
            let key = events::ts_watched {
                pid: watched.pid,
                pad: 0,
                word: watched.word,
            };
            // What is not known here is told as a wait for any of several.
            let _ = map.update(
                key.as_bytes(),
                &watched.descriptor.to_ne_bytes(),
                MapFlags::ANY,
            );
        }
        Ok(())
    }

    /// Never let these processes come in.
    pub fn shut_out(&mut self, pids: &[u32]) -> Result<(), Error> {
        self.enter("strangers", pids, 0)
    }

    /// Put processes into a map that has them as keys.
    fn enter(&mut self, map: &'static str, pids: &[u32], value: u32) -> Result<(), Error> {
        let map = self.writable(map)?;
        for pid in pids {
            map.update(&pid.to_ne_bytes(), &value.to_ne_bytes(), MapFlags::ANY)
                .map_err(|e| Error::Probes {
                    step: "told what to follow",
                    why: e.to_string().into(),
                })?;
        }
        Ok(())
    }

    fn writable(&self, name: &'static str) -> Result<MapHandle, Error> {
        self.map(name).ok_or_else(|| Error::Probes {
            step: "told what to follow",
            why: format!("no map {name}").into(),
        })
    }

    /// Close the threads that are still alive.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.walk_tasks("finish")
    }

    fn walk_tasks(&mut self, name: &'static str) -> Result<(), Error> {
        let failed = |why: String| Error::Probes {
            step: "run over all tasks",
            why: why.into(),
        };
        let program = self
            .objects
            .program_mut(name)
            .ok_or_else(|| failed(format!("no program {name}")))?;
        let link = program.attach().map_err(|e| failed(e.to_string()))?;
        let mut iter = Iter::new(&link).map_err(|e| failed(e.to_string()))?;
        // The programs print nothing: reading to the end is what runs them.
        std::io::copy(&mut iter, &mut std::io::sink()).map_err(|e| failed(e.to_string()))?;
        Ok(())
    }

    /// The map that says which processes are Python.
    pub fn pythons(&self) -> Option<MapHandle> {
        self.map("pythons")
    }

    /// The map that says which processes are Java.
    pub fn javas(&self) -> Option<MapHandle> {
        self.map("javas")
    }

    /// The map that says which processes are PHP, Ruby or Perl.
    pub fn interpreters(&self) -> Option<MapHandle> {
        self.map("interpreters")
    }

    /// The map that says which processes are a bash.
    pub fn bashes(&self) -> Option<MapHandle> {
        self.map("bashes")
    }

    /// The map that says which processes are Go.
    pub fn gos(&self) -> Option<MapHandle> {
        self.map("gos")
    }

    /// The map that says which processes have tags.
    pub fn tagged(&self) -> Option<MapHandle> {
        self.map("tagged")
    }

    fn map(&self, name: &str) -> Option<MapHandle> {
        let map = self.objects.map(name)?;
        MapHandle::try_from(&map).ok()
    }

    /// A ring (`ring` or `newcomers`), each event in it handed to `take`.
    pub fn ring<'a>(
        &self,
        name: &str,
        take: impl FnMut(&[u8]) + 'a,
    ) -> Result<libbpf_rs::RingBuffer<'a>, Error> {
        let failed = |e: libbpf_rs::Error| Error::Probes {
            step: "listened to",
            why: e.to_string().into(),
        };
        let mut take = take;
        let ring = self.objects.map(name).ok_or_else(|| Error::Probes {
            step: "loaded",
            why: format!("no map {name}").into(),
        })?;
        let mut builder = libbpf_rs::RingBufferBuilder::new();
        builder
            .add(&ring, move |bytes| {
                take(bytes);
                0
            })
            .map_err(failed)?;
        builder.build().map_err(failed)
    }

    /// How many of each kind of event did not fit into the ring, by kind.
    pub fn lost(&self) -> Vec<u64> {
        (0..events::TS_COUNTERS)
            .map(|kind| self.counters("lost", kind).iter().sum())
            .collect()
    }

    /// How many calls have been timed and switches noted, and what was measured of that and of samples, by processor.
    pub fn counted(&self) -> Vec<CountedEvents> {
        let gathered = self.by_processor("gathered", 0);
        let noted = |value: &Vec<u8>| CountedEvents {
            switches: probes::switches(value),
            ..CountedEvents::default()
        };
        let mut all: Vec<CountedEvents> = gathered.iter().map(noted).collect();
        let mut fill = |counter, field: fn(&mut CountedEvents) -> &mut u64| {
            let values = self.counters("timed", counter);
            all.iter_mut()
                .zip(values)
                .for_each(|(one, value)| *field(one) = value);
        };
        fill(events::TS_CALLS_RECORDED, |one| &mut one.calls);
        fill(events::TS_CALLS_UNRECORDED, |one| &mut one.unrecorded_calls);
        fill(events::TS_CALLS_RETURNS_NS, |one| &mut one.returns_ns);
        fill(events::TS_CALLS_RETURNS, |one| &mut one.returns);
        fill(events::TS_CALLS_STACKS_NS, |one| &mut one.call_stacks_ns);
        fill(events::TS_CALLS_SAMPLES_NS, |one| &mut one.samples_ns);
        all
    }

    /// The turns that processors have gathered and not handed over. Only after all is detached.
    pub fn gathered(&self, mut take: impl FnMut(&[u8])) {
        for value in self.by_processor("gathered", 0) {
            probes::turns(&value).for_each(&mut take);
        }
    }

    /// One counter of a map, by processor.
    fn counters(&self, map: &str, key: u32) -> Vec<u64> {
        let number = |v: Vec<u8>| v.as_slice().try_into().map_or(0, u64::from_ne_bytes);
        let values = self.by_processor(map, key);
        values.into_iter().map(number).collect()
    }

    fn by_processor(&self, map: &str, key: u32) -> Vec<Vec<u8>> {
        let map = self.objects.map(map);
        map.and_then(|map| {
            map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY)
                .ok()
                .flatten()
        })
        .unwrap_or_default()
    }

    /// Detach what is left, last attached first.
    pub fn detach_all(&mut self) {
        while self.links.pop().is_some() {}
    }
}

/// 0 where the kernel does not tell.
fn verified_instructions(program: BorrowedFd) -> u32 {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the kernel writes no more than the length that it is told.
    let failed = unsafe {
        libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut length)
    };
    if failed == 0 {
        info.verified_insns
    } else {
        0
    }
}

/// A clock on each processor. No more than a few of them may fail before there is none.
fn open_samplers(settings: &ProbeSettings) -> Vec<OwnedFd> {
    settings
        .processors
        .iter()
        .filter_map(|&p| open_sampler(p, settings.rate_hz))
        .collect()
}

fn open_sampler(processor: u32, rate_hz: u64) -> Option<OwnedFd> {
    // Cycles where there is a counter for them, the processor clock elsewhere.
    let cycles = (
        libbpf_sys::PERF_TYPE_HARDWARE,
        libbpf_sys::PERF_COUNT_HW_CPU_CYCLES,
    );
    let clock = (
        libbpf_sys::PERF_TYPE_SOFTWARE,
        libbpf_sys::PERF_COUNT_SW_CPU_CLOCK,
    );
    [cycles, clock].into_iter().find_map(|(kind, config)| {
        let mut event = perf_event::event(kind, config);
        event.__bindgen_anon_1.sample_freq = rate_hz;
        event.set_freq(1);
        perf_event::open(&event, processor).ok()
    })
}
