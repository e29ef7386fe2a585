//! What came out of a guest: what commands said, and recordings.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use serde_json::Value;
use timesink_live::{Ran, Recorded};

/// The folder that a scene filled.
pub struct Results {
    folder: PathBuf,
}

impl Results {
    pub fn of(folder: &Path) -> Results {
        Results {
            folder: folder.to_owned(),
        }
    }

    /// A file of it. One that is not there is a failure.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.join(name));
        let bytes = bytes.unwrap_or_else(|e| panic!("the guest left no {name}: {e}"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// How a command of the guest went.
    #[track_caller]
    pub fn ran(&self, name: &str) -> Ran {
        let code = self.text(&format!("{name}.code"));
        let code: i32 = code.trim().parse().expect("an exit code");
        Ran {
            status: ExitStatus::from_raw(code << 8),
            out: self.text(&format!("{name}.out")).into_bytes(),
            err: self.text(&format!("{name}.err")),
        }
    }

    pub fn recording(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.tar"))
    }

    /// A recording of the guest, whose command had to exit with 0.
    #[track_caller]
    pub fn recorded(&self, name: &str) -> Recorded {
        let ran = self.ran(name).exits(0);
        Recorded::open(&self.recording(name), ran)
    }

    /// The names of all recordings.
    pub fn recordings(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.strip_suffix(".tar").map(str::to_owned)
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The reports of all recordings, by name.
    pub fn reports(&self) -> Vec<(String, Value)> {
        let names = self.recordings().into_iter();
        names
            .map(|name| (name.clone(), self.recorded(&name).json))
            .collect()
    }

    /// By how much the scheduler's clock is ahead of the one that programs see, where the kernel told both.
    pub fn clocks(&self) -> Option<String> {
        let ahead = ahead_ms(&fs::read_to_string(self.folder.join("clocks.out")).ok()?)?;
        Some(format!("the scheduler's clock is {ahead:.1} ms ahead"))
    }
}

/// From two lines as the kernel's scheduler prints them: `ktime : 4231.5` and `sched_clk : 4254.1`, in milliseconds.
fn ahead_ms(text: &str) -> Option<f64> {
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.rsplit(' ').next()?.parse::<f64>().ok()
    };
    Some(value("sched_clk")? - value("ktime")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance is read as the kernel prints it, and nothing is said where it prints nothing.
    #[test]
    fn the_distance_of_the_clocks() {
        let text = "ktime                                   : 4231.500000\nsched_clk                               : 4254.100000\n";
        assert!(ahead_ms(text).is_some_and(|ahead| (ahead - 22.6).abs() < 1e-6));
        assert_eq!(ahead_ms(""), None);
    }
}
