//! Rules about what is done with files.

use timesink_live::pair;

/// Fields written one by one, and as many that are questions on a pipe.
#[test]
fn small_writes() {
    pair("small-writes");
}

/// A file read by the byte, and a pipe in which there is never more.
#[test]
fn tiny_reads() {
    pair("tiny-reads");
}

/// A list of folders gone through for each file, and files that are where they are looked for.
#[test]
fn failed_lookups() {
    pair("failed-lookups");
}

/// A table loaded again for each question, and as many tables loaded once each.
#[test]
fn file_read_again() {
    pair("file-read-again");
}

/// A log opened for each line, and a file of its own for each message.
#[test]
fn open_per_record() {
    pair("open-per-record");
}

/// A table written anew for each row, and as much appended.
#[test]
fn rewritten_whole() {
    pair("rewritten-whole");
}

/// A file looked at before each request, and many looked at once each.
#[test]
fn repeated_stat() {
    pair("repeated-stat");
}

/// A folder listed for each job that is taken from it, and once for all of them.
#[test]
fn directory_listed_again() {
    pair("directory-listed-again");
}

/// Lines flushed one by one, and lines written when the buffer is full.
#[test]
fn line_flushed_output() {
    pair("line-flushed-output");
}

/// Records here and there in a file that is on the disk, and as many that the kernel reads ahead or has in memory.
#[test]
fn random_small_reads() {
    pair("random-small-reads");
}

/// A file copied in small pieces as it is, and one that is summed up on the way.
#[test]
fn user_space_copying() {
    pair("user-space-copying");
}
