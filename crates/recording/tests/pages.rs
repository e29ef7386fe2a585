//! The pages of text in the repository: every relative link leads to a file, and to a heading of it where it names one;
//! README can be read in one sitting. Does not look at links to other sites.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// README has at most so many lines, each shorter than so many characters.
const LINES: usize = 220;
const CHARACTERS: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages below a folder but for what was built or fetched.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let foreign = name.starts_with('.') || matches!(&*name, "target" | "work" | "node_modules");
        if path.is_dir() && !foreign {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// The lines of a page, from 1, that are not within a block of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        (!in_code && !fence).then_some((number, line))
    })
}

/// The targets of a line's links, `](target)` and `src="target"`; what is in backticks is none.
fn links(line: &str) -> Vec<String> {
    let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let ends = [("](", ')'), ("src=\"", '"'), ("href=\"", '"')];
    let targets = ends.iter().flat_map(|(start, end)| {
        let after = outside.split(start).skip(1);
        after.filter_map(|rest| Some(rest.split_once(*end)?.0.to_owned()))
    });
    targets.collect()
}

/// What a heading is called in links, as GitHub has it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' | '-' => Some('-'),
        '_' => Some('_'),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| anchor(line.trim_start_matches('#')))
        .collect()
}

/// The links of a page that lead nowhere.
fn broken(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("the page can be read");
    let folder = page.parent().expect("a page is in a folder");
    let mut faults = Vec::new();
    for (number, line) in prose(&text) {
        for link in links(line) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, part) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.to_path_buf(),
                _ => folder.join(file),
            };
            let mut leads = target.exists();
            if leads && !part.is_empty() {
                let other = std::fs::read_to_string(&target).unwrap_or_default();
                leads = anchors(&other).contains(part);
            }
            if !leads {
                faults.push(format!("{}:{number}: {link}", page.display()));
            }
        }
    }
    faults
}

/// What makes README longer than one sitting.
fn too_long(text: &str) -> Vec<String> {
    let wide = text.lines().zip(1..).filter_map(|(line, number)| {
        let length = line.chars().count();
        (length >= CHARACTERS).then(|| format!("line {number} has {length} characters"))
    });
    let lines = text.lines().count();
    let long = (lines > LINES).then(|| format!("{lines} lines, at most {LINES} are wanted"));
    wide.chain(long).collect()
}

/// Every relative link of every page leads to a file of the repository, and to a heading that it has.
#[test]
fn links_lead_somewhere() {
    let mut all = Vec::new();
    pages(&root(), &mut all);
    assert!(all.len() > 20, "the pages are found: {all:?}");
    let faults: Vec<String> = all.iter().flat_map(|page| broken(page)).collect();
    assert!(
        faults.is_empty(),
        "links that lead nowhere:\n{}",
        faults.join("\n")
    );
}

/// README has at most 220 lines, each under 120 characters.
#[test]
fn readme_is_short() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    assert_eq!(too_long(&text), Vec::<String>::new());
}

/// A link to a file or a heading that is not there is noticed; code and other sites are passed over.
#[test]
fn what_leads_nowhere_is_noticed() {
    let folder = std::env::temp_dir().join(format!("timesink-pages-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let page = folder.join("a.md");
    let text = "# The `first` one: 5 %\n[b](b.md) [up](#the-first-one-5-) [x](https://e.org/z) `[c](c.md)`\n\
                ```\n[d](d.md)\n# none\n```\n[e](#none) ![f](f.svg) <img src=\"g.svg\">\n";
    std::fs::write(&page, text).expect("the page is written");
    let faults = broken(&page);
    std::fs::remove_dir_all(&folder).expect("it goes");
    let ends: Vec<&str> = faults
        .iter()
        .filter_map(|fault| fault.split(' ').next_back())
        .collect();
    assert_eq!(ends, ["b.md", "#none", "f.svg", "g.svg"], "{faults:?}");
    assert_eq!(too_long(&"x".repeat(120)).len(), 1);
    assert_eq!(too_long(&"x\n".repeat(221)).len(), 1);
    assert!(too_long(&"x\n".repeat(220)).is_empty());
}
