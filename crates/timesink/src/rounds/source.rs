//! The state of the source that a round was measured on, as git has it. Git is run as the caller: what a repository has set
//! may start programs.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{bail, Context};
use serde::{Deserialize, Serialize};
use timesink_capture::launch::Identity;

/// What was checked out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub commit: String,
    /// Something in the files that git knows was not committed.
    pub is_changed: bool,
}

/// Changes that take more are not kept.
const MOST_CHANGES: usize = 1 << 20;

/// Git in a folder.
pub struct Git<'a> {
    pub folder: &'a Path,
    pub identity: Option<&'a Identity>,
}

impl Git<'_> {
    /// `None`: there is no git, or no commit.
    pub fn source(&self) -> Option<Source> {
        let commit = self.said(&["rev-parse", "HEAD"])?;
        let commit = commit.trim().to_owned();
        let is_name = !commit.is_empty() && commit.chars().all(|c| c.is_ascii_hexdigit());
        let changed = self.said(&["status", "--porcelain", "--untracked-files=no"])?;
        is_name.then(|| Source {
            commit,
            is_changed: !changed.trim().is_empty(),
        })
    }

    /// What was not committed, as a patch; `None` if there is nothing, or too much of it.
    pub fn changes(&self) -> Option<Vec<u8>> {
        let patch = self.run(&["diff", "HEAD", "--binary"]).ok()?;
        let fits = patch.status.success() && patch.stdout.len() <= MOST_CHANGES;
        Some(patch.stdout).filter(|patch| fits && !patch.is_empty())
    }

    /// Checks a commit out into a new folder.
    pub fn check_out(&self, commit: &str, into: &Path) -> anyhow::Result<()> {
        let into = into.to_str().context("the folder's name is not text")?;
        self.must(&["worktree", "add", "--quiet", "--detach", into, commit])
    }

    /// Removes such a folder.
    pub fn remove(&self, folder: &Path) -> anyhow::Result<()> {
        let folder = folder.to_str().context("the folder's name is not text")?;
        self.must(&["worktree", "remove", "--force", folder])
    }

    pub fn apply(&self, patch: &Path) -> anyhow::Result<()> {
        let patch = patch.to_str().context("the patch's name is not text")?;
        self.must(&["apply", "--binary", patch])
    }

    fn said(&self, words: &[&str]) -> Option<String> {
        let output = self.run(words).ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    fn must(&self, words: &[&str]) -> anyhow::Result<()> {
        let output = self.run(words)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("git {} failed: {}", words.join(" "), said.trim());
        }
        Ok(())
    }

    fn run(&self, words: &[&str]) -> anyhow::Result<Output> {
        let mut git = Command::new("git");
        if let Some(user) = self.identity {
            user.runs(&mut git);
        }
        git.arg("-C").arg(self.folder).args(words);
        git.stdin(Stdio::null())
            .output()
            .context("git cannot be started")
    }
}
