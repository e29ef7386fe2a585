//! `timesink man DIR`: the manual pages, made of the same declarations as the help. For `make install` and packages.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Command, CommandFactory};
use timesink_recording::files::{Folder, NewFile};

use super::as_caller;

#[derive(clap::Args)]
pub struct Arguments {
    /// The directory to write the pages to; existing pages are not replaced
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes a page for timesink and one for each command.
pub fn run<C: CommandFactory>(arguments: &Arguments) -> anyhow::Result<()> {
    let pages = pages(C::command())?;
    as_caller(|| {
        let folder = Folder::ensure(&arguments.folder)?;
        for (name, text) in pages {
            let mut file = NewFile::within(&folder, &name)?;
            file.write_all(text.as_bytes())
                .with_context(|| format!("cannot write {name}"))?;
            file.keep()?;
        }
        Ok(())
    })
}

/// The file names and texts of the pages of a command and of those below it that are not hidden.
pub fn pages(command: Command) -> anyhow::Result<Vec<(String, String)>> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages)?;
    Ok(pages)
}

fn add(command: &Command, pages: &mut Vec<(String, String)>) -> anyhow::Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text)?;
    pages.push((man.get_filename(), String::from_utf8(text)?));
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        add(below, pages)?;
    }
    Ok(())
}
