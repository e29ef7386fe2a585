//! What a call or a wait is about, by a name that is the same in another run.

use timesink_findings::signature;
use timesink_recording::tables::Object;
use timesink_recording::words::ObjectKind;

/// A thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Thing {
    /// The call is about none, or none that is the same twice.
    #[default]
    Nothing,
    /// Several of them, of a kind of work of which no single one tells much.
    Several,
    /// A file, a directory or a device, by its path from where the program was started.
    Path(String),
    /// A peer, or what is served, by its address.
    Address(String),
    /// A lock or a condition, by the function that waits for it.
    In(String),
    /// Of all others only the kind is the same.
    Kind(&'static str),
}

impl Thing {
    /// The thing that an object of a recording is, which was made in this directory.
    pub(crate) fn of(object: &Object, directory: &str) -> Thing {
        let name = signature::thing(object, directory);
        match object.kind {
            ObjectKind::File
            | ObjectKind::Directory
            | ObjectKind::Device
            | ObjectKind::BlockDevice => match name.as_str() {
                "" => Thing::Kind(object.kind.as_str()),
                _ => Thing::Path(without_temporary(&name)),
            },
            ObjectKind::TcpSocket | ObjectKind::UdpSocket if name != object.kind.as_str() => {
                Thing::Address(name)
            }
            // Its own end is the one that somebody chose.
            ObjectKind::TcpSocket | ObjectKind::UdpSocket => {
                let local = object.local.as_deref().filter(|local| !is_given(local));
                match local {
                    Some(local) => Thing::Address(local.to_owned()),
                    None => Thing::Kind(object.kind.as_str()),
                }
            }
            ObjectKind::UnixSocket => {
                match object.path.as_deref().filter(|path| !path.is_empty()) {
                    Some(path) => Thing::Address(without_temporary(&signature::lasting(path))),
                    None => Thing::Kind(object.kind.as_str()),
                }
            }
            // A child is told as the process that it is, a lock by who waits for it.
            ObjectKind::Child | ObjectKind::Futex => Thing::Nothing,
            kind => Thing::Kind(kind.as_str()),
        }
    }

    /// Its name; empty where it has none.
    pub fn name(&self) -> &str {
        match self {
            Thing::Nothing | Thing::Several => "",
            Thing::Path(name) | Thing::Address(name) | Thing::In(name) => name,
            Thing::Kind(kind) => kind,
        }
    }
}

/// Whether a port was given to whoever asked for any.
fn is_given(address: &str) -> bool {
    let port = address.rsplit(':').next().map(str::parse::<u16>);
    !matches!(port, Some(Ok(port)) if port < signature::EPHEMERAL)
}

/// A path without what a library made up for a temporary file, and with `*` for a name that is a number.
fn without_temporary(path: &str) -> String {
    let parts = path.split('/').map(|part| {
        let (stem, ending) =
            part.split_at(part.find('.').filter(|at| *at > 0).unwrap_or(part.len()));
        let made_up = stem
            .strip_prefix("tmp")
            .or_else(|| part.strip_prefix(".tmp"));
        let is_temporary = made_up.is_some_and(|rest| rest.len() >= MADE_UP);
        let is_number = !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_digit());
        match (is_temporary, is_number) {
            (true, _) => format!("tmp*{ending}"),
            (false, true) => format!("*{ending}"),
            _ => part.to_owned(),
        }
    });
    parts.collect::<Vec<_>>().join("/")
}

/// What libraries make up has six characters (mkstemp) or eight (Python); shorter ones are names (`tmpfs`).
const MADE_UP: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use timesink_recording::notation::draft;

    /// What changes from run to run is no part of a thing's name: working directories, numbers, temporary names, ports.
    #[test]
    fn things_are_known_again() {
        let drawn = draft(
            "object rows.db file /run/a/rows.db
             object t file /tmp/tmpk3_9xq2z.json
             object n file /run/a/files/17.txt
             object s \"tcp socket\" local 127.0.0.1:41234 remote 127.0.0.1:6379
             object c \"tcp socket\" local 127.0.0.1:8080 remote 10.0.0.7:51200
             object f futex
             process 1 x
             thread 1.1 x
             1.1: cpu 0..1us",
        );
        let told = |name: &str| {
            let object = drawn.object(name);
            let row = drawn.objects.iter().find(|row| row.object == object);
            Thing::of(row.expect("it was drawn"), "/run/a")
        };
        assert_eq!(told("rows.db"), Thing::Path("rows.db".into()));
        assert_eq!(told("t"), Thing::Path("/tmp/tmp*.json".into()));
        assert_eq!(told("n"), Thing::Path("files/*.txt".into()));
        assert_eq!(told("s"), Thing::Address("127.0.0.1:6379".into()));
        assert_eq!(told("c"), Thing::Address("127.0.0.1:8080".into()));
        assert_eq!(told("f"), Thing::Nothing);
    }
}
