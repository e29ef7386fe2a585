//! What a guest boots into: an initramfs with busybox, bash, Python, the timesink under test and the programs that it records.
//! One serves all kernels, because nothing in it belongs to one.

use std::fs;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;

/// The modules of Python that the script of the guest needs, with all that they load.
const PYTHON_MODULES: &str =
    "import os, time, site, encodings.utf_8, encodings.ascii, encodings.latin_1, sys";
/// The live tests' programs that guests run, as their Makefile calls them.
const PROGRAMS: [&str; 11] = [
    "truth",
    "switches",
    "forks",
    "about-to-block",
    "serving",
    "deep",
    "stacks",
    "stacks-static",
    "stacks-static-pie",
    "stacks-musl-static",
    "rules/flush-per-record",
];

/// Makes the initramfs and says where it is.
pub fn make(work: &Path, timesink: &Path) -> Result<PathBuf, Failure> {
    let root = Root {
        folder: work.join("root"),
    };
    let _ = fs::remove_dir_all(&root.folder);
    for folder in [
        "proc", "sys", "dev", "tmp", "disk", "root", "etc", "bin", "sbin", "usr/bin", "usr/sbin",
    ] {
        fs::create_dir_all(root.folder.join(folder))?;
    }
    fs::write(
        root.folder.join("etc/passwd"),
        "root:x:0:0:root:/root:/bin/sh\n",
    )?;
    fs::write(root.folder.join("etc/hosts"), "127.0.0.1 localhost\n")?;
    root.busybox()?;
    // What is recorded comes as distributions have it: busybox has no unwind tables.
    for program in ["bin/bash", "bin/sleep", "bin/dd"] {
        let _ = fs::remove_file(root.folder.join(program));
        root.put(&Path::new("/").join(program), program)?;
    }
    root.python()?;
    let programs = programs(&work.join("programs"))?;
    for program in PROGRAMS {
        let name = Path::new(program).file_name().unwrap_or_default();
        root.put(
            &programs.join(program),
            &format!("usr/bin/{}", name.to_string_lossy()),
        )?;
    }
    let stripped = root.folder.join("usr/bin/timesink");
    root.put(timesink, "usr/bin/timesink")?;
    run(Command::new("strip").arg(&stripped))?;
    let guest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/guest"));
    for script in ["init", "scenes.sh", "weather.sh", "naps.py", "naps.sh"] {
        fs::copy(guest.join(script), root.folder.join(script))?;
    }
    fs::set_permissions(root.folder.join("init"), fs::Permissions::from_mode(0o755))?;
    root.pack(&work.join("initramfs"))
}

struct Root {
    folder: PathBuf,
}

impl Root {
    /// Busybox under the names of all that it can do; those that come as programs of their own later replace it.
    fn busybox(&self) -> Result<(), Failure> {
        fs::copy("/bin/busybox", self.folder.join("bin/busybox"))?;
        let listed = Command::new("/bin/busybox").arg("--list").output()?;
        for applet in String::from_utf8_lossy(&listed.stdout).lines() {
            if applet != "busybox" {
                symlink("busybox", self.folder.join("bin").join(applet))?;
            }
        }
        Ok(())
    }

    /// A program with the libraries that it is linked with.
    fn put(&self, program: &Path, to: &str) -> Result<(), Failure> {
        let program = program
            .canonicalize()
            .map_err(|e| Failure(format!("{}: {e}", program.display())))?;
        fs::copy(&program, self.folder.join(to))?;
        let linked = Command::new("ldd").arg(&program).output()?;
        // Nothing is said of a static one.
        for word in String::from_utf8_lossy(&linked.stdout)
            .split_whitespace()
            .filter(|w| w.starts_with('/'))
        {
            self.copy(Path::new(word), Path::new(word))?;
        }
        Ok(())
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<(), Failure> {
        let to = self.folder.join(to.strip_prefix("/").unwrap_or(to));
        if let (false, Some(parent)) = (to.exists(), to.parent()) {
            fs::create_dir_all(parent)?;
            fs::copy(from, &to)?;
        }
        Ok(())
    }

    fn python(&self) -> Result<(), Failure> {
        let python = Path::new("/usr/bin/python3");
        self.put(python, "usr/bin/python3")?;
        let script = format!(
            "{PYTHON_MODULES}\nprint(sys.prefix + '/lib/python%d.%d/' % sys.version_info[:2])\n\
             for m in list(sys.modules.values()):\n if getattr(m, '__file__', None): print(m.__file__)"
        );
        let listed = Command::new(python).args(["-I", "-c", &script]).output()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut files = listed.lines().map(Path::new);
        let library = files
            .next()
            .ok_or_else(|| Failure("python3 does not run".into()))?;
        fs::create_dir_all(
            self.folder
                .join(library.strip_prefix("/").unwrap_or(library))
                .join("lib-dynload"),
        )?;
        files.try_for_each(|file| self.copy(file, file))
    }

    /// Not packed: the emulator would take longer to unpack it than to read it.
    fn pack(&self, to: &Path) -> Result<PathBuf, Failure> {
        let names = Command::new("find")
            .arg(".")
            .current_dir(&self.folder)
            .output()?;
        let list = self.folder.with_extension("names");
        fs::write(&list, names.stdout)?;
        run(Command::new("cpio")
            .args(["-o", "-H", "newc", "--quiet", "-R", "0:0"])
            .current_dir(&self.folder)
            .stdin(fs::File::open(&list)?)
            .stdout(fs::File::create(to)?))?;
        Ok(to.to_owned())
    }
}

/// The programs, built by the live tests' own Makefile.
fn programs(out: &Path) -> Result<PathBuf, Failure> {
    fs::create_dir_all(out)?;
    let out = out.canonicalize()?;
    let mut make = Command::new("make");
    make.arg("-s")
        .arg("-C")
        .arg(timesink_live::root().join("tests/live/programs"));
    make.arg(format!("OUT={}", out.display()));
    make.args(PROGRAMS.map(|program| out.join(program)));
    run(&mut make)?;
    Ok(out)
}

/// Runs it; what it says is a failure if it fails.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let ran = command.stderr(Stdio::piped()).spawn()?.wait_with_output()?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(Failure(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&ran.stderr)
        ))),
    }
}
