//! What of a command line could be a secret, and the same command line without it. It looks at what is customary: options
//! and variables whose names say so, addresses with a password in them, and the options of some programs. Pure; a secret
//! that looks like anything else stays.

/// What stands in a secret's place. How long that was is not told either.
pub const REDACTED: &str = "[redacted]";

/// Names that have this in them are those of secrets, whatever stands around it.
const TELLING: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authorization",
];
/// And those of which this is one word: `--db-pass`, `AWS_KEY`.
const TELLING_WORDS: [&str; 8] = [
    "pass", "pwd", "pw", "auth", "key", "cookie", "bearer", "pin",
];

/// Options of one letter that some programs have, whose value is a secret.
const OF_PROGRAMS: [(&str, &str); 6] = [
    ("sshpass", "-p"),
    ("redis-cli", "-a"),
    ("zip", "-P"),
    ("unzip", "-P"),
    ("ldapsearch", "-w"),
    ("openssl", "-k"),
];

/// What begins with `-p` and is no password: longer names of options that are written with one dash.
const NO_PASSWORDS: [&str; 12] = [
    "-path",
    "-perm",
    "-print",
    "-print0",
    "-printf",
    "-prune",
    "-pthread",
    "-pedantic",
    "-pipe",
    "-pie",
    "-pg",
    "-proxy",
];

/// A command's arguments, the name of the program first, without what looks like a secret.
pub fn arguments<T: AsRef<str>>(arguments: &[T]) -> Vec<String> {
    let all: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    words(&all, 0)
}

/// What is kept of a variable of the environment. Of a secret 16 bits of a checksum stay: they tell that it is another one, and
/// fit so many others that they do not tell which.
pub fn variable(name: &str, value: &str) -> String {
    // Working directories, for all their names.
    const PLAIN: [&str; 2] = ["PWD", "OLDPWD"];
    let is_secret = is_telling(name) && !PLAIN.contains(&name) && !value.is_empty();
    let kept = match is_secret {
        true => REDACTED.to_owned(),
        false => text(value),
    };
    match kept == value {
        true => kept,
        false => {
            let bits = crc32fast::hash(format!("{name}={value}").as_bytes()) & 0xffff;
            format!("{kept} {bits:04x}")
        }
    }
}

/// A text without what looks like a secret.
pub fn text(text: &str) -> String {
    assignments(&addresses(text))
}

/// How deep scripts within scripts are looked into: `sh -c "sh -c '...'"`.
const DEEPEST: u32 = 3;

fn words(all: &[&str], depth: u32) -> Vec<String> {
    let mut program = "";
    let mut is_value = false;
    let mut redacted = Vec::with_capacity(all.len());
    for (place, word) in all.iter().enumerate() {
        if std::mem::take(&mut is_value) && !word.is_empty() {
            // `-u name:password`: the name stays.
            let user = all[place - 1] == "-u" || all[place - 1] == "--user";
            redacted.push(match word.split_once(':').filter(|_| user) {
                Some((name, _)) => format!("{name}:{REDACTED}"),
                None if user => (*word).to_owned(),
                None => REDACTED.to_owned(),
            });
            continue;
        }
        is_value = asks_for_secret(program, word);
        redacted.push(redact(word, program, depth));
        let base = word.rsplit('/').next().unwrap_or(word);
        // Behind `sudo`, `env` and in scripts any word may be the program.
        if place == 0 || OF_PROGRAMS.iter().any(|(name, _)| *name == base) {
            program = base;
        }
    }
    redacted
}

/// Whether the next argument is the value of this one, and a secret.
fn asks_for_secret(program: &str, word: &str) -> bool {
    if word == "-u" || word == "--user" || OF_PROGRAMS.contains(&(program, word)) {
        return true;
    }
    let option = word.strip_prefix('-').filter(|name| name.len() > 1);
    option.is_some_and(|name| !name.contains(['=', ':', ' ']) && is_telling(name))
}

/// One argument. A script in it is looked at word by word.
fn redact(word: &str, program: &str, depth: u32) -> String {
    if let Some((name, value)) = word.split_once('=') {
        let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if !value.is_empty() && name.chars().all(plain) && is_telling(name) {
            return format!("{name}={REDACTED}");
        }
    }
    if let Some(secret) = word.strip_prefix("-p").filter(|rest| !rest.is_empty()) {
        // A port, or an option that only begins so.
        let port = secret
            .bytes()
            .all(|b| b.is_ascii_digit() || b":.-".contains(&b));
        let own = NO_PASSWORDS.contains(&word) || secret.contains([' ', '=']);
        let always = program.contains("mysql") || program.contains("mariadb");
        if always || !(port || own) {
            return format!("-p{REDACTED}");
        }
    }
    for (of, option) in OF_PROGRAMS {
        if of == program && word.len() > option.len() && word.starts_with(option) {
            return format!("{option}{REDACTED}");
        }
    }
    let mut text = addresses(word);
    if depth < DEEPEST && text.contains(char::is_whitespace) {
        text = script(&text, depth + 1);
    }
    assignments(&text)
}

/// The words of a script, with what lies between them as it is.
fn script(text: &str, depth: u32) -> String {
    // What is in quotes as a whole is a script within.
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
        if let Some(inner) = inner.filter(|inner| !inner.contains(quote)) {
            return format!("{quote}{}{quote}", script(inner, depth));
        }
    }
    let parts = split(text);
    let filled: Vec<&str> = parts.iter().map(|(word, _)| *word).collect();
    let redacted = words(&filled, depth);
    let parts = redacted.iter().zip(&parts);
    parts
        .flat_map(|(word, (_, blank))| [word, *blank])
        .collect()
}

/// Words, each with the blanks behind it. Blanks in quotes are part of a word.
fn split(text: &str) -> Vec<(&str, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut quote = None;
        let end = rest.find(|c: char| {
            match quote {
                Some(open) if open == c => quote = None,
                None if c == '"' || c == '\'' => quote = Some(c),
                _ => {}
            }
            quote.is_none() && c.is_whitespace()
        });
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let blank = behind.len() - behind.trim_start().len();
        parts.push((word, &behind[..blank]));
        rest = &behind[blank..];
    }
    parts
}

/// Whether something of this name is a secret.
fn is_telling(name: &str) -> bool {
    // `apiKey`, `api-key` and `API_KEY` are the same.
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    if TELLING.iter().any(|word| plain.contains(word)) {
        return true;
    }
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| {
        TELLING_WORDS
            .iter()
            .any(|word| part.eq_ignore_ascii_case(word))
    })
}

/// `scheme://user:password@host`, anywhere: the user stays. A user alone is one for ssh, and a token for http.
fn addresses(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        whole.push_str(before);
        let end = after.find(['/', '?', '#', ' ', '"', '\'']);
        let authority = &after[..end.unwrap_or(after.len())];
        rest = after;
        if let Some((who, _)) = authority.rsplit_once('@') {
            let web = before.ends_with("http://") || before.ends_with("https://");
            match who.split_once(':') {
                Some((user, _)) => whole.extend([user, ":", REDACTED]),
                None if web => whole.push_str(REDACTED),
                None => whole.push_str(who),
            }
            rest = &after[who.len()..];
        }
    }
    whole.push_str(rest);
    whole
}

/// `name=value` and `name: value` anywhere in it, of those names that say it: variables, options, queries, headers, JSON.
fn assignments(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at);
        let name = before.trim_end_matches(['"', '\'']);
        let begins = name.rfind(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)));
        let name = &name[begins.map_or(0, |at| {
            at + name[at..].chars().next().map_or(1, char::len_utf8)
        })..];
        whole.push_str(before);
        whole.push_str(&after[..1]);
        rest = &after[1..];
        if !is_telling(name) {
            continue;
        }
        let value = rest.trim_start_matches([' ', '"', '\'']);
        let (blank, value) = rest.split_at(rest.len() - value.len());
        // In quotes it ends with them. A header goes on to its end, with the kind of authorization and the secret itself.
        let ends: &[char] = match blank.chars().find(|&c| c != ' ') {
            Some('"') => &['"'],
            Some(_) => &['\''],
            None if after.starts_with(':') => &['"', '\'', '\n'],
            None => &['"', '\'', '\n', ',', ' ', '&', ';'],
        };
        let end = value.find(ends).unwrap_or(value.len());
        if end > 0 {
            whole.push_str(blank);
            whole.push_str(REDACTED);
            rest = &value[end..];
        }
    }
    whole.push_str(rest);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(line: &[&str]) -> String {
        arguments(line).join(" | ")
    }

    /// Command lines, and what is left of them.
    const LINES: &[(&[&str], &str)] = &[
        (
            &["psql", "--password=S3cret", "-h", "db"],
            "psql | --password=[redacted] | -h | db",
        ),
        (
            &["x", "--db-pass", "S3cret", "run"],
            "x | --db-pass | [redacted] | run",
        ),
        (&["x", "--apiKey=S3cret"], "x | --apiKey=[redacted]"),
        (&["x", "-token", "S3cret"], "x | -token | [redacted]"),
        (
            &["x", "--password", "-S3cret"],
            "x | --password | [redacted]",
        ),
        (
            &["mysql", "-uroot", "-pS3cret", "db"],
            "mysql | -uroot | -p[redacted] | db",
        ),
        (
            &["/usr/bin/mysqldump", "-p12345"],
            "/usr/bin/mysqldump | -p[redacted]",
        ),
        (
            &["sshpass", "-p", "S3cret", "ssh", "h"],
            "sshpass | -p | [redacted] | ssh | h",
        ),
        (
            &["redis-cli", "-a", "S3cret"],
            "redis-cli | -a | [redacted]",
        ),
        (
            &["unzip", "-PS3cret", "a.zip"],
            "unzip | -P[redacted] | a.zip",
        ),
        (
            &["env", "AWS_SECRET_ACCESS_KEY=S3cret", "A=1", "x"],
            "env | AWS_SECRET_ACCESS_KEY=[redacted] | A=1 | x",
        ),
        (&["env", "TOKEN=a=b/c&d e"], "env | TOKEN=[redacted]"),
        (
            &["psql", "postgres://ada:S3:c@ret@db:5432/x?sslmode=on"],
            "psql | postgres://ada:[redacted]@db:5432/x?sslmode=on",
        ),
        (
            &["git", "clone", "https://S3cret@git.example/r.git"],
            "git | clone | https://[redacted]@git.example/r.git",
        ),
        (
            &["git", "clone", "ssh://git@git.example/r.git"],
            "git | clone | ssh://git@git.example/r.git",
        ),
        (
            &["curl", "-u", "ada:S3cret", "http://h/?api_key=S3cret&a=1"],
            "curl | -u | ada:[redacted] | http://h/?api_key=[redacted]&a=1",
        ),
        (
            &["curl", "-H", "Authorization: Bearer S3cret"],
            "curl | -H | Authorization: [redacted]",
        ),
        (
            &[
                "curl",
                "-d",
                r#"{"user": "ada", "password": "S3cret", "n": 1}"#,
            ],
            r#"curl | -d | {"user": "ada", "password": "[redacted]", "n": 1}"#,
        ),
        (
            &[
                "sh",
                "-c",
                "cd x && X_TOKEN='S3 cret'  mysql -pS3cret --password S3cret db",
            ],
            "sh | -c | cd x && X_TOKEN=[redacted]  mysql -p[redacted] --password [redacted] db",
        ),
        (
            &["sh", "-c", "ssh h 'sh -c \"curl --token S3cret\"' x"],
            "sh | -c | ssh h 'sh -c \"curl --token [redacted]\"' x",
        ),
        (
            &["x", r#"{"password": "S3 cret, &", "n": 1}"#],
            r#"x | {"password": "[redacted]", "n": 1}"#,
        ),
        (
            &["x", "Server=h;Password=S3cret;Db=y"],
            "x | Server=h;Password=[redacted];Db=y",
        ),
    ];

    /// Options, variables, addresses, headers and scripts lose their secrets and nothing else.
    #[test]
    fn secrets_go() {
        for (line, expected) in LINES {
            assert_eq!(redacted(line), *expected);
        }
    }

    /// A variable that may be a secret leaves hardly anything of it, and still tells whether it is the same.
    #[test]
    fn variables() {
        let token = variable("API_TOKEN", "S3cret");
        assert_eq!(token.len(), "[redacted] 1234".len());
        assert_eq!(token, variable("API_TOKEN", "S3cret"));
        assert_ne!(token, variable("API_TOKEN", "S3cret2"));
        let database =
            |password: &str| variable("DATABASE_URL", &format!("pg://ada:{password}@db/x"));
        assert!(database("one").starts_with("pg://ada:[redacted]@db/x "));
        assert_ne!(database("one"), database("two"));
        assert_eq!(variable("LANG", "C.UTF-8"), "C.UTF-8");
        assert_eq!(variable("PWD", "/srv"), "/srv");
    }

    /// What is no secret stays as it is, with what is empty, odd or of other alphabets.
    #[test]
    fn all_else_stays() {
        for line in [
            &["find", ".", "-path", "./x", "-print0"][..],
            &["gcc", "-pthread", "-pipe", "a.c"],
            &["docker", "run", "-p8080:80", "-p", "80:80"],
            &["ls", "-l", "--color=auto", "a:b", "c=d", "=", ":", ""],
            &["x", "--ümlaut=ß", "日本=語: x", "http://h:80/a@b"],
            &["x", "--password="],
            &["psql", "-U", "ada", "-u", "ada"],
            &[],
        ] {
            assert_eq!(redacted(line), line.join(" | "));
        }
    }
}
