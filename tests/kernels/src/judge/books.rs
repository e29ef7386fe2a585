//! The books of a recording against the kernel's own figures, and how many of its stacks are whole.

use serde_json::Value;
use timesink_live::{ns, number};

use super::Problems;

/// By how much our sums may differ from the kernel's.
const SHARE: f64 = 0.01;
/// The same where events were lost: the clocks can be compared less often.
const LOSSY_SHARE: f64 = 0.03;
const LITTLE_NS: f64 = 2e6;
/// What may be missing of a short life.
const LIFE_NS: f64 = 0.25e6;
/// Of all stacks, how many must be whole.
const WHOLE: f64 = 0.95;
/// Not counted are recordings of what has no unwind tables, busybox's own functions as Debian builds it and the library musl, and the
/// one that loses stacks on purpose.
const NOT_COUNTED: [&str; 3] = ["busybox", "musl", "losses"];

/// What is wrong with the books. Where something was lost that is told, holes are no fault, but the sums must be right.
pub fn books(report: &Value, whole: bool) -> Vec<String> {
    let share = if whole { SHARE } else { LOSSY_SHARE };
    let mut problems = Problems::default();
    for book in ["cpu", "ready"] {
        let sums = &report["books"][book];
        let (ours, kernel) = (ns(sums, "ours_ns"), ns(sums, "kernel_ns"));
        let off = (ours - kernel).abs();
        problems.must(off <= (kernel * share).max(LITTLE_NS), || {
            format!("books: {book} {sums}")
        });
    }
    let unchecked = number(&report["books"], "unchecked");
    problems.must(!whole || unchecked == 0, || {
        format!("{unchecked} threads without the kernel's figures")
    });
    if whole {
        problems.0.extend(unaccounted(report));
    }
    let refused: Vec<_> = report["probes"].as_array().into_iter().flatten().collect();
    let refused = refused
        .into_iter()
        .filter(|probe| probe["attached"] != true);
    problems
        .0
        .extend(refused.map(|probe| format!("refused: {probe}")));
    if whole {
        for fault in ["gaps", "overlaps", "strays", "beyond_sums"] {
            let tiling = &report["tiling"];
            problems.must(number(tiling, fault) == 0, || format!("tiling: {tiling}"));
        }
        let lost = &report["lost"];
        problems.must(lost.as_object().is_some_and(|lost| lost.is_empty()), || {
            format!("lost: {lost}")
        });
    }
    problems.0
}

/// Lives of threads that no state accounts for.
fn unaccounted(report: &Value) -> Vec<String> {
    let threads = report["threads"].as_array().into_iter().flatten();
    let off = |thread: &&Value| {
        let off = ns(&thread["books"], "unaccounted_ns");
        off > (ns(thread, "kernel_life_ns") * SHARE).max(LIFE_NS)
    };
    let (all, off): (Vec<_>, Vec<_>) = (threads.clone().collect(), threads.filter(off).collect());
    let Some(first) = off.first() else {
        return Vec::new();
    };
    vec![format!(
        "unaccounted: {} of {} threads, such as {}",
        off.len(),
        all.len(),
        first["books"]
    )]
}

/// Of these that share by themselves: programs that are linked statically, which others could outweigh.
const BY_THEMSELVES: [&str; 2] = ["static", "static-pie"];

/// Counts stacks over several recordings: those that were taken, and those that are whole.
pub fn stacks_whole(reports: &[(String, Value)]) -> (String, Vec<String>) {
    let (mut all, mut whole, mut each, mut few) = (0, 0, Vec::new(), false);
    let enough = |all: i64, whole: i64| all > 0 && whole as f64 >= all as f64 * WHOLE;
    for (name, report) in reports {
        let count = |field: &str| number(&report["stacks"], field);
        let (taken, complete) = (count("taken"), count("complete"));
        each.push(format!("{name} {complete}/{taken}"));
        few |= BY_THEMSELVES.contains(&name.as_str()) && !enough(taken, complete);
        if !NOT_COUNTED.contains(&name.as_str()) {
            all += taken;
            whole += complete;
        }
    }
    let told = format!("{whole} of {all} stacks whole ({})", each.join(", "));
    let problems = if enough(all, whole) && !few {
        Vec::new()
    } else {
        vec![told.clone()]
    };
    (told, problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(cpu: i64, kernel: i64, unaccounted_ns: [i64; 2]) -> Value {
        let sums = |ours: i64, kernel: i64| json!({"ours_ns": ours, "kernel_ns": kernel});
        let threads = unaccounted_ns
            .map(|ns| json!({"kernel_life_ns": 1_000_000_000, "books": {"unaccounted_ns": ns}}));
        json!({
            "books": {"cpu": sums(cpu, kernel), "ready": sums(0, 0), "unchecked": 0},
            "threads": threads,
            "tiling": {"gaps": 0, "overlaps": 0, "strays": 0, "beyond_sums": 0},
            "probes": [{"probe": "scheduling", "attached": true}],
            "lost": {},
        })
    }

    /// Sums may be off by a hundredth, or by two milliseconds where they are small, and not by more.
    #[test]
    fn books_that_are_off() {
        assert_eq!(
            books(&report(1_009_000_000, 1_000_000_000, [0, 0]), true),
            [""; 0]
        );
        assert_eq!(books(&report(1_900_000, 0, [0, 0]), true), [""; 0]);
        assert_eq!(
            books(&report(1_011_000_000, 1_000_000_000, [0, 0]), true).len(),
            1
        );
        assert_eq!(books(&report(2_100_000, 0, [0, 0]), true).len(), 1);
    }

    /// Life that nothing accounts for, a refused probe and a loss are faults; of a recording that lost something only the sums count.
    #[test]
    fn holes_in_a_recording() {
        assert_eq!(
            books(&report(0, 0, [12_000_000, 11_000_000]), true).len(),
            1
        );
        let mut lossy = report(0, 0, [12_000_000, 11_000_000]);
        lossy["lost"] = json!({"turns": {"count": 3}});
        lossy["tiling"]["gaps"] = json!(2);
        assert_eq!(books(&lossy, true).len(), 3);
        assert_eq!(books(&lossy, false), [""; 0]);
        lossy["probes"][0]["attached"] = json!(false);
        assert_eq!(books(&lossy, false).len(), 1);
    }

    /// A hundredth of a life may be missing, and of one thread no more than of several.
    #[test]
    fn lives_that_are_not_accounted_for() {
        assert_eq!(books(&report(0, 0, [9_000_000, 80_000]), true), [""; 0]);
        assert_eq!(books(&report(0, 0, [11_000_000, 0]), true).len(), 1);
    }

    /// One recording with few whole stacks is outweighed, or it is not.
    #[test]
    fn stacks_of_several_recordings() {
        let one = |name: &str, taken: i64, complete: i64| {
            (
                name.to_owned(),
                json!({"stacks": {"taken": taken, "complete": complete}}),
            )
        };
        let good = stacks_whole(&[one("a", 1000, 1000), one("b", 40, 0), one("musl", 9, 0)]);
        assert_eq!(good.1, [""; 0]);
        assert!(good
            .0
            .starts_with("1000 of 1040 stacks whole (a 1000/1000, b 0/40, musl 0/9)"));
        assert_eq!(stacks_whole(&[one("a", 100, 90)]).1.len(), 1);
        let outweighed = stacks_whole(&[one("a", 1000, 1000), one("static", 40, 30)]);
        assert_eq!(outweighed.1.len(), 1, "a static program by itself");
        assert_eq!(stacks_whole(&[]).1.len(), 1, "no stacks at all");
    }
}
