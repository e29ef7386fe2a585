//! Names of what rustc has put into another function. With line tables only it says no more of a closure than `{closure#0}`, and of the body
//! of an `async fn` `{async_fn#0}`: whose they are is then to be seen in who calls them, which was made for that type:
//! `poll<service::scrub::{async_fn_env#0}>` calls the one of `service::scrub`.

use std::collections::BTreeSet;

use super::Named;
use crate::symbols::demangle::cut;
use crate::symbols::texts::Texts;

/// Completes the names of calls that were put into each other, the innermost first, as far as those around them tell.
pub(super) fn complete(frames: &mut [Named], texts: &mut Texts) {
    for at in 0..frames.len() {
        let Some(bare) = bare(&frames[at].function) else {
            continue;
        };
        let mut around = frames[at + 1..].iter();
        let owner = around
            .find_map(|outer| Some(owners(&outer.function, bare)).filter(|all| !all.is_empty()));
        // Where several may be meant, none is named.
        if let Some([owner]) = owner.map(Vec::from_iter).as_deref() {
            let name = format!("{owner}::{}", frames[at].function);
            frames[at].function = texts.keep(&cut(&name));
        }
    }
}

/// `{closure#0}` of `{closure#0}<u8>`; of a name that says more, nothing.
fn bare(name: &str) -> Option<&str> {
    let end = name.find('}').filter(|_| name.starts_with('{'))?;
    let rest = &name[end + 1..];
    (rest.is_empty() || rest.starts_with('<')).then(|| &name[..=end])
}

/// The functions whose closure `{closure#0}` is among the types in this name.
fn owners<'n>(name: &'n str, bare: &str) -> BTreeSet<&'n str> {
    let Some((kind, number)) = bare.trim_matches(['{', '}']).split_once('#') else {
        return BTreeSet::new();
    };
    let kept = format!("::{{{kind}_env#{number}}}");
    let all = name.match_indices(&kept);
    let all = all.map(|(at, _)| path_before(&name[..at]));
    all.filter(|path| !path.is_empty()).collect()
}

/// The path that a text ends with: `a::b` of `call<u8, a::b`.
fn path_before(text: &str) -> &str {
    let mut depth = 0usize;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        match c {
            '>' => depth += 1,
            '<' if depth > 0 => depth -= 1,
            '<' | '(' | '[' | ',' | ' ' | '&' | '*' if depth == 0 => break,
            _ => {}
        }
        start = at;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn completed(names: &[&str]) -> Vec<String> {
        let named = |name: &&str| Named {
            function: Arc::from(*name),
            file: Arc::from("/srv/main.rs"),
            line: Some(1),
            inlined: true,
        };
        let mut frames: Vec<Named> = names.iter().map(named).collect();
        complete(&mut frames, &mut Texts::default());
        frames
            .iter()
            .map(|frame| frame.function.to_string())
            .collect()
    }

    #[test]
    fn closures_have_the_name_of_their_function() {
        let calls = [
            "{closure#0}",
            "fold<u8, u32, service::crc_by_table::{closure_env#0}>",
            "service::crc_by_table",
            "{async_fn#0}",
            "poll<service::scrub::{async_fn_env#0}>",
            "{closure#1}<(), u8>",
            "with<service::{impl#2}::new::{closure#0}::{closure_env#1}<u8>>",
        ];
        let told = completed(&calls);
        assert_eq!(told[0], "service::crc_by_table::{closure#0}");
        assert_eq!(told[3], "service::scrub::{async_fn#0}");
        assert_eq!(
            told[5],
            "service::{impl#2}::new::{closure#0}::{closure#1}<(), u8>"
        );
        for at in [1, 2, 4, 6] {
            assert_eq!(told[at], calls[at]);
        }
    }

    /// A name that is wrong is worse than one that is short.
    #[test]
    fn closures_that_may_be_of_several_functions_stay() {
        let of_two = [
            "{closure#0}",
            "zip<a::first::{closure_env#0}, a::second::{closure_env#0}>",
        ];
        assert_eq!(completed(&of_two)[0], "{closure#0}");
        let of_another = ["{closure#0}", "map<a::first::{closure_env#1}>", "a::first"];
        assert_eq!(completed(&of_another)[0], "{closure#0}");
        assert_eq!(completed(&["{closure#0}"])[0], "{closure#0}");
    }

    #[test]
    fn hostile_names_of_closures_do_no_harm() {
        for name in ["{", "{}", "{}<", "{#}", "{a#b}<>>>>", "}{", "{\u{fc}#0}"] {
            for outer in [
                "",
                "<::{_env#}",
                "::{a_env#b}",
                ">>>::{a_env#b}",
                "\u{fc}<::{\u{fc}_env#0}",
            ] {
                completed(&[name, outer]);
            }
        }
    }
}
