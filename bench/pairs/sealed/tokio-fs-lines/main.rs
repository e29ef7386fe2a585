//! A program of this pair; pair.toml says what it is about.

use tokio::fs::File;
use tokio::io::{self, AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter};

/// Copies the lines of a log that tell of errors, as a service would do it while it waits for other things.
async fn keep_errors<W: AsyncWriteExt + Unpin>(from: &str, mut to: W) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(from).await?).lines();
    while let Some(line) = lines.next_line().await? {
        if line.contains("error") {
            to.write_all(format!("{line}\n").as_bytes()).await?;
        }
    }
    to.flush().await
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let from = words.next().expect("a file to read");
    let kept = File::create("errors.log").await?;
    match words.next() {
        None => keep_errors(&from, kept).await,
        Some(_) => keep_errors(&from, BufWriter::new(kept)).await,
    }
}
