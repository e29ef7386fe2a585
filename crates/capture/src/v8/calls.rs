//! Where in its text a function calls another one. V8 does not keep the lines of calls unless somebody asks for them (an exception
//! with a stack trace does), so they are looked for in the text: a name that is called once in a function is called there.
//!
//! What stands in functions within the function is not the function's own call. Text that is not understood tells nothing.

/// The only call of this name in the text of a function, as the index of its first character. `is_script`: the text is a whole script,
/// which has no parameters.
pub(super) fn only_call(text: &[u16], name: &str, is_script: bool) -> Option<usize> {
    let name: Vec<u16> = name.encode_utf16().collect();
    let tokens = tokens(text)?;
    let walk = Walk {
        text,
        matching: matching(&tokens)?,
        tokens,
    };
    let first = if is_script { 0 } else { walk.body()? };
    let mut calls = walk.calls(first, &name).into_iter();
    let call = calls.next()?;
    calls.next().is_none().then(|| walk.tokens[call].start)
}

/// What a function is called in a call: `area` of `Shape.area`. `None` for what has no such name.
pub(super) fn called(name: &str) -> Option<&str> {
    let last = name.rsplit('.').next()?;
    let is_name = !last.is_empty() && last.encode_utf16().all(is_of_word);
    is_name.then_some(last)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Word,
    /// A string, a regular expression, a part of a template.
    Literal,
    Open,
    Close,
    /// `=>`
    Arrow,
    /// Any other character.
    Sign(u16),
}

#[derive(Clone, Copy, Debug)]
struct Token {
    kind: TokenKind,
    start: usize,
    end: usize,
    /// A line has ended since the token before.
    on_new_line: bool,
}

fn is_of_word(character: u16) -> bool {
    match u8::try_from(character) {
        Ok(byte) => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#'),
        Err(_) => !is_line_end(character),
    }
}

fn is_line_end(character: u16) -> bool {
    matches!(character, 0x0a | 0x0d | 0x2028 | 0x2029)
}

fn is(character: Option<&u16>, wanted: u8) -> bool {
    character == Some(&u16::from(wanted))
}

/// After these words an operand follows, so that a slash begins a regular expression.
const BEFORE_OPERANDS: [&str; 15] = [
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "do",
    "else",
    "await",
    "yield",
    "instanceof",
    "default",
];

fn is_one_of(word: &[u16], words: &[&str]) -> bool {
    words
        .iter()
        .any(|one| one.encode_utf16().eq(word.iter().copied()))
}

/// The tokens of a text; `None` where it does not end as it should.
fn tokens(text: &[u16]) -> Option<Vec<Token>> {
    let mut scan = Scan {
        text,
        at: 0,
        on_new_line: false,
        templates: Vec::new(),
        tokens: Vec::new(),
    };
    while scan.at < text.len() {
        scan.next()?;
    }
    scan.templates.is_empty().then_some(scan.tokens)
}

struct Scan<'a> {
    text: &'a [u16],
    at: usize,
    on_new_line: bool,
    /// For each open brace whether a template goes on behind it.
    templates: Vec<bool>,
    tokens: Vec<Token>,
}

impl Scan<'_> {
    fn next(&mut self) -> Option<()> {
        let (text, start) = (self.text, self.at);
        let character = text[start];
        let following = text.get(start + 1);
        if is_line_end(character) {
            self.on_new_line = true;
            self.at += 1;
            return Some(());
        }
        match u8::try_from(character) {
            Ok(b' ' | b'\t' | 0x0b | 0x0c | 0xa0) => self.at += 1,
            Ok(b'/') if is(following, b'/') => {
                let rest = text[start..].iter();
                self.at += rest.take_while(|one| !is_line_end(**one)).count();
            }
            Ok(b'/') if is(following, b'*') => {
                let rest = &text[start + 2..];
                let mut pairs = rest.windows(2);
                let end = pairs.position(|two| is(two.first(), b'*') && is(two.get(1), b'/'))?;
                self.on_new_line |= rest[..end].iter().any(|one| is_line_end(*one));
                self.at = start + 2 + end + 2;
            }
            Ok(b'/') if self.takes_operand() => self.regular_expression()?,
            Ok(quote @ (b'"' | b'\'')) => self.string(quote)?,
            Ok(b'`') => self.template()?,
            Ok(b'{') => {
                self.templates.push(false);
                self.push(TokenKind::Open, 1);
            }
            Ok(b'}') => {
                let is_template = self.templates.pop()?;
                self.push(TokenKind::Close, 1);
                if is_template {
                    self.at -= 1;
                    self.template()?;
                }
            }
            Ok(b'(' | b'[') => self.push(TokenKind::Open, 1),
            Ok(b')' | b']') => self.push(TokenKind::Close, 1),
            Ok(b'=') if is(following, b'>') => self.push(TokenKind::Arrow, 2),
            _ if is_of_word(character) => {
                let rest = text[start..].iter();
                let length = rest.take_while(|one| is_of_word(**one)).count();
                self.push(TokenKind::Word, length);
            }
            _ => self.push(TokenKind::Sign(character), 1),
        }
        Some(())
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let start = self.at;
        self.at += length;
        self.tokens.push(Token {
            kind,
            start,
            end: self.at,
            on_new_line: std::mem::take(&mut self.on_new_line),
        });
    }

    /// Whether an operand may stand here, and no operator.
    fn takes_operand(&self) -> bool {
        self.tokens.last().is_none_or(|last| match last.kind {
            TokenKind::Word => is_one_of(&self.text[last.start..last.end], &BEFORE_OPERANDS),
            TokenKind::Literal | TokenKind::Close => false,
            TokenKind::Open | TokenKind::Arrow | TokenKind::Sign(_) => true,
        })
    }

    fn string(&mut self, quote: u8) -> Option<()> {
        self.literal(|character| character == quote)
    }

    fn regular_expression(&mut self) -> Option<()> {
        let mut in_class = false;
        self.literal(|character| {
            match character {
                b'[' => in_class = true,
                b']' => in_class = false,
                _ => {}
            }
            character == b'/' && !in_class
        })
    }

    /// From its first character to the one that ends it, in the same line.
    fn literal(&mut self, mut ends: impl FnMut(u8) -> bool) -> Option<()> {
        let mut at = self.at + 1;
        loop {
            let character = self.text.get(at)?;
            match u8::try_from(*character) {
                Ok(b'\\') => at += 1,
                Ok(b'\n' | b'\r') => return None,
                Ok(one) if ends(one) => break,
                _ => {}
            }
            at += 1;
        }
        self.push(TokenKind::Literal, at + 1 - self.at);
        Some(())
    }

    /// From a backquote, or the end of an expression within a template, to its end or the next expression.
    fn template(&mut self) -> Option<()> {
        let mut at = self.at + 1;
        loop {
            let character = self.text.get(at)?;
            match u8::try_from(*character) {
                Ok(b'\\') => at += 1,
                Ok(b'`') => {
                    self.push(TokenKind::Literal, at + 1 - self.at);
                    return Some(());
                }
                Ok(b'$') if is(self.text.get(at + 1), b'{') => {
                    self.push(TokenKind::Literal, at + 1 - self.at);
                    self.templates.push(true);
                    self.push(TokenKind::Open, 1);
                    return Some(());
                }
                _ => {}
            }
            at += 1;
        }
    }
}

/// For each bracket the index of the one that belongs to it; `None` if some have none.
fn matching(tokens: &[Token]) -> Option<Vec<usize>> {
    let mut matching = vec![usize::MAX; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Open => open.push(at),
            TokenKind::Close => {
                let first = open.pop()?;
                (matching[first], matching[at]) = (at, first);
            }
            _ => {}
        }
    }
    open.is_empty().then_some(matching)
}

struct Walk<'a> {
    text: &'a [u16],
    tokens: Vec<Token>,
    matching: Vec<usize>,
}

impl Walk<'_> {
    fn word(&self, at: usize) -> &[u16] {
        let word = self.tokens.get(at);
        let word = word.filter(|token| token.kind == TokenKind::Word);
        word.map_or(&[], |token| &self.text[token.start..token.end])
    }

    fn begins_with(&self, at: usize, character: u8) -> bool {
        let token = self.tokens.get(at);
        token.is_some_and(|token| is(self.text.get(token.start), character))
    }

    fn is_arrow(&self, at: usize) -> bool {
        let token = self.tokens.get(at);
        token.is_some_and(|token| token.kind == TokenKind::Arrow)
    }

    /// Where the body of the function begins, behind its parameters.
    fn body(&self) -> Option<usize> {
        let after = match self.begins_with(0, b'(') {
            true => self.matching[0] + 1,
            // An arrow function with one parameter.
            false if self.is_arrow(1) => 1,
            false => return None,
        };
        let body = after + usize::from(self.is_arrow(after));
        (body > after || self.begins_with(after, b'{')).then_some(body)
    }

    /// The calls of a name from this token on that no function within makes.
    fn calls(&self, first: usize, name: &[u16]) -> Vec<usize> {
        const CONTROL: [&str; 8] = [
            "if", "for", "while", "switch", "catch", "with", "await", "function",
        ];
        let mut calls = Vec::new();
        let mut at = first;
        while at < self.tokens.len() {
            if is_one_of(self.word(at), &["function"]) {
                at = self.after_function(at + 1);
                continue;
            }
            if self.is_arrow(at) {
                at = self.after_arrow(at + 1);
                continue;
            }
            let word = self.word(at);
            let optional = self.begins_with(at + 1, b'?') && self.begins_with(at + 2, b'.');
            let arguments = at + 1 + 2 * usize::from(optional);
            if !word.is_empty() && self.begins_with(arguments, b'(') {
                let after = self.matching[arguments] + 1;
                // A method, where its class or object is made.
                if self.begins_with(after, b'{') && !is_one_of(word, &CONTROL) {
                    at = self.matching[after] + 1;
                    continue;
                }
                if word == name {
                    calls.push(at);
                }
            }
            at += 1;
        }
        calls
    }

    /// Behind a function whose name or parameters begin here.
    fn after_function(&self, mut at: usize) -> usize {
        while at < self.tokens.len() && !self.begins_with(at, b'(') {
            at += 1;
        }
        let body = self.matching.get(at).map_or(at, |end| end + 1);
        match self.begins_with(body, b'{') {
            true => self.matching[body] + 1,
            false => body,
        }
    }

    /// Behind the body of an arrow function, which begins here.
    fn after_arrow(&self, mut at: usize) -> usize {
        if self.begins_with(at, b'{') {
            return self.matching[at] + 1;
        }
        let first = at;
        while let Some(token) = self.tokens.get(at) {
            match token.kind {
                TokenKind::Close => break,
                TokenKind::Sign(sign) if matches!(u8::try_from(sign), Ok(b',' | b';')) => break,
                // Without a semicolon, a new statement.
                TokenKind::Word if token.on_new_line && at > first && self.ends_operand(at - 1) => {
                    break;
                }
                TokenKind::Open => at = self.matching[at] + 1,
                _ => at += 1,
            }
        }
        at
    }

    fn ends_operand(&self, at: usize) -> bool {
        match self.tokens[at].kind {
            TokenKind::Word => !is_one_of(self.word(at), &BEFORE_OPERANDS),
            TokenKind::Literal | TokenKind::Close => true,
            TokenKind::Open | TokenKind::Arrow | TokenKind::Sign(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands where the only call was found.
    fn found(text: &str, name: &str, is_script: bool) -> Option<String> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let at = only_call(&units, name, is_script)?;
        let rest = String::from_utf16_lossy(&units[at..]);
        Some(rest.chars().take(12).collect())
    }

    fn in_function(text: &str) -> Option<String> {
        found(text, "load", false)
    }

    #[test]
    fn the_only_call_is_found() {
        for text in [
            "(a, b = load(1)) { const x = 1;\n return load(x); }",
            "() { db.load  (x) }",
            "() { db?.load(x) }",
            "() { load?.(x) }",
            "() { await load(x) }",
            "(row) => { load(row) }",
            "(row) => load(row)",
            "row => load(row)",
            "() { const f = 'load('; /* load( */ load(1) // load(\n }",
            "() { const r = /load(['\"])/g, half = a / 2; load(r) }",
            "() { log(`load( ${ load(`${x}`) } load(`) }",
            "() { for (const x of xs) load(x) }",
            "() { if (x) { load(x) } }",
        ] {
            let call = in_function(text);
            assert!(call.is_some_and(|call| call.starts_with("load")), "{text}");
        }
        assert_eq!(found("load(1)", "load", true).as_deref(), Some("load(1)"));
    }

    /// What functions within the function call is theirs.
    #[test]
    fn calls_of_functions_within_are_left_out() {
        for text in [
            "() { function g(x) { load(x) } g() }",
            "() { const g = async function* (x) { load(x) } }",
            "() { xs.map(x => load(x)) }",
            "() { xs.map((x) => { return load(x) }) }",
            "() { return { load(x) { return x }, get b() { return load(x) } } }",
            "() { class A { run(x) { load(x) } } }",
        ] {
            assert_eq!(in_function(text), None, "{text}");
        }
        let mixed = "() { const g = x => load(x)\n load(2) }";
        assert_eq!(in_function(mixed).as_deref(), Some("load(2) }"));
        let mixed = "() { xs.map(x => load(x), load(3)) }";
        assert_eq!(in_function(mixed).as_deref(), Some("load(3)) }"));
    }

    /// Two calls, none, and what is no call.
    #[test]
    fn what_is_not_known_is_not_told() {
        for text in [
            "() { load(1); load(2) }",
            "() { other(load) }",
            "() { preload(1); loader(2); load$(3) }",
            "() { load(1 }",
            "() { 'load(",
            "() { `load(1) }",
            "{ load(1) }",
            "",
        ] {
            assert_eq!(in_function(text), None, "{text}");
        }
    }

    #[test]
    fn names_as_they_are_called() {
        assert_eq!(called("load"), Some("load"));
        assert_eq!(called("Shape.area"), Some("area"));
        for name in ["", "(anonymous)", "a.<computed>", "get size"] {
            assert_eq!(called(name), None, "{name}");
        }
    }

    /// No text makes it fail.
    #[test]
    fn any_text_is_read_to_its_end() {
        let parts = [
            "(", ")", "{", "}", "[", "]", "`", "${", "'", "\"", "/", "*", "//", "/*", "*/", "=>",
            "load", "function", "x", ",", ";", "\n", "\\", " ", "?.", "\u{2028}",
        ];
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..20_000 {
            let count = random.usize(0..24);
            let text: String = (0..count)
                .map(|_| parts[random.usize(0..parts.len())])
                .collect();
            let _ = found(&text, "load", random.bool());
        }
    }
}
