//! Recorded programs and their runtimes: maps in /tmp, memory that cannot be read, names that lie.
