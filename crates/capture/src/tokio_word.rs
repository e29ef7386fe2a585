//! Where a program with tokio keeps which task each of its threads polls: a word of the thread's own memory. Pure.
//!
//! tokio notes the task's number as it begins to poll it and puts back what was there as it ends (`TaskIdGuard` of its
//! `runtime::task::core`, since 1.24). Where in its thread-local context that word lies depends on tokio's version and features, and on the
//! compiler. So no version is known here: what the code of those functions does is followed, in the program itself, and where
//! that does not tell one place, none is told.

use std::collections::HashSet;

use crate::address_space::ThreadLocal;
use crate::code_flow::{follow, Followed, Origin, Value};
use crate::symbols::FoundSymbol;

/// What stands in a program of the places in tokio's source, before its version.
pub const SOURCE: &[u8] = b"/tokio-1.";

/// The part of tokio that runs tasks, as both ways of making symbols write it.
const TASKS: &str = "5tokio7runtime4task";
/// Notes its argument, a number, and gives back what was there.
const ENTER: &str = "11TaskIdGuard5enter";
/// Notes the number of its task as well, once for each kind of task; where the compiler put the other one into this.
const SET_STAGE: &str = "9set_stage";
/// Without optimisation, what notes a number is given the context and calls for the rest.
const IN_CONTEXT: &str = "5tokio7runtime7context19set_current_task_id";
/// The memory of each thread that has the context.
const CONTEXT: &str = "5tokio7runtime7context7CONTEXT";

/// Parts of the names of what is given the context, and of its memory.
const CLOSURE: &str = "closure";
const VALUE: &str = "VAL";

/// Before 1.37, a word before the number says whether there is one.
const TAG: i64 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskWord {
    /// How far the number is from where FS points.
    pub offset: i64,
    /// The word before it says whether there is one.
    pub tagged: bool,
}

/// Whether it is a symbol that tells.
pub fn is_wanted(name: &str) -> bool {
    let noting = name.contains(ENTER) || name.contains(SET_STAGE);
    name.contains(TASKS) && noting || name.contains(IN_CONTEXT) || name.contains(CONTEXT)
}

/// Where the word is, by the symbols of a program, if that is certain.
pub fn task_word(symbols: &[FoundSymbol], storage: ThreadLocal) -> Option<TaskWord> {
    let named = |part: &'static str| {
        let found = symbols.iter().filter(move |s| s.name.contains(part));
        found.filter(|s| !s.bytes.is_empty())
    };
    let entered: Vec<_> = named(ENTER).map(|s| by_enter(&follow(&s.bytes))).collect();
    let unoptimised = entered.iter().all(Option::is_none);
    let word = if let Some(word) = in_context(symbols, storage).filter(|_| unoptimised) {
        word
    } else if entered.is_empty() {
        let found = named(SET_STAGE).map(|s| by_set_stage(&follow(&s.bytes)));
        only(found.filter(Option::is_some))?
    } else {
        only(entered)?
    };
    is_in(word, storage).then_some(word)
}

/// The one thing that all are.
fn only<T: Copy + Eq + std::hash::Hash>(found: impl IntoIterator<Item = Option<T>>) -> Option<T> {
    let different: HashSet<Option<T>> = found.into_iter().collect();
    let mut different = different.into_iter();
    different.next()?.filter(|_| different.next().is_none())
}

/// Where it notes its argument.
fn by_enter(followed: &Followed) -> Option<TaskWord> {
    noted(followed, |value| {
        value == Value::new(Origin::Argument(0), 0)
    })
}

/// Where it notes what it finds in its argument, the task.
fn by_set_stage(followed: &Followed) -> Option<TaskWord> {
    noted(followed, |value| match value.origin {
        Origin::Read(read) if value.plus == 0 => {
            let from = followed.reads.get(read).copied().flatten();
            from.is_some_and(|from| from.origin == Origin::Argument(0))
        }
        _ => false,
    })
}

/// The one word of the thread's memory into which it writes such a value, and which it reads, too.
fn noted(followed: &Followed, is_number: impl Fn(Value) -> bool) -> Option<TaskWord> {
    let writes = followed.writes.iter();
    let in_storage = writes.filter(|write| write.at.origin == Origin::Storage);
    let noted = in_storage.filter(|write| write.value.is_some_and(&is_number));
    let at = only(noted.map(|write| Some(write.at)))?;
    let is_read = followed.reads.contains(&Some(at));
    let tag = Value::new(at.origin, at.plus.wrapping_sub(TAG));
    let is_tag = Some(Value::new(Origin::Number, 1));
    let tagged = (followed.writes.iter()).any(|write| write.at == tag && write.value == is_tag);
    is_read.then_some(TaskWord {
        offset: at.plus,
        tagged,
    })
}

/// The same of a program that was not optimised: how far in the context what notes the number has another function do it, and where
/// the context is.
fn in_context(symbols: &[FoundSymbol], storage: ThreadLocal) -> Option<TaskWord> {
    let noting = symbols.iter().filter(|s| s.name.contains(IN_CONTEXT));
    let noting = noting.filter(|s| s.name.contains(CLOSURE) && !s.bytes.is_empty());
    let within = only(noting.map(|s| by_closure(&follow(&s.bytes))))?;
    let contexts = symbols.iter().filter(|s| s.name.contains(CONTEXT));
    let contexts = contexts.filter(|s| s.name.contains(VALUE) && s.start < storage.size);
    let context = only(contexts.map(|s| Some(s.start)))?;
    let distance = i64::try_from(storage.distance()?).ok()?;
    let offset = i64::try_from(context).ok()?.checked_add(within)?;
    Some(TaskWord {
        offset: offset.checked_sub(distance)?,
        tagged: false,
    })
}

/// How far behind its second argument, the context, is what it calls a function for, with what its first one leads to.
fn by_closure(followed: &Followed) -> Option<i64> {
    let leads_to = |value: Option<Value>, plus: i64| match value?.origin {
        Origin::Read(read) => {
            Some(followed.reads.get(read)? == &Some(Value::new(Origin::Argument(0), plus)))
        }
        _ => None,
    };
    let [[Some(place), number, next]] = followed.calls.as_slice() else {
        return None;
    };
    // Before 1.37 there are two words to be noted.
    let is_it = leads_to(*number, 0) == Some(true) && leads_to(*next, TAG) != Some(true);
    (is_it && place.origin == Origin::Argument(1)).then_some(place.plus)
}

/// Whether a word lies in the program's thread-local storage.
fn is_in(word: TaskWord, storage: ThreadLocal) -> bool {
    let first = word
        .offset
        .saturating_sub(if word.tagged { TAG } else { 0 });
    let whole = word.offset.checked_add(8).is_some_and(|end| end <= 0);
    let distance = storage.distance().and_then(|d| i64::try_from(d).ok());
    whole && word.offset % 8 == 0 && distance.is_some_and(|distance| first >= -distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tokio 1.54.1 by rustc 1.95, optimised: the word is 40 bytes behind the beginning of the context.
    const OPTIMISED: &[u8] = b"\x41\x56\x53\x50\x48\x89\xfb\x64\x48\x8b\x04\x25\0\0\0\0\x48\x8d\x80\0\xfc\xff\xff\
        \x0f\xb6\x48\x40\x83\xf9\x01\x74\x24\x83\xf9\x02\x75\x04\x31\xc9\xeb\x23\x48\x8d\x35\xe0\x80\xfe\xff\
        \x48\x89\xc7\x49\x89\xc6\xff\x15\x6c\x50\x72\0\x4c\x89\xf0\x41\xc6\x46\x40\x01\x48\x8b\x48\x28\
        \x48\x89\x58\x28\x48\x89\xc8\x48\x83\xc4\x08\x5b\x41\x5e\xc3";

    const STORAGE: ThreadLocal = ThreadLocal {
        size: 0x458,
        address: 0x18ce4f0,
        alignment: 8,
    };

    fn symbol(name: &str, bytes: &[u8]) -> FoundSymbol {
        FoundSymbol {
            name: name.into(),
            start: 0x1000,
            size: bytes.len() as u64,
            bytes: bytes.into(),
        }
    }

    fn enter(bytes: &[u8]) -> FoundSymbol {
        symbol("_ZN5tokio7runtime4task4core11TaskIdGuard5enter17hE", bytes)
    }

    #[test]
    fn the_word_is_where_a_number_is_noted() {
        let word = task_word(&[enter(OPTIMISED)], STORAGE);
        let expected = TaskWord {
            offset: 0x28 - 0x400,
            tagged: false,
        };
        assert_eq!(word, Some(expected));
        assert!(is_wanted(&enter(&[]).name));
        assert!(!is_wanted("_ZN5tokio7runtime4task3raw4poll17hE"));
    }

    /// tokio 1.48.0 merged into one crate: the end of what it does with a task's number in `set_stage`.
    #[test]
    fn the_word_is_where_the_number_of_a_task_is_noted() {
        let code = b"\x4c\x8b\x67\x08\x64\x4c\x8b\x34\x25\x58\xff\xff\xff\x64\x4c\x89\x24\x25\x58\xff\xff\xff\xc3";
        let name = "_ZN5tokio7runtime4task4core17Core$LT$T$C$S$GT$9set_stage17hE";
        let word = task_word(&[symbol(name, code)], STORAGE);
        assert_eq!(word.map(|word| word.offset), Some(-0xa8));
    }

    /// tokio 1.48.0, not optimised: 48 bytes behind the beginning of the context, which is the first in the program's storage.
    #[test]
    fn without_optimisation_it_is_what_is_handed_on() {
        let code = b"\x48\x83\xec\x18\x48\x89\x34\x24\x48\x89\xf8\x48\x8b\x3c\x24\x48\x89\x44\x24\x08\
            \x48\x89\x7c\x24\x10\x48\x83\xc7\x30\x48\x8b\x30\xff\x15\xda\x64\x07\x00\x48\x83\xc4\x18\xc3";
        let name =
            "_ZN5tokio7runtime7context19set_current_task_id28_$u7b$$u7b$closure$u7d$$u7d$17hE";
        let mut context = symbol("_ZN5tokio7runtime7context7CONTEXT3VAL17hE", &[]);
        context.start = 0;
        let all = [symbol(name, code), context, enter(b"\xc3")];
        let word = task_word(&all, STORAGE);
        assert_eq!(word.map(|word| word.offset), Some(0x30 - 0x458));
        assert_eq!(task_word(&all[..1], STORAGE), None);
    }

    #[test]
    fn what_is_not_certain_is_not_told() {
        let mut other = OPTIMISED.to_vec();
        let at = other.windows(4).position(|w| w == [0x48, 0x89, 0x58, 0x28]);
        // It writes where it did not read.
        other[at.unwrap() + 3] = 0x30;
        assert_eq!(task_word(&[enter(&other)], STORAGE), None);
        // Two versions of tokio do not keep it in one place.
        let read = other.windows(4).position(|w| w == [0x48, 0x8b, 0x48, 0x28]);
        other[read.unwrap() + 3] = 0x30;
        assert!(task_word(&[enter(&other)], STORAGE).is_some());
        assert_eq!(task_word(&[enter(OPTIMISED), enter(&other)], STORAGE), None);
        // It would lie outside of the program's storage.
        let small = ThreadLocal {
            size: 0x3d0,
            ..STORAGE
        };
        assert_eq!(task_word(&[enter(OPTIMISED)], small), None);
        for length in 0..OPTIMISED.len() - 15 {
            assert_eq!(task_word(&[enter(&OPTIMISED[..length])], STORAGE), None);
        }
        assert_eq!(task_word(&[], STORAGE), None);
    }

    #[test]
    fn any_bytes_are_followed_to_an_end() {
        let mut state = 7u64;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..64)
                .map(|_| {
                    state = state
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    (state >> 33) as u8
                })
                .collect();
            task_word(&[enter(&bytes)], STORAGE);
        }
    }
}
