//! Loops of events, as runtimes have them: what their threads wait for in `epoll_wait` is whatever comes first, and where
//! nothing comes, a timer that the program set.

use timesink_analysis::facts::sockets::{receives, Role, Sockets};
use timesink_recording::ids::{ObjectId, ProcessId};
use timesink_recording::words::ObjectKind;

use crate::inquiry::Inquiry;

/// Whether the thing is one that a loop of events waits on.
pub fn is_one(inquiry: &Inquiry<'_>, object: Option<ObjectId>) -> bool {
    let object = object.and_then(|object| inquiry.facts.object(object));
    object.is_some_and(|object| object.kind == ObjectKind::Epoll)
}

/// Whether somebody whom a process asks owes it an answer: then a timer that is due may be what it allowed for that.
pub fn awaits_an_answer(inquiry: &Inquiry<'_>, process: ProcessId) -> bool {
    let sockets = Sockets::of(&inquiry.facts.objects, &inquiry.waited.calls);
    let asking = inquiry.facts.objects.iter().filter(|object| {
        matches!(object.kind, ObjectKind::TcpSocket | ObjectKind::UdpSocket)
            && object.remote.is_some()
            && matches!(sockets.role(object.object), None | Some(Role::Asking))
    });
    let mut asking = asking.map(|object| {
        let calls = inquiry.facts.calls.iter();
        calls.filter(move |row| row.object == Some(object.object) && row.count > row.errors)
    });
    // Where no call on it is known, it may be anybody's.
    asking.any(|calls| {
        let mut answered = calls
            .clone()
            .filter(|row| receives(&row.call) && row.bytes > 0);
        let mut calls = calls.peekable();
        let is_known = calls.peek().is_some();
        let own = calls.any(|row| row.process == Some(process));
        (own || !is_known) && answered.next().is_none()
    })
}
