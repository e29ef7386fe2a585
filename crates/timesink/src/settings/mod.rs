//! What the user has configured: limits of rules in `timesink.toml`, findings to mute in
//! `.timesink-ignore.toml`.
//!
//! Both are input like any other, also where timesink runs as root: they are read with the rights of the user who called
//! sudo, an error in them is reported with its line, and the rest of the file still applies.

mod assistants;
mod entries;
mod former;
mod limits;
mod mutes;
mod nearest;
mod places;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use timesink_capture::launch::Identity;
use timesink_capture::trust::Trust;
use timesink_findings::mutes::{Day, Mute};
use timesink_findings::rule::{Limit, Limits, Rule};

use crate::out;
pub use limits::{Set, To};

/// All settings.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub limits: Limits,
    /// Settings of the rules, and the file of each; the last file wins.
    pub set: Vec<Set>,
    pub mutes: Vec<Mute>,
    /// The file of the mutes.
    pub mute_file: Option<String>,
    /// Today. If nobody asked, the first day there is: then nothing has expired.
    pub today: Day,
    /// Whether coding assistants may run programs. Only the user's own settings can say so, no project.
    pub assistants_may_run: bool,
    /// Errors in the files, each with the file and its line.
    pub complaints: Vec<String>,
}

impl Settings {
    /// The settings that apply in the directory in which the command runs.
    pub fn here() -> Settings {
        let identity = Identity::from_sudo().ok().flatten();
        let read = || Settings::read(identity.as_ref());
        let mut settings = match &identity {
            None => read(),
            Some(user) => user.with_files(read).unwrap_or_else(|error| Settings {
                complaints: vec![format!("settings are not read: {error}")],
                ..Settings::default()
            }),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        settings.today = Day::of_unix_time(now.map_or(0, |now| now.as_secs()));
        settings
    }

    /// The same, with errors printed on standard error.
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
        for (file, text) in &files {
            settings.add_assistants(text, file);
            settings.add_rules(text, file, true);
        }
        let nearest = project
            .into_iter()
            .find_map(|path| settings.text(path, trust));
        if let Some((file, text)) = nearest {
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

    /// The text of a file, if there is one. If it cannot be read, that is reported.
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

    /// Adds the settings of rules in a file.
    pub fn add_limits(&mut self, text: &str, file: &str) {
        self.add_rules(text, file, false);
    }

    fn add_rules(&mut self, text: &str, file: &str, is_own: bool) {
        let mut complaints = Vec::new();
        for set in limits::read(text, file, is_own, &mut complaints) {
            match set.to {
                To::Switched(on) => self.limits.switch(set.rule, on),
                To::Limit(limit, value) => self.limits.set(set.rule, limit, value),
            }
            self.set.retain(|before| !before.is_about_the_same(&set));
            self.set.push(set);
        }
        self.complain(file, complaints);
    }

    /// Adds what the user's own settings say of assistants.
    pub fn add_assistants(&mut self, text: &str, file: &str) {
        let mut complaints = Vec::new();
        if let Some(may) = assistants::may_run(text, &mut complaints) {
            self.assistants_may_run = may;
        }
        self.complain(file, complaints);
    }

    /// What a limit of a rule is set to, and in which file; `None` if no file sets it.
    pub fn limit(&self, rule: &Rule, limit: &Limit) -> Option<(f64, &str)> {
        let mut of_rule = self.set.iter().filter(|set| set.rule == rule.name);
        of_rule.find_map(|set| match set.to {
            To::Limit(name, value) if name == limit.name => Some((value, set.file.as_str())),
            _ => None,
        })
    }

    /// Where a rule is switched off, if it is.
    pub fn switched_off(&self, rule: &Rule) -> Option<&str> {
        let mut of_rule = self.set.iter().filter(|set| set.rule == rule.name);
        let off = of_rule.find(|set| set.to == To::Switched(false));
        off.map(|set| set.file.as_str())
    }

    /// Adds the mutes in a file.
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
