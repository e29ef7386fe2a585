//! What must be true of what a guest left behind: of every recording (`books`), and scene by scene.

mod books;
mod code;
mod lives;
mod verified;
mod waits;
mod weather;

use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::results::Results;

pub use books::stacks_whole;

use books::books;

/// Something that a guest plays, by the name of its function in `guest/`, and what must be true of it.
pub struct Scene {
    pub name: &'static str,
    check: fn(&Results) -> Vec<String>,
}

const fn scene(name: &'static str, check: fn(&Results) -> Vec<String>) -> Scene {
    Scene { name, check }
}

/// What is played on every kernel.
pub const EVERYWHERE: [Scene; 16] = [
    scene("doctor", weather::doctor),
    scene("truth", waits::truth),
    scene("flush", waits::flush),
    scene("coldread", waits::coldread),
    scene("pingpong", waits::pingpong),
    scene("children", lives::children),
    scene("follow", lives::follow),
    scene("with", lives::with),
    scene("attach", lives::attach),
    scene("stacks", code::stacks),
    scene("python", code::python),
    scene("bash", code::bash),
    scene("opens", lives::opens),
    scene("losses", lives::losses),
    scene("codes", lives::codes),
    scene("killed", lives::killed),
];

/// What is played on one kernel, which does not differ much between them.
pub const WEATHER: [Scene; 7] = [
    scene("untraced", weather::untraced),
    scene("cgroup1", weather::cgroup1),
    scene("groups", weather::groups),
    scene("guarded", weather::guarded),
    scene("untyped", weather::untyped),
    scene("two", lives::two),
    scene("ending", lives::ending),
];

pub const TOO_OLD: Scene = scene("refusal", weather::refusal);
pub const INTEGRITY: Scene = scene("lockdown", weather::integrity);
pub const CONFIDENTIALITY: Scene = scene("lockdown", weather::confidentiality);

impl Scene {
    /// What is wrong with it: with what it is about, and with the books of its recordings. Something that is missing altogether is
    /// one problem, not the end of all judgement.
    pub fn problems(&self, results: &Results) -> Vec<String> {
        let mut problems = judged(|| (self.check)(results));
        for name in results.recordings() {
            let wrong = judged(|| books(&results.recorded(&name).json, name != "losses"));
            problems.extend(wrong.into_iter().map(|wrong| format!("{name}: {wrong}")));
        }
        problems
    }
}

fn judged(check: impl FnOnce() -> Vec<String>) -> Vec<String> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        vec![text.unwrap_or_default()]
    })
}

/// Notes what does not hold.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn must(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }
}
