//! System calls that whoever parses what strangers wrote has no use for: the kernel refuses them from then on (seccomp). A list of
//! what is denied and not of what is allowed, because the C library and the allocator use what they like, which changes.
//!
//! What nothing of ours ever does there ends the process. What the C library might try is an error to it.

use std::io;

use libc::{c_long, sock_filter};

use crate::error::Error;

/// For whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// Who looks for names in programs, and keeps them in the user's cache.
    Naming,
    /// Who makes a file of a recording.
    Making,
    /// Who only reads a recording: nothing is made or changed.
    Reading,
    /// The same, and connections are taken from a socket that listens already.
    Serving,
}

/// Programs, other processes, the kernel, and ways around this filter.
const ENDING: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// The network, other users, other processes: the C library may ask who somebody is.
const REFUSED: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_setuid,
    libc::SYS_setreuid,
    libc::SYS_setresuid,
    libc::SYS_setgid,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_mknod,
    libc::SYS_mknodat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
];

const TAKING: &[c_long] = &[libc::SYS_accept, libc::SYS_accept4];

/// Files and folders of whomever.
const CHANGES: &[c_long] = &[
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_chown,
    libc::SYS_fchown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    libc::SYS_utimensat,
];

/// With any of these flags, what is opened can be changed, or is made.
const TO_CHANGE: u32 =
    (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND) as u32;

/// Where the kernel puts what is looked at (`struct seccomp_data`), of arguments the low half.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// `AUDIT_ARCH_X86_64`: numbers are those of this architecture. timesink runs on no other.
const OURS: u32 = 0xc000_003e;
/// From here on they are those of x32 programs.
const X32: u32 = 0x4000_0000;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;
const fn refuse(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error as u32
}

const fn load(from: u32) -> sock_filter {
    step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, (0, 0), from)
}

const fn give(answer: u32) -> sock_filter {
    step(libc::BPF_RET | libc::BPF_K, (0, 0), answer)
}

/// Goes so many steps further if it is so, or if it is not.
const fn jump(how: u32, to: u32, (yes, no): (u8, u8)) -> sock_filter {
    step(libc::BPF_JMP | how | libc::BPF_K, (yes, no), to)
}

const fn step(code: u32, (jt, jf): (u8, u8), k: u32) -> sock_filter {
    let code = code as u16;
    sock_filter { code, jt, jf, k }
}

impl Filter {
    /// For good, for this thread and those that it starts, and for what they become.
    pub(super) fn set(self) -> Result<(), Error> {
        let mut steps = self.steps();
        let program = libc::sock_fprog {
            len: steps.len() as u16,
            filter: steps.as_mut_ptr(),
        };
        // Who reads strangers' files is no target for what the slower mode of processors guards against: there is no other
        // secret in the process.
        let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        let operation = libc::SECCOMP_SET_MODE_FILTER;
        // SAFETY: the program outlives the call, and is as long as it says.
        let set = unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, &raw const program) };
        match set {
            0 => Ok(()),
            _ => match io::Error::last_os_error() {
                // A kernel that was built without.
                fault if matches!(fault.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => {
                    Ok(())
                }
                source => Err(Error::System {
                    doing: "denying ourselves system calls (seccomp)",
                    source,
                }),
            },
        }
    }

    fn steps(self) -> Vec<sock_filter> {
        let mut steps = vec![
            load(ARCHITECTURE),
            jump(libc::BPF_JEQ, OURS, (1, 0)),
            give(KILL),
            load(NUMBER),
            jump(libc::BPF_JGE, X32, (0, 1)),
            give(KILL),
        ];
        let mut answer = |calls: &[c_long], answer: u32| {
            for &call in calls {
                steps.extend([jump(libc::BPF_JEQ, call as u32, (0, 1)), give(answer)]);
            }
        };
        answer(ENDING, KILL);
        answer(REFUSED, refuse(libc::EPERM));
        if self != Filter::Serving {
            answer(TAKING, refuse(libc::EPERM));
        }
        // What it asks for lies in memory; without it the C library asks with `clone`.
        answer(&[libc::SYS_clone3], refuse(libc::ENOSYS));
        if matches!(self, Filter::Reading | Filter::Serving) {
            answer(CHANGES, refuse(libc::EPERM));
            answer(&[libc::SYS_openat2], refuse(libc::ENOSYS));
            for (call, flags) in [(libc::SYS_open, 1), (libc::SYS_openat, 2)] {
                steps.extend(looked_at(
                    call,
                    flags,
                    TO_CHANGE,
                    (refuse(libc::EPERM), ALLOW),
                ));
            }
        }
        // What it writes to a terminal is not to come back as if somebody had typed it.
        steps.extend([
            jump(libc::BPF_JEQ, libc::SYS_ioctl as u32, (0, 5)),
            load(argument(1)),
            jump(libc::BPF_JEQ, libc::TIOCSTI as u32, (1, 0)),
            jump(libc::BPF_JEQ, libc::TIOCLINUX as u32, (0, 1)),
            give(KILL),
            give(ALLOW),
        ]);
        let thread = libc::CLONE_THREAD as u32;
        let processes = (ALLOW, refuse(libc::EPERM));
        steps.extend(looked_at(libc::SYS_clone, 0, thread, processes));
        steps.push(give(ALLOW));
        steps
    }
}

/// The answer to a call depends on whether an argument has any of these bits.
fn looked_at(call: c_long, index: u32, bits: u32, (with, without): (u32, u32)) -> [sock_filter; 5] {
    [
        jump(libc::BPF_JEQ, call as u32, (0, 4)),
        load(argument(index)),
        jump(libc::BPF_JSET, bits, (0, 1)),
        give(with),
        give(without),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a process ends that sets this filter and then does this: its exit code, or minus the signal.
    fn ends(filter: Filter, work: fn() -> i32) -> i32 {
        // SAFETY: the child calls the kernel and ends.
        unsafe {
            match libc::fork() {
                0 => {
                    let free = rustix::thread::set_no_new_privs(true).is_ok();
                    let set = free && filter.set().is_ok();
                    libc::_exit(if set { work() } else { 99 })
                }
                child => {
                    let mut status = 0;
                    assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                    match libc::WIFSIGNALED(status) {
                        true => -libc::WTERMSIG(status),
                        false => libc::WEXITSTATUS(status),
                    }
                }
            }
        }
    }

    const ALL: [Filter; 4] = [
        Filter::Naming,
        Filter::Making,
        Filter::Reading,
        Filter::Serving,
    ];

    fn error() -> i32 {
        io::Error::last_os_error().raw_os_error().unwrap_or(98)
    }

    /// Who executes a program, or loads one into the kernel, is ended.
    #[test]
    fn nothing_is_executed() {
        for filter in ALL {
            let execute = || {
                let (name, none) = (c"/bin/true".as_ptr(), std::ptr::null());
                // SAFETY: a constant name and no arguments.
                unsafe { libc::execve(name, none, none) }
            };
            assert_eq!(ends(filter, execute), -libc::SIGSYS, "{filter:?}");
            // SAFETY: nothing is read or written.
            let bpf = || unsafe { libc::syscall(libc::SYS_bpf, 0, 0, 0) as i32 };
            assert_eq!(ends(filter, bpf), -libc::SIGSYS, "{filter:?}");
        }
    }

    /// Calls by the numbers of another architecture's programs are no way around.
    #[test]
    fn other_numbers_are_no_way_around() {
        // SAFETY: a number, and nothing that is read or written.
        let x32 = || unsafe { libc::syscall(libc::c_long::from(X32) | libc::SYS_getpid) as i32 };
        assert_eq!(ends(Filter::Reading, x32), -libc::SIGSYS);
        let compat = || {
            // SAFETY: `getpid` by its 32-bit number, 20.
            unsafe {
                std::arch::asm!("int 0x80", inlateout("eax") 20 => _);
            }
            0
        };
        assert_eq!(ends(Filter::Reading, compat), -libc::SIGSYS);
    }

    /// The network and other processes are refused, and the C library lives with that.
    #[test]
    fn there_is_no_network_and_no_other_process() {
        for filter in ALL {
            // SAFETY: plain numbers.
            let socket = || unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) };
            // SAFETY: the call is refused; should it not be, both go on to their end.
            let fork = || match unsafe { libc::fork() } {
                -1 => error(),
                _ => 0,
            };
            // SAFETY: plain numbers; 0 only asks.
            let kill = || match unsafe { libc::kill(libc::getppid(), 0) } {
                -1 => error(),
                _ => 0,
            };
            let refused = || match std::net::TcpStream::connect("127.0.0.1:1") {
                Err(fault) => fault.raw_os_error().unwrap_or(98),
                Ok(_) => 0,
            };
            assert_eq!(ends(filter, socket), 255, "{filter:?}");
            for work in [refused, fork, kill] {
                assert_eq!(ends(filter, work), libc::EPERM, "{filter:?}");
            }
        }
    }

    /// Connections are taken by who serves a page, and by nobody else.
    #[test]
    fn only_who_serves_takes_connections() {
        // SAFETY: there is no such descriptor.
        let accept =
            || match unsafe { libc::accept(-1, std::ptr::null_mut(), std::ptr::null_mut()) } {
                -1 => error(),
                _ => 0,
            };
        for filter in ALL {
            let wanted = match filter {
                Filter::Serving => libc::EBADF,
                _ => libc::EPERM,
            };
            assert_eq!(ends(filter, accept), wanted, "{filter:?}");
        }
    }

    /// Nothing is typed into a terminal; what else there is to ask one goes on.
    #[test]
    fn terminals_are_not_typed_into() {
        // SAFETY: one byte that outlives the call.
        let typed = || unsafe { libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()) };
        let size = || {
            let mut size = [0u16; 4];
            // SAFETY: the four numbers that the call writes.
            match unsafe { libc::ioctl(-1, libc::TIOCGWINSZ, size.as_mut_ptr()) } {
                -1 => error(),
                _ => 0,
            }
        };
        assert_eq!(ends(Filter::Reading, typed), -libc::SIGSYS);
        assert_eq!(ends(Filter::Reading, size), libc::EBADF);
    }

    /// Threads are started as ever.
    #[test]
    fn threads_are_started() {
        let thread = || std::thread::spawn(|| 7).join().unwrap_or(97);
        for filter in ALL {
            assert_eq!(ends(filter, thread), 7, "{filter:?}");
        }
    }

    /// Who only reads opens files to read them, and nothing else; others may make some.
    #[test]
    fn who_reads_changes_nothing() {
        let name = std::env::temp_dir().join(format!("filter-{}", std::process::id()));
        std::fs::write(&name, "it").expect("a file");
        fn path() -> std::path::PathBuf {
            // SAFETY: no arguments.
            std::env::temp_dir().join(format!("filter-{}", unsafe { libc::getppid() }))
        }
        fn code_of<T>(done: io::Result<T>) -> i32 {
            done.map_or_else(|fault| fault.raw_os_error().unwrap_or(98), |_| 0)
        }
        let read = || code_of(std::fs::read(path()));
        let write = || code_of(std::fs::OpenOptions::new().write(true).open(path()));
        let append = || code_of(std::fs::OpenOptions::new().append(true).open(path()));
        let make = || code_of(std::fs::File::create(path()));
        let rename = || code_of(std::fs::rename(path(), path()));
        let remove = || code_of(std::fs::remove_file(path()));
        for work in [write, append, make, rename, remove] {
            assert_eq!(ends(Filter::Reading, work), libc::EPERM);
        }
        assert_eq!(ends(Filter::Reading, read), 0);
        for work in [read, write, make, rename, remove] {
            assert_eq!(ends(Filter::Making, work), 0);
        }
    }
}
