//! What `timesink bench` prints, and the files that it writes.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::bail;

use crate::commands::print_or_write;
use crate::out;
use crate::present::bench::{tables, Bench};
use crate::present::terminal::{self, Style};
use crate::present::{charts, json};

#[derive(clap::Args)]
pub struct Formats {
    /// Everything as JSON (documented in docs/json.md)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// A table in Markdown
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    markdown: Option<PathBuf>,
    /// A line for each run
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    csv: Option<PathBuf>,
    /// JSON as hyperfine writes it
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    hyperfine: Option<PathBuf>,
    /// JSON as Bencher takes it in (Bencher Metric Format)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    bencher: Option<PathBuf>,
    /// A drawing (SVG): runs in order, how they scatter, ratios with intervals
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    svg: Option<PathBuf>,
    /// A page (HTML) with the drawing and the report, which opens in any browser, offline
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    html: Option<PathBuf>,
}

impl Formats {
    fn all(&self) -> [(&'static str, &Option<PathBuf>); 7] {
        [
            ("json", &self.json),
            ("markdown", &self.markdown),
            ("csv", &self.csv),
            ("hyperfine", &self.hyperfine),
            ("bencher", &self.bencher),
            ("svg", &self.svg),
            ("html", &self.html),
        ]
    }

    pub fn check(&self) -> anyhow::Result<()> {
        let given = self.all().into_iter().filter_map(|(_, path)| path.as_ref());
        let (printed, files): (Vec<_>, Vec<_>) = given.partition(|path| path.as_os_str() == "-");
        if printed.len() > 1 {
            bail!("one format only can go to standard output: name files for the others, as --json=FILE");
        }
        // Better now than after all has been measured.
        if let Some(there) = files
            .into_iter()
            .find(|path| path.symlink_metadata().is_ok())
        {
            bail!(
                "{} already exists and will not be overwritten",
                there.display()
            );
        }
        Ok(())
    }
}

fn html(bench: &Bench<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    let mut chart = Vec::new();
    charts::bench::chart(bench, &mut chart)?;
    let text = terminal::bench(bench, &Style::PLAIN);
    let names = bench.jobs.iter().map(|job| job.text.as_str());
    let title = names.collect::<Vec<_>>().join(" against ");
    let page = charts::html::page(&title, &chart, &text);
    out.write_all(page.as_bytes())
}

/// Prints all that is wanted, and the page if nothing else goes to standard output. What cannot be written takes nothing away
/// from the rest: the faults are for the caller to tell.
pub fn print(formats: &Formats, bench: &Bench<'_>) -> Vec<anyhow::Error> {
    let mut faults = Vec::new();
    let mut prints_page = true;
    for (format, path) in formats.all() {
        let Some(path) = path else { continue };
        prints_page &= path.as_os_str() != "-";
        let text = text(format, bench).map_err(anyhow::Error::from);
        faults.extend(text.and_then(|text| print_or_write(path, &text)).err());
    }
    if prints_page {
        let style = out::style();
        faults.extend(out::page(&terminal::bench(bench, &style), &style).err());
    }
    faults
}

fn text(format: &str, bench: &Bench<'_>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    match format {
        "json" => json::bench(bench, &mut text)?,
        "markdown" => tables::markdown(bench, &mut text)?,
        "csv" => tables::csv(bench, &mut text)?,
        "bencher" => json::bencher(bench, &mut text)?,
        "svg" => charts::bench::chart(bench, &mut text)?,
        "html" => html(bench, &mut text)?,
        _ => json::hyperfine(bench, &mut text)?,
    }
    Ok(text)
}
