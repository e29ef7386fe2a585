//! How far a table may unpack. A few bytes of Parquet can stand for gigabytes of rows, and a right checksum says nothing
//! about who made them; so a table gets what its bytes on disk can honestly stand for, and no more.
//!
//! Two kinds of limits: what our writer puts into a row group (`writer.rs`), and how many rows and bytes of rows stand for a
//! byte on disk. The latter were measured (`examples/ratios`), on recordings that pack well: loops of the same call, naps of
//! the same length, thousands of children and threads that do nothing, 20,000 samples a second, with stacks and without.

use crate::fault::Fault;

/// A row group ends at this many rows ...
pub(crate) const GROUP_ROWS: usize = 128 << 10;
/// ... or at this many bytes of rows in memory, so that wide tables stay bounded as well.
pub(crate) const GROUP_BYTES: usize = 12 << 20;
/// No row may be longer than this; a reader counts on it. Paths and arguments are far shorter.
pub(crate) const ROW_BYTES: usize = 32 << 20;

/// Of each table, the most rows and the most bytes of rows in memory that were measured for a byte on disk (2026-11-22; of
/// the tables with a few rows each, whose footers are longer than their rows, rounded up; tasks 2026-11-24: a million goroutines; tags are
/// taken to pack as tasks and frames do).
const MEASURED: [(&str, f64, f64); 28] = [
    ("call_errors", 0.42, 35.4),
    ("call_histograms", 1.01, 64.0),
    ("call_sites", 0.18, 21.0),
    ("call_windows", 0.02, 1.0),
    ("calls", 0.35, 30.7),
    ("delays", 0.23, 7.5),
    ("facts", 0.06, 9.0),
    ("frames", 0.07, 10.0),
    ("images", 0.09, 9.8),
    ("lookups", 0.87, 122.2),
    ("losses", 0.02, 1.0),
    ("modules", 0.03, 3.9),
    ("objects", 0.10, 21.4),
    ("occupants", 0.24, 9.5),
    ("outsiders", 0.19, 7.4),
    ("probes", 0.02, 1.0),
    ("processes", 0.09, 12.3),
    ("requests", 0.15, 8.5),
    ("samples", 0.17, 9.4),
    ("spans", 0.18, 14.2),
    ("stacks", 0.14, 2.8),
    ("tag_turns", 0.17, 5.5),
    ("tags", 0.07, 10.0),
    ("task_sights", 0.17, 5.5),
    ("task_turns", 0.17, 5.5),
    ("tasks", 0.30, 15.0),
    ("threads", 0.03, 7.8),
    ("waits", 0.23, 49.2),
];
/// The most bytes of rows for a byte of a whole recording: one of 1,500 children of a shell.
const MEASURED_WHOLE: f64 = 20.3;

/// A recording that packs so many times as well as any that was measured is none. Moments and sums differ by nanoseconds,
/// which do not pack; what does was among the measured.
const MARGIN: f64 = 16.0;
/// The same for whole recordings, where the extremes of single tables do not meet.
const MARGIN_WHOLE: f64 = 8.0;

/// What a table may have whatever its length: short ones have more footer than rows. Drawn recordings, in which every round is
/// the same to the nanosecond, reach 96,000 rows in 8 kB (the property tests of the findings); the bytes are the
/// limit that counts.
const ROWS_ANYWAY: u64 = 256 << 10;
const BYTES_ANYWAY: u64 = 16 << 20;
/// The same for a whole recording.
const WHOLE_ANYWAY: u64 = 64 << 20;

/// The texts of the rows of one group: it is full at the first of these, which the last row may overstep by the second.
const GROUP_TEXT: u64 = (GROUP_BYTES + ROW_BYTES) as u64;
/// Its pages before they are decoded: rows are longer in memory than in pages, but for a dictionary in front of values that
/// turned out not to repeat.
pub(crate) const GROUP_PAGES: u64 = (2 * GROUP_BYTES + ROW_BYTES) as u64;

/// `count` times as many as were measured.
fn scaled(count: u64, ratio: f64) -> u64 {
    // Beyond 2^64 the conversion stays at the most that there is.
    (count as f64 * ratio) as u64
}

/// The bytes of rows that a recording of this length may unpack to, all tables together.
pub(crate) fn whole(bytes: u64) -> u64 {
    WHOLE_ANYWAY.saturating_add(scaled(bytes, MEASURED_WHOLE * MARGIN_WHOLE))
}

/// What is left for a table to unpack to.
#[doc(hidden)]
#[derive(Debug)]
pub struct Budget {
    /// How long the table is on disk, to tell.
    file: u64,
    rows: u64,
    bytes: u64,
    unpacked: u64,
    /// Text in the present row group.
    text: u64,
}

impl Budget {
    /// For a table with so many bytes.
    pub(crate) fn of(table: &str, file: u64) -> Budget {
        let known = MEASURED.iter().find(|(name, ..)| *name == table);
        // A table that nobody measured gets what every table does.
        let (rows, bytes) = known.map_or((0.0, 0.0), |(_, rows, bytes)| (*rows, *bytes));
        Budget {
            file,
            rows: ROWS_ANYWAY.saturating_add(scaled(file, rows * MARGIN)),
            bytes: BYTES_ANYWAY.saturating_add(scaled(file, bytes * MARGIN)),
            unpacked: 0,
            text: 0,
        }
    }

    /// Refuses more rows than the table can have.
    pub(crate) fn rows(&self, rows: u64) -> Result<(), Fault> {
        let (file, most) = (self.file, self.rows);
        match rows <= most {
            true => Ok(()),
            false => Err(Fault(format!(
                "claims {rows} rows; a table of {file} bytes has at most {most}"
            ))),
        }
    }

    /// Refuses pages that unpack to more than the table can.
    pub(crate) fn pages(&self, unpacked: u64) -> Result<(), Fault> {
        match unpacked <= self.bytes {
            true => Ok(()),
            false => Err(self.too_much("its pages expand")),
        }
    }

    /// Begins a row group with so many rows of a size.
    pub(crate) fn group(&mut self, rows: u64, size: usize) -> Result<(), Fault> {
        if rows > GROUP_ROWS as u64 {
            return Err(Fault(format!(
                "a row group has {rows} rows; the limit is {GROUP_ROWS}"
            )));
        }
        self.text = 0;
        self.take(rows.saturating_mul(size as u64))
    }

    /// Takes the text of values that are about to be copied, each as often as it is there.
    pub(crate) fn text(&mut self, bytes: u64) -> Result<(), Fault> {
        self.text = self.text.saturating_add(bytes);
        if self.text > GROUP_TEXT {
            return Err(Fault(format!(
                "a row group has more than {GROUP_TEXT} bytes of text"
            )));
        }
        self.take(bytes)
    }

    fn take(&mut self, bytes: u64) -> Result<(), Fault> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        match self.unpacked <= self.bytes {
            true => Ok(()),
            false => Err(self.too_much("its rows expand")),
        }
    }

    fn too_much(&self, what: &str) -> Fault {
        let (file, most) = (self.file, self.bytes);
        Fault(format!(
            "{what} to more than {most} bytes, the limit for a table of {file} bytes"
        ))
    }

    /// What the rows took so far.
    pub(crate) fn unpacked(&self) -> u64 {
        self.unpacked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;

    /// Each table was measured, and nothing else.
    #[test]
    fn every_table_has_its_limits() {
        let measured = MEASURED.map(|(name, ..)| name);
        let tables: Vec<&str> = tables::ALL.iter().map(|table| table.name).collect();
        assert_eq!(measured.as_slice(), tables);
    }

    /// A recording of 60 MB with millions of spans is within the limits, and a bomb of 16 kB is not.
    #[test]
    fn honest_recordings_fit_and_bombs_do_not() {
        let spans = Budget::of("spans", 60 << 20);
        assert!(spans.rows(20_000_000).is_ok());
        let threads = Budget::of("threads", 16 << 10);
        assert!(threads.rows(8_000).is_ok());
        let Err(Fault(told)) = threads.rows(4_000_000) else {
            panic!("4,000,000 threads in 16 kB");
        };
        assert!(
            told.contains("4000000 rows") && told.contains("at most"),
            "{told}"
        );
    }

    /// Text counts as often as it is repeated, in a group and in the table.
    #[test]
    fn repeated_text_is_counted() {
        let mut budget = Budget::of("frames", 2000);
        assert!(budget.group(1000, 100).is_ok());
        assert!(budget.text(1 << 20).is_ok());
        let Err(Fault(told)) = budget.text(BYTES_ANYWAY) else {
            panic!("more than the limit");
        };
        assert!(told.contains("limit for a table of 2000 bytes"), "{told}");
        let mut long = Budget::of("lookups", 1 << 30);
        assert!(long.text(GROUP_TEXT).is_ok() && long.text(1).is_err());
        assert!(long.group(1, 1).is_ok() && long.text(GROUP_TEXT).is_ok());
        assert!(long.group(GROUP_ROWS as u64 + 1, 1).is_err());
    }
}
