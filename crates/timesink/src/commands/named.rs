//! What words on the command line name: kinds of waits, and things of a recording.

use std::collections::BTreeSet;

use timesink_analysis::facts::Facts;
use timesink_recording::ids::ObjectId;
use timesink_recording::words::Detail;

/// The longest kind of wait that a text begins with, and what comes after it.
pub fn kind_and_thing(text: &str) -> Option<(Detail, &str)> {
    let kinds = Detail::ALL.iter().filter_map(|detail| {
        let rest = text.strip_prefix(detail.as_str())?;
        (rest.is_empty() || rest.starts_with(' ')).then(|| (*detail, rest.trim()))
    });
    kinds.max_by_key(|(detail, _)| detail.as_str().len())
}

/// The things with this text in their names or paths; `None` if no thing is named.
pub fn things(thing: &str, facts: &Facts) -> Option<BTreeSet<ObjectId>> {
    if thing.is_empty() {
        return None;
    }
    let named = facts.objects.iter().filter(|object| {
        let path = object.path.as_deref().unwrap_or_default();
        object.label.contains(thing) || path.contains(thing)
    });
    Some(named.map(|object| object.object).collect())
}
