//! FORMAT.md says what the code does.

use std::path::PathBuf;
use timesink_recording::floors::Floors;
use timesink_recording::format_doc::{format_doc, BEGIN, END};
use timesink_recording::notation::compare_with_kept;
use timesink_recording::{About, TableEntry, FORMAT_VERSION};

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../FORMAT.md")
}

/// The generated part of FORMAT.md is what the declarations give; `UPDATE=1` rewrites it.
#[test]
fn the_tables_are_those_of_the_declarations() {
    let text = std::fs::read_to_string(path()).expect("FORMAT.md is there");
    let begin = text.find(BEGIN).expect("the begin marker") + BEGIN.len();
    let end = text.find(END).expect("the end marker");
    let wanted = format!("{}\n{}\n{}", &text[..begin], format_doc(), &text[end..]);
    compare_with_kept(&path(), &wanted);
}

/// Each field of the manifest is in FORMAT.md.
#[test]
fn the_manifest_is_described() {
    let text = std::fs::read_to_string(path()).expect("FORMAT.md is there");
    let mut about = About::default();
    about.tables.push(TableEntry {
        name: String::new(),
        rows: 0,
        bytes: 0,
        crc32: 0,
    });
    about.floors = Some(Floors::default());
    let json = serde_json::to_value(about).expect("a manifest is JSON");
    for part in [
        &json,
        &json["cost"],
        &json["floors"],
        &json["floors"]["machine"],
        &json["floors"]["load"],
        &json["tables"][0],
    ] {
        for key in part.as_object().expect("an object").keys() {
            assert!(
                text.contains(&format!("`{key}`")),
                "{key} is not in FORMAT.md"
            );
        }
    }
}

/// FORMAT.md names the version of today, in the manifest's table and in the list of versions. It once named the one before.
#[test]
fn the_version_is_the_one_of_today() {
    let text = std::fs::read_to_string(path()).expect("FORMAT.md is there");
    let field = format!("| `format_version` | The version of this format: {FORMAT_VERSION}. |");
    assert!(text.contains(&field), "not in FORMAT.md: {field}");
    let last = text
        .lines()
        .skip_while(|line| *line != "| version | change |")
        .take_while(|line| line.starts_with('|'))
        .last();
    let begin = format!("| {FORMAT_VERSION} |");
    assert!(
        last.is_some_and(|line| line.starts_with(&begin)),
        "the last version in FORMAT.md is {last:?}"
    );
}
