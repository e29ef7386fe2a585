//! The tables of a recording, one file each. `table!` (in `crate::table`) turns a
//! declaration into a row type, a Parquet schema, column documentation, a writer and a reader.
//! This file is the registry: a table that is not named here does not exist.

use crate::table::{Column, TableRow};

/// What is known of a table without its row type.
#[derive(Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    pub doc: &'static str,
    pub columns: &'static [Column],
}

macro_rules! tables {
    ($($module:ident :: $row:ident,)+) => {
        $( pub mod $module; pub use $module::$row; )+

        /// Every table, in the order of their names.
        pub const ALL: &[Table] = &[ $( Table {
            name: $row::NAME,
            doc: $row::DOC,
            columns: $row::COLUMNS,
        }, )+ ];

        /// Does something for every table's row type: `$visit` is the name of a macro.
        macro_rules! for_each_table {
            ($visit:ident) => { $( $visit!($row); )+ };
        }
        pub(crate) use for_each_table;
    };
}

tables! {
    call_errors::CallError,
    call_histograms::CallHistogram,
    call_sites::CallSite,
    call_windows::CallWindow,
    calls::Call,
    delays::Delay,
    facts::Fact,
    frames::Frame,
    images::Image,
    lookups::Lookup,
    losses::Loss,
    modules::Module,
    objects::Object,
    occupants::Occupant,
    outsiders::Outsider,
    probes::Probe,
    processes::Process,
    requests::Request,
    samples::Sample,
    spans::Span,
    stacks::Stack,
    tag_turns::TagTurn,
    tags::Tag,
    task_sights::TaskSight,
    task_turns::TaskTurn,
    tasks::Task,
    threads::Thread,
    waits::Wait,
}
