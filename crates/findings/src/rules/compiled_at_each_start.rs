//! A Python program whose modules are compiled each time it starts, because what was compiled is kept nowhere.
//!
//! Whoever starts for the first time compiles, too, but then writes what came of it. So it is only told where Python looked for
//! compiled modules in vain and wrote none.

use timesink_recording::words::Language;

use crate::in_code::InCode;
use crate::inquiry::Inquiry;
use crate::rule::{Blames, Fix, Need, Rule, Suspect};
use crate::say;
use crate::sentence::Piece;

pub static RULE: Rule = Rule {
    name: "compiled-at-each-start",
    looks_for: "Python modules that are compiled again at each start",
    why: "Python keeps compiled modules in __pycache__ beside the sources. Where it cannot write there, each start compiles all of them again.",
    advice: "compile the modules once where they are installed (python -m compileall FOLDER), or set PYTHONPYCACHEPREFIX to a writable folder; do not set PYTHONDONTWRITEBYTECODE",
    wrong_if: "the modules changed since the last start, or the program is started only once",
    limits: &[&limits::SHARE, &limits::MODULES],
    blames: Blames::Program,
    needs: &[Need::WholeCalls, Need::Stacks],
    ask,
};

/// What the rule goes by.
mod limits {
    use crate::rule::{Limit, Unit};

    pub static SHARE: Limit = Limit {
        name: "share",
        value: 0.1,
        unit: Unit::Share,
        means: "minimum share of the critical path in the compiler",
    };
    pub static MODULES: Limit = Limit {
        name: "modules",
        value: 5.0,
        unit: Unit::Count,
        means: "minimum number of compiled modules looked up and not found",
    };
}

/// What is left of it, at most and at least: reading what was compiled took 3 % of the time (20 modules of 40 kB,
/// on 2026-11-21).
const LEFT: (f64, f64) = (0.1, 0.0);

fn ask(inquiry: &Inquiry<'_>) -> Vec<Suspect> {
    suspect(inquiry).into_iter().collect()
}

fn suspect(inquiry: &Inquiry<'_>) -> Option<Suspect> {
    let compiles = InCode::of(inquiry, |function| {
        function.language == Language::Python
            && function.file.contains("importlib")
            && matches!(
                function.name.as_str(),
                "SourceLoader.source_to_code" | "source_to_code"
            )
    });
    let share = compiles.share(inquiry);
    let is_compiled = |path: &str| path.ends_with(".pyc") && path.contains("/__pycache__/");
    let missing = inquiry.facts.missing.iter();
    let missing: Vec<_> = missing
        .filter(|missing| is_compiled(&missing.path))
        .collect();
    let modules = missing.len() as u64;
    if share < RULE.limit(inquiry, &limits::SHARE)
        || (modules as f64) < RULE.limit(inquiry, &limits::MODULES)
        || writes_compiled(inquiry)
    {
        return None;
    }
    let process = compiles.process(inquiry)?;
    let title = say![
        process,
        " compiles ",
        Piece::Count(modules),
        " Python modules and does not save the result"
    ];
    let fix = |left| vec![compiles.scaled(left)];
    let suspect = compiles
        .suspect(inquiry, title, Fix::Between(fix(LEFT.0), fix(LEFT.1)))
        .held(inquiry, &RULE, "share of the path", share, &limits::SHARE)
        .held(inquiry, &RULE, "modules", modules as f64, &limits::MODULES)
        .told(say![
            Piece::Percent(share * 100.0),
            " of the critical path is in the compiler: ",
            Piece::Time(compiles.ns())
        ]);
    Some(match missing.first() {
        Some(first) => suspect.told(say![
            "not found: ",
            Piece::Name(first.path.clone()),
            " and others; no such file was written"
        ]),
        None => suspect,
    })
}

/// Whether some compiled module was written: it has another name until it is whole.
fn writes_compiled(inquiry: &Inquiry<'_>) -> bool {
    let mut files = inquiry
        .facts
        .files
        .iter()
        .filter(|file| file.bytes_written > 0);
    files.any(|file| {
        let object = inquiry.facts.object(file.object);
        object.is_some_and(|object| {
            let path = object.path.as_deref().unwrap_or(&object.label);
            path.contains(".pyc")
        })
    })
}
