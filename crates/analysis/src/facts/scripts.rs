//! Which script the interpreter of a process runs: people know `python3 indexer.py` by the script.

use timesink_recording::tables::Process;

use super::full_names::last_part;

/// What runs programs that are given as a file, by how its own name begins.
const INTERPRETERS: [&str; 9] = [
    "python", "pypy", "node", "ruby", "perl", "php", "bash", "dash", "java",
];
/// After these comes the program itself, not a file.
const TEXT_FOLLOWS: [&str; 4] = ["-c", "-e", "-r", "--eval"];
/// After these comes something else.
const VALUE_FOLLOWS: [&str; 8] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "-X",
    "-W",
    "--require",
];

/// The script, module or class that a process runs, if it is an interpreter that was given one.
pub fn script_of(process: &Process) -> Option<&str> {
    let interpreter = last_part(&process.executable);
    INTERPRETERS
        .iter()
        .find(|name| interpreter.starts_with(*name))?;
    let mut arguments = process.arguments.split('\0').skip(1);
    while let Some(argument) = arguments.next() {
        match argument {
            _ if TEXT_FOLLOWS.contains(&argument) => return None,
            _ if VALUE_FOLLOWS.contains(&argument) => drop(arguments.next()),
            "-m" | "-jar" => return arguments.next().map(last_part).filter(is_there),
            _ if argument.starts_with('-') => {}
            _ => return Some(last_part(argument)).filter(is_there),
        }
    }
    None
}

fn is_there(name: &&str) -> bool {
    !name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::draft;

    fn script(executable: &str, arguments: &str) -> Option<String> {
        let line = format!("process 1 p executable {executable} arguments \"{arguments}\"");
        script_of(&draft(&line).processes[0]).map(str::to_owned)
    }

    /// Options and what belongs to them are passed over; what is given as text is no script.
    #[test]
    fn scripts_are_among_the_arguments() {
        let python = |arguments: &str| script("/usr/bin/python3.11", arguments);
        let found = python("python3\0-u\0-W\0error\0/srv/web.py\0--port\080");
        assert_eq!(found.as_deref(), Some("web.py"));
        let module = python("python3\0-m\0http.server\08000");
        assert_eq!(module.as_deref(), Some("http.server"));
        assert_eq!(python("python3\0-c\0import time"), None);
        assert_eq!(python("python3"), None);
        let java = |arguments: &str| script("/usr/lib/jvm/bin/java", arguments);
        let class = java("java\0-Xmx1g\0-cp\0/srv/lib\0com.example.Main");
        assert_eq!(class.as_deref(), Some("com.example.Main"));
        let jar = java("java\0-jar\0/srv/app.jar");
        assert_eq!(jar.as_deref(), Some("app.jar"));
        assert_eq!(script("/srv/service", "service\0a.conf"), None);
    }
}
