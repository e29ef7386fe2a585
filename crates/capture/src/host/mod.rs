//! What may this machine and this user do: facts first, then what follows from them.

pub mod tried;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use timesink_recording::floors::Machine;
use timesink_recording::processors;

use crate::error::Error;
use crate::kernel::{Inject, ProbeSettings};

/// The oldest kernel that has all that recording stands on.
const OLDEST: (u32, u32) = (5, 15);
/// Since then `sched_switch` passes the state of the thread that is leaving.
const SWITCH_HAS_STATE: (u32, u32) = (5, 18);

/// Facts about this machine and user.
#[derive(Debug, Clone)]
pub struct HostFacts {
    pub release: String,
    pub architecture: String,
    pub hostname: String,
    /// Those on line.
    pub processors: Vec<u32>,
    pub privileged: bool,
    pub btf: bool,
    /// What the kernel keeps the time by.
    pub clock_source: String,
    /// The kernel keeps its memory from everybody, root too.
    pub confidential: bool,
}

/// With these as its clock source, x86 has found the processors' own counters (TSC) to be unreliable, and the scheduler's
/// clock, which stands on them, too.
const UNSTABLE_CLOCK_SOURCES: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];

/// Whether the scheduler's clock can be held against that of the system where this is the clock source.
fn scheduler_clock_stable(clock_source: &str) -> bool {
    !UNSTABLE_CLOCK_SOURCES.contains(&clock_source)
}

/// The kernel's own description of its types.
pub const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// What type information begins with.
const BTF_MAGIC: [u8; 2] = 0xeb9f_u16.to_le_bytes();

/// Where the kernel's description of its types is.
pub fn types() -> PathBuf {
    std::env::var_os("TIMESINK_BTF")
        .unwrap_or_else(|| KERNEL_TYPES.into())
        .into()
}

impl HostFacts {
    /// What this machine says of itself. `TIMESINK_BTF` names another place to look for the
    /// kernel's type information, for machines that keep it elsewhere.
    pub fn gather() -> HostFacts {
        let btf = types();
        let read = |path: &str| {
            fs::read_to_string(path)
                .unwrap_or_default()
                .trim()
                .to_string()
        };
        HostFacts {
            release: read("/proc/sys/kernel/osrelease"),
            architecture: std::env::consts::ARCH.to_string(),
            hostname: read("/proc/sys/kernel/hostname"),
            processors: processors::parse(&read("/sys/devices/system/cpu/online"))
                .into_iter()
                .collect(),
            privileged: may_use_bpf(&read("/proc/self/status")),
            clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            btf: is_btf(&btf),
            confidential: is_confidential(&read("/sys/kernel/security/lockdown")),
        }
    }

    pub fn version(&self) -> (u32, u32) {
        let mut parts = self.release.split(|c: char| !c.is_ascii_digit());
        let mut next = || parts.next().and_then(|p| p.parse().ok()).unwrap_or(0);
        (next(), next())
    }

    /// Whether recording can work at all, with one clear sentence if it cannot.
    pub fn check(&self) -> Result<(), Error> {
        if self.architecture != "x86_64" {
            let what = format!(
                "recording requires x86-64; this machine is {}",
                self.architecture
            );
            return Err(Error::Kernel { what });
        }
        if self.version() < OLDEST {
            let what = format!(
                "this kernel is {}; recording requires kernel {}.{} or newer; nothing was started",
                self.release, OLDEST.0, OLDEST.1
            );
            return Err(Error::Kernel { what });
        }
        if !self.privileged {
            let what = "recording needs root (or the capabilities CAP_BPF, CAP_PERFMON and \
                        CAP_SYS_PTRACE): use sudo; nothing was started";
            return Err(Error::NotPermitted { what: what.into() });
        }
        if !self.btf {
            let what = "this kernel has no readable type information (BTF) in \
                        /sys/kernel/btf/vmlinux; recording requires a kernel built with \
                        CONFIG_DEBUG_INFO_BTF, as in all major distributions; nothing was started";
            return Err(Error::Kernel { what: what.into() });
        }
        if self.confidential {
            let what =
                "kernel lockdown is in confidentiality mode, which forbids reading kernel memory; \
                        boot with lockdown=integrity or without lockdown; nothing was started";
            return Err(Error::NotPermitted { what: what.into() });
        }
        Ok(())
    }

    pub fn settings(&self, threshold_ns: u64, rate_hz: u64) -> ProbeSettings {
        ProbeSettings {
            threshold_ns,
            rate_hz,
            switch_has_state: self.version() >= SWITCH_HAS_STATE,
            scheduler_clock_stable: scheduler_clock_stable(&self.clock_source),
            processors: self.processors.clone(),
            follow: None,
            inject: Inject::from_environment(),
        }
    }

    /// Which machine this is, as far as its speed goes.
    pub fn machine(&self) -> Machine {
        let mut facts = self.to_map();
        Machine {
            hostname: self.hostname.clone(),
            kernel: self.release.clone(),
            processor: facts.remove("cpu model").unwrap_or_default(),
            processors: self.processors.len() as u32,
        }
    }

    /// What the recording keeps of the machine beside its own columns.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let read = |path: &str| {
            fs::read_to_string(path)
                .unwrap_or_default()
                .trim()
                .to_string()
        };
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo
            .lines()
            .find_map(|l| l.strip_prefix("model name"))
            .map(|l| l.trim_start_matches([' ', '\t', ':']).to_string());
        let mut facts = BTreeMap::new();
        facts.insert("cpu model".to_string(), model.unwrap_or_default());
        facts.insert("clock source".to_string(), self.clock_source.clone());
        let stable = scheduler_clock_stable(&self.clock_source);
        facts.insert(
            "scheduler clock".to_string(),
            if stable { "stable" } else { "unstable" }.to_string(),
        );
        facts
    }
}

/// Whether this file has the types of a kernel. One may be there and empty, or not for us to read.
fn is_btf(path: &Path) -> bool {
    let mut magic = [0; BTF_MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == BTF_MAGIC
}

/// The mode in force is the one in brackets: `none integrity [confidentiality]`.
fn is_confidential(lockdown: &str) -> bool {
    lockdown.contains("[confidentiality]")
}

/// Whether the effective capabilities suffice: CAP_SYS_ADMIN (21), or CAP_BPF (39) with
/// CAP_PERFMON (38) and CAP_SYS_PTRACE (19).
fn may_use_bpf(status: &str) -> bool {
    let effective = status
        .lines()
        .find_map(|l| l.strip_prefix("CapEff:"))
        .and_then(|v| u64::from_str_radix(v.trim(), 16).ok())
        .unwrap_or(0);
    let has = |bit: u32| effective & (1 << bit) != 0;
    has(21) || (has(39) && has(38) && has(19))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> HostFacts {
        HostFacts {
            release: "6.1.0-18-amd64".into(),
            architecture: "x86_64".into(),
            hostname: "h".into(),
            processors: vec![0, 1],
            privileged: true,
            btf: true,
            clock_source: "tsc".into(),
            confidential: false,
        }
    }

    /// A machine that has everything may record.
    #[test]
    fn all_is_well() {
        assert!(facts().check().is_ok());
    }

    /// An old kernel, a missing BTF and a plain user each get one sentence, and it says what to do.
    #[test]
    fn each_lack_is_said() {
        let old = HostFacts {
            release: "5.10.0-28-amd64".into(),
            ..facts()
        };
        assert!(old
            .check()
            .unwrap_err()
            .to_string()
            .contains("5.15 or newer"));
        let plain = HostFacts {
            privileged: false,
            ..facts()
        };
        assert!(plain.check().unwrap_err().to_string().contains("sudo"));
        let bare = HostFacts {
            btf: false,
            ..facts()
        };
        assert!(bare
            .check()
            .unwrap_err()
            .to_string()
            .contains("CONFIG_DEBUG_INFO_BTF"));
        let locked = HostFacts {
            confidential: true,
            ..facts()
        };
        assert!(locked
            .check()
            .unwrap_err()
            .to_string()
            .contains("lockdown=integrity"));
    }

    /// An empty file, one of something else and none at all are no types; those of a kernel are.
    #[test]
    fn types_of_a_kernel() {
        let folder = std::env::temp_dir().join(format!("timesink-btf-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("vmlinux");
        assert!(!is_btf(&path));
        for (bytes, want) in [
            (&b""[..], false),
            (b"\x9f", false),
            (b"\x7fELF", false),
            (b"\x9f\xeb\x01", true),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(is_btf(&path), want, "{bytes:?}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    /// The mode of lockdown that is in force counts, not those that could be.
    #[test]
    fn lockdown() {
        assert!(is_confidential("none integrity [confidentiality]"));
        assert!(!is_confidential("none [integrity] confidentiality"));
        assert!(!is_confidential(""));
    }

    /// Kernel releases are spelt in many ways.
    #[test]
    fn versions() {
        for (text, want) in [
            ("5.15.0", (5, 15)),
            ("6.18.44-fc", (6, 18)),
            ("7", (7, 0)),
            ("x", (0, 0)),
        ] {
            assert_eq!(
                HostFacts {
                    release: text.into(),
                    ..facts()
                }
                .version(),
                want,
                "{text}"
            );
        }
    }

    /// Root has what it takes, so has a process with the three capabilities, a plain one has not.
    #[test]
    fn capabilities() {
        assert!(may_use_bpf("CapEff:\t000001ffffffffff"));
        assert!(may_use_bpf(&format!(
            "CapEff:\t{:016x}",
            (1u64 << 39) | (1 << 38) | (1 << 19)
        )));
        assert!(!may_use_bpf("CapEff:\t0000000000000000"));
    }
}
