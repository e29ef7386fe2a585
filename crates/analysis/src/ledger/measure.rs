//! Shares, computed so that an empty whole is no fault.

/// `part` as a percentage of `whole`; zero where there is no whole.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}
