//! `timesink report FILE --op WHAT`: which operations are meant.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{anyhow, bail, Context};
use timesink_analysis::facts::Facts;
use timesink_analysis::operations::{End, Wanted};
use timesink_analysis::timeline::Timeline;
use timesink_analysis::waits::Waited;
use timesink_recording::words::{Detail, State};

use super::named;

const EXAMPLES: &str = "say auto, recv..send, or two waits with .. between them, each a call (fdatasync), a kind of \
                        wait (flush) or a thing (rows.db), or one of the first two and a thing (\"flush rows.db\")";

/// Why there are no operations of this kind: an empty table would look like an answer.
pub fn none(wanted: &Wanted, timeline: &Timeline) -> anyhow::Error {
    let there = there(timeline);
    match wanted {
        Wanted::Served => anyhow!(
            "no thread in this recording waits for requests on sockets that others connected to, and answers on them. \
             For others try recv..send; {there}"
        ),
        Wanted::AnySocket => anyhow!(
            "no thread in this recording waits for data on a socket and sends on it; {there}"
        ),
        Wanted::Between(..) => anyhow!("no thread in this recording waits in that order; {there}"),
    }
}

/// What a text asks for.
pub fn wanted(text: &str, facts: &Facts, waited: &Waited) -> anyhow::Result<Wanted> {
    match text {
        "auto" => return Ok(Wanted::Served),
        "recv..send" => return Ok(Wanted::AnySocket),
        _ => {}
    }
    let ends = text.split_once("..");
    let (first, last) =
        ends.with_context(|| format!("{text:?} is not an operation: {EXAMPLES}"))?;
    let end = |text: &str| end(text.trim(), facts, waited);
    Ok(Wanted::Between(end(first)?, end(last)?))
}

fn end(text: &str, facts: &Facts, waited: &Waited) -> anyhow::Result<End> {
    if text.is_empty() {
        bail!("an operation needs a beginning and an end: {EXAMPLES}");
    }
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (details, call, thing) = if let Some((detail, thing)) = named::kind_and_thing(text) {
        (Some(BTreeSet::from([detail])), None, thing)
    } else if waited.has_call(word) {
        (None, Some(word.to_owned()), rest.trim())
    } else {
        (None, None, text)
    };
    let objects = named::things(thing, facts);
    if objects.as_ref().is_some_and(BTreeSet::is_empty) {
        bail!("nothing in this recording waits in, or is called, {thing:?}: {EXAMPLES}");
    }
    Ok(End {
        details,
        call,
        objects,
    })
}

/// What could be asked.
fn there(timeline: &Timeline) -> String {
    const MOST: usize = 6;
    let mut counts: BTreeMap<Detail, u64> = BTreeMap::new();
    for slot in 0..timeline.threads.len() {
        let waits = timeline.spans_of(slot).iter();
        for span in waits.filter(|span| span.state == State::Wait) {
            *counts.entry(span.detail).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
    counts.sort_by_key(|(detail, count)| (std::cmp::Reverse(*count), *detail));
    let named = counts.iter().take(MOST);
    let named: Vec<String> = named
        .map(|(detail, count)| format!("{} ({count} x)", detail.as_str()))
        .collect();
    match named.as_slice() {
        [] => "there are no waits that come again".to_owned(),
        names => format!(
            "what is waited for more than once is {}: ask for example {:?}",
            names.join(", "),
            format!("{0}..{0}", counts[0].0.as_str())
        ),
    }
}
