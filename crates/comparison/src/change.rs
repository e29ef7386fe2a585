//! How something changed: whether it is new or gone, happens more or less often, or takes more or less each time.

/// The words for a change, which exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// B has it, A has not.
    New,
    /// A has it, B has not.
    Gone,
    MoreOften,
    LessOften,
    /// As often, and longer each time.
    Slower,
    /// As often, and shorter each time.
    Faster,
    /// Longer in all; how often nobody counted.
    Longer,
    /// Shorter in all; how often nobody counted.
    Shorter,
    Same,
}

impl Change {
    /// The word for it, as in the JSON comparison.
    pub fn word(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Gone => "gone",
            Change::MoreOften => "more often",
            Change::LessOften => "less often",
            Change::Slower => "slower each time",
            Change::Faster => "faster each time",
            Change::Longer => "longer",
            Change::Shorter => "shorter",
            Change::Same => "same",
        }
    }
}

/// A change, and how much of it is due to how often, how much to what it takes each time. The two add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    pub change: Change,
    /// `None` where nobody counted on both sides.
    pub count_ns: Option<i64>,
    pub each_ns: Option<i64>,
}

/// Counts that differ by less are the same: threads that look whether there is something to do look now and then.
const SAME_COUNT: f64 = 0.02;

impl Effect {
    /// How something changed that took `ns` altogether and happened so often.
    pub(crate) fn of(a: (u64, Option<u64>), b: (u64, Option<u64>)) -> Effect {
        let (a_ns, b_ns) = (a.0, b.0);
        let whole = difference(a_ns, b_ns);
        let told = |change| Effect {
            change,
            count_ns: None,
            each_ns: None,
        };
        let has = |(ns, count): (u64, Option<u64>)| match count {
            Some(count) => count > 0,
            None => ns > 0,
        };
        match (has(a), has(b)) {
            (false, false) if whole == 0 => return told(Change::Same),
            (false, true) => return told(Change::New),
            (true, false) => return told(Change::Gone),
            _ => {}
        }
        let (Some(a_count), Some(b_count)) = (a.1, b.1) else {
            return told(in_all(whole, Change::Longer, Change::Shorter));
        };
        // It took time, and nobody saw it happen.
        if a_count == 0 && b_count == 0 {
            return told(in_all(whole, Change::Longer, Change::Shorter));
        }
        let count_ns = due_to_count((a_ns, a_count), (b_ns, b_count));
        let each_ns = whole.saturating_sub(count_ns);
        let apart = a_count.abs_diff(b_count) as f64;
        let is_as_often = apart <= a_count.max(b_count) as f64 * SAME_COUNT;
        let change = match is_as_often || count_ns.unsigned_abs() < each_ns.unsigned_abs() {
            true => in_all(each_ns, Change::Slower, Change::Faster),
            false => in_all(count_ns, Change::MoreOften, Change::LessOften),
        };
        Effect {
            change,
            count_ns: Some(count_ns),
            each_ns: Some(each_ns),
        }
    }
}

fn in_all(ns: i64, more: Change, less: Change) -> Change {
    match ns {
        0 => Change::Same,
        1.. => more,
        _ => less,
    }
}

/// Those that one side has beyond the other cost what they cost there; the others may cost more or less each time.
fn due_to_count(a: (u64, u64), b: (u64, u64)) -> i64 {
    let (ns, count) = if a.1 > b.1 { a } else { b };
    let beyond = a.1.abs_diff(b.1);
    let cost = u128::from(ns) * u128::from(beyond) / u128::from(count.max(1));
    let cost = i64::try_from(cost).unwrap_or(i64::MAX);
    if a.1 > b.1 {
        -cost
    } else {
        cost
    }
}

/// B minus A.
pub fn difference(a: u64, b: u64) -> i64 {
    let difference = i128::from(b) - i128::from(a);
    // Its opposite must be a number, too.
    difference.clamp((-i64::MAX).into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(a: (u64, u64), b: (u64, u64)) -> Effect {
        Effect::of((a.0, Some(a.1)), (b.0, Some(b.1)))
    }

    /// The words are told apart: new, gone, more and less often, slower and faster each time.
    #[test]
    fn words_are_told_apart() {
        assert_eq!(told((0, 0), (50, 5)).change, Change::New);
        assert_eq!(told((50, 5), (0, 0)).change, Change::Gone);
        assert_eq!(told((100, 10), (1000, 100)).change, Change::MoreOften);
        assert_eq!(told((1000, 100), (100, 10)).change, Change::LessOften);
        assert_eq!(told((100, 10), (1000, 10)).change, Change::Slower);
        assert_eq!(told((1000, 10), (100, 10)).change, Change::Faster);
        assert_eq!(told((100, 10), (100, 10)).change, Change::Same);
        assert_eq!(Effect::of((5, None), (9, None)).change, Change::Longer);
        assert_eq!(Effect::of((9, None), (5, None)).change, Change::Shorter);
    }

    /// What nobody counted on either side, and what took time all the same, is no faster each time.
    #[test]
    fn what_was_counted_nowhere_has_no_each_time() {
        assert_eq!(told((500, 0), (200, 0)).change, Change::Shorter);
        assert_eq!(told((200, 0), (500, 0)).each_ns, None);
    }

    /// Where both changed, how often and how much each time add up to the whole.
    #[test]
    fn count_and_cost_add_up() {
        for (a, b) in [
            ((1000, 10), (9000, 30)),
            ((9000, 30), (1000, 10)),
            ((1000, 1000), (100, 1)),
            ((100, 1), (1000, 1000)),
            ((7, 3), (11, 5)),
        ] {
            let effect = told(a, b);
            let sum = effect.count_ns.unwrap_or(0) + effect.each_ns.unwrap_or(0);
            assert_eq!(sum, difference(a.0, b.0), "{a:?} {b:?}");
        }
        // A batch takes longer than one of what it replaces; that there is but one of it is what counts.
        let batch = told((1000, 1000), (100, 1));
        assert_eq!(batch.change, Change::LessOften);
        assert_eq!(batch.count_ns, Some(-999));
        assert_eq!(batch.each_ns, Some(99));
    }
}
