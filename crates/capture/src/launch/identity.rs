//! Who the program runs as: under sudo, the user who called it.
//!
//! timesink needs root and the program must not have it, so identity is taken from SUDO_UID and
//! SUDO_GID. Two forms of it are needed: for good, in the child between fork and exec, where only
//! prepared data and plain system calls are allowed ([`Identity::assume`]); and for one thread's
//! use of files ([`FsIdentity`]), so that a recording is created with that user's rights and
//! belongs to them, without the symbolic-link games that a later chown would open.

use super::Error;
use rustix::thread::{capabilities, set_capabilities, CapabilitySet, CapabilitySets};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::marker::PhantomData;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

/// Whose group a user is put into who is in none that is known.
const NOBODYS_GROUP: u32 = 65534;

/// Who we have become for good, which was the user who called sudo.
static BECAME: OnceLock<Identity> = OnceLock::new();

/// A user that is not the one we run as, with all that a login would give them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    account: Option<UserAccount>,
}

/// What the user database says; a uid that it does not know has none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UserAccount {
    name: CString,
    gid: u32,
    home: OsString,
    shell: OsString,
}

impl Identity {
    /// Whether we run as root.
    pub fn is_root() -> bool {
        // SAFETY: geteuid cannot fail.
        unsafe { libc::geteuid() == 0 }
    }

    /// The user who called sudo. `None` where we are not root, where sudo is not in play, or where
    /// root called it: there is nothing to change then.
    pub fn from_sudo() -> Result<Option<Identity>, Error> {
        if let Some(became) = BECAME.get() {
            return Ok(Some(became.clone()));
        }
        let (uid, gid) = (std::env::var_os("SUDO_UID"), std::env::var_os("SUDO_GID"));
        match caller(Identity::is_root(), uid.as_deref(), gid.as_deref()) {
            Some((uid, gid)) => Identity::of(uid, gid).map(Some),
            None => Ok(None),
        }
    }

    /// That user, with the groups that the databases give them. An unknown uid has no others.
    pub fn of(uid: u32, gid: u32) -> Result<Identity, Error> {
        let account = account(uid).map_err(|source| Error::Identity {
            uid,
            step: "cannot read the user database",
            source,
        })?;
        let groups = account
            .as_ref()
            .map_or_else(Vec::new, |known| groups(&known.name, gid));
        Ok(Identity {
            uid,
            gid,
            groups,
            account,
        })
    }

    /// The owner of something, where that is somebody else and we are root: what is done to a user's files is best done
    /// with that user's rights, for no trick can then make us do what the user could not.
    pub fn of_owner(uid: u32) -> Result<Option<Identity>, Error> {
        if uid == 0 || !Identity::is_root() {
            return Ok(None);
        }
        // The group of the thing itself could be one that its owner is not in.
        let mut owner = Identity::of(uid, NOBODYS_GROUP)?;
        if let Some(account) = &owner.account {
            owner.gid = account.gid;
            owner.groups = groups(&account.name, account.gid);
        }
        Ok(Some(owner))
    }

    /// Runs something with the rights to files of a user, if there is one; else with our own.
    pub fn acting<T>(user: Option<&Identity>, work: impl FnOnce() -> T) -> Result<T, Error> {
        match user {
            Some(user) => user.with_files(work),
            None => Ok(work()),
        }
    }

    /// The user's number.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Where the user's own files are; `None` for a user that no database knows.
    pub fn home(&self) -> Option<&OsStr> {
        self.account.as_ref().map(|known| known.home.as_os_str())
    }

    /// The number of the user's own group.
    pub fn gid(&self) -> u32 {
        self.gid
    }

    /// The environment as this user would have it: who they are, and no trace of sudo. `entries`
    /// are `NAME=value`, in order, and those that need no change are kept as they are.
    pub(crate) fn environment(&self, entries: Vec<OsString>) -> Vec<OsString> {
        let mut kept: Vec<OsString> = entries
            .into_iter()
            .filter(|entry| !entry.as_bytes().starts_with(b"SUDO_"))
            .collect();
        let Some(account) = &self.account else {
            return kept;
        };
        let name = OsStr::from_bytes(account.name.as_bytes());
        for (variable, value) in [
            ("HOME", account.home.as_os_str()),
            ("USER", name),
            ("LOGNAME", name),
            ("SHELL", account.shell.as_os_str()),
        ] {
            set(&mut kept, variable, value, true);
        }
        // sudo points MAIL at root's mailbox; where there is none, nobody asked for one.
        let mut mail = OsString::from("/var/mail/");
        mail.push(name);
        set(&mut kept, "MAIL", &mail, false);
        kept
    }

    /// Becomes this user for good. Async-signal-safe: plain system calls on prepared data, and
    /// not the wrappers of the C library, which would send signals to its other threads. Gives
    /// the number of the step that failed, for [`Identity::refusal`], and leaves `errno`.
    pub(super) fn assume(&self) -> Result<(), u32> {
        let (uid, gid) = (i64::from(self.uid), i64::from(self.gid));
        // SAFETY: the list has the length given, and the rest are numbers.
        unsafe {
            if libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr()) != 0 {
                return Err(0);
            }
            if libc::syscall(libc::SYS_setresgid, gid, gid, gid) != 0 {
                return Err(1);
            }
            if libc::syscall(libc::SYS_setresuid, uid, uid, uid) != 0 {
                return Err(2);
            }
        }
        Ok(())
    }

    /// Has a command run as this user: their rights, and an environment as they would have it. To be called before anything
    /// else is set of its environment.
    pub fn runs(&self, command: &mut Command) {
        let entries = std::env::vars_os().map(|(name, value)| {
            let mut entry = name;
            entry.push("=");
            entry.push(value);
            entry
        });
        command.env_clear();
        for entry in self.environment(entries.collect()) {
            let bytes = entry.as_bytes();
            // A name may begin with the sign, as the shell's own do elsewhere.
            let sign = bytes.iter().skip(1).position(|&byte| byte == b'=');
            if let Some(sign) = sign {
                let (name, value) = (&bytes[..=sign], &bytes[sign + 2..]);
                command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
            }
        }
        let user = self.clone();
        // SAFETY: between fork and exec, `assume` makes plain system calls on data that is there already.
        unsafe {
            command.pre_exec(move || user.assume().map_err(|_| io::Error::last_os_error()));
        }
    }

    /// Becomes this user for good. To be called while there is one thread.
    pub(crate) fn become_for_good(&self) -> Result<(), Error> {
        if BECAME.get().is_some_and(|became| became == self) {
            return Ok(());
        }
        let became = self.assume();
        became.map_err(|step| self.refusal(step, io::Error::last_os_error()))?;
        BECAME.get_or_init(|| self.clone());
        Ok(())
    }

    /// The error for a step that [`Identity::assume`] gave.
    pub(super) fn refusal(&self, step: u32, source: io::Error) -> Error {
        let step = match step {
            0 => "cannot set the groups",
            1 => "cannot set the group",
            _ => "cannot set the user",
        };
        Error::Identity {
            uid: self.uid,
            step,
            source,
        }
    }

    /// Runs something with this user's rights to files, in this thread.
    pub fn with_files<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        let _held = FsIdentity::assume(self)?;
        Ok(work())
    }
}

/// While it lives, this thread uses files as another user. Threads that it starts meanwhile do so
/// for good, which a thread that only writes the recording can want.
#[derive(Debug)]
pub struct FsIdentity {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    /// What we may do beyond that, if it is given up meanwhile: who becomes another user for files has the kernel do that.
    more: Option<CapabilitySets>,
    // The identity is the thread's, so the value must not move to another one.
    _of_this_thread: PhantomData<*const ()>,
}

impl FsIdentity {
    /// Takes on the rights to files of `identity`.
    pub fn assume(identity: &Identity) -> Result<FsIdentity, Error> {
        let refused = |step| Error::Identity {
            uid: identity.uid,
            step,
            source: io::Error::last_os_error(),
        };
        let groups = own_groups().map_err(|_| refused("cannot read our own groups"))?;
        // From here on what was changed is put back by the drop.
        let mut before = FsIdentity {
            uid: fs_id(libc::SYS_setfsuid, u32::MAX),
            gid: fs_id(libc::SYS_setfsgid, u32::MAX),
            groups,
            more: None,
            _of_this_thread: PhantomData,
        };
        if before.uid == identity.uid {
            before.more = only_as_user().map_err(|_| refused("cannot give up rights to files"))?;
        }
        if !same_groups(&before.groups, &identity.groups) {
            set_thread_groups(&identity.groups)
                .map_err(|_| refused("cannot set the groups for file access"))?;
        }
        fs_id(libc::SYS_setfsgid, identity.gid);
        fs_id(libc::SYS_setfsuid, identity.uid);
        // These two calls tell their failure only by not having changed anything.
        if fs_id(libc::SYS_setfsgid, u32::MAX) != identity.gid
            || fs_id(libc::SYS_setfsuid, u32::MAX) != identity.uid
        {
            let source = io::Error::from_raw_os_error(libc::EPERM);
            let step = "cannot set the user for file access";
            return Err(Error::Identity {
                uid: identity.uid,
                step,
                source,
            });
        }
        Ok(before)
    }
}

impl Drop for FsIdentity {
    fn drop(&mut self) {
        // A refusal here leaves the thread with fewer rights, never with more, and the next use of
        // a file tells.
        fs_id(libc::SYS_setfsuid, self.uid);
        fs_id(libc::SYS_setfsgid, self.gid);
        let _ = set_thread_groups(&self.groups);
        if let Some(more) = self.more {
            let _ = set_capabilities(None, more);
        }
    }
}

/// Gives up for now what goes beyond the rights of the user that this thread is; gives what it was.
fn only_as_user() -> io::Result<Option<CapabilitySets>> {
    let held = capabilities(None)?;
    if held.effective.is_empty() {
        return Ok(None);
    }
    let without = CapabilitySets {
        effective: CapabilitySet::empty(),
        ..held
    };
    set_capabilities(None, without)?;
    Ok(Some(held))
}

/// Sets the thread's user or group for files and gives the one before. -1 is no valid number, so
/// with it nothing changes.
fn fs_id(call: libc::c_long, id: u32) -> u32 {
    // SAFETY: the call takes and gives a number.
    unsafe { libc::syscall(call, i64::from(id)) as u32 }
}

/// The system call concerns the calling thread alone; the C library's function is for all of them.
fn set_thread_groups(groups: &[u32]) -> io::Result<()> {
    // SAFETY: the list has the length given.
    match unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn own_groups() -> io::Result<Vec<u32>> {
    // SAFETY: with no room the call only counts; then the list has the room that it was told.
    unsafe {
        let count = libc::getgroups(0, std::ptr::null_mut());
        let mut groups = vec![0; usize::try_from(count).map_err(|_| io::Error::last_os_error())?];
        let got = libc::getgroups(count, groups.as_mut_ptr());
        groups.truncate(usize::try_from(got).map_err(|_| io::Error::last_os_error())?);
        Ok(groups)
    }
}

fn same_groups(one: &[u32], other: &[u32]) -> bool {
    let sorted = |groups: &[u32]| {
        let mut sorted = groups.to_vec();
        sorted.sort_unstable();
        sorted
    };
    sorted(one) == sorted(other)
}

/// Who called sudo, by its two variables. Both must be numbers; -1 would mean 'leave as it is' to
/// the kernel and so must never get there.
fn caller(is_root: bool, uid: Option<&OsStr>, gid: Option<&OsStr>) -> Option<(u32, u32)> {
    let number = |text: &OsStr| {
        let text = text.to_str()?;
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain
            .then(|| text.parse().ok())
            .flatten()
            .filter(|&id| id != u32::MAX)
    };
    let (uid, gid) = (number(uid?)?, number(gid?)?);
    (is_root && uid != 0).then_some((uid, gid))
}

/// Gives a variable a value, in its place; a new one only if it is to be added.
fn set(entries: &mut Vec<OsString>, variable: &str, value: &OsStr, add: bool) {
    let mut wanted = OsString::from(format!("{variable}="));
    let prefix = wanted.clone();
    wanted.push(value);
    let mut there = false;
    for entry in entries.iter_mut() {
        if entry.as_bytes().starts_with(prefix.as_bytes()) {
            there = true;
            entry.clone_from(&wanted);
        }
    }
    if add && !there {
        entries.push(wanted);
    }
}

/// What the user database says about a uid.
fn account(uid: u32) -> io::Result<Option<UserAccount>> {
    let mut buffer = vec![0u8; 1024];
    loop {
        // SAFETY: an all-zero passwd is valid; its pointers are read only after the call has set
        // them, while the buffer that they point into lives.
        unsafe {
            let mut entry: libc::passwd = std::mem::zeroed();
            let mut found = std::ptr::null_mut();
            let (room, size) = (buffer.as_mut_ptr().cast(), buffer.len());
            match libc::getpwuid_r(uid, &mut entry, room, size, &mut found) {
                0 if found.is_null() => return Ok(None),
                0 => {
                    return Ok(Some(UserAccount {
                        name: owned(entry.pw_name),
                        gid: entry.pw_gid,
                        home: OsString::from_vec(owned(entry.pw_dir).into_bytes()),
                        shell: OsString::from_vec(owned(entry.pw_shell).into_bytes()),
                    }))
                }
                libc::ERANGE if size < 1 << 20 => buffer.resize(size * 2, 0),
                libc::EINTR => {}
                // All of these are ways of saying that there is no such user.
                libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => return Ok(None),
                errno => return Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }
}

/// # Safety
/// The pointer is null or points to a string that ends.
unsafe fn owned(text: *const libc::c_char) -> CString {
    if text.is_null() {
        CString::default()
    } else {
        // SAFETY: as the caller promises.
        unsafe { CStr::from_ptr(text) }.to_owned()
    }
}

/// All groups of a user, the own one among them.
fn groups(name: &CStr, gid: u32) -> Vec<u32> {
    let mut groups = vec![0; 64];
    loop {
        let mut count = groups.len() as i32;
        // SAFETY: the list has the room given, and the name ends.
        let fits =
            unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &mut count) >= 0 };
        let count = usize::try_from(count).unwrap_or(0);
        if fits || count <= groups.len() {
            groups.truncate(count);
            return groups;
        }
        groups.resize(count, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(text: &str) -> Option<&OsStr> {
        Some(OsStr::new(text))
    }

    /// Only root, only with two plain numbers, and only for somebody else than root.
    #[test]
    fn sudo_is_believed_when_it_makes_sense() {
        assert_eq!(caller(true, os("1000"), os("100")), Some((1000, 100)));
        assert_eq!(caller(false, os("1001"), os("100")), None);
        assert_eq!(caller(true, os("0"), os("0")), None);
        assert_eq!(caller(true, os("1000"), None), None);
        for nonsense in ["", "-1", "+7", "4294967295", "4294967296", "10 ", "root"] {
            assert_eq!(caller(true, os(nonsense), os("100")), None, "{nonsense:?}");
            assert_eq!(caller(true, os("1000"), os(nonsense)), None, "{nonsense:?}");
        }
    }

    fn ada() -> Identity {
        let account = UserAccount {
            name: CString::new("ada").expect("no zero byte"),
            gid: 100,
            home: "/home/ada".into(),
            shell: "/bin/zsh".into(),
        };
        Identity {
            uid: 1000,
            gid: 100,
            groups: vec![100],
            account: Some(account),
        }
    }

    fn environment(of: &Identity, entries: &[&str]) -> Vec<String> {
        of.environment(entries.iter().map(OsString::from).collect())
            .into_iter()
            .map(|entry| entry.into_string().expect("plain text"))
            .collect()
    }

    /// Who the user is changes in place, what sudo added goes, all else stays in its order.
    #[test]
    fn the_environment_is_the_users() {
        let before = [
            "HOME=/root",
            "A=1",
            "SUDO_UID=1000",
            "SUDO_COMMAND=x",
            "MAIL=/var/mail/root",
            "odd",
            "USER=root",
        ];
        let after = [
            "HOME=/home/ada",
            "A=1",
            "MAIL=/var/mail/ada",
            "odd",
            "USER=ada",
            "LOGNAME=ada",
            "SHELL=/bin/zsh",
        ];
        assert_eq!(environment(&ada(), &before), after);
    }

    /// No mailbox is invented, and of a user whom no database knows nothing is claimed.
    #[test]
    fn nothing_is_invented() {
        assert!(!environment(&ada(), &[])
            .iter()
            .any(|entry| entry.starts_with("MAIL=")));
        let nobody = Identity {
            account: None,
            ..ada()
        };
        assert_eq!(
            environment(&nobody, &["HOME=/root", "SUDO_GID=1"]),
            ["HOME=/root"]
        );
    }

    /// A uid without an account has no groups but can be taken.
    #[test]
    fn an_unknown_user_has_no_groups() {
        let unknown = Identity::of(3_999_999_999, 5).expect("an unknown user is no fault");
        assert_eq!((unknown.groups, unknown.account), (vec![], None));
    }

    /// The account with uid 0 is there on every Linux, with at least its own group.
    #[test]
    fn a_known_user_has_a_name_and_groups() {
        let root = Identity::of(0, 0).expect("the user database can be read");
        assert!(root.groups.contains(&0));
        assert_eq!(
            root.account.map(|account| account.name),
            CString::new("root").ok()
        );
    }

    /// Taking on one's own identity changes nothing and needs no rights.
    #[test]
    fn ones_own_identity_can_always_be_taken() {
        // SAFETY: these calls cannot fail.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let own = Identity {
            uid,
            gid,
            groups: own_groups().expect("groups"),
            account: None,
        };
        let seen = own
            .with_files(|| fs_id(libc::SYS_setfsuid, u32::MAX))
            .expect("own identity");
        assert_eq!(seen, uid);
    }
}
