//! What somebody set otherwise: numbers of rules in `timesink.toml`, findings to be silent about in
//! `.timesink-ignore.toml`.
//!
//! Both are input like any other, also where timesink runs as root: they are read with the rights of the user who called
//! sudo, a fault in them is a sentence with its line, and what stands right in them holds all the same.

mod entries;
mod limits;
mod mutes;
mod nearest;
mod places;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use timesink_capture::launch::Identity;
use timesink_capture::trust::Trust;
use timesink_findings::mutes::{Day, Mute};
use timesink_findings::rule::Limits;

use crate::out;
pub use limits::{Set, To};

/// All that is set.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub limits: Limits,
    /// What is set of the rules, and where; what is said later holds.
    pub set: Vec<Set>,
    pub mutes: Vec<Mute>,
    /// Where the mutes stand.
    pub mute_file: Option<String>,
    /// The first day of all, if nobody asked which it is: nothing has expired then.
    pub today: Day,
    /// What is wrong with the files, each with the file and its line.
    pub complaints: Vec<String>,
}

impl Settings {
    /// What holds in the folder that the command runs in.
    pub fn here() -> Settings {
        let identity = Identity::from_sudo().ok().flatten();
        let read = || Settings::read(identity.as_ref());
        let mut settings = match &identity {
            None => read(),
            Some(user) => user.with_files(read).unwrap_or_else(|error| Settings {
                complaints: vec![format!("no settings are read: {error}")],
                ..Settings::default()
            }),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        settings.today = Day::of_unix_time(now.map_or(0, |now| now.as_secs()));
        settings
    }

    /// The same, with what is wrong told on standard error.
    pub fn told() -> Settings {
        let settings = Settings::here();
        for complaint in &settings.complaints {
            out::tell(complaint);
        }
        settings
    }

    fn read(identity: Option<&Identity>) -> Settings {
        let mut settings = Settings::default();
        let trust = Trust::of(identity);
        let home = match identity {
            Some(user) => user.home().map(PathBuf::from),
            None => std::env::var_os("HOME").map(PathBuf::from),
        };
        let own = std::env::var_os("XDG_CONFIG_HOME").filter(|_| identity.is_none());
        let folders = match std::env::current_dir() {
            Ok(folder) => places::folders(&folder, home.as_deref(), |folder| {
                folder.join(".git").symlink_metadata().is_ok()
            }),
            Err(_) => Vec::new(),
        };
        let general = places::general(own.map(PathBuf::from), home);
        let project = folders.iter().map(|folder| folder.join("timesink.toml"));
        // What holds for a project holds more than what holds everywhere.
        let files = general
            .into_iter()
            .filter_map(|path| settings.text(path, trust))
            .collect::<Vec<_>>();
        let nearest = project
            .into_iter()
            .find_map(|path| settings.text(path, trust));
        for (file, text) in files.into_iter().chain(nearest) {
            settings.add_limits(&text, &file);
        }
        let mut mutes = folders
            .iter()
            .map(|folder| folder.join(".timesink-ignore.toml"));
        if let Some((file, text)) = mutes.find_map(|path| settings.text(path, trust)) {
            settings.add_mutes(&text, &file);
        }
        settings
    }

    /// The text of a file, if there is one; that it cannot be read is a complaint.
    fn text(&mut self, path: PathBuf, trust: Trust) -> Option<(String, String)> {
        let shown = path.to_string_lossy().into_owned();
        match places::text(&path, trust) {
            Ok(text) => text.map(|text| (shown, text)),
            Err(error) => {
                self.complaints.push(format!("{shown}: {error}"));
                None
            }
        }
    }

    /// Takes in what a file sets of the rules.
    pub fn add_limits(&mut self, text: &str, file: &str) {
        let mut complaints = Vec::new();
        for set in limits::read(text, file, &mut complaints) {
            match set.to {
                To::Switched(on) => self.limits.switch(set.rule, on),
                To::Limit(limit, value) => self.limits.set(set.rule, limit, value),
            }
            self.set.retain(|before| !before.is_about_the_same(&set));
            self.set.push(set);
        }
        self.complain(file, complaints);
    }

    /// Takes in a file of mutes.
    pub fn add_mutes(&mut self, text: &str, file: &str) {
        let mut complaints = Vec::new();
        self.mutes.extend(mutes::read(text, &mut complaints));
        self.mute_file = Some(file.to_owned());
        self.complain(file, complaints);
    }

    fn complain(&mut self, file: &str, complaints: Vec<entries::Complaint>) {
        let complaints = complaints
            .into_iter()
            .map(|complaint| format!("{file}:{}: {}", complaint.line, complaint.text));
        self.complaints.extend(complaints);
    }
}

#[cfg(test)]
mod tests;
