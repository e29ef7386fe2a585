//! Reads a JSON file: straight from the file, or through a buffer.
use std::fs::File;
use std::io::BufReader;

fn main() {
    let mut words = std::env::args().skip(1);
    let file = File::open(words.next().expect("a file")).expect("opens");
    let value: serde_json::Value = match words.next() {
        Some(_) => serde_json::from_reader(BufReader::new(file)).expect("JSON"),
        None => serde_json::from_reader(file).expect("JSON"),
    };
    println!("{}", value.as_array().map_or(0, Vec::len));
}
