//! Calls and look-ups, summed. While calls were timed only now and then, what was seen stands for
//! the thread's whole life, and is marked as an estimate.

use std::collections::HashMap;

use timesink_recording::tables::call_errors::CallError;
use timesink_recording::tables::call_histograms::CallHistogram;
use timesink_recording::tables::calls::Call;
use timesink_recording::tables::lookups::Lookup;
use timesink_recording::tables::threads::Thread;
use timesink_recording::words::HistogramKind;
use timesink_recording::{ObjectId, ProcessId, RecordingWriter, ThreadId};

use crate::calls;
use crate::convert::lives::Lives;
use crate::convert::objects::Objects;
use crate::error::Error;
use crate::probes::{events as e, text};

/// Different paths that are kept; the rest is counted.
const PATHS: usize = 200_000;
/// What the kernel calls an error is one down to here.
const LAST_ERROR: i32 = -4095;
/// ERESTARTSYS and its like: the kernel starts the call again, the program never sees them.
const RESTARTS: std::ops::RangeInclusive<i32> = -516..=-512;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    thread: ThreadId,
    call: i16,
    compat: u8,
    object: Option<ObjectId>,
}

/// A histogram by powers of two, only the buckets that have something.
type Buckets = Vec<(u8, u64)>;

#[derive(Default)]
struct Sum {
    count: u64,
    ns: u64,
    bytes: u64,
    errors: Vec<(i32, u64)>,
    durations: Buckets,
    sizes: Buckets,
}

#[derive(Default)]
pub struct Calls {
    sums: HashMap<Key, Sum>,
    lookups: HashMap<(ProcessId, i16, u8, i32, String), u64>,
    pub lookups_left_out: u64,
    pub seen: u64,
}

fn count(buckets: &mut Buckets, value: u64) {
    let bucket = value.max(1).ilog2() as u8;
    match buckets.iter_mut().find(|(b, _)| *b == bucket) {
        Some((_, n)) => *n += 1,
        None => buckets.push((bucket, 1)),
    }
}

impl Calls {
    pub fn batch(&mut self, batch: &e::ts_calls, lives: &Lives, objects: &mut Objects) {
        let Some(thread) = lives.thread(batch.head.thread) else {
            return;
        };
        let n = (batch.count as usize).min(batch.call.len());
        for call in &batch.call[..n] {
            self.seen += 1;
            let object = objects
                .find(call.device, call.key, call.object_kind)
                .map(|o| o.id);
            let key = Key {
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
            count(&mut sum.durations, ns);
            if (LAST_ERROR..0).contains(&call.result) {
                if RESTARTS.contains(&call.result) {
                    continue;
                }
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
        timed: &Timed,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let mut seen: HashMap<ThreadId, u64> = HashMap::new();
        for (key, sum) in &self.sums {
            *seen.entry(key.thread).or_default() += sum.count;
        }
        let mut keys: Vec<&Key> = self.sums.keys().collect();
        keys.sort_unstable();
        let mut names = Names::default();
        for key in keys {
            let sum = &self.sums[key];
            let name = names.of(key.call, key.compat);
            let scale = timed.scale(
                &lives.threads[key.thread.index()],
                windows,
                seen[&key.thread],
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
struct Names(HashMap<(i16, u8), String>);

impl Names {
    fn of(&mut self, call: i16, compat: u8) -> &str {
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

/// What is known of the time in which calls were timed.
pub struct Timed {
    /// How long each thread was on a processor in it.
    pub cpu_ns: HashMap<ThreadId, u64>,
    /// What timing one call took.
    pub call_ns: f64,
}

impl Timed {
    /// How many of a thread's calls stand behind each that was timed; 1 if all were.
    fn scale(&self, row: &Thread, windows: &[(i64, i64)], seen: u64) -> f64 {
        let (start, end) = (row.start.0, row.end.0);
        let timed: i64 = windows
            .iter()
            .map(|(a, b)| (*b.min(&end) - *a.max(&start)).max(0))
            .sum();
        if timed <= 0 || timed >= end - start {
            return 1.0;
        }
        let cpu_ns = self.cpu_ns.get(&row.thread).copied().unwrap_or(0);
        scale_of(
            (row.cpu_ns + row.tracer_ns) as f64,
            cpu_ns as f64,
            seen as f64 * self.call_ns,
        )
    }
}

/// Calls are made on a processor, so it is the time there that counts: what a thread waited, in or
/// outside of the windows, says nothing. Of its time in the windows `spent` went into timing itself: a
/// program that does little but call makes fewer calls in them than in others.
fn scale_of(cpu: f64, timed: f64, spent: f64) -> f64 {
    // A cost measured too high must not leave nothing of the program.
    let spent = spent.min(timed * 0.8);
    if timed <= 0.0 || cpu <= timed {
        return 1.0;
    }
    (cpu - spent) / (timed - spent)
}

fn write_sum(
    key: &Key,
    sum: &Sum,
    name: &str,
    scale: f64,
    out: &mut RecordingWriter,
) -> Result<(), Error> {
    let scaled = |n: u64| (n as f64 * scale).round() as u64;
    let failed: u64 = sum.errors.iter().map(|(_, n)| n).sum();
    // A thread that was timed for all but a thousandth of its life was timed.
    let estimated = scale > 1.001;
    let scaled = |n: u64| if estimated { scaled(n) } else { n };
    out.push(Call {
        thread: key.thread,
        call: name.into(),
        object: key.object,
        count: scaled(sum.count),
        ns: scaled(sum.ns),
        bytes: scaled(sum.bytes),
        errors: scaled(failed),
        seen: sum.count,
        estimated,
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
fn errno_name(errno: i32) -> String {
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

    /// A tenth of its time on a processor was timed, and half of that tenth was the timing's own: each
    /// call seen stands for nineteen. Without that cost it stands for ten, and for one where all was timed.
    #[test]
    fn timing_slows_what_it_times() {
        assert_eq!(scale_of(1000.0, 100.0, 0.0), 10.0);
        assert_eq!(scale_of(1000.0, 100.0, 50.0), 19.0);
        assert_eq!(scale_of(1000.0, 1000.0, 50.0), 1.0);
        assert!(scale_of(1000.0, 100.0, 1e9) < 50.0);
    }

    /// Errors have the names that manual pages use.
    #[test]
    fn errors_have_names() {
        assert_eq!(errno_name(2), "ENOENT");
        assert_eq!(errno_name(512), "ERESTARTSYS");
        assert_eq!(errno_name(4000), "errno 4000");
    }
}
