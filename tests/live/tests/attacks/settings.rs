//! Settings, books and working directories that somebody else prepared.
