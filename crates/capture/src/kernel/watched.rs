//! What a process that runs already watches with epoll: which word it has given for which descriptor, as `/proc` says it.

use std::fs;

use crate::probes::events::TS_MOST_DESCRIPTOR;

/// A word of a process's own choice, and the descriptor it stands for.
#[derive(Debug, PartialEq, Eq)]
pub struct Watched {
    pub pid: u32,
    pub word: u64,
    pub descriptor: u32,
}

/// So many of one process are read: a server has one for each connection.
const MOST: usize = 4096;

/// All of a process; none of one that may not be looked at, or is gone.
pub fn of(pid: u32) -> Vec<Watched> {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let epolls = open.filter_map(|entry| {
        let entry = entry.ok()?;
        let target = fs::read_link(entry.path()).ok()?;
        (target.as_os_str() == "anon_inode:[eventpoll]").then(|| entry.file_name())
    });
    let infos = epolls.filter_map(|number| {
        let number = number.to_str()?;
        fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()
    });
    let all = infos.flat_map(|info| told(pid, &info));
    all.take(MOST).collect()
}

/// The lines that tell of a descriptor with a word that is not its number: `tfd: 8 events: 19 data: 7f0c pos:0 ino:61 sdev:7`.
fn told(pid: u32, info: &str) -> Vec<Watched> {
    let lines = info.lines().filter_map(|line| {
        let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
        let descriptor = words.next()?.parse().ok()?;
        let word = words.skip_while(|word| *word != "data:").nth(1)?;
        let word = u64::from_str_radix(word, 16).ok()?;
        (word > u64::from(TS_MOST_DESCRIPTOR)).then_some(Watched {
            pid,
            word,
            descriptor,
        })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_descriptors() {
        let info = "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t1057\n\
                    tfd:        5 events: 80000019 data:     7f55e40a1dd8  pos:0 ino:b21 sdev:8\n\
                    tfd:       11 events:        1 data:                b  pos:0 ino:b22 sdev:8\n\
                    tfd: nothing\n";
        let words: Vec<_> = told(7, info)
            .iter()
            .map(|w| (w.descriptor, w.word))
            .collect();
        assert_eq!(words, [(5, 0x7f55_e40a_1dd8)]);
    }

    #[test]
    fn a_process_that_is_gone_watches_nothing() {
        assert_eq!(of(0), []);
    }
}
