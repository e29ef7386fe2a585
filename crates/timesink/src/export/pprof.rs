//! pprof's `profile.proto`, compressed with gzip. A sample for each thread, stack and kind of wait,
//! with labels for the thread; values are all time, time on a processor, time blocked, and how many
//! samples and waits it is from.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::Compression;
use prost::Message;
use timesink_analysis::ledger::{Account, ThreadLedger};
use timesink_analysis::stacks::StackIx;

use super::messages::pprof::{
    Function, Label, Line, Location, Mapping, Profile, Sample, ValueType,
};
use super::{missing, Export};
use crate::present::file_name;

pub(super) fn write(export: &Export, out: &mut impl Write) -> io::Result<()> {
    let mut zip = GzEncoder::new(out, Compression::default());
    zip.write_all(&profile(export).encode_to_vec())?;
    zip.finish()?;
    Ok(())
}

/// The table of strings; the first is the empty one.
struct StringTable {
    ids: BTreeMap<String, i64>,
    all: Vec<String>,
}

impl StringTable {
    fn new() -> StringTable {
        let mut strings = StringTable {
            ids: BTreeMap::new(),
            all: Vec::new(),
        };
        strings.id("");
        strings
    }

    fn id(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.ids.get(text) {
            return known;
        }
        let id = self.all.len() as i64;
        self.ids.insert(text.to_owned(), id);
        self.all.push(text.to_owned());
        id
    }
}

/// A profile under way.
struct Writing<'a> {
    export: &'a Export<'a>,
    profile: Profile,
    strings: StringTable,
    /// Locations of frames, by their index.
    frames: BTreeMap<usize, u64>,
    /// Locations of what is no frame: remainders, missing rows.
    others: BTreeMap<String, u64>,
    functions: BTreeMap<(String, String), u64>,
}

fn profile(export: &Export) -> Profile {
    let mut writing = Writing {
        export,
        profile: Profile::default(),
        strings: StringTable::new(),
        frames: BTreeMap::new(),
        others: BTreeMap::new(),
        functions: BTreeMap::new(),
    };
    for (name, unit) in [
        ("time", "nanoseconds"),
        ("cpu", "nanoseconds"),
        ("wait", "nanoseconds"),
        ("count", "count"),
    ] {
        let value = ValueType {
            r#type: writing.strings.id(name),
            unit: writing.strings.id(unit),
        };
        writing.profile.sample_type.push(value);
    }
    writing.mappings();
    for thread in export.threads() {
        writing.thread(thread);
    }
    let default_sample_type = writing.strings.id("time");
    Profile {
        time_nanos: signed(export.about.started_unix_ns),
        duration_nanos: signed(export.about.wall_ns),
        default_sample_type,
        string_table: writing.strings.all,
        ..writing.profile
    }
}

/// The format counts with a sign.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Writing<'_> {
    /// Modules as mappings, numbered by their index from 1. Where they lay in memory is not told: offsets
    /// are the modules' own, and the names are there already. Readers take the first for the program.
    fn mappings(&mut self) {
        let ledger = &self.export.facts.ledger;
        let main = ledger.main.and_then(|at| ledger.threads.get(at));
        let main = main.and_then(|thread| ledger.processes.get(thread.process?));
        let program = main.map_or("", |process| &process.row.executable);
        let mut modules: Vec<_> = (1u64..).zip(&self.export.stacks.code.modules).collect();
        // It may have been started by another path than the one that it was mapped by.
        modules.sort_by_key(|(_, module)| file_name(&module.path) != file_name(program));
        for (id, module) in modules {
            let mapping = Mapping {
                id,
                filename: self.strings.id(&module.path),
                build_id: self.strings.id(&module.build_id),
                // Nothing to look up.
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
            };
            self.profile.mapping.push(mapping);
        }
    }

    fn thread(&mut self, thread: &ThreadLedger) {
        let mut sums: BTreeMap<(StackIx, Account, &str), (u64, u64)> = BTreeMap::new();
        for event in self.export.events(thread.row.thread) {
            let key = (event.stack, event.account, event.detail.as_str());
            let (ns, count) = sums.entry(key).or_default();
            *ns = ns.saturating_add(event.ns);
            *count += 1;
        }
        for ((stack, account, detail), (ns, count)) in sums {
            let locations = self.stack(stack);
            self.sample(thread, locations, (account, detail), ns, count);
        }
        let rests: Vec<_> = self.export.rests(thread.row.thread).copied().collect();
        for rest in rests {
            let account = rest.missing.account();
            let location = self.other(&missing(rest.missing));
            self.sample(thread, vec![location], (account, ""), rest.ns, 0);
        }
    }

    fn sample(
        &mut self,
        thread: &ThreadLedger,
        location_id: Vec<u64>,
        (account, detail): (Account, &str),
        ns: u64,
        count: u64,
    ) {
        let of = |state| if state == account { ns } else { 0 };
        let value = [ns, of(Account::Cpu), of(Account::Wait), count];
        let (process, pid) = self.export.process(thread);
        let texts = [
            ("thread", thread.row.name.as_str()),
            ("process", process),
            ("state", account.word()),
            ("detail", detail),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        let mut label: Vec<Label> = texts
            .map(|(key, text)| Label {
                key: self.strings.id(key),
                str: self.strings.id(text),
                num: 0,
            })
            .collect();
        label.extend(
            [("tid", thread.row.tid), ("pid", pid)].map(|(key, number)| Label {
                key: self.strings.id(key),
                str: 0,
                num: i64::from(number),
            }),
        );
        self.profile.sample.push(Sample {
            location_id,
            value: value.map(signed).to_vec(),
            label,
        });
    }

    /// The locations of a stack, the innermost first.
    fn stack(&mut self, stack: StackIx) -> Vec<u64> {
        let code = &self.export.stacks.code;
        let mut locations = Vec::new();
        for (frame, function) in code.frames_of(stack) {
            let name = self.export.function(function);
            let Some((at, frame)) = frame else {
                locations.push(self.other(&name));
                continue;
            };
            let location = match self.frames.get(&at) {
                Some(&known) => known,
                None => {
                    let module = code.function(function).module;
                    let mapping = module.map_or(0, |at| at as u64 + 1);
                    let line = frame.line.unwrap_or(0);
                    let new = self.location(mapping, frame.offset, (&name, &frame.file), line);
                    self.frames.insert(at, new);
                    new
                }
            };
            locations.push(location);
        }
        locations
    }

    fn other(&mut self, name: &str) -> u64 {
        if let Some(&known) = self.others.get(name) {
            return known;
        }
        let location = self.location(0, 0, (name, ""), 0);
        self.others.insert(name.to_owned(), location);
        location
    }

    fn location(&mut self, mapping_id: u64, address: u64, named: (&str, &str), line: u32) -> u64 {
        let id = self.profile.location.len() as u64 + 1;
        let function_id = self.function(named);
        self.profile.location.push(Location {
            id,
            mapping_id,
            address,
            line: vec![Line {
                function_id,
                line: i64::from(line),
            }],
        });
        id
    }

    fn function(&mut self, (name, file): (&str, &str)) -> u64 {
        let key = (name.to_owned(), file.to_owned());
        if let Some(&known) = self.functions.get(&key) {
            return known;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(key, id);
        let function = Function {
            id,
            name: self.strings.id(name),
            system_name: self.strings.id(name),
            filename: self.strings.id(file),
        };
        self.profile.function.push(function);
        id
    }
}
