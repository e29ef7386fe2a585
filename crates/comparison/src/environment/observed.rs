//! What a run was seen to use.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::facts::files::FileUse;
use timesink_analysis::facts::Facts;
use timesink_analysis::ledger::Kind;
use timesink_recording::words::FactKind::{self, *};
use timesink_recording::words::{Detail, ModuleKind, ObjectKind};

use super::{Environment, Sources};

/// So many paths that did not exist are told, those that were looked for most often.
const MISSING: usize = 100;

/// What a run had to do with.
pub struct Used {
    network: bool,
    writes: bool,
    /// Files of which it read no more than it wrote: they are what came of it.
    written: BTreeSet<String>,
    /// Files that it was given open, and did not read.
    unused: BTreeSet<String>,
}

impl Used {
    pub fn of(facts: &Facts) -> Used {
        let is_network =
            |kind: ObjectKind| matches!(kind, ObjectKind::TcpSocket | ObjectKind::UdpSocket);
        let written = facts.files.iter().filter(|file| file.bytes_written > 0);
        let own = |file: &&FileUse| file.bytes_read <= file.bytes_written;
        let only = written.clone().filter(own);
        let unused = facts
            .files
            .iter()
            .filter(|file| file.opened == 0 && file.bytes_read == 0);
        let path = |object| facts.object(object).and_then(|object| object.path.clone());
        Used {
            network: facts.objects.iter().any(|object| is_network(object.kind)),
            writes: written.count() > 0,
            written: only.filter_map(|file| path(file.object)).collect(),
            unused: unused.filter_map(|file| path(file.object)).collect(),
        }
    }

    /// A file of which no more was read than written is what came of the run, not what went into it.
    pub fn kind_of(&self, kind: FactKind, key: &str) -> FactKind {
        match kind {
            File if self.written.contains(key) => Outcome,
            File if file_name(key).contains(".so") && !key.ends_with(".cache") => Library,
            kind => kind,
        }
    }

    pub fn touches(&self, kind: FactKind, key: &str) -> bool {
        match kind {
            Network => self.network,
            Writeback => self.writes,
            Variable => is_known_variable(key),
            File | Outcome => !self.unused.contains(key),
            Security => matches!(key, "randomize_va_space" | "addresses of the program"),
            Namespaces | Ulimits | Uptime | Tracers | Numa => false,
            _ => true,
        }
    }
}

/// Variables that libraries and runtimes go by; what others are for, only the program knows.
pub fn is_known_variable(name: &str) -> bool {
    const STARTS: [&str; 13] = [
        "LD_", "MALLOC_", "LC_", "PYTHON", "NODE_", "JAVA_", "JDK_", "RUBY", "PERL", "OMP_",
        "TOKIO_", "RUST_", "UV_",
    ];
    const NAMES: [&str; 9] = [
        "LANG",
        "GLIBC_TUNABLES",
        "GOMAXPROCS",
        "GOGC",
        "GODEBUG",
        "GOMEMLIMIT",
        "TMPDIR",
        "PATH",
        "TZ",
    ];
    STARTS.iter().any(|start| name.starts_with(start))
        || NAMES.contains(&name)
        || name.ends_with("_NUM_THREADS")
        || name.to_ascii_lowercase().ends_with("_proxy")
}

/// Of the kind `Outcome`: how the run ended.
pub const END: &str = "end";
/// Of the kind `Invocation`: what the program was given.
pub const ARGUMENTS: &str = "arguments";

pub fn add(environment: &mut Environment, sources: &Sources<'_>, used: &Used) {
    add_programs(environment, sources);
    add_modules(environment, sources);
    add_files(environment, sources.facts, used);
    add_peers(environment, sources.facts);
    let about = sources.about;
    let ended = match (about.exit_code, about.exit_signal) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        _ => "still ran".to_owned(),
    };
    environment.add_observed(Outcome, END, ended);
    if let Some(arguments) = about.command.get(1..) {
        environment.add_observed(Invocation, ARGUMENTS, arguments.join(" "));
    }
    let causes = sources
        .facts
        .ledger
        .threads
        .iter()
        .flat_map(|thread| &thread.causes);
    let reads = causes.filter(|cause| cause.key.kind == Kind::As(Detail::DiskRead));
    let reads: u64 = reads.map(|cause| cause.count).sum();
    environment.add_observed(PageCache, "waits for data from disks", reads.to_string());
}

fn add_programs(environment: &mut Environment, sources: &Sources<'_>) {
    let ledger = &sources.facts.ledger;
    let main = ledger.main.and_then(|main| ledger.threads.get(main));
    let main = main.map(|thread| thread.row.process);
    for process in &ledger.processes {
        let path = process.row.executable.as_str();
        if Some(process.row.process) != main && !path.is_empty() {
            environment.add_observed(Children, file_name(path), path);
        }
        if Some(process.row.process) == main && !path.is_empty() {
            let module = sources.modules.iter().find(|module| module.path == path);
            let build = module.map_or("", |module| &module.build_id);
            environment.add_observed(Executable, file_name(path), identified(path, build));
        }
    }
}

fn identified(path: &str, build: &str) -> String {
    match build {
        "" => path.to_owned(),
        _ => format!("{path} build={build}"),
    }
}

fn add_modules(environment: &mut Environment, sources: &Sources<'_>) {
    const ALLOCATORS: [&str; 4] = ["jemalloc", "tcmalloc", "mimalloc", "snmalloc"];
    const INTERPRETERS: [(&str, &str); 7] = [
        ("libpython", "Python"),
        ("python3", "Python"),
        ("libjvm", "Java"),
        ("node", "Node.js"),
        ("libruby", "Ruby"),
        ("perl", "Perl"),
        ("php", "PHP"),
    ];
    let mut allocator = "the C library's";
    for module in sources
        .modules
        .iter()
        .filter(|module| module.kind == ModuleKind::File)
    {
        let name = file_name(&module.path);
        let told = identified(&module.path, &module.build_id);
        if let Some(found) = ALLOCATORS.iter().find(|known| name.contains(**known)) {
            allocator = found;
        }
        if let Some((_, language)) = INTERPRETERS
            .iter()
            .find(|(start, _)| name.starts_with(start))
        {
            environment.add_observed(Interpreter, language, &told);
        }
    }
    environment.add_observed(Allocator, "in use", allocator);
}

/// `libssl.so.3` and `libssl.so.1.1` are two of one library.
pub fn library_name(path: &str) -> &str {
    let name = file_name(path);
    name.split(".so").next().unwrap_or(name)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Files of which the live system told nothing, with what was seen of them; and paths that did not exist.
fn add_files(environment: &mut Environment, facts: &Facts, used: &Used) {
    for file in &facts.files {
        let object = facts.object(file.object);
        let path = object.and_then(|object| object.path.as_deref());
        let system = object.and_then(|object| object.filesystem.as_deref());
        let of_the_kernel = matches!(system, Some("proc" | "sysfs" | "cgroup2" | "devtmpfs"));
        let Some((path, size)) = path.zip(file.size).filter(|_| !of_the_kernel) else {
            continue;
        };
        if !path.contains(".so") {
            environment.add_observed(used.kind_of(File, path), path, format!("size={size}"));
        }
    }
    for missing in facts.missing.iter().take(MISSING) {
        environment.add_observed(File, &missing.path, "does not exist");
    }
}

fn add_peers(environment: &mut Environment, facts: &Facts) {
    let mut protocols: BTreeMap<&str, &str> = BTreeMap::new();
    for object in &facts.objects {
        if let (Some(remote), Some(protocol)) = (&object.remote, &object.protocol) {
            if protocol != "unix" {
                protocols.insert(remote, protocol);
            }
        }
    }
    // Who is asked has the same port each time; who asks has another for each connection.
    const EPHEMERAL: u32 = 32_768;
    for (remote, protocol) in protocols {
        let Some((host, port)) = remote.rsplit_once(':') else {
            continue;
        };
        if port.parse::<u32>().is_ok_and(|port| port < EPHEMERAL) {
            environment.add_observed(Peer, &format!("port {port}"), host);
            environment.add_observed(Protocol, &format!("port {port}"), protocol);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::recording;

    /// What a run wrote itself is what came of it, also if it read that again. Of a file of which it read more there was something.
    #[test]
    fn what_was_written_is_an_outcome() {
        let drawn = recording(
            "object log file /log
             object sorted file /sorted
             object t.db file /t.db
             object conf file /conf
             process 1 sort
             thread 1.1 sort
             call 1.1 write log count 1 bytes 10
             call 1.1 write sorted count 3 bytes 9933
             call 1.1 read sorted count 2 bytes 9933
             call 1.1 pwrite64 t.db count 2 bytes 8192
             call 1.1 pread64 t.db count 9 bytes 36864
             call 1.1 read conf count 1 bytes 60
             1.1: cpu 0..10ms",
        );
        let used = Used::of(&Facts::of(&drawn).expect("it reads"));
        for (path, kind) in [
            ("/log", Outcome),
            ("/sorted", Outcome),
            ("/t.db", File),
            ("/conf", File),
        ] {
            assert_eq!(used.kind_of(File, path), kind, "{path}");
        }
    }
}
