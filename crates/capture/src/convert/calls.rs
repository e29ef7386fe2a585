//! Calls and look-ups, summed. While calls were timed only now and then, what was seen stands for
//! the thread's whole life, and is marked as an estimate.

use std::collections::{HashMap, HashSet};

use timesink_recording::tables::call_errors::CallError;
use timesink_recording::tables::call_histograms::CallHistogram;
use timesink_recording::tables::calls::Call;
use timesink_recording::tables::lookups::Lookup;
use timesink_recording::words::HistogramKind;
use timesink_recording::{ObjectId, ProcessId, RecordingWriter, ThreadId};

use crate::calls;
use crate::convert::lives::Lives;
use crate::convert::objects::Objects;
use crate::convert::scale::{CallScale, CallTiming, SeenCalls};
use crate::error::Error;
use crate::probes::{events as e, text};

/// Different paths that are kept; the rest is counted.
const PATHS: usize = 200_000;
/// What the kernel calls an error is one down to here.
const LAST_ERROR: i32 = -4095;
/// ERESTARTSYS and its like: the kernel starts the call again, the program never sees them.
const RESTARTS: std::ops::RangeInclusive<i32> = -516..=-512;

/// Calls that are shorter on average wait for nothing: what they take is on a processor.
const SHORT_NS: u64 = 4_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct CallKey {
    thread: ThreadId,
    call: i16,
    compat: u8,
    object: Option<ObjectId>,
}

/// A histogram by powers of two, only the buckets that have something.
type Buckets = Vec<(u8, u64)>;

#[derive(Default)]
struct CallSum {
    count: u64,
    ns: u64,
    bytes: u64,
    errors: Vec<(i32, u64)>,
    durations: Buckets,
    sizes: Buckets,
    /// What of it was seen before calls were first left untimed: it stands for itself.
    early: Early,
}

#[derive(Default, Clone, Copy)]
struct Early {
    count: u64,
    ns: u64,
    bytes: u64,
    failed: u64,
}

#[derive(Default)]
pub struct Calls {
    sums: HashMap<CallKey, CallSum>,
    lookups: HashMap<(ProcessId, i16, u8, i32, String), u64>,
    pub lookups_left_out: u64,
    pub seen: u64,
    /// Until then, by the probes' clock, every call was timed.
    early_until: u64,
    /// Threads that have handed over calls since.
    late: HashSet<ThreadId>,
}

fn count(buckets: &mut Buckets, value: u64) {
    let bucket = value.max(1).ilog2() as u8;
    match buckets.iter_mut().find(|(b, _)| *b == bucket) {
        Some((_, n)) => *n += 1,
        None => buckets.push((bucket, 1)),
    }
}

impl Calls {
    pub fn new(early_until: u64) -> Calls {
        Calls {
            early_until,
            ..Calls::default()
        }
    }

    pub fn batch(&mut self, batch: &e::ts_calls, lives: &Lives, objects: &mut Objects) {
        let Some(thread) = lives.thread(batch.head.thread) else {
            return;
        };
        let n = (batch.count as usize).min(batch.call.len());
        // Calls are handed over by the dozen: a thread's first batch afterwards may have some from before.
        let before = lives.threads[thread.index()].start < lives.at(self.early_until);
        let early = batch.head.t <= self.early_until || (before && self.late.insert(thread));
        for call in &batch.call[..n] {
            self.seen += 1;
            let object = objects
                .find(call.device, call.key, call.object_kind)
                .map(|o| o.id);
            let key = CallKey {
                thread,
                call: call.call,
                compat: call.compat,
                object,
            };
            let ns = match call.ns {
                ns if ns & 0x8000_0000 != 0 => u64::from(ns & 0x7fff_ffff) << 10,
                ns => u64::from(ns),
            };
            let sum = self.sums.entry(key).or_default();
            sum.count += 1;
            sum.ns += ns;
            if early {
                sum.early.count += 1;
                sum.early.ns += ns;
            }
            count(&mut sum.durations, ns);
            if (LAST_ERROR..0).contains(&call.result) {
                if RESTARTS.contains(&call.result) {
                    continue;
                }
                sum.early.failed += u64::from(early);
                match sum
                    .errors
                    .iter_mut()
                    .find(|(errno, _)| *errno == -call.result)
                {
                    Some((_, n)) => *n += 1,
                    None => sum.errors.push((-call.result, 1)),
                }
            } else if call.result > 0 && is_transfer(call.call, call.compat) {
                sum.bytes += call.result as u64;
                if early {
                    sum.early.bytes += call.result as u64;
                }
                count(&mut sum.sizes, call.result as u64);
            }
        }
    }

    pub fn lookup(&mut self, l: &e::ts_lookup, lives: &Lives) {
        let process = lives
            .thread(l.head.thread)
            .and_then(|t| lives.process_of(t));
        let Some(process) = process else { return };
        let error = if l.result < 0 { -l.result } else { 0 };
        let key = (process, l.call, l.compat, error, text(&l.path));
        if self.lookups.len() >= PATHS && !self.lookups.contains_key(&key) {
            self.lookups_left_out += 1;
            return;
        }
        *self.lookups.entry(key).or_default() += 1;
    }

    /// Write the tables. `windows` are when calls were timed, in the recording's time.
    pub fn write(
        self,
        lives: &Lives,
        windows: &[(i64, i64)],
        timed: &CallTiming,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let mut names = CallNames::default();
        let mut seen: HashMap<ThreadId, SeenCalls> = HashMap::new();
        for (key, sum) in &self.sums {
            let of = calls::transfers_of(names.of(key.call, key.compat));
            let seen = seen.entry(key.thread).or_default();
            seen.early.add(of, sum.early.count);
            seen.late.add(of, sum.count - sum.early.count);
            if sum.ns / sum.count.max(1) < SHORT_NS {
                seen.early.on_cpu_ns += sum.early.ns;
                seen.late.on_cpu_ns += sum.ns - sum.early.ns;
            }
        }
        let mut keys: Vec<&CallKey> = self.sums.keys().collect();
        keys.sort_unstable();
        for key in keys {
            let sum = &self.sums[key];
            let name = names.of(key.call, key.compat);
            let scale = timed.scale(
                &lives.threads[key.thread.index()],
                windows,
                &seen[&key.thread],
                calls::transfers_of(name),
            );
            write_sum(key, sum, name, scale, out)?;
        }
        let mut lookups: Vec<_> = self.lookups.into_iter().collect();
        lookups.sort_unstable();
        for ((process, call, compat, error, path), count) in lookups {
            let call = names.of(call, compat).to_string();
            let error = if error == 0 {
                String::new()
            } else {
                errno_name(error)
            };
            out.push(Lookup {
                process,
                call,
                path,
                error,
                count,
            })?;
        }
        Ok(())
    }
}

/// The names of calls, looked up once each.
#[derive(Default)]
pub struct CallNames(HashMap<(i16, u8), String>);

impl CallNames {
    pub fn of(&mut self, call: i16, compat: u8) -> &str {
        self.0
            .entry((call, compat))
            .or_insert_with(|| calls::name(call, compat != 0))
    }
}

fn is_transfer(call: i16, compat: u8) -> bool {
    // The names are few and short, but this is asked for every call: ask by number.
    thread_local! {
        static TABLE: [bool; 512] = std::array::from_fn(|n| calls::moves_bytes(&calls::name(n as i16, false)));
    }
    compat == 0 && TABLE.with(|t| t.get(call as usize).copied().unwrap_or(false))
}

fn write_sum(
    key: &CallKey,
    sum: &CallSum,
    name: &str,
    scale: CallScale,
    out: &mut RecordingWriter,
) -> Result<(), Error> {
    let failed: u64 = sum.errors.iter().map(|(_, n)| n).sum();
    let early = match scale.of_early {
        true => Early::default(),
        false => sum.early,
    };
    // A thread that was timed for all but a thousandth of its life was timed.
    let is_scaled = scale.factor > 1.001 && sum.count > early.count;
    let scaled = |all: u64, early: u64| match is_scaled {
        true => early + ((all - early) as f64 * scale.factor).round() as u64,
        false => all,
    };
    out.push(Call {
        thread: key.thread,
        call: name.into(),
        object: key.object,
        count: scaled(sum.count, early.count),
        ns: scaled(sum.ns, early.ns),
        bytes: scaled(sum.bytes, early.bytes),
        errors: scaled(failed, early.failed),
        seen: sum.count,
        estimated: is_scaled || scale.others,
    })?;
    for (errno, count) in &sum.errors {
        out.push(CallError {
            thread: key.thread,
            call: name.into(),
            object: key.object,
            error: errno_name(*errno),
            count: *count,
        })?;
    }
    for (kind, buckets) in [
        (HistogramKind::Duration, &sum.durations),
        (HistogramKind::Size, &sum.sizes),
    ] {
        let mut buckets = buckets.clone();
        buckets.sort_unstable();
        for (bucket, count) in buckets {
            out.push(CallHistogram {
                thread: key.thread,
                call: name.into(),
                object: key.object,
                kind,
                bucket: u32::from(bucket),
                count,
            })?;
        }
    }
    Ok(())
}

/// The kernel's name of an error.
pub fn errno_name(errno: i32) -> String {
    match syscalls::Errno::new(errno).name() {
        Some(name) => name.to_string(),
        None => format!("errno {errno}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets are powers of two, and nothing counts as the smallest.
    #[test]
    fn buckets() {
        let mut b = Vec::new();
        for v in [0, 1, 2, 3, 4, 1023, 1024] {
            count(&mut b, v);
        }
        b.sort_unstable();
        assert_eq!(b, vec![(0, 2), (1, 2), (2, 1), (9, 1), (10, 1)]);
    }

    /// Errors have the names that manual pages use.
    #[test]
    fn errors_have_names() {
        assert_eq!(errno_name(2), "ENOENT");
        assert_eq!(errno_name(512), "ERESTARTSYS");
        assert_eq!(errno_name(4000), "errno 4000");
    }
}
