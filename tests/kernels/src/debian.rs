//! Debian's kernels: which ones its suites hold now, which of them are meant, and the kernel out of the package.
//!
//! Lists and packages lie in a folder of ours; nothing is installed, and the machine's own lists are left alone. Kernels are named
//! by their minor version, never by an exact one, because old packages vanish from the mirror. The cloud flavour is taken: it is
//! smaller, and has the disk (NVMe) and ext4 built in, so that no modules are needed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::Failure;

const SUITES: [&str; 6] = [
    "bullseye",
    "bookworm",
    "trixie",
    "trixie-backports",
    "sid",
    "experimental",
];
const SECURITY_SUITES: [&str; 3] = ["bullseye-security", "bookworm-security", "trixie-security"];
/// Lists that are younger than this are not asked for again.
const FRESH: Duration = Duration::from_secs(12 * 3600);
/// Packages that only lead to others are far smaller than this, kernels far larger.
const KERNEL_BYTES: u64 = 1_000_000;

/// A kernel that the mirror holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    pub package: String,
    pub version: String,
}

impl Kernel {
    /// The numbers of the version in their order, 6.1.192-2 is [6, 1, 192, 2]. What stands after a tilde comes from making it
    /// again for an older release.
    fn numbers(&self) -> Vec<u32> {
        let own = self.version.split('~').next().unwrap_or_default();
        let parts = own.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    }

    /// What orders kernels; of the same version, the one that was made for its own release is later.
    fn order(&self) -> (Vec<u32>, bool) {
        (self.numbers(), !self.version.contains('~'))
    }

    pub fn minor(&self) -> (u32, u32) {
        let numbers = self.numbers();
        let at = |index| numbers.get(index).copied().unwrap_or(0);
        (at(0), at(1))
    }

    pub fn name(&self) -> String {
        let (major, minor) = self.minor();
        format!("{major}.{minor}")
    }
}

/// The kernels in a list of packages (as `apt-cache dumpavail` prints them): the newest of each minor version, the oldest first.
pub fn kernels_in(list: &str) -> Vec<Kernel> {
    let mut newest: BTreeMap<(u32, u32), Kernel> = BTreeMap::new();
    for paragraph in list.split("\n\n") {
        let field = |name: &str| {
            let mut lines = paragraph.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let (Some(package), Some(version)) = (field("Package"), field("Version")) else {
            continue;
        };
        // Since 6.19 the kernel is in linux-binary-*, and linux-image-* leads to it.
        let named = package.starts_with("linux-image-") || package.starts_with("linux-binary-");
        let size: u64 = field("Size")
            .and_then(|size| size.parse().ok())
            .unwrap_or(0);
        let candidate = version.contains("~rc");
        if !named || !package.ends_with("-cloud-amd64") || size < KERNEL_BYTES || candidate {
            continue;
        }
        let found = Kernel {
            package: package.to_owned(),
            version: version.to_owned(),
        };
        let best = newest.entry(found.minor()).or_insert_with(|| found.clone());
        if found.order() > best.order() {
            *best = found;
        }
    }
    newest.into_values().collect()
}

/// The kernel that is meant by a name: `6.12`, `newest`, or `oldest-7`, the oldest of a major version.
pub fn named(kernels: &[Kernel], name: &str) -> Result<Kernel, Failure> {
    let found = match name.strip_prefix("oldest-") {
        Some(major) => kernels.iter().find(|k| k.minor().0.to_string() == major),
        None if name == "newest" => kernels.last(),
        None => kernels.iter().find(|k| k.name() == name),
    };
    found.cloned().ok_or_else(|| {
        let held: Vec<_> = kernels.iter().map(Kernel::name).collect();
        let held = held.join(", ");
        Failure(format!(
            "Debian's mirror has no kernel {name} (any more); it has {held}"
        ))
    })
}

/// The mirror of Debian that this machine's own apt uses.
fn mirror() -> Result<String, Failure> {
    let mut ask = Command::new("apt-get");
    ask.args(["indextargets", "--format", "$(ORIGIN) $(REPO_URI)"]);
    let told = ask.output()?.stdout;
    let told = String::from_utf8_lossy(&told).into_owned();
    let mut mirrors = told.lines().filter_map(|line| line.strip_prefix("Debian "));
    let mirror = mirrors.find(|uri| uri.trim_end_matches('/').ends_with("/debian"));
    mirror.map(str::to_owned).ok_or_else(|| {
        let why = "apt knows no mirror of Debian on this machine: kernels cannot be fetched";
        Failure(why.to_owned())
    })
}

/// Debian's packages, by lists of our own.
pub struct Debian {
    folder: PathBuf,
}

impl Debian {
    pub fn at(folder: &Path) -> Result<Debian, Failure> {
        for place in ["lists/partial", "cache/archives/partial", "kernels"] {
            fs::create_dir_all(folder.join(place))?;
        }
        let folder = folder.canonicalize()?;
        let mirror = mirror()?;
        let security = format!("{}-security", mirror.trim_end_matches('/'));
        let from = |at: &str, suites: &[&str]| {
            let lines = suites
                .iter()
                .map(|suite| format!("deb [arch=amd64] {at} {suite} main\n"));
            lines.collect::<String>()
        };
        let sources = from(&mirror, &SUITES) + &from(&security, &SECURITY_SUITES);
        fs::write(folder.join("sources.list"), sources)?;
        Ok(Debian { folder })
    }

    fn apt(&self, tool: &str) -> Command {
        let mut apt = Command::new(tool);
        let place = |name: &str| self.folder.join(name).display().to_string();
        for option in [
            format!("Dir::Etc::SourceList={}", place("sources.list")),
            "Dir::Etc::SourceParts=/dev/null".into(),
            format!("Dir::State::Lists={}", place("lists")),
            format!("Dir::Cache={}", place("cache")),
            "APT::Architecture=amd64".into(),
            "APT::Sandbox::User=root".into(),
            "Acquire::Languages=none".into(),
            "Acquire::Retries=3".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
        ] {
            apt.arg("-o").arg(option);
        }
        apt.current_dir(&self.folder).stdin(Stdio::null());
        apt
    }

    /// What the suites hold now. A mirror that does not answer is no fault as long as there are older lists.
    pub fn kernels(&self) -> Result<Vec<Kernel>, Failure> {
        let updated = self.folder.join("updated");
        let age = fs::metadata(&updated).and_then(|m| m.modified()).ok();
        let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_none_or(|age| age > FRESH) {
            let ran = self.apt("apt-get").args(["-q", "update"]).output()?;
            match ran.status.success() {
                true => fs::write(&updated, "")?,
                false => println!(
                    "not all of Debian's lists could be had:\n{}",
                    String::from_utf8_lossy(&ran.stderr).trim_end()
                ),
            }
        }
        let ran = self.apt("apt-cache").arg("dumpavail").output()?;
        let kernels = kernels_in(&String::from_utf8_lossy(&ran.stdout));
        match kernels.is_empty() {
            true => Err(Failure(
                "Debian's mirror could not be asked which kernels it has".to_owned(),
            )),
            false => Ok(kernels),
        }
    }

    /// The kernel to boot. What was fetched once is kept.
    pub fn fetch(&self, kernel: &Kernel) -> Result<PathBuf, Failure> {
        let Kernel { package, version } = kernel;
        let kept = self.folder.join(format!("kernels/{package}_{version}"));
        if kept.exists() {
            return Ok(kept);
        }
        let folder = self.folder.join("cache").join(package);
        fs::create_dir_all(&folder)?;
        let fetched = self
            .apt("apt-get")
            .args(["-q", "download", &format!("{package}={version}")])
            .current_dir(&folder)
            .output()?;
        let deb = fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
        let deb = deb
            .into_iter()
            .find(|path| path.extension().is_some_and(|e| e == "deb"));
        let (true, Some(deb)) = (fetched.status.success(), deb) else {
            let why = String::from_utf8_lossy(&fetched.stderr).into_owned();
            return Err(Failure(format!(
                "{package} {version} cannot be fetched:\n{why}"
            )));
        };
        let mut files = Command::new("dpkg")
            .arg("--fsys-tarfile")
            .arg(&deb)
            .stdout(Stdio::piped())
            .spawn()?;
        let part = kept.with_extension("part");
        let unpacked = Command::new("tar")
            .args(["-x", "-O", "--wildcards", "*/vmlinuz*"])
            .stdin(files.stdout.take().map_or_else(Stdio::null, Stdio::from))
            .stdout(fs::File::create(&part)?)
            .status()?;
        if !files.wait()?.success()
            || !unpacked.success()
            || fs::metadata(&part)?.len() < KERNEL_BYTES
        {
            return Err(Failure(format!(
                "there is no kernel in {package} {version}"
            )));
        }
        fs::rename(&part, &kept)?;
        fs::remove_dir_all(&folder)?;
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraph(package: &str, version: &str, size: u64) -> String {
        format!("Package: {package}\nArchitecture: amd64\nVersion: {version}\nSize: {size}\n\n")
    }

    fn held() -> Vec<Kernel> {
        let list = [
            paragraph("linux-image-6.1.0-9-cloud-amd64", "6.1.99-2", 26_000_000),
            paragraph("linux-image-6.1.0-56-cloud-amd64", "6.1.192-2", 26_000_000),
            paragraph(
                "linux-image-6.1.0-0.deb11.56-cloud-amd64",
                "6.1.192-2~deb11u1",
                26_000_000,
            ),
            paragraph("linux-image-6.1.0-56-rt-amd64", "6.1.192-2", 26_000_000),
            paragraph("linux-image-6.1-cloud-amd64", "6.1.999-1", 1524),
            paragraph(
                "linux-image-7.0.4+deb13-cloud-amd64",
                "7.0.4-1~bpo13+1",
                1924,
            ),
            paragraph(
                "linux-binary-7.0.4+deb13-cloud-amd64",
                "7.0.4-1~bpo13+1",
                13_000_000,
            ),
            paragraph(
                "linux-binary-7.1.8+deb13-cloud-amd64",
                "7.1.8-1~bpo13+1",
                13_000_000,
            ),
            paragraph("linux-binary-7.3-cloud-amd64", "7.3~rc7-1~exp1", 13_000_000),
            paragraph("bash", "5.2", 2_000_000),
        ];
        kernels_in(&list.concat())
    }

    /// Of each minor version the newest is known, by number and not by letter; candidates and packages that only lead to others are none.
    #[test]
    fn the_newest_of_each_minor_version() {
        let names: Vec<_> = held()
            .iter()
            .map(|k| (k.name(), k.version.clone()))
            .collect();
        let expected = [
            ("6.1", "6.1.192-2"),
            ("7.0", "7.0.4-1~bpo13+1"),
            ("7.1", "7.1.8-1~bpo13+1"),
        ];
        assert_eq!(names, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(held()[1].package, "linux-binary-7.0.4+deb13-cloud-amd64");
    }

    /// Kernels are meant by their version or by a rule, and one that is gone is named.
    #[test]
    fn kernels_by_name() {
        let kernels = held();
        let name = |rule: &str| named(&kernels, rule).map(|k| k.name()).map_err(|f| f.0);
        assert_eq!(name("6.1"), Ok("6.1".into()));
        assert_eq!(name("newest"), Ok("7.1".into()));
        assert_eq!(name("oldest-7"), Ok("7.0".into()));
        let gone = name("6.12").expect_err("it is not there");
        assert!(
            gone.contains("no kernel 6.12") && gone.contains("6.1, 7.0, 7.1"),
            "{gone}"
        );
    }
}
