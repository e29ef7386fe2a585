//! Who on this machine the path waits for and is not recorded: what happens there, a recording of both would tell.

use std::collections::BTreeMap;

use timesink_analysis::facts::sockets::{Role, Sockets};
use timesink_findings::neighbour;
use timesink_recording::about::Mode;
use timesink_recording::ids::ObjectId;
use timesink_recording::tables::Object;
use timesink_recording::words::{ObjectKind, State};

use crate::present::terminal::style::{wrap, Ink, Style};
use crate::present::terminal::{units, Report};
use crate::present::{names, shell};

/// A part of the path that is worth a word.
const MUCH: f64 = 0.1;

pub(super) fn lines(report: &Report, style: &Style) -> Vec<String> {
    let text = told(report);
    text.map_or(Vec::new(), |text| wrap(&text, "  ", Ink::Plain, style))
}

/// `62 % of the path waits for redis-server(812), 127.0.0.1:6379, which is on this machine and not recorded; ...`.
fn told(report: &Report) -> Option<String> {
    let outlook = report.outlook.filter(|outlook| outlook.wall_ns > 0)?;
    let waits = outlook.causes.iter().map(|on_path| &on_path.cause);
    let waits = waits.filter(|cause| cause.key.state == State::Wait);
    let mut times: BTreeMap<ObjectId, u64> = BTreeMap::new();
    for cause in waits {
        if let Some(object) = cause.key.object {
            let sum = times.entry(object).or_default();
            *sum = sum.saturating_add(cause.ns);
        }
    }
    let sockets = Sockets::of(&report.facts.objects, &report.loaded.waited().calls);
    // A server waits for its clients because it has nothing to do.
    let asks = |object| !matches!(sockets.role(object), Some(Role::Served | Role::Listening));
    times.retain(|&object, _| {
        let socket = report.facts.object(object);
        let is_it = |socket| neighbour::is_local(socket) && !is_recorded(report, socket);
        asks(object) && socket.is_some_and(is_it)
    });
    let ns = times.values().copied().fold(0, u64::saturating_add);
    let share = ns as f64 / outlook.wall_ns as f64;
    if share < MUCH {
        return None;
    }
    let (longest, _) = times.iter().max_by_key(|(_, ns)| **ns)?;
    let address = names::object_in(report, *longest);
    let sockets = times.keys().copied().collect();
    let peer = neighbour::who(&report.loaded.timeline, &report.facts.outsiders, &sockets);
    let percent = units::whole_percent(share);
    let (whom, with) = match peer {
        Some((pid, name)) => (
            format!("{}({pid}), {address}", names::harmless(name)),
            Some(shell::word(name)),
        ),
        None => (address, None),
    };
    let how = match (report.about.mode, with) {
        (Mode::Run, Some(name)) => format!("run --follow (or --with {name})"),
        (Mode::Run, None) => "run --follow".to_owned(),
        (Mode::Attach | Mode::Machine, _) => "attach --follow".to_owned(),
    };
    Some(format!(
        "{percent} of the path waits for {whom}, which is on this machine and not recorded; timesink {how} shows what it does"
    ))
}

/// Whether the other end belongs to a recorded process.
fn is_recorded(report: &Report, socket: &Object) -> bool {
    let mut others = report.facts.objects.iter();
    others.any(|other| match socket.kind {
        ObjectKind::UnixSocket => {
            let inode = other.inode.map(|inode| inode.to_string());
            other.kind == socket.kind && inode.is_some() && inode == socket.remote
        }
        _ => {
            other.kind == socket.kind
                && other.local.is_some()
                && other.local == socket.remote
                && other.remote == socket.local
        }
    })
}

#[cfg(test)]
mod tests {
    use timesink_recording::notation::draft;

    use super::lines;
    use crate::present::names::is_hostile;
    use crate::present::samples;
    use crate::present::terminal::tests::PLAIN;

    /// A client that asks a server on these addresses twenty times, and waits for it by half.
    fn client(local: &str, remote: &str, more: &str) -> String {
        let text = format!(
            "run wall 200ms
             process 1 client
             thread 1.1 tid 1 client
             object s tcp socket local {local} remote {remote}
             outsider 812 redis-server
             {more}
             1.1: cpu 0..1ms
             for n in 1..19
             | wait +5ms network receive s by outsider 812 call recvfrom | cpu +5ms
             end
             | cpu ..200ms
             call 1.1 recvfrom s count 19 ns 95ms bytes 1900"
        );
        samples::present(&draft(&text), "r", |report| {
            lines(report, &PLAIN).join("\n")
        })
    }

    /// Who waits for a server on the same machine was not told that it can be recorded, too.
    #[test]
    fn a_server_on_this_machine_can_be_recorded_too() {
        let told = client("127.0.0.1:40000", "127.0.0.1:6379", "");
        let wanted = "  48 % of the path waits for redis-server(812), 127.0.0.1:6379, which is on this machine and not \
                      recorded; timesink run --follow (or --with redis-server) shows what it does";
        assert_eq!(told, wanted);
        let own_address = client("10.0.0.2:40000", "10.0.0.2:6379", "");
        assert!(own_address.contains("--follow"), "{own_address}");
    }

    /// Nobody can record what is on another machine, nor need what is recorded already.
    #[test]
    fn others_are_not_told() {
        assert_eq!(client("10.0.0.2:40000", "10.0.0.1:6379", ""), "");
        // A server waits for whoever asks it.
        let served = client("127.0.0.1:6379", "127.0.0.1:40000", "");
        assert_eq!(served, "");
        let recorded = "process 2 server
             thread 2.2 tid 2 server
             object t tcp socket local 127.0.0.1:6379 remote 127.0.0.1:40000
             2.2: cpu 0..1ms | wait ..200ms network receive t";
        assert_eq!(client("127.0.0.1:40000", "127.0.0.1:6379", recorded), "");
    }

    /// The name of a process that is not recorded is its own choice.
    #[test]
    fn names_cannot_move_the_cursor() {
        let mut drawn = draft(
            "run wall 200ms
             process 1 client
             thread 1.1 tid 1 client
             object s tcp socket local 127.0.0.1:40000 remote 127.0.0.1:6379
             outsider 812 server
             1.1: cpu 0..1ms | wait ..200ms network receive s by outsider 812 call recvfrom",
        );
        for outsider in &mut drawn.outsiders {
            outsider.name += "\u{1b}[2J";
        }
        let text = samples::present(&drawn, "r", |report| lines(report, &PLAIN).join("\n"));
        assert!(text.contains("--with 'server\\x1b[2J'"), "{text}");
        assert!(!text.chars().any(is_hostile), "{text}");
    }
}
