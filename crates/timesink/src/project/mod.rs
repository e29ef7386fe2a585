//! A project of the user's, and what timesink keeps in it: `.timesink` in its folder.

pub mod lines;
pub mod source;
pub mod work_tree;

use std::path::{Path, PathBuf};

use anyhow::Context;
use timesink_recording::files::Folder;
use timesink_recording::ErrorKind;

const KEPT: &str = ".timesink";
const GIT: &str = ".git";

/// A folder in which something is kept.
#[derive(Debug)]
pub struct Project {
    pub root: PathBuf,
}

impl Project {
    /// The nearest folder from here upwards that has something of ours, or that git knows; else this one.
    pub fn find(from: &Path) -> Project {
        let has = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
        let mut all = from.ancestors();
        let nearest = all.find(|folder| has(folder, KEPT) || has(folder, GIT));
        Project {
            root: nearest.unwrap_or(from).to_owned(),
        }
    }

    /// Whether git may know this folder.
    pub fn is_in_git(&self) -> bool {
        self.root
            .ancestors()
            .any(|folder| folder.join(GIT).symlink_metadata().is_ok())
    }

    /// Where all is that is kept.
    pub fn kept(&self) -> PathBuf {
        self.root.join(KEPT)
    }

    /// This folder, held; `None` where nothing was kept yet. It is the project's own: a link could lead into any other.
    pub fn held(&self) -> anyhow::Result<Option<Folder>> {
        match Folder::open_no_link(&self.kept()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => Ok(Some(opened.with_context(|| self.no_folder())?)),
        }
    }

    /// The same, made if it is not there yet.
    pub fn held_or_made(&self) -> anyhow::Result<Folder> {
        Folder::ensure(&self.kept()).with_context(|| self.no_folder())
    }

    /// A folder in it, held; `None` where there is none yet. No link is followed to it either.
    pub fn held_within(&self, name: &str) -> anyhow::Result<Option<Folder>> {
        let Some(kept) = self.held()? else {
            return Ok(None);
        };
        match kept.folder_within(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => Ok(Some(
                opened.with_context(|| no_folder(&kept.path_of(name)))?,
            )),
        }
    }

    /// The same, made if it is not there yet.
    pub fn held_or_made_within(&self, name: &str) -> anyhow::Result<Folder> {
        let kept = self.held_or_made()?;
        made_within(&kept, name)
    }

    fn no_folder(&self) -> &'static str {
        no_folder(&self.kept())
    }
}

/// A folder within another one, made if it is not there yet. No link is followed to it.
pub fn made_within(folder: &Folder, name: &str) -> anyhow::Result<Folder> {
    match folder.folder_within(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened.with_context(|| no_folder(&folder.path_of(name))),
    }
    match folder.make_within(name) {
        // Somebody else was first.
        Err(error) if error.kind() == ErrorKind::Exists => Ok(folder.folder_within(name)?),
        made => Ok(made?),
    }
}

fn no_folder(path: &Path) -> &'static str {
    match path.is_symlink() {
        true => "a link is not followed here: replace it with a directory",
        false => "the folder in which timesink keeps results",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_the_folder_with_something_of_ours_or_with_git() {
        let root = std::env::temp_dir().join(format!("timesink-project-{}", std::process::id()));
        let below = root.join("a/b");
        Folder::ensure(&below).expect("a folder");
        Folder::ensure(&root.join("a/.git")).expect("a folder");
        assert_eq!(Project::find(&below).root, root.join("a"));
        // What is kept further up, in somebody's home perhaps, is of another project.
        Folder::ensure(&root.join(KEPT)).expect("a folder");
        assert_eq!(Project::find(&below).root, root.join("a"));
        assert_eq!(Project::find(&root).root, root);
        let linked = Project {
            root: below.clone(),
        };
        assert!(linked.held().expect("nothing there").is_none());
        std::os::unix::fs::symlink(root.join(KEPT), linked.kept()).expect("a link");
        for refused in [linked.held().map(|_| ()), linked.held_or_made().map(|_| ())] {
            let said = format!("{:#}", refused.expect_err("refused"));
            assert!(said.contains("a link is not followed"), "{said}");
        }
        std::fs::remove_dir_all(&root).expect("it is there");
    }
}
