//! What the path did in functions that a rule names: how long, where, and what it would buy otherwise.
//!
//! Which functions are meant a rule says by their names and where they are from, exactly: no name is guessed at.

use std::collections::{BTreeMap, BTreeSet};

use timesink_analysis::ledger::Account;
use timesink_analysis::path::OnStack;
use timesink_analysis::replay::{Change, How, What};
use timesink_analysis::stacks::{Function, FunctionIx, Spot, StackIx};
use timesink_recording::ids::ProcessId;
use timesink_recording::words::Language;

use crate::inquiry::Inquiry;
use crate::rule::{Example, Fix, Limit, Rule, Suspect, Unit, Weight};
use crate::sentence::Sentence;

/// What is told of functions takes so much of the path at least.
pub static SHARE: Limit = Limit {
    name: "share",
    value: 0.1,
    unit: Unit::Share,
    means: "minimum share of the critical path in it",
};
pub static MS: Limit = Limit {
    name: "time",
    value: 50.0,
    unit: Unit::Milliseconds,
    means: "minimum time in it",
};

/// Functions of a recording, and the stacks of the path that pass through them.
#[derive(Clone, Debug, Default)]
pub struct InCode {
    pub functions: BTreeSet<FunctionIx>,
    /// The most time first.
    pub stacks: Vec<OnStack>,
}

/// Whose stack of the path it is.
fn process_of(inquiry: &Inquiry<'_>, stack: &OnStack) -> Option<ProcessId> {
    let on_path = inquiry.outlook.causes.get(stack.cause)?;
    Some(on_path.cause.key.process)
}

impl InCode {
    /// The functions that are so.
    pub fn of(inquiry: &Inquiry<'_>, is: impl Fn(&Function) -> bool) -> InCode {
        let functions = inquiry.stacks.code.functions.iter().enumerate();
        let meant = functions.filter(|(_, function)| is(function));
        InCode::through(
            inquiry,
            meant.map(|(at, _)| FunctionIx(at as u32)).collect(),
        )
    }

    /// These functions.
    pub fn through(inquiry: &Inquiry<'_>, functions: BTreeSet<FunctionIx>) -> InCode {
        InCode {
            stacks: inquiry
                .outlook
                .on_processors
                .within(&functions, inquiry.stacks),
            functions,
        }
    }

    /// The kernel's functions of these names.
    pub fn of_kernel(inquiry: &Inquiry<'_>, names: &[&str]) -> InCode {
        InCode::of(inquiry, |function| {
            function.language == Language::Kernel && names.contains(&function.name.as_str())
        })
    }

    /// Without what passes through functions of these names.
    pub fn without_stacks_through(mut self, inquiry: &Inquiry<'_>, names: &[&str]) -> InCode {
        let code = &inquiry.stacks.code;
        let passes = |stack| {
            let functions = code.functions_of(stack).into_iter();
            let mut named = functions.map(|function| code.function(function).name.as_str());
            named.any(|name| names.contains(&name))
        };
        self.stacks.retain(|on| !passes(on.stack));
        self
    }

    /// Without programs that are so.
    pub fn without_programs(mut self, inquiry: &Inquiry<'_>, is: impl Fn(&str) -> bool) -> InCode {
        self.stacks.retain(|stack| {
            let process = process_of(inquiry, stack);
            let program = process.and_then(|process| inquiry.program(process));
            !program.is_some_and(&is)
        });
        self
    }

    /// Only of this program.
    pub fn in_program(mut self, inquiry: &Inquiry<'_>, process: ProcessId) -> InCode {
        self.stacks.retain(|stack| {
            process_of(inquiry, stack).is_some_and(|own| inquiry.same_program(own, process))
        });
        self
    }

    /// Both.
    pub fn and(&self, inquiry: &Inquiry<'_>, other: &InCode) -> InCode {
        InCode::through(
            inquiry,
            self.functions.union(&other.functions).copied().collect(),
        )
    }

    /// The calls of the program's own code into packages that lead to them; where the program calls them itself, or no function
    /// of its own is on the way, they themselves.
    pub fn calls_into_packages(&self, inquiry: &Inquiry<'_>) -> InCode {
        let code = &inquiry.stacks.code;
        let call = |on: &OnStack| {
            let way = self.way(inquiry, on.stack);
            let own = way
                .iter()
                .skip(1)
                .position(|spot| code.is_programs_own(spot.function));
            way.get(own.unwrap_or(0)).map(|spot| spot.function)
        };
        InCode::through(inquiry, self.stacks.iter().filter_map(call).collect())
    }

    /// How long the path was in them on a processor.
    pub fn ns(&self) -> u64 {
        let each = self.stacks.iter().map(|on| on.ns);
        each.fold(0, u64::saturating_add)
    }

    /// How long threads, of this program if one is named, were on a processor in them, on the path or beside it.
    pub fn beside_path_ns(&self, inquiry: &Inquiry<'_>, program: Option<ProcessId>) -> u64 {
        let is_meant = |process: Option<ProcessId>| match (program, process) {
            (Some(program), Some(process)) => inquiry.same_program(process, program),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let events = inquiry.stacks.events.iter();
        let on_cpu = events.filter(|event| event.account == Account::Cpu);
        let within = on_cpu.filter(|event| {
            let functions = inquiry.stacks.code.functions_of(event.stack);
            let mut functions = functions.iter();
            functions.any(|function| self.functions.contains(function))
                && is_meant(inquiry.process_of(event.thread))
        });
        within.fold(0, |sum: u64, event| sum.saturating_add(event.ns))
    }

    /// How long the path was in them, as a share of the wall time.
    pub fn share(&self, inquiry: &Inquiry<'_>) -> f64 {
        self.ns() as f64 / inquiry.outlook.wall_ns.max(1) as f64
    }

    /// Both, if it is at least as much as these limits of a rule say.
    pub fn enough(
        &self,
        inquiry: &Inquiry<'_>,
        rule: &Rule,
        least_share: &'static Limit,
        least_ms: &'static Limit,
    ) -> Option<(u64, f64)> {
        let (ns, share) = (self.ns(), self.share(inquiry));
        let enough = share >= rule.limit(inquiry, least_share)
            && ns as f64 >= rule.limit(inquiry, least_ms) * 1e6;
        enough.then_some((ns, share))
    }

    /// Which program was in them longest.
    pub fn process(&self, inquiry: &Inquiry<'_>) -> Option<ProcessId> {
        let mut sums: BTreeMap<ProcessId, u64> = BTreeMap::new();
        for stack in &self.stacks {
            if let Some(process) = process_of(inquiry, stack) {
                *sums.entry(process).or_default() += stack.ns;
            }
        }
        let most = sums.into_iter().max_by_key(|&(process, ns)| (ns, process));
        most.map(|(process, _)| process)
    }

    /// The way to them that most of the time came, from the outermost of them out, innermost first. Of several stacks
    /// that came this way it is the heaviest that tells the lines.
    pub fn frames(&self, inquiry: &Inquiry<'_>) -> Vec<Spot> {
        let mut ways: BTreeMap<Vec<FunctionIx>, (u64, Vec<Spot>)> = BTreeMap::new();
        for stack in &self.stacks {
            let way = self.way(inquiry, stack.stack);
            if way.is_empty() {
                continue;
            }
            let functions = way.iter().map(|spot| spot.function).collect();
            // The most time first: the first that came this way is the heaviest.
            let (ns, _) = ways.entry(functions).or_insert((0, way));
            *ns += stack.ns;
        }
        let most = ways.into_values().max_by_key(|(ns, _)| *ns);
        most.map_or(Vec::new(), |(_, way)| way)
    }

    /// The way to them in one stack.
    fn way(&self, inquiry: &Inquiry<'_>, stack: StackIx) -> Vec<Spot> {
        const MOST: usize = 32;
        let spots = inquiry.stacks.code.spots_of(stack);
        let meant = spots
            .iter()
            .rposition(|spot| self.functions.contains(&spot.function));
        let way = meant.map_or(&[][..], |meant| &spots[meant..]);
        way.iter().take(MOST).copied().collect()
    }

    /// That they take so many times as long, with all that they call.
    pub fn scaled(&self, factor: f64) -> Change {
        Change {
            what: What::Functions(self.functions.clone()),
            processes: None,
            how: How::Scale(factor),
        }
    }

    /// The same in the processes of one program.
    pub fn scaled_in(&self, inquiry: &Inquiry<'_>, process: ProcessId, factor: f64) -> Change {
        Change {
            processes: Some(inquiry.of_program(process)),
            ..self.scaled(factor)
        }
    }

    /// A suspect that is just this time of the path.
    pub fn suspect(&self, inquiry: &Inquiry<'_>, title: Sentence, fix: Fix) -> Suspect {
        let mut suspect = Suspect::new(title, fix, Weight::of_stacks(self.stacks.clone()));
        suspect.process = self.process(inquiry);
        suspect.frames = self.frames(inquiry);
        let heaviest = self.stacks.iter().take(3);
        suspect.examples = heaviest
            .map(|stack| Example {
                thread: stack.thread,
                at: stack.at,
            })
            .collect();
        suspect
    }

    /// The same held against the limits that say what is enough.
    pub fn suspect_held(
        &self,
        inquiry: &Inquiry<'_>,
        rule: &Rule,
        least_share: &'static Limit,
        least_ms: &'static Limit,
        title: Sentence,
        fix: Fix,
    ) -> Suspect {
        let ms = self.ns() as f64 / 1e6;
        self.suspect(inquiry, title, fix)
            .held(
                inquiry,
                rule,
                "share of the path",
                self.share(inquiry),
                least_share,
            )
            .held(inquiry, rule, "milliseconds", ms, least_ms)
    }
}
