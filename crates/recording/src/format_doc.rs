//! The part of FORMAT.md that is made from the declarations: the tables, their columns and the
//! words. The prose around it is written by hand, in FORMAT.md itself.

use crate::cells::{CellKind, WordSet};
use crate::table::{join_doc, Column};
use crate::tables;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where the generated part begins and ends in FORMAT.md.
pub const BEGIN: &str = "<!-- made from the declarations in crates/recording/src: begin -->\n";
pub const END: &str = "<!-- made from the declarations in crates/recording/src: end -->\n";

/// The tables and the words, as Markdown.
pub fn format_doc() -> String {
    let mut text = String::from("## Tables\n");
    let mut sets: BTreeMap<&str, (WordSet, Vec<String>)> = BTreeMap::new();
    for table in tables::ALL {
        table_doc(&mut text, table);
        for column in table.columns {
            if let CellKind::Word(set) = column.kind {
                let users = &mut sets.entry(set.name).or_insert((set, Vec::new())).1;
                users.push(format!("`{}.{}`", table.name, column.name));
            }
        }
    }
    text.push_str("\n## Words\n");
    for (set, users) in sets.values() {
        word_set_doc(&mut text, set, users);
    }
    text
}

fn table_doc(text: &mut String, table: &tables::Table) {
    let (name, doc) = (table.name, join_doc(table.doc));
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n### {name}\n\n{doc}\n\n| column | type | meaning |\n|---|---|---|\n"
    );
    for column in table.columns {
        let doc = join_doc(column.doc).replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{}` | {} | {doc} |",
            column.name,
            type_name(column)
        );
    }
}

fn type_name(column: &Column) -> String {
    let kind = match column.kind {
        CellKind::Word(set) => format!("[word](#{})", anchor(set.name)),
        kind => kind.name().to_owned(),
    };
    if column.nullable {
        format!("{kind} or null")
    } else {
        kind
    }
}

fn word_set_doc(text: &mut String, set: &WordSet, users: &[String]) {
    let (title, doc, users) = (title(set.name), join_doc(set.doc), users.join(", "));
    let _ = write!(text, "\n### {title}\n\n{doc} Used by {users}.\n\n");
    if set.words.iter().all(|(_, doc)| doc.is_empty()) {
        let words: Vec<String> = set
            .words
            .iter()
            .map(|(word, _)| format!("`{word}`"))
            .collect();
        let _ = writeln!(text, "{}.", words.join(", "));
        return;
    }
    text.push_str("| word | meaning |\n|---|---|\n");
    for (word, doc) in set.words {
        let _ = writeln!(text, "| `{word}` | {} |", join_doc(doc));
    }
}

/// `WakeSource` as `Words: wake source`.
fn title(name: &str) -> String {
    let mut title = String::from("Words:");
    for c in name.chars() {
        if c.is_uppercase() {
            title.push(' ');
        }
        title.extend(c.to_lowercase());
    }
    title
}

fn anchor(name: &str) -> String {
    title(name)
        .to_lowercase()
        .replace(':', "")
        .replace(' ', "-")
}
