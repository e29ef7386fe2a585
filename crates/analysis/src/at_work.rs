//! Whose path tells most of what was attached to: of a server the first thread may do nothing but accept connections, which others serve.

use std::cmp::Reverse;

use crate::ledger::Ledger;
use crate::path::{Path, Segment};
use crate::timeline::Timeline;
use crate::wall::all_along;

/// A thread hardly runs that is on a CPU for at most this share of the time that another one is; its path hardly leads elsewhere that is
/// in other threads for at most this share. Of a server of Python with a thread for each connection, under load, these are 0.03 and 0.0
/// (2026-11-27).
const HARDLY: f64 = 0.1;

/// Where the main thread was there all the time and hardly ran, and nobody in the recording woke it: the one that ran most, as an index
/// into the ledger's threads. `None` if the main thread does.
pub fn instead_of_main(ledger: &Ledger, timeline: &Timeline) -> Option<usize> {
    let rows = ledger.threads.iter().map(|thread| &thread.row);
    let main = &ledger.threads.get(ledger.main?)?.row;
    let others = rows.enumerate().filter(|(_, row)| all_along(row));
    let (at, most) = others.max_by_key(|(at, row)| (row.cpu_ns, Reverse(*at)))?;
    if !all_along(main) || main.cpu_ns as f64 > most.cpu_ns as f64 * HARDLY {
        return None;
    }
    let slot = timeline.slot(main.thread)?;
    let path = Path::of_thread(timeline, slot);
    let elsewhere = path.segments.iter().filter(|segment| segment.slot != slot);
    let elsewhere_ns: u64 = elsewhere.map(Segment::ns).sum();
    (elsewhere_ns as f64 <= path.wall_ns() as f64 * HARDLY).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use timesink_recording::notation::recording;

    fn asked(text: &str) -> Option<String> {
        let drawn = recording(text);
        let facts = Facts::of(&drawn).expect("a drawn recording reads");
        let timeline = Timeline::of(&drawn).expect("its spans");
        let at = instead_of_main(&facts.ledger, &timeline)?;
        Some(facts.ledger.threads[at].row.name.clone())
    }

    const SERVER: &str = "process 1 pid 50 server
         thread 1.1 accepts tid 50 born_before alive_at_end
         thread 1.2 serves tid 51 born_before alive_at_end
         1.2: wait 0..100ms network receive | cpu ..200ms | wait ..300ms network receive | cpu ..400ms\n";

    /// A server of Python whose first thread accepts connections: its path was told, which is one wait for connections.
    #[test]
    fn who_only_accepts_is_not_asked_about() {
        let accepts = "1.1: wait 0..200ms poll | cpu ..201ms | wait ..400ms poll";
        assert_eq!(
            asked(&format!("{SERVER}{accepts}")),
            Some("serves".to_owned())
        );
    }

    /// One that works itself is, and one that waits for what others do.
    #[test]
    fn who_works_or_waits_for_others_is_asked_about() {
        let works = "1.1: cpu 0..100ms | wait 100ms..400ms poll";
        assert_eq!(asked(&format!("{SERVER}{works}")), None);
        let waits = "1.1: wait 0..400ms condition by 1.2 | cpu ..401ms";
        assert_eq!(asked(&format!("{SERVER}{waits}")), None);
    }

    /// Of a program that was started, the end of its first thread is asked about, whatever that does.
    #[test]
    fn who_was_started_is_asked_about() {
        let text = format!("{SERVER}1.1: wait 0..200ms poll | cpu ..201ms | wait ..400ms poll");
        let text = text.replace("tid 50 born_before alive_at_end", "tid 50");
        assert_eq!(asked(&text), None);
    }
}
