//! Writes a recording that is drawn in the notation of `timesink_recording::notation`.
//!
//!     cargo run --release -p timesink-recording --example drawn TEXT FOLDER
//!
//! For looking at what cannot be recorded at will: names that are meant to do harm, a day, twenty thousand threads.

use timesink_recording::notation;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [text, folder] = arguments.as_slice() else {
        return Err("usage: drawn TEXT FOLDER".into());
    };
    let text = std::fs::read_to_string(text)?;
    notation::draft(&text).write(folder.as_ref())?;
    Ok(())
}
