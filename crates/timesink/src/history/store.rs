//! The file of a history: an SQLite database, which is read whole, changed in memory and put in the place of the old one in one
//! step. So it is never half written, has no journal beside it, and can be committed.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use anyhow::{bail, Context};
use rusqlite::{params, Connection, MAIN_DB};
use timesink_recording::files::{Folder, NewFile};
use timesink_recording::ErrorKind;

use super::{Commit, Confirmation, Facts, History, Measured, Run, Series, Verdict, What};
use crate::project::source::is_commit;
use crate::project::Project;

/// The version of what is kept.
const VERSION: i64 = 1;
/// "tsnk": whose file it is, for those who look at it with other tools.
const OURS: i64 = 0x7473_6e6b;
pub const FILE: &str = "history";
const ON_THE_WAY: &str = "history.partial";
/// A result takes a kilobyte or two: these are a hundred thousand of them.
const LONGEST: u64 = 256 << 20;
/// How long another process may be at work on it.
const PATIENCE: Duration = Duration::from_secs(10);

const WHAT_TO_DO: &str = "take it back from git or a backup, or move it away to begin anew";

const TABLES: [&str; 7] = [
    "CREATE TABLE series(id INTEGER PRIMARY KEY, what TEXT NOT NULL UNIQUE, setup TEXT, cleanup TEXT) STRICT",
    "CREATE TABLE facts(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, \
     UNIQUE(kind, key, value)) STRICT",
    "CREATE TABLE places(place INTEGER NOT NULL, fact INTEGER NOT NULL, PRIMARY KEY(place, fact)) STRICT, WITHOUT ROWID",
    "CREATE TABLE results(id INTEGER PRIMARY KEY, series INTEGER NOT NULL, measured_unix_s INTEGER NOT NULL, \
     commit_id TEXT, commit_unix_s INTEGER, is_changed INTEGER, place INTEGER NOT NULL) STRICT",
    "CREATE TABLE runs(result INTEGER NOT NULL, number INTEGER NOT NULL, wall_ns INTEGER NOT NULL, user_ns INTEGER NOT NULL, \
     system_ns INTEGER NOT NULL, memory_bytes INTEGER, metric REAL, PRIMARY KEY(result, number)) STRICT",
    "CREATE TABLE confirmations(id INTEGER PRIMARY KEY, series INTEGER NOT NULL, confirmed_unix_s INTEGER NOT NULL, \
     figure TEXT NOT NULL, old_commit TEXT NOT NULL, new_commit TEXT NOT NULL, commits INTEGER, verdict TEXT NOT NULL, \
     ratio REAL NOT NULL, lo REAL, hi REAL) STRICT",
    "CREATE TABLE pairs(confirmation INTEGER NOT NULL, number INTEGER NOT NULL, old REAL NOT NULL, new REAL NOT NULL, \
     PRIMARY KEY(confirmation, number)) STRICT",
];

impl Project {
    /// The history; `None` where nothing was kept yet. To be asked with the caller's rights.
    pub fn history(&self) -> anyhow::Result<Option<History>> {
        let Some(folder) = self.held()? else {
            return Ok(None);
        };
        let Some(bytes) = bytes(&folder)? else {
            return Ok(None);
        };
        let read = || history(&opened(&bytes)?);
        read()
            .with_context(|| folder.path_of(FILE).display().to_string())
            .map(Some)
    }

    /// Adds something, in one step: others who do so wait until it is done.
    pub fn add_to_history(
        &self,
        add: impl Fn(&Connection) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let folder = self.held_or_made()?;
        let _alone = alone(&folder)?;
        let path = folder.path_of(FILE);
        let changed = || -> anyhow::Result<Vec<u8>> {
            let connection = match bytes(&folder)? {
                Some(bytes) => opened(&bytes)?,
                None => new()?,
            };
            add(&connection)?;
            Ok(connection.serialize(MAIN_DB)?.to_vec())
        };
        let bytes = changed().with_context(|| path.display().to_string())?;
        put(&folder, &bytes)
            .with_context(|| format!("cannot write {}, which is as it was", path.display()))
    }
}

fn alone(folder: &Folder) -> anyhow::Result<std::fs::File> {
    let until = Instant::now() + PATIENCE;
    loop {
        match folder.lock() {
            Err(error) if error.kind() == ErrorKind::Exists && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            locked => return Ok(locked?),
        }
    }
}

fn put(folder: &Folder, bytes: &[u8]) -> anyhow::Result<()> {
    match folder.remove(ON_THE_WAY) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut file = NewFile::within(folder, ON_THE_WAY)?;
    file.write_all(bytes)?;
    file.file().sync_all()?;
    file.keep_as(FILE)?;
    Ok(folder.sync()?)
}

fn bytes(folder: &Folder) -> anyhow::Result<Option<Vec<u8>>> {
    let path = folder.path_of(FILE);
    let file = match folder.open_file(FILE) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > LONGEST {
        bail!("{} is larger than {} MB", path.display(), LONGEST >> 20);
    }
    Ok(Some(bytes))
}

fn new() -> anyhow::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    for table in TABLES {
        connection.execute(table, ())?;
    }
    connection.pragma_update(None, "application_id", OURS)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    Ok(connection)
}

/// What was read, if it is a history that we know and whole. Anybody may have written it.
fn opened(bytes: &[u8]) -> anyhow::Result<Connection> {
    // Which way SQLite writes it stands in its header: with the log, part of it may lie beside it.
    if bytes.get(18..20) == Some(&[2, 2]) {
        bail!("it is in WAL mode: sqlite3 .timesink/history 'PRAGMA journal_mode=DELETE' puts all of it into one file");
    }
    let read = || -> rusqlite::Result<(Connection, i64, i64)> {
        let mut connection = Connection::open_in_memory()?;
        connection.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), false)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get(0));
        let (ours, version) = (number("application_id")?, number("user_version")?);
        Ok((connection, ours, version))
    };
    let (connection, ours, version) =
        read().with_context(|| format!("not a history of timesink's: {WHAT_TO_DO}"))?;
    if ours != OURS {
        bail!("not a history of timesink's: {WHAT_TO_DO}");
    }
    if version > VERSION {
        bail!(
            "written by a newer timesink (version {version}, this one knows {VERSION}): install that one, or name another \
             folder for this one's results by a .timesink of its own"
        );
    }
    // First of all: what else is in it could be run by looking further.
    match tables(&connection) {
        Ok(tables) if tables == TABLES => {}
        Ok(_) => bail!("not the tables of a history: {WHAT_TO_DO}"),
        Err(error) => bail!("damaged ({error}): {WHAT_TO_DO}"),
    }
    let check = || -> rusqlite::Result<String> {
        connection.pragma_query_value(None, "integrity_check", |row| row.get(0))
    };
    match check() {
        Ok(fine) if fine == "ok" => Ok(connection),
        Ok(fault) => bail!("damaged ({fault}): {WHAT_TO_DO}"),
        Err(error) => bail!("damaged ({error}): {WHAT_TO_DO}"),
    }
}

/// What makes all that is in it.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut asked =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")?;
    let rows = asked.query_map((), |row| row.get(0))?;
    rows.collect()
}

/// What a result is of, as it was told.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    pub what: &'a What,
    pub setup: Option<&'a str>,
    pub cleanup: Option<&'a str>,
}

/// Adds a result.
pub fn add_result(
    connection: &Connection,
    series: &Told<'_>,
    facts: &Facts,
    measured: &Measured,
) -> anyhow::Result<()> {
    let told = serde_json::to_string(series.what)?;
    connection.execute(
        "INSERT INTO series(what, setup, cleanup) VALUES(?1, ?2, ?3) \
         ON CONFLICT(what) DO UPDATE SET setup = ?2, cleanup = ?3",
        params![told, series.setup, series.cleanup],
    )?;
    let id = "SELECT id FROM series WHERE what = ?1";
    let series: i64 = connection.query_row(id, [&told], |row| row.get(0))?;
    let place = place(connection, facts)?;
    let commit = measured.commit.as_ref();
    connection.execute(
        "INSERT INTO results(series, measured_unix_s, commit_id, commit_unix_s, is_changed, place) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            series,
            measured.measured_unix_s,
            commit.map(|commit| &commit.id),
            commit.map(|commit| commit.unix_s),
            commit.map(|commit| commit.is_changed),
            place
        ],
    )?;
    let result = connection.last_insert_rowid();
    let mut add = connection.prepare("INSERT INTO runs VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (number, run) in measured.runs.iter().enumerate() {
        add.execute(params![
            result,
            number + 1,
            run.wall_ns,
            run.user_ns,
            run.system_ns,
            run.memory_bytes,
            run.metric
        ])?;
    }
    Ok(())
}

/// The number of these facts; most results are measured where others were.
fn place(connection: &Connection, facts: &Facts) -> anyhow::Result<i64> {
    let known = places(connection)?;
    if let Some((place, _)) = known.iter().rev().find(|(_, known)| *known == facts) {
        return Ok(*place);
    }
    let number = known.keys().next_back().copied().unwrap_or(0) + 1;
    let mut keep =
        connection.prepare("INSERT OR IGNORE INTO facts(kind, key, value) VALUES(?1, ?2, ?3)")?;
    let mut add = connection.prepare(
        "INSERT INTO places SELECT ?1, id FROM facts WHERE kind = ?2 AND key = ?3 AND value = ?4",
    )?;
    for ((kind, key), value) in facts {
        keep.execute(params![kind, key, value])?;
        add.execute(params![number, kind, key, value])?;
    }
    Ok(number)
}

/// Adds what pairs said.
pub fn add_confirmation(
    connection: &Connection,
    series: i64,
    one: &Confirmation,
) -> anyhow::Result<()> {
    connection.execute(
        "INSERT INTO confirmations(series, confirmed_unix_s, figure, old_commit, new_commit, commits, verdict, ratio, lo, hi) \
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            series,
            one.confirmed_unix_s,
            one.figure,
            one.old,
            one.new,
            one.commits,
            one.verdict.word(),
            one.ratio,
            one.interval.map(|(lo, _)| lo),
            one.interval.map(|(_, hi)| hi)
        ],
    )?;
    let confirmation = connection.last_insert_rowid();
    let mut add = connection.prepare("INSERT INTO pairs VALUES(?1, ?2, ?3, ?4)")?;
    for (number, (old, new)) in one.pairs.iter().enumerate() {
        add.execute(params![confirmation, number + 1, old, new])?;
    }
    Ok(())
}

fn history(connection: &Connection) -> anyhow::Result<History> {
    let mut asked =
        connection.prepare("SELECT id, what, setup, cleanup FROM series ORDER BY id")?;
    let mut rows = asked.query(())?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        let what: String = row.get(1)?;
        all.push(Series {
            id,
            what: serde_json::from_str(&what).context("a command is told as no version does")?,
            setup: row.get(2)?,
            cleanup: row.get(3)?,
            results: results(connection, id)?,
            confirmations: confirmations(connection, id)?,
        });
    }
    Ok(History {
        series: all,
        places: places(connection)?,
    })
}

fn places(connection: &Connection) -> anyhow::Result<BTreeMap<i64, Facts>> {
    let mut asked =
        connection.prepare("SELECT place, kind, key, value FROM places JOIN facts ON id = fact")?;
    let rows = asked.query_map((), |row| {
        Ok((row.get(0)?, (row.get(1)?, row.get(2)?), row.get(3)?))
    })?;
    let mut places: BTreeMap<i64, Facts> = BTreeMap::new();
    for row in rows {
        let (place, key, value) = row?;
        places.entry(place).or_default().insert(key, value);
    }
    Ok(places)
}

fn results(connection: &Connection, series: i64) -> anyhow::Result<Vec<Measured>> {
    let mut asked = connection.prepare(
        "SELECT id, measured_unix_s, commit_id, commit_unix_s, is_changed, place FROM results WHERE series = ?1 \
         ORDER BY coalesce(commit_unix_s, measured_unix_s), measured_unix_s, id",
    )?;
    let rows = asked.query_map([series], |row| {
        let commit: Option<String> = row.get(2)?;
        let commit = commit.map(|id| {
            Ok::<_, rusqlite::Error>(Commit {
                id,
                unix_s: row.get(3)?,
                is_changed: row.get(4)?,
            })
        });
        let measured = Measured {
            measured_unix_s: row.get(1)?,
            commit: commit.transpose()?,
            place: row.get(5)?,
            runs: Vec::new(),
        };
        Ok((row.get::<_, i64>(0)?, measured))
    })?;
    let mut of_one = connection.prepare(
        "SELECT wall_ns, user_ns, system_ns, memory_bytes, metric FROM runs WHERE result = ?1 ORDER BY number",
    )?;
    let mut results = Vec::new();
    for row in rows {
        let (id, mut measured) = row?;
        if let Some(commit) = &measured.commit {
            checked(&commit.id)?;
        }
        let runs = of_one.query_map([id], |row| {
            Ok(Run {
                wall_ns: row.get(0)?,
                user_ns: row.get(1)?,
                system_ns: row.get(2)?,
                memory_bytes: row.get(3)?,
                metric: row.get(4)?,
            })
        })?;
        measured.runs = runs.collect::<rusqlite::Result<_>>()?;
        results.push(measured);
    }
    Ok(results)
}

/// Git is asked about it, and it is printed.
fn checked(commit: &str) -> anyhow::Result<()> {
    match is_commit(commit) {
        true => Ok(()),
        false => bail!("{commit:?} is no commit: {WHAT_TO_DO}"),
    }
}

fn confirmations(connection: &Connection, series: i64) -> anyhow::Result<Vec<Confirmation>> {
    let mut asked = connection.prepare(
        "SELECT id, confirmed_unix_s, figure, old_commit, new_commit, commits, verdict, ratio, lo, hi FROM confirmations \
         WHERE series = ?1 ORDER BY confirmed_unix_s, id",
    )?;
    let rows = asked.query_map([series], |row| {
        let word: String = row.get(6)?;
        let verdict = Verdict::ALL.into_iter().find(|one| one.word() == word);
        let (lo, hi): (Option<f64>, Option<f64>) = (row.get(8)?, row.get(9)?);
        let one = Confirmation {
            confirmed_unix_s: row.get(1)?,
            figure: row.get(2)?,
            old: row.get(3)?,
            new: row.get(4)?,
            commits: row.get(5)?,
            verdict: verdict.unwrap_or(Verdict::Undecided),
            ratio: row.get(7)?,
            interval: lo.zip(hi),
            pairs: Vec::new(),
        };
        Ok((row.get::<_, i64>(0)?, one))
    })?;
    let mut of_one =
        connection.prepare("SELECT old, new FROM pairs WHERE confirmation = ?1 ORDER BY number")?;
    let mut all = Vec::new();
    for row in rows {
        let (id, mut one) = row?;
        checked(&one.old).and_then(|()| checked(&one.new))?;
        let pairs = of_one.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        one.pairs = pairs.collect::<rusqlite::Result<_>>()?;
        all.push(one);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::confirmed;

    fn filled(history: &History) -> anyhow::Result<Connection> {
        let connection = new()?;
        for series in &history.series {
            for result in series.results.iter().rev() {
                let facts = &history.places[&result.place];
                let told = Told {
                    what: &series.what,
                    setup: series.setup.as_deref(),
                    cleanup: series.cleanup.as_deref(),
                };
                add_result(&connection, &told, facts, result)?;
            }
            for one in &series.confirmations {
                add_confirmation(&connection, series.id, one)?;
            }
        }
        Ok(connection)
    }

    fn file(connection: &Connection) -> Vec<u8> {
        connection.serialize(MAIN_DB).expect("memory").to_vec()
    }

    /// What is kept is read again, in the order of commits, and the same place is kept once.
    #[test]
    fn what_is_kept_is_read_again() {
        let mut want = confirmed();
        want.places.remove(&2);
        let bytes = file(&filled(&want).expect("it is kept"));
        let read = history(&opened(&bytes).expect("it is one")).expect("it is whole");
        assert_eq!(read, want);
    }

    #[test]
    fn damage_and_newer_versions_are_refused() {
        let refused = |bytes: &[u8]| format!("{:#}", opened(bytes).expect_err("refused"));
        let connection = filled(&confirmed()).expect("it is kept");
        let whole = file(&connection);
        for bytes in [
            &b""[..],
            b"hello, this is no database at all",
            &whole[..5000],
        ] {
            let said = refused(bytes);
            assert!(said.contains("take it back from git"), "{said}");
        }
        let mut damaged = whole.clone();
        let end = damaged.len();
        damaged[4096..end].fill(0x5a);
        assert!(refused(&damaged).contains("take it back from git"));
        let mut log = whole.clone();
        log[18..20].fill(2);
        assert!(refused(&log).contains("WAL"));
        connection
            .pragma_update(None, "user_version", 9)
            .expect("set");
        assert!(refused(&file(&connection)).contains("newer timesink (version 9"));
    }

    /// A table that is something else, or a trigger beside it, is not run.
    #[test]
    fn strange_tables_are_refused() {
        let connection = new().expect("memory");
        let trigger = "CREATE TRIGGER x AFTER INSERT ON runs BEGIN DELETE FROM results; END";
        connection.execute(trigger, ()).expect("made");
        let error = opened(&file(&connection)).expect_err("refused");
        assert!(format!("{error:#}").contains("not the tables"), "{error:#}");
    }

    /// Two who add at once both find their results kept.
    #[test]
    fn two_writers_wait_for_each_other() {
        let root = std::env::temp_dir().join(format!("timesink-history-{}", std::process::id()));
        Folder::ensure(&root).expect("a folder");
        let project = Project { root };
        let sample = confirmed();
        let add = |ms: usize| {
            let what = What {
                command: ms.to_string(),
                ..What::default()
            };
            let result = &sample.series[0].results[0];
            let facts = &sample.places[&1];
            let told = Told {
                what: &what,
                setup: None,
                cleanup: None,
            };
            project.add_to_history(|to| add_result(to, &told, facts, result))
        };
        std::thread::scope(|scope| {
            let both = [0, 1]
                .map(|half| scope.spawn(move || (0..10).try_for_each(|n| add(half * 10 + n))));
            for one in both {
                one.join().expect("no panic").expect("kept");
            }
        });
        let history = project.history().expect("whole").expect("there");
        assert_eq!(history.series.len(), 20);
        let folder = Folder::open(&project.kept()).expect("there");
        assert_eq!(folder.names().expect("names"), [FILE]);
        std::fs::remove_dir_all(&project.root).expect("it is there");
    }
}
