//! `things` and `calls`: files, sockets, locks and children, and what was done with them.

use super::{model, Moment};

model! {
    /// What calls and waits are about. Pieces refer to them by place, counted from 1.
    pub struct Things {
        pub things: Vec<ThingRow>,
        /// How many more there are that nothing here refers to.
        pub left_out: u64,
    }

    pub struct ThingRow {
        /// Its id for `thing`.
        pub id: u32,
        pub kind: ThingKind,
        /// As the terminal names it.
        pub name: String,
        pub path: Option<String>,
        pub filesystem: Option<String>,
        pub size: Option<u64>,
        pub local: Option<String>,
        pub remote: Option<String>,
        pub calls: u64,
        pub call_ns: u64,
        pub bytes: u64,
        pub errors: u64,
        pub is_estimated: bool,
        /// Waits for it, and time on the critical path.
        pub waits: u64,
        pub wait_ns: u64,
        pub on_path_ns: u64,
    }

    #[derive(Copy, Eq)]
    #[serde(rename_all = "snake_case")]
    pub enum ThingKind {
        File,
        Socket,
        Pipe,
        Lock,
        Child,
        Device,
        Other,
    }

    /// System calls, longest first.
    pub struct Calls {
        pub rows: Vec<CallRow>,
        pub left_out: u64,
        pub left_out_ns: u64,
    }

    /// All calls of one kind by one process on one thing.
    pub struct CallRow {
        /// As an index into `processes`.
        pub process: Option<u32>,
        pub call: String,
        /// As an index into `things`.
        pub thing: Option<u32>,
        pub count: u64,
        pub ns: u64,
        pub bytes: u64,
        pub errors: Vec<ErrorCount>,
        pub is_estimated: bool,
        pub durations: Histogram,
        pub sizes: Histogram,
    }

    pub struct ErrorCount {
        pub error: String,
        pub count: u64,
    }

    /// Counts of what was timed, by powers of two: bucket n holds values from 2^n to 2^(n+1) - 1, bucket 0 also 0.
    #[derive(Default)]
    pub struct Histogram {
        pub bucket: Vec<u32>,
        pub count: Vec<u64>,
    }

    /// The page of one thing.
    pub struct Thing {
        pub row: ThingRow,
        /// By thread and call, longest first.
        pub calls: Vec<ThingCall>,
        /// By thread and kind of wait, longest first.
        pub waits: Vec<ThingWait>,
        /// From where in the code, the most often first.
        pub sites: Vec<CallSiteRow>,
        pub left_out: u64,
    }

    pub struct ThingCall {
        /// As an index into `threads`.
        pub thread: Option<u32>,
        pub call: String,
        pub count: u64,
        pub ns: u64,
        pub bytes: u64,
        pub errors: u64,
        pub is_estimated: bool,
        pub durations: Histogram,
        pub sizes: Histogram,
    }

    pub struct ThingWait {
        pub thread: u32,
        pub state: u32,
        pub count: u64,
        pub ns: u64,
        pub longest_ns: u64,
        pub longest: Moment,
    }

    pub struct CallSiteRow {
        pub call: String,
        /// As an index into `nodes` of `code`.
        pub node: Option<u32>,
        /// As an index into `threads`.
        pub thread: Option<u32>,
        /// The calls that it stands for: since the one before whose stack was kept.
        pub stands_for: u64,
        pub at_ns: i64,
        pub error: String,
    }
}
