//! What identifies a cause from run to run: the rule, the thing, the function and the program, in words that a mute
//! file can hold. No counts, no process ids, no addresses: those change each time.

use timesink_analysis::facts::last_part;
use timesink_analysis::facts::programs::program;
use timesink_recording::tables::Object;
use timesink_recording::words::ObjectKind;

use crate::inquiry::Inquiry;
use crate::rule::{Rule, Suspect};

/// The signature of a suspect: `flush-per-record of rows.db in store by nightly-import`. Names stand in it as they
/// were recorded; whoever shows it makes them harmless.
pub fn signature(inquiry: &Inquiry<'_>, rule: &Rule, suspect: &Suspect) -> String {
    let mut text = rule.name.to_owned();
    let mut part = |word: &str, name: String| {
        if !name.is_empty() {
            text.push_str(word);
            text.push_str(&name);
        }
    };
    let object = suspect.object.and_then(|id| inquiry.facts.object(id));
    if let Some(object) = object {
        part(" of ", thing(object, inquiry.directory));
    }
    let code = &inquiry.stacks.code;
    if let Some(spot) = code.own_of(&suspect.frames).first() {
        part(" in ", lasting(&code.function(spot.function).name));
    }
    let process = suspect
        .process
        .and_then(|id| inquiry.facts.ledger.process(id));
    if let Some(process) = process {
        let path = program(&process.row);
        part(" by ", lasting(last_part(path)));
    }
    text
}

/// Ports from here on are given to whoever asks for any.
pub const EPHEMERAL: u16 = 32768;

/// A thing: files by their paths, from where the program was started; peers by their addresses, if somebody chose
/// these; all others only by their kind, for their names are numbers.
pub fn thing(object: &Object, directory: &str) -> String {
    match object.kind {
        ObjectKind::File | ObjectKind::Directory | ObjectKind::Device | ObjectKind::BlockDevice => {
            let path = object.path.as_deref().unwrap_or(&object.label);
            let below = path
                .strip_prefix(directory)
                .and_then(|rest| rest.strip_prefix('/'));
            lasting(match below {
                Some(below) if !directory.is_empty() && !below.is_empty() => below,
                _ => path,
            })
        }
        ObjectKind::TcpSocket | ObjectKind::UdpSocket => {
            let remote = object.remote.as_deref().unwrap_or(&object.label);
            let port = remote.rsplit(':').next().map(str::parse::<u16>);
            match port {
                Some(Ok(port)) if port < EPHEMERAL => remote.to_owned(),
                _ => object.kind.as_str().to_owned(),
            }
        }
        kind => kind.as_str().to_owned(),
    }
}

/// The name without what changes: numbers of three digits and more, and long words of hexadecimal digits, become `*`.
pub fn lasting(name: &str) -> String {
    const DIGITS: usize = 3;
    const HEX: usize = 8;
    let is_one = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let hex = word.bytes().all(|b| b.is_ascii_hexdigit());
        hex && word.len() >= HEX && digits > 0
    };
    let mut lasting = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let word = end(|c| c.is_ascii_alphanumeric());
        let digits = end(|c| c.is_ascii_digit());
        let (taken, shown) = if is_one(&rest[..word]) {
            (word, "*")
        } else if digits >= DIGITS {
            (digits, "*")
        } else {
            // A word is looked at from its start only: `x86` has no number in it that changes.
            let letters = end(|c| c.is_ascii_alphabetic());
            let taken = digits.max(letters).max(first.len_utf8());
            (taken, &rest[..taken])
        };
        if !(shown == "*" && lasting.ends_with('*')) {
            lasting.push_str(shown);
        }
        rest = &rest[taken..];
    }
    lasting
}

#[cfg(test)]
mod tests {
    use super::lasting;

    /// What changes between runs is left out of a name, and what was chosen stays.
    #[test]
    fn what_lasts_of_a_name() {
        for (name, wanted) in [
            ("rows.db", "rows.db"),
            ("/proc/4711/stat", "/proc/*/stat"),
            ("rows-20261121.db", "rows-*.db"),
            ("libfoo.so.1.2.13", "libfoo.so.1.2.13"),
            ("/x86_64/store2", "/x86_64/store2"),
            ("9f1c2e77-ab12-4c3d", "*-ab12-4c3d"),
            ("worker-12", "worker-12"),
            ("Zürich データ", "Zürich データ"),
            ("a12345b", "a*b"),
            ("", ""),
        ] {
            assert_eq!(lasting(name), wanted, "{name}");
        }
    }
}
