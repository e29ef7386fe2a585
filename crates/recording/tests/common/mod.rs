//! Recordings for the tests: one with rows of every kind in every table, and a place to put it.

use fastrand::Rng;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use timesink_recording::tables::*;
use timesink_recording::words::*;
use timesink_recording::{
    About, FrameId, ModuleId, Nanos, ObjectId, ProcessId, RecordingWriter, StackId, ThreadId,
};

/// A folder of our own that goes away with us.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("timesink-recording-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a folder in the temporary directory");
        Place(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A type of which any value can be made, often one at the edges.
pub trait Any {
    fn any(random: &mut Rng) -> Self;
}

impl Any for u64 {
    fn any(random: &mut Rng) -> u64 {
        let edges = [
            0,
            1,
            u64::MAX,
            i64::MAX as u64,
            1 << 63,
            random.u64(..),
            random.u64(..100),
        ];
        edges[random.usize(..edges.len())]
    }
}

impl Any for i64 {
    fn any(random: &mut Rng) -> i64 {
        let edges = [
            0,
            -1,
            i64::MIN,
            i64::MAX,
            random.u64(..) as i64,
            random.u64(..100) as i64,
        ];
        edges[random.usize(..edges.len())]
    }
}

impl Any for u32 {
    fn any(random: &mut Rng) -> u32 {
        let edges = [
            0,
            1,
            u32::MAX,
            1 << 31,
            random.u64(..) as u32,
            random.u64(..100) as u32,
        ];
        edges[random.usize(..edges.len())]
    }
}

impl Any for bool {
    fn any(random: &mut Rng) -> bool {
        random.bool()
    }
}

impl Any for String {
    fn any(random: &mut Rng) -> String {
        let edges = [
            "",
            "a",
            "fsync",
            "ünïcode 名前 🦀",
            "with\0nul\nand line",
            "\"quoted\", 'too'",
        ];
        match random.usize(..edges.len() + 2) {
            0 => "long ".repeat(random.usize(..300)),
            1 => format!("/var/lib/{}", random.u64(..)),
            other => edges[other - 2].to_owned(),
        }
    }
}

impl<T: Any> Any for Option<T> {
    fn any(random: &mut Rng) -> Option<T> {
        bool::any(random).then(|| T::any(random))
    }
}

macro_rules! any_of {
    ($($wrapper:ident($inner:ty)),+; $($word:ident),+) => {
        $( impl Any for $wrapper {
            fn any(random: &mut Rng) -> $wrapper {
                $wrapper(<$inner>::any(random))
            }
        } )+
        $( impl Any for $word {
            fn any(random: &mut Rng) -> $word {
                $word::ALL[random.usize(..$word::ALL.len())]
            }
        } )+
    };
}

any_of!(ThreadId(u32), ProcessId(u32), ObjectId(u32), ModuleId(u32), FrameId(u32), StackId(u32),
    Nanos(i64);
    State, Detail, WakeSource, ObjectKind, ImageEvent, HistogramKind, RequestKind, LossKind, FactKind, Moment,
    ModuleKind, SymbolSource, Language, SchedulingPolicy);

macro_rules! any_rows {
    ($($row:ident { $($column:ident),+ })+) => {
        $( impl Any for $row {
            fn any(random: &mut Rng) -> $row {
                $row { $( $column: Any::any(random), )+ }
            }
        } )+

        /// Does something for each row type.
        #[allow(unused_macros)]
        macro_rules! each_row_type {
            ($visit:ident) => { $( $visit!($row); )+ };
        }

        /// Writes so many rows of each table.
        pub fn write_any(folder: &Path, rows: usize, seed: u64) -> About {
            let mut writer = RecordingWriter::create(folder).expect("a new recording");
            let mut random = Rng::with_seed(seed);
            $( for _ in 0..rows {
                writer.push($row::any(&mut random)).expect("a row is written");
            } )+
            let about = About { command: vec!["any".to_owned()], ..About::default() };
            writer.finish(about).expect("the recording is finished")
        }
    };
}

any_rows! {
    CallError { thread, call, object, error, count }
    CallHistogram { thread, call, object, kind, bucket, count }
    CallWindow { t0, t1 }
    Call { thread, call, object, count, ns, bytes, errors, seen, estimated }
    Delay { thread, t0, t1, detail, stack }
    Fact { kind, key, value, moment }
    Frame { frame, module, offset, returns, function, file, line, inlined, language, begins }
    Image { process, thread, event, t, cost_ns, resident_bytes, executable, arguments }
    Lookup { process, call, path, error, count }
    Loss { kind, count, note }
    Module { module, kind, path, build_id, symbols }
    Object {
        object, kind, label, path, filesystem, device, inode, size, protocol, local, remote, process
    }
    Occupant { thread, t0, occupant, occupant_outsider, ns }
    Outsider { tid, name, pid }
    Probe { probe, attached, reason, without }
    Process {
        process, pid, parent, parent_pid, name, executable, arguments, start, end, uid, group
    }
    Request { issued, completed, device, sector, bytes, kind, thread, tid }
    Sample { thread, t, processor, kernel, address, weight_ns, stack }
    Span {
        thread, t0, t1, state, detail, object, processor, waker, waker_outsider, wake_source, tracer_ns, taken_ns
    }
    Stack { stack, parent, frame, complete }
    Thread {
        thread, process, tid, name, start, end, exit, born_before, alive_at_end, end_lost, parent,
        cpu_ns, ready_ns, wait_ns, tracer_ns, tracer_estimated_ns, kernel_cpu_ns, kernel_ready_ns,
        kernel_life_ns, kernel_user_ns, kernel_system_ns, samples_user, samples_kernel,
        switches_voluntary, switches_involuntary, migrations, faults_minor, faults_major, calls_seen,
        exit_status, nice, taken_ns, policy, realtime_priority, allowed_processors
    }
    Wait {
        thread, t0, t1, detail, object, call, function, asked_ns, expired, bytes, flags, result,
        woken_fd, woken_object, owner, stack, waker_stack, sent_object
    }
}
#[allow(unused_imports, clippy::single_component_path_imports)]
pub(crate) use each_row_type;
