//! Compiles one expression that repeats nothing.

fn main() {
    let compiled = regex::Regex::new("(?:){40000000}");
    println!("{}", compiled.is_ok());
}
