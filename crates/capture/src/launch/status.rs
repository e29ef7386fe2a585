//! How the program ended.

/// How the program ended, from the status word of `waitpid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
}

impl Status {
    /// Reads a status word, which must be that of a process that has ended.
    pub(super) fn from_wait(word: i32) -> Status {
        if libc::WIFEXITED(word) {
            Status::Exited(libc::WEXITSTATUS(word))
        } else {
            Status::Killed(libc::WTERMSIG(word))
        }
    }

    /// What a shell would call the exit code: the program's own, or 128 and the signal's number.
    pub fn exit_code(self) -> i32 {
        match self {
            Status::Exited(code) => code,
            Status::Killed(signal) => 128 + signal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    /// A status word of an exit carries the code in its second byte, one of a death the signal in
    /// its first, with or without a core.
    #[test]
    fn words_are_read_as_the_kernel_writes_them() {
        assert_eq!(Status::from_wait(7 << 8).exit_code(), 7);
        assert_eq!(Status::from_wait(0).exit_code(), 0);
        assert_eq!(Status::from_wait(9).exit_code(), 137);
        assert_eq!(Status::from_wait(11 | 0x80), Status::Killed(11));
    }
}
