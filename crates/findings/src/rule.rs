//! What a rule is, and what it answers with.

use std::collections::BTreeSet;

use timesink_analysis::path::OnStack;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{Region, Spot};
use timesink_analysis::waits::WaitGroup;
use timesink_recording::ids::{ObjectId, ProcessId, ThreadId};
use timesink_recording::Nanos;

use crate::around::Around;
use crate::inquiry::Inquiry;
use crate::sentence::Sentence;

pub use crate::limit::{Limit, Limits, Unit};
pub use crate::need::Need;

/// One rule: what it means, why it is slow, when it is wrong, and the question itself.
#[derive(Debug)]
pub struct Rule {
    /// Its name in JSON, in the mute file and on the command line.
    pub name: &'static str,
    /// What it looks for, in one line.
    pub looks_for: &'static str,
    /// Why that is slow.
    pub why: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// When doing so would be wrong.
    pub wrong_if: &'static str,
    /// In the order in which they are shown.
    pub limits: &'static [&'static Limit],
    /// What is at fault. What is the program's own is told first.
    pub blames: Blames,
    /// Without these it cannot answer.
    pub needs: &'static [Need],
    pub ask: fn(&Inquiry<'_>) -> Vec<Suspect>,
}

/// What a rule finds at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blames {
    /// The program, or how it is used.
    Program,
    /// What the language's runtime does because of how the program works.
    Runtime,
    /// Nobody: it says what the program does.
    Nobody,
    /// What else ran on the machine: another run may be without it.
    Machine,
}

/// What a rule suspects.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The finding in one sentence.
    pub title: Sentence,
    /// The evidence, sentence by sentence.
    pub told: Vec<Sentence>,
    /// The same as figures.
    pub figures: Vec<Figure>,
    /// Where it can be seen in the recording; three are enough.
    pub examples: Vec<Example>,
    pub process: Option<ProcessId>,
    pub object: Option<ObjectId>,
    /// The code, innermost first.
    pub frames: Vec<Spot>,
    /// Who started the processes that it is about, where the code is theirs.
    pub started_by: Option<ProcessId>,
    pub fix: Fix,
    /// What the fix may take along.
    pub around: Option<Around>,
    pub weight: Weight,
    /// What may go along with it, of a rule that accuses nobody.
    pub along: Along,
    /// What to do, where it is more exact than what the rule says.
    pub advice: Option<String>,
    /// It says why things take place one after another: it is told also where others have told what these things are.
    pub is_why_in_turn: bool,
}

/// Time on the path that is not a suspect's own, but that its fix may take away, too: who computes less waits less for a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Along {
    /// What is there because of the program itself.
    pub own_ns: u64,
    /// What others have a part in.
    pub others_ns: u64,
}

impl Along {
    pub fn ns(self) -> u64 {
        self.own_ns.saturating_add(self.others_ns)
    }
}

impl Suspect {
    pub fn new(title: Sentence, fix: Fix, weight: Weight) -> Suspect {
        Suspect {
            title,
            told: Vec::new(),
            figures: Vec::new(),
            examples: Vec::new(),
            process: None,
            object: None,
            frames: Vec::new(),
            started_by: None,
            fix,
            around: None,
            weight,
            along: Along::default(),
            advice: None,
            is_why_in_turn: false,
        }
    }

    pub fn along_with(mut self, along: Along) -> Suspect {
        self.along = along;
        self
    }

    /// What to do here, instead of what the rule says.
    pub fn advised(mut self, advice: String) -> Suspect {
        self.advice = Some(advice);
        self
    }

    pub fn told(mut self, told: Sentence) -> Suspect {
        self.told.push(told);
        self
    }

    pub fn figure(mut self, what: &'static str, value: f64, unit: &'static str) -> Suspect {
        self.figures.push(Figure {
            what,
            value,
            unit,
            limit: None,
            means: "",
        });
        self
    }

    /// The same, held against a limit of the rule.
    pub fn held(
        mut self,
        inquiry: &Inquiry<'_>,
        rule: &Rule,
        what: &'static str,
        value: f64,
        limit: &'static Limit,
    ) -> Suspect {
        self.figures.push(Figure {
            what,
            value,
            unit: limit.unit.of_figures(),
            limit: Some(rule.limit(inquiry, limit)),
            means: limit.means,
        });
        self
    }

    /// All of these, each held against its limit of the rule.
    pub fn held_all(
        self,
        inquiry: &Inquiry<'_>,
        rule: &Rule,
        all: impl IntoIterator<Item = Held>,
    ) -> Suspect {
        all.into_iter().fold(self, |suspect, held| {
            suspect.held(inquiry, rule, held.what, held.value, held.limit)
        })
    }

    /// Its fix may also take away what these processes do around these calls. Where that is is looked for when the gain
    /// is asked for: most suspects are dropped before.
    pub fn with_what_is_around(
        mut self,
        processes: BTreeSet<ProcessId>,
        kinds: &[&[&'static str]],
    ) -> Suspect {
        let kinds = kinds.iter().map(|kind| kind.to_vec()).collect();
        self.around = Some(Around {
            processes,
            kinds,
            objects: None,
            whole: false,
            between: false,
            half_likely: false,
            region: None,
        });
        self
    }

    /// The same with all that is done for each item: what comes as often as these calls goes with them.
    pub fn with_whole_items(
        self,
        processes: BTreeSet<ProcessId>,
        kinds: &[&[&'static str]],
    ) -> Suspect {
        let mut suspect = self.with_what_is_around(processes, kinds);
        if let Some(around) = &mut suspect.around {
            around.whole = true;
        }
        suspect
    }

    /// And with all that is done between the first and the last of them, where most of that is for them: what is done in no
    /// function around the calls may be for their sake, too.
    pub fn with_all_between(mut self) -> Suspect {
        if let Some(around) = &mut self.around {
            around.between = true;
        }
        self
    }

    /// Half of what is around most probably goes, too.
    pub fn with_half_likely(mut self) -> Suspect {
        if let Some(around) = &mut self.around {
            around.half_likely = true;
        }
        self
    }

    /// Of these calls only those on such things, where it is known what they are on.
    pub fn on(mut self, objects: impl IntoIterator<Item = ObjectId>) -> Suspect {
        if let Some(around) = &mut self.around {
            around.objects = Some(objects.into_iter().collect());
        }
        self
    }

    /// In this function, if nothing else tells where it is done.
    pub fn else_in(mut self, region: Option<&Region>) -> Suspect {
        if let Some(around) = &mut self.around {
            around.region = region.cloned();
        }
        self
    }

    pub fn of(mut self, process: ProcessId) -> Suspect {
        self.process = Some(process);
        self
    }

    pub fn about(mut self, object: Option<ObjectId>) -> Suspect {
        self.object = object;
        self
    }

    /// At the beginnings of these spans, by their index in the timeline: of the first three.
    pub fn shown_at(
        mut self,
        inquiry: &Inquiry<'_>,
        spans: impl IntoIterator<Item = usize>,
    ) -> Suspect {
        const ENOUGH: usize = 3;
        let spans = spans.into_iter().filter_map(|at| inquiry.timeline.span(at));
        let examples = spans.take(ENOUGH).map(|span| Example {
            thread: span.thread,
            at: span.t0,
        });
        self.examples = examples.collect();
        self
    }

    /// In code that these waits show.
    pub fn seen_in(mut self, inquiry: &Inquiry<'_>, group: Option<&WaitGroup>) -> Suspect {
        let Some(group) = group else {
            return self;
        };
        let examples = group.examples.iter();
        self.examples = examples
            .map(|&(thread, at)| Example { thread, at })
            .collect();
        self.frames = inquiry.frames(group.stack);
        self
    }
}

impl Suspect {
    /// In code that stands around all of it.
    pub fn seen_around(mut self, inquiry: &Inquiry<'_>, region: Option<&Region>) -> Suspect {
        let Some(region) = region else {
            return self;
        };
        let examples = region.examples.iter();
        self.examples = examples
            .map(|&(thread, at)| Example { thread, at })
            .collect();
        self.frames = inquiry.spots(region.stack);
        // The function itself first: what it calls of the system is the same everywhere.
        let at = self
            .frames
            .iter()
            .position(|f| f.function == region.function);
        self.frames.drain(..at.unwrap_or(0));
        self
    }
}

/// How much of the path a suspect is, at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The causes on the path that it is part of, as indexes into the outlook's.
    pub causes: Vec<usize>,
    /// Of these it is so much.
    pub at_most_ns: u64,
    /// If it is known which time of the code it is: what other suspects have of it is told already.
    pub stacks: Vec<OnStack>,
}

impl Weight {
    /// All of these causes.
    pub fn all(causes: Vec<usize>) -> Weight {
        Weight {
            causes,
            at_most_ns: u64::MAX,
            stacks: Vec::new(),
        }
    }

    /// Part of these causes.
    pub fn within(causes: Vec<usize>, at_most_ns: u64) -> Weight {
        Weight {
            causes,
            at_most_ns,
            stacks: Vec::new(),
        }
    }

    /// What these stacks of the path stand for.
    pub fn of_stacks(stacks: Vec<OnStack>) -> Weight {
        let causes: BTreeSet<usize> = stacks.iter().map(|on| on.cause).collect();
        Weight {
            causes: causes.into_iter().collect(),
            at_most_ns: stacks.iter().map(|on| on.ns).fold(0, u64::saturating_add),
            stacks,
        }
    }
}

/// How the replay tells what a fix would buy.
#[derive(Clone, Debug)]
pub enum Fix {
    Change(Change),
    /// All of these together.
    Changes(Vec<Change>),
    /// It may turn out as the one or as the other.
    Between(Vec<Change>, Vec<Change>),
    /// It takes away the first at least, and at most the second: all that is done around it, say.
    AtLeast(Vec<Change>, Vec<Change>),
    /// It takes away the second, most probably: what is done around what is counted; the first at least, and at most the third.
    Likely(Vec<Change>, Vec<Change>, Vec<Change>),
    /// A processor for everybody who wants one.
    Processors,
    /// Each thread may use all processors that there are, with these changes.
    AllProcessors(Vec<Change>),
}

impl Fix {
    /// That this takes no time in these processes.
    pub fn without(what: What, processes: BTreeSet<ProcessId>) -> Fix {
        Fix::scaled(what, processes, 0.0)
    }

    /// That there are no waits of these processes for these files; what the calls do that they are in stays.
    pub fn without_waits_for(
        inquiry: &Inquiry<'_>,
        files: &BTreeSet<ObjectId>,
        processes: BTreeSet<ProcessId>,
    ) -> Fix {
        let waits = inquiry.single_waits(|process| processes.contains(&process));
        let waits = waits.filter(|(_, wait)| wait.object().is_some_and(|o| files.contains(&o)));
        let waits = What::Spans(waits.map(|(at, _)| at).collect());
        Fix::without(waits, processes)
    }

    /// The same without the calls, of which this share is meant. What a call does on a processor is known of all calls of a
    /// kind together.
    pub fn and_calls(
        self,
        calls: &[&'static str],
        share: f64,
        processes: BTreeSet<ProcessId>,
    ) -> Fix {
        let calls = What::Calls(calls.iter().copied().collect());
        let mut changes = self.changes();
        changes.extend(Fix::scaled(calls, processes, 1.0 - share).changes());
        Fix::Changes(changes)
    }

    /// The change that it is, if it is one; else what it changes at least, if that is one.
    pub fn single(&self) -> Option<&Change> {
        match self {
            Fix::Change(change) => Some(change),
            Fix::Changes(changes) | Fix::AtLeast(changes, _) => match &changes[..] {
                [change] => Some(change),
                _ => None,
            },
            Fix::Between(..) | Fix::Likely(..) | Fix::Processors | Fix::AllProcessors(_) => None,
        }
    }

    /// At most it makes all of it take so many times as long.
    pub fn or_at_most(self, factor: f64) -> Fix {
        let least = self.changes();
        let mut most = least.clone();
        for change in &mut most {
            change.how = How::Scale(factor);
        }
        Fix::AtLeast(least, most)
    }

    /// What it changes at most.
    pub fn most(&self) -> Vec<Change> {
        match self {
            Fix::AtLeast(_, most) | Fix::Likely(_, _, most) => most.clone(),
            _ => self.changes(),
        }
    }

    /// The same, which may also take nothing away.
    pub fn or_nothing(self) -> Fix {
        match self {
            Fix::Likely(_, likely, most) | Fix::AtLeast(likely, most) => {
                Fix::Likely(Vec::new(), likely, most)
            }
            fix => Fix::Likely(Vec::new(), fix.changes(), fix.most()),
        }
    }

    /// What it changes of what was recorded; nothing, where only the processors are others. Of two ways in which it may
    /// turn out, the first.
    pub fn changes(&self) -> Vec<Change> {
        match self {
            Fix::Change(change) => vec![change.clone()],
            Fix::Changes(changes)
            | Fix::AllProcessors(changes)
            | Fix::Between(changes, _)
            | Fix::AtLeast(changes, _)
            | Fix::Likely(_, changes, _) => changes.clone(),
            Fix::Processors => vec![Change {
                what: What::Ready,
                processes: None,
                how: How::Scale(0.0),
            }],
        }
    }

    /// That it takes so many times as long.
    pub fn scaled(what: What, processes: BTreeSet<ProcessId>, factor: f64) -> Fix {
        Fix::Change(Change {
            what,
            processes: Some(processes),
            how: How::Scale(factor),
        })
    }
}

/// A figure of the evidence, and the limit that it was held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub what: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub limit: Option<f64>,
    /// What the limit means; empty where there is none.
    pub means: &'static str,
}

/// A figure that is to be held against a limit.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    what: &'static str,
    value: f64,
    limit: &'static Limit,
}

impl Held {
    pub fn new(what: &'static str, value: f64, limit: &'static Limit) -> Held {
        Held { what, value, limit }
    }
}

/// A place in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Example {
    pub thread: ThreadId,
    pub at: Nanos,
}

impl Example {
    /// The beginnings of the first of these spans.
    pub fn first_of(inquiry: &Inquiry<'_>, spans: &BTreeSet<usize>) -> Vec<Example> {
        const EXAMPLES: usize = 3;
        let spans = spans.iter().take(EXAMPLES);
        let spans = spans.filter_map(|&at| inquiry.timeline.span(at));
        let examples = spans.map(|span| Example {
            thread: span.thread,
            at: span.t0,
        });
        examples.collect()
    }
}

impl Rule {
    /// Whether it finds something at fault.
    pub fn accuses(&self) -> bool {
        self.blames != Blames::Nobody
    }

    /// The value of one of its limits, as whoever asks wants it, in the limit's unit.
    pub fn limit(&self, inquiry: &Inquiry<'_>, limit: &'static Limit) -> f64 {
        debug_assert!(
            self.limits.iter().any(|own| std::ptr::eq(*own, limit)),
            "{} is no limit of {}",
            limit.name,
            self.name
        );
        inquiry.limits.value(self.name, limit)
    }
}
