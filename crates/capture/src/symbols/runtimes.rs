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
    let known = java(name).map(|function| (function, Language::Java));
    let known = known.or_else(|| Some((dotnet(name)?, Language::DotNet)));
    match known.or_else(|| Some((erlang(name)?, Language::Erlang))) {
        Some((function, language)) => (plain(&function), language),
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

/// `int64 [App] App.Shop::Price(int32)[Optimized]`: what is returned, the assembly, the method with its parameters, how far it is
/// compiled. What calls compiled C, and other pieces that the runtime makes, is none of the program's methods.
fn dotnet(name: &str) -> Option<String> {
    const MADE: &str = "dynamicClass";
    let (signature, tier) = name.strip_suffix(']')?.rsplit_once('[')?;
    let word = |text: &str| !text.is_empty() && !text.contains([' ', '[', ']', '(']);
    if !word(tier) || !signature.ends_with(')') {
        return None;
    }
    // The assembly stands alone; those that parameters and what is returned are from stand right before a type.
    let assembly = signature.match_indices(" [").find_map(|(at, _)| {
        let (assembly, method) = signature[at + 2..].split_once("] ")?;
        word(assembly).then_some(method)
    });
    let (class, method) = assembly?.split_once("::")?;
    let (method, _) = method.split_once('(')?;
    let class = class.split_once('[').map_or(class, |(class, _)| class);
    (class != MADE && !method.is_empty()).then(|| method_of_dotnet(class, method))
}

/// As the program's author wrote it: what a compiler makes of a method that awaits or yields, of a lambda and of a function within one has
/// the method's name between `<` and `>`.
fn method_of_dotnet(class: &str, method: &str) -> String {
    let between = |text| -> Option<(&str, &str)> { str::strip_prefix(text, '<')?.split_once('>') };
    let (made, written): (Vec<&str>, Vec<&str>) =
        class.split('+').partition(|part| part.starts_with('<'));
    let of_class = made.last().and_then(|part| between(*part));
    let of_class = of_class.map(|(outer, _)| outer);
    let (outer, inner) = match between(method) {
        Some((outer, made)) => {
            let local = made.strip_prefix("g__");
            let local = local.and_then(|local| local.split_once('|'));
            let outer = Some(outer).filter(|outer| !outer.is_empty());
            let inner = local.map_or("lambda", |(local, _)| local);
            (outer.or(of_class), Some(inner))
        }
        None if method == "MoveNext" && of_class.is_some() => (of_class, None),
        None => (None, Some(method)),
    };
    let without_arity = |part: &'_ str| {
        part.split_once('`')
            .map_or(part.len(), |(name, _)| name.len())
    };
    let classes = written.into_iter().map(|part| &part[..without_arity(part)]);
    let all = classes.chain(outer).chain(inner);
    let all: Vec<&str> = all.filter(|part| !part.is_empty()).collect();
    all.join(".")
}

/// `$shop:price/1` of Erlang, `$'Elixir.Shop':price/1` of Elixir.
fn erlang(name: &str) -> Option<String> {
    let (module, function) = name.strip_prefix('$')?.split_once(':')?;
    fn unquoted(text: &str) -> &str {
        let inner = text.strip_prefix('\'');
        inner
            .and_then(|text| text.strip_suffix('\''))
            .unwrap_or(text)
    }
    let (function, arity) = function.rsplit_once('/')?;
    let is_arity = !arity.is_empty() && arity.bytes().all(|byte| byte.is_ascii_digit());
    let module = unquoted(module);
    if !is_arity || module.is_empty() || module == "global" {
        return None;
    }
    let function = unquoted(function);
    Some(match module.strip_prefix("Elixir.") {
        Some(module) => format!("{module}.{function}/{arity}"),
        None => format!("{module}:{function}/{arity}"),
    })
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

    /// All of these names are understood as functions of this language.
    fn all_are(language: Language, names: &[(&str, &str)]) {
        for (name, function) in names {
            let (named, found) = understood(name);
            assert_eq!((&*named.function, found), (*function, language));
        }
    }

    /// Methods of Java are called as in a stack trace, whoever wrote the map.
    #[test]
    fn of_java() {
        let names = [
            ("double T.leaf(int)", "T.leaf"),
            (
                "java.lang.Object com.x.Y.get(java.lang.Object, long)",
                "com.x.Y.get",
            ),
            ("void java.lang.Object.<init>()", "java.lang.Object.<init>"),
            ("Lcom/x/Y;::method", "com.x.Y.method"),
            ("com.x.Y::method(II)", "com.x.Y.method"),
        ];
        all_are(Language::Java, &names);
    }

    /// Methods of .NET are called as their author wrote them.
    #[test]
    fn of_dotnet() {
        let names = [
            ("int64 [P] P::Checksum(int32)[Optimized]", "P.Checksum"),
            ("void [P] P::Main(string[])[QuickJitted]", "P.Main"),
            (
                "class [System.Private.CoreLib]System.Threading.Tasks.Task [P] A.P::Art()[QuickJitted]",
                "A.P.Art",
            ),
            ("instance void [P] P+<Delayed>c__async0::MoveNext()[Optimized]", "P.Delayed"),
            ("instance void [P] N.P+<Delayed>d__7::MoveNext()[OptimizedTier1]", "N.P.Delayed"),
            ("instance void [P] P+<Main>c__AnonStorey3::<>m__0()[Optimized]", "P.Main.lambda"),
            ("instance void [P] P+<>c::<Main>b__0_0()[Tier0]", "P.Main.lambda"),
            ("void [P] P::<Main>m__0()[Optimized]", "P.Main.lambda"),
            ("int32 [P] P::<Main>g__Twice|0_0(int32)[Tier1]", "P.Main.Twice"),
            (
                "instance !0 [System.Private.CoreLib] System.Collections.Generic.List`1[System.Int32]::get_Item(int32)[Tier0]",
                "System.Collections.Generic.List.get_Item",
            ),
            ("void [P] P::.cctor()[QuickJitted]", "P..cctor"),
        ];
        all_are(Language::DotNet, &names);
    }

    /// Functions of Erlang and Elixir are called as in their own stack traces.
    #[test]
    fn of_erlang() {
        let names = [
            ("$cpu:search/2", "cpu:search/2"),
            ("$cpu:'-main/0-lc$^0/1-0-'/2", "cpu:-main/0-lc$^0/1-0-/2"),
            ("$'Elixir.W':crunch/0", "W.crunch/0"),
            (
                "$'Elixir.Enum':'-reduce/3-lists^foldl/2-0-'/3",
                "Enum.-reduce/3-lists^foldl/2-0-/3",
            ),
        ];
        all_are(Language::Erlang, &names);
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
            "$global::call_light_bif_shared",
            "int32 [System.Net.Sockets] dynamicClass::IL_STUB_PInvoke(native int)[Optimized]",
            "stub<95> AllocateTemporaryEntryPoints<PRECODE_FIXUP>",
            "()",
            "::",
        ] {
            let (named, language) = understood(name);
            assert_eq!((&*named.function, language), (name, Language::Native));
        }
    }
}
