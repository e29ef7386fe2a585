//! Two views of one stack made into one: the native frames, in which a script is only its interpreter, and
//! the interpreter's own list. Each time the interpreter was called, the run of frames that it executed
//! takes the place of its native frame, and of those that did nothing but lead there. Pure.

use std::ops::Range;

/// What a native frame is to an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameRole {
    /// The interpreter's loop.
    Eval,
    /// One of the functions that do nothing but lead into the loop.
    Entry,
    Other,
}

/// A frame of the stack that is the two together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergedFrame {
    Native(usize),
    /// A function of the interpreter's own list.
    Script(usize),
}

/// Both lists are innermost first. `parts` says what each native frame is, `fresh` of each
/// frame of the script whether a run begins with it. Where one of the lists ends before the outermost frame
/// (`whole` is false) they are put together from the innermost, and else from the outermost: as a run begins or
/// ends, there is an interpreter for a moment that has no frames. Nothing is left out: runs without an
/// interpreter stand beside the others.
pub fn merge(parts: &[FrameRole], fresh: &[bool], whole: bool) -> Vec<MergedFrame> {
    let runs = runs(fresh);
    let count = parts
        .iter()
        .filter(|part| **part == FrameRole::Eval)
        .count();
    // Which run the innermost interpreter has; where there are too few, runs come before all, or after.
    let ahead = if whole {
        count.saturating_sub(runs.len())
    } else {
        0
    };
    let early = if whole {
        runs.len().saturating_sub(count)
    } else {
        0
    };
    let mut waiting = runs.iter();
    let mut steps = Vec::with_capacity(parts.len() + fresh.len());
    let mut seen = 0;
    let mut replaced = false;
    let put = |steps: &mut Vec<MergedFrame>, run: Option<&Range<usize>>| {
        steps.extend(run.cloned().into_iter().flatten().map(MergedFrame::Script));
    };
    if count == 0 {
        (0..early).for_each(|_| put(&mut steps, waiting.next()));
    }
    for (index, part) in parts.iter().enumerate() {
        replaced &= *part == FrameRole::Entry;
        if *part != FrameRole::Eval {
            if !replaced {
                steps.push(MergedFrame::Native(index));
            }
            continue;
        }
        seen += 1;
        if seen == 1 {
            (0..early).for_each(|_| put(&mut steps, waiting.next()));
        }
        match (seen > ahead).then(|| waiting.next()).flatten() {
            Some(run) => {
                put(&mut steps, Some(run));
                replaced = true;
            }
            None => steps.push(MergedFrame::Native(index)),
        }
    }
    waiting.for_each(|run| put(&mut steps, Some(run)));
    steps
}

fn runs(fresh: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, fresh) in fresh.iter().enumerate() {
        match runs.last_mut().filter(|_| !fresh) {
            Some(run) => run.end = index + 1,
            None => runs.push(index..index + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Native frames as letters (`E`: the interpreter, `e`: what leads into it), Python frames as numbers, a stroke between runs.
    fn merged(native: &str, python: &str, whole: bool) -> String {
        let part = |letter: char| match letter {
            'E' => FrameRole::Eval,
            'e' => FrameRole::Entry,
            _ => FrameRole::Other,
        };
        let parts: Vec<FrameRole> = native.chars().map(part).collect();
        let mut fresh = Vec::new();
        for run in python.split('|').filter(|run| !run.is_empty()) {
            fresh.extend((0..run.len()).map(|i| i == 0));
        }
        let python: Vec<char> = python.chars().filter(|c| *c != '|').collect();
        let native: Vec<char> = native.chars().collect();
        let steps = merge(&parts, &fresh, whole);
        let letter = |step: &MergedFrame| match step {
            MergedFrame::Native(index) => native[*index],
            MergedFrame::Script(index) => python[*index],
        };
        steps.iter().map(letter).collect()
    }

    /// Each run stands where its interpreter was, and what is between the interpreters stays.
    #[test]
    fn runs_take_their_places() {
        assert_eq!(merged("sEvcEm", "12|345", true), "s12vc345m");
        assert_eq!(merged("sEvcEm", "12|345", false), "s12vc345m");
        assert_eq!(merged("abc", "", true), "abc");
        assert_eq!(merged("", "", true), "");
    }

    /// What only leads into the interpreter goes with it, and stays where it leads elsewhere, or nowhere.
    #[test]
    fn ways_in() {
        assert_eq!(merged("seEeecEem", "12|345", true), "se12c345m");
        assert_eq!(merged("EeEem", "12", true), "Ee12m");
    }

    /// An interpreter that has not begun, or has ended, has no frames: it is the innermost.
    #[test]
    fn an_interpreter_without_frames() {
        assert_eq!(merged("EvEm", "12", true), "Ev12m");
        assert_eq!(merged("sEm", "", true), "sEm");
    }

    /// A stack that was cut on either side agrees at its innermost end.
    #[test]
    fn cut_stacks() {
        assert_eq!(merged("sEv", "12|34|5", false), "s12v345");
        assert_eq!(merged("sEvEm", "12", false), "s12vEm");
        assert_eq!(merged("s", "12|3", false), "s123");
    }

    /// Frames that fit nowhere are kept: inside of the innermost interpreter, or of all.
    #[test]
    fn too_many_runs() {
        assert_eq!(merged("sEm", "1|2|34", true), "s1234m");
        assert_eq!(merged("sm", "1|2", true), "12sm");
    }
}
