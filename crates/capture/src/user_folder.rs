//! Where a user keeps what programs leave from one day to the next.

use std::path::PathBuf;

use crate::launch::Identity;

/// Our folder in the one that a variable names, or else in that place in the user's home.
pub fn user_folder(identity: Option<&Identity>, variable: &str, at_home: &str) -> Option<PathBuf> {
    let folder = match identity {
        Some(identity) => PathBuf::from(identity.home()?).join(at_home),
        // Under sudo the environment may still name the caller's folders, which are not for root's files.
        None if Identity::from_sudo().ok()?.is_some() => {
            PathBuf::from(Identity::of(0, 0).ok()?.home()?).join(at_home)
        }
        None => match std::env::var_os(variable).filter(|folder| !folder.is_empty()) {
            Some(folder) => folder.into(),
            None => PathBuf::from(std::env::var_os("HOME")?).join(at_home),
        },
    };
    folder.is_absolute().then(|| folder.join("timesink"))
}
