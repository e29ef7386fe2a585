//! What runtimes call the code that they make: from the names in their maps to functions, files and lines.
//! Pure. Interpreted Java is all one piece of code, `Interpreter`: which method runs there is not in a map.

use super::Named;
use timesink_recording::words::Language;

/// What V8 says of functions before a `:`; the older versions have more words for the same.
const JAVASCRIPT: [&str; 5] = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
/// How far V8 has compiled it.
const TIERS: [char; 5] = ['~', '^', '*', '+', '\''];
/// How the place of a function begins that is no plain path.
const PLACES: [&str; 5] = [" /", " node:", " file:", " evalmachine.", " ["];

/// A name as a map has it.
pub fn understood(name: &str) -> (Named, Language) {
    if let Some(rest) = JAVASCRIPT.iter().find_map(|word| name.strip_prefix(word)) {
        return (
            javascript(rest.trim_start_matches(TIERS)),
            Language::JavaScript,
        );
    }
    match java(name) {
        Some(function) => (plain(&function), Language::Java),
        None => (plain(name), Language::Native),
    }
}

fn plain(function: &str) -> Named {
    Named {
        function: function.into(),
        file: "".into(),
        line: None,
        inlined: false,
    }
}

/// `leaf /path/file.js:12:34`: the place is that of the function's beginning. Both parts may hold spaces.
fn javascript(name: &str) -> Named {
    let place = PLACES.iter().filter_map(|begin| name.find(begin)).min();
    let Some(at) = place.or_else(|| name.rfind(' ')) else {
        return plain(called(name));
    };
    let (function, place) = (called(&name[..at]), &name[at + 1..]);
    let (file, line) = split_place(place);
    Named {
        function: function.into(),
        file: file.into(),
        line,
        inlined: false,
    }
}

fn called(name: &str) -> &str {
    match name.trim() {
        "" => "(anonymous)",
        name => name,
    }
}

/// File, line and column; the last, or the last two, may not be there.
fn split_place(place: &str) -> (&str, Option<u32>) {
    let number = |text: &str| text.parse::<u32>().ok();
    let Some((rest, last)) = place.rsplit_once(':') else {
        return (place, None);
    };
    let Some(last) = number(last) else {
        return (place, None);
    };
    match rest.rsplit_once(':') {
        Some((file, line)) if number(line).is_some() => (file, number(line)),
        _ => (rest, Some(last)),
    }
}

/// `double x.Y.method(int)` as the virtual machine's own map has it; `Lx/Y;::method` and `x.Y::method` as
/// agents write it.
fn java(name: &str) -> Option<String> {
    if let Some((class, method)) = name.split_once("::") {
        let signature = class
            .strip_prefix('L')
            .and_then(|class| class.strip_suffix(';'));
        let known = signature.is_some() || class.contains('.');
        let word = |text: &str| !text.is_empty() && !text.contains(' ');
        let method = method.split_once('(').map_or(method, |(method, _)| method);
        let class = signature.unwrap_or(class);
        let good = known && word(class) && word(method);
        return good.then(|| format!("{}.{method}", class.replace('/', ".")));
    }
    let (head, _) = name.strip_suffix(')')?.split_once('(')?;
    let (result, method) = head.split_once(' ')?;
    let good = !result.is_empty() && method.contains('.') && !method.contains(' ');
    good.then(|| method.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn javascript(name: &str) -> (String, String, Option<u32>) {
        let (named, language) = understood(name);
        assert_eq!(language, Language::JavaScript, "{name}");
        (
            named.function.to_string(),
            named.file.to_string(),
            named.line,
        )
    }

    /// Functions of JavaScript have a name, a file and a line, however far they are compiled.
    #[test]
    fn of_node() {
        let leaf = |file: &str, line| ("leaf".to_string(), file.to_string(), line);
        for name in [
            "JS:*leaf /a/f.js:12:34",
            "JS:~leaf /a/f.js:12:34",
            "LazyCompile:leaf /a/f.js:12",
        ] {
            assert_eq!(javascript(name), leaf("/a/f.js", Some(12)), "{name}");
        }
        assert_eq!(
            javascript("JS:^leaf /a b/f.js:1:2"),
            leaf("/a b/f.js", Some(1))
        );
        assert_eq!(javascript("JS:+leaf node:fs:1:2"), leaf("node:fs", Some(1)));
        assert_eq!(
            javascript("JS:*leaf file:///f.mjs:3:2"),
            leaf("file:///f.mjs", Some(3))
        );
        assert_eq!(javascript("JS:*leaf webpack:7:8"), leaf("webpack", Some(7)));
        let getter = ("get a".to_string(), "/f.js".to_string(), Some(5));
        assert_eq!(javascript("JS:*get a /f.js:5:6"), getter);
        let whole = ("(anonymous)".to_string(), "/f.js".to_string(), Some(1));
        assert_eq!(javascript("Eval:~ /f.js:1:1"), whole);
        assert_eq!(javascript("JS:*wasm-function[3]").0, "wasm-function[3]");
        assert_eq!(javascript("JS:").0, "(anonymous)");
    }

    /// Methods of Java are called as in a stack trace, whoever wrote the map.
    #[test]
    fn of_java() {
        for (name, function) in [
            ("double T.leaf(int)", "T.leaf"),
            (
                "java.lang.Object com.x.Y.get(java.lang.Object, long)",
                "com.x.Y.get",
            ),
            ("void java.lang.Object.<init>()", "java.lang.Object.<init>"),
            ("Lcom/x/Y;::method", "com.x.Y.method"),
            ("com.x.Y::method(II)", "com.x.Y.method"),
        ] {
            let (named, language) = understood(name);
            assert_eq!((&*named.function, language), (function, Language::Java));
        }
    }

    /// All else that a runtime makes is its own and keeps its name.
    #[test]
    fn of_runtimes() {
        for name in [
            "Interpreter",
            "StubRoutines (1)",
            "I2C/C2I adapters",
            "new_type_array Runtime1 stub",
            "Builtin:CEntry_Return1",
            "BytecodeHandler:LdaZero",
            "RegExp:a.b(c)",
            "std::vector(int)",
            "py::f:/a.py",
            "()",
            "::",
        ] {
            let (named, language) = understood(name);
            assert_eq!((&*named.function, language), (name, Language::Native));
        }
    }
}
