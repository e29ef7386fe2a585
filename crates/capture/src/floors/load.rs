//! How busy the machine was while floors were measured: what others used, and what a host took away. Texts of the kernel
//! in, shares out.

use std::time::Instant;

use timesink_recording::floors::Load;

/// What the kernel had counted at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessorTimes {
    /// Ticks of all processors: in all, busy, and taken by the host. In the rest they were idle.
    pub(crate) all: u64,
    pub(crate) busy: u64,
    pub(crate) stolen: u64,
    /// Ticks of ours, children included.
    own: u64,
    /// Microseconds in which somebody had no processor.
    short_us: Option<u64>,
}

/// From its start on.
pub struct LoadWatch {
    begun: Instant,
    before: ProcessorTimes,
}

impl LoadWatch {
    pub fn start() -> LoadWatch {
        LoadWatch {
            begun: Instant::now(),
            before: now(),
        }
    }

    /// What happened since the start.
    pub fn end(&self) -> Load {
        let us = self.begun.elapsed().as_micros() as u64;
        load(&self.before, &now(), us)
    }
}

fn now() -> ProcessorTimes {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    ProcessorTimes {
        own: own_ticks(),
        short_us: short_us(&read("/proc/pressure/cpu")),
        ..ticks(&read("/proc/stat"))
    }
}

fn own_ticks() -> u64 {
    let mut own = libc::tms {
        tms_utime: 0,
        tms_stime: 0,
        tms_cutime: 0,
        tms_cstime: 0,
    };
    // SAFETY: writes the structure given.
    unsafe { libc::times(&raw mut own) };
    let sum = own.tms_utime + own.tms_stime + own.tms_cutime + own.tms_cstime;
    u64::try_from(sum).unwrap_or(0)
}

/// The first line of `/proc/stat`.
pub(crate) fn ticks(stat: &str) -> ProcessorTimes {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    let words = line.unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
    let sum = |which: &[usize]| {
        let ticks = which.iter().filter_map(|&at| ticks.get(at));
        ticks.fold(0u64, |sum, ticks| sum.saturating_add(*ticks))
    };
    // user nice system idle iowait irq softirq steal; what follows is part of the first two.
    ProcessorTimes {
        all: sum(&[0, 1, 2, 3, 4, 5, 6, 7]),
        busy: sum(&[0, 1, 2, 5, 6]),
        stolen: sum(&[7]),
        ..ProcessorTimes::default()
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234` of `/proc/pressure/cpu`.
fn short_us(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find(|line| line.starts_with("some "))?;
    some.split_once("total=")?.1.trim().parse().ok()
}

fn load(before: &ProcessorTimes, after: &ProcessorTimes, us: u64) -> Load {
    let all = after.all.saturating_sub(before.all);
    let percent = |part: u64, of: u64| (part as f64 * 100.0 / of.max(1) as f64).min(100.0);
    let busy = after.busy.saturating_sub(before.busy);
    let own = after.own.saturating_sub(before.own);
    let short = before.short_us.zip(after.short_us);
    Load {
        others_pct: percent(busy.saturating_sub(own), all),
        stolen_pct: percent(after.stolen.saturating_sub(before.stolen), all),
        short_pct: short.map(|(before, after)| percent(after.saturating_sub(before), us)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What others used is what was used, less what was ours; what the host took is told by itself.
    #[test]
    fn others_are_all_but_us() {
        let stat = |user, idle, steal| {
            ticks(&format!(
                "cpu  {user} 0 50 {idle} 10 0 5 {steal} 40 0\ncpu0 1 2 3\nintr 5\n"
            ))
        };
        let before = ProcessorTimes {
            own: 20,
            short_us: short_us("some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull total=7\n"),
            ..stat(100, 1000, 0)
        };
        let after = ProcessorTimes {
            own: 220,
            short_us: Some(501_000),
            ..stat(400, 1690, 10)
        };
        let load = load(&before, &after, 1_000_000);
        assert_eq!(load.others_pct, 10.0);
        assert_eq!(load.stolen_pct, 1.0);
        assert_eq!(load.short_pct, Some(50.0));
    }

    /// Texts that are not there, cut short or of nonsense are no load, and no panic.
    #[test]
    fn nonsense_is_no_load() {
        for text in [
            "",
            "cpu",
            "cpu ",
            "cpu  x y -1 99999999999999999999 3",
            "cpu0 1 2 3",
        ] {
            let counted = ticks(text);
            let load = load(&counted, &counted, 0);
            assert_eq!((load.others_pct, load.stolen_pct), (0.0, 0.0), "{text}");
        }
        assert_eq!(short_us("some avg10=0.00"), None);
        assert_eq!(short_us("full total=3"), None);
        assert_eq!(short_us("some total=many"), None);
    }
}
