//! `/proc/PID/stat`: fields behind the name, which stands in brackets and can hold anything, brackets too.

/// The field at a place behind the name: the state is at 0, the parent at 1, the process group at 2. `None` where it is cut short.
pub fn stat_field(stat: &[u8], at: usize) -> Option<&str> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    rest.split_whitespace().nth(at)
}

/// The same of a process that is there.
pub(super) fn stat_of(process: u32, at: usize) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    stat_field(&stat, at).map(str::to_owned)
}
