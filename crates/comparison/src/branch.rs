//! Who called whom on both sides: the time of all threads by their stacks, from the outermost functions inwards, with B
//! beside A.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timesink_analysis::ledger::Account;
use timesink_analysis::stacks::StackIx;
use timesink_story::Story;

use crate::code::function_name;
use crate::digest::program_name;
use crate::Aligned;

/// A function with all that it called, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// In it and in what it called.
    pub a_ns: u64,
    pub b_ns: u64,
    /// In it alone.
    pub own_a_ns: u64,
    pub own_b_ns: u64,
    pub called: BTreeMap<String, Branch>,
}

/// Which time a tree is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    Cpu,
    Waits,
    Both,
}

impl Weights {
    fn has(self, account: Account) -> bool {
        match account {
            Account::Cpu => self != Weights::Waits,
            Account::Wait => self != Weights::Cpu,
            Account::Ready | Account::Tracer | Account::Lost => false,
        }
    }
}

impl Branch {
    /// The tree of one recording, as A. Below its root are programs.
    pub fn of(story: &Story<'_>, weights: Weights) -> Branch {
        let loaded = story.loaded;
        let code = &loaded.stacks.code;
        // The same stack comes again and again: its names are looked up once.
        let mut sums: FxHashMap<(&str, StackIx), u64> = FxHashMap::default();
        let mut homes = FxHashMap::default();
        for thread in &loaded.facts.ledger.threads {
            let name = program_name(&loaded.facts, thread.row.process);
            homes.insert(thread.row.thread, name);
        }
        let events = loaded.stacks.events.iter();
        for event in events.filter(|event| weights.has(event.account)) {
            let home = homes.get(&event.thread).map_or("", String::as_str);
            let sum = sums.entry((home, event.stack)).or_default();
            *sum = sum.saturating_add(event.ns);
        }
        let mut root = Branch::default();
        for ((program, stack), ns) in sums {
            let functions = code.functions_of(stack).into_iter().rev();
            let names = functions.map(|function| function_name(code, function));
            root.add(std::iter::once(program.to_owned()).chain(names), ns);
        }
        for thread in &loaded.facts.ledger.threads {
            let home = homes.get(&thread.row.thread).map_or("", String::as_str);
            let rests = loaded.stacks.rests_of(thread.row.thread).iter();
            for rest in rests.filter(|rest| rest.ns > 0 && weights.has(rest.missing.account())) {
                // Not a function's name.
                let rests = format!("({})", rest.missing.word());
                root.add([home.to_owned(), rests].into_iter(), rest.ns);
            }
        }
        root
    }

    pub(crate) fn add(&mut self, names: impl Iterator<Item = String>, ns: u64) {
        let mut node = self;
        node.a_ns = node.a_ns.saturating_add(ns);
        for name in names {
            node = node.called.entry(name).or_default();
            node.a_ns = node.a_ns.saturating_add(ns);
        }
        node.own_a_ns = node.own_a_ns.saturating_add(ns);
    }

    /// Puts B's tree beside A's, whose names its programs get.
    pub fn beside(mut self, mut other: Branch, aligned: &Aligned) -> Branch {
        for (name, others) in &aligned.renamed {
            if let Some(program) = other.called.remove(others) {
                other.called.insert(name.clone(), program);
            }
        }
        self.join(other);
        self
    }

    /// No deeper than stacks are followed.
    pub(crate) fn join(&mut self, other: Branch) {
        self.b_ns = self.b_ns.saturating_add(other.a_ns);
        self.own_b_ns = self.own_b_ns.saturating_add(other.own_a_ns);
        for (name, branch) in other.called {
            self.called.entry(name).or_default().join(branch);
        }
    }

    /// All branches, each after the one that it is called from, with that one's place; the root has none.
    pub fn all(&self) -> Vec<(Option<usize>, &str, &Branch)> {
        let mut found: Vec<(Option<usize>, &str, &Branch)> = vec![(None, "", self)];
        let mut at = 0;
        while let Some(&(_, _, branch)) = found.get(at) {
            let called = branch.called.iter();
            found.extend(called.map(|(name, called)| (Some(at), name.as_str(), called)));
            at += 1;
        }
        found
    }

    /// Each stack with the time of its innermost function alone, in A and in B.
    pub fn stacks(&self) -> Vec<(Vec<&str>, u64, u64)> {
        let mut found = Vec::new();
        let mut open: Vec<(Vec<&str>, &Branch)> = vec![(Vec::new(), self)];
        while let Some((names, branch)) = open.pop() {
            if branch.own_a_ns > 0 || branch.own_b_ns > 0 {
                found.push((names.clone(), branch.own_a_ns, branch.own_b_ns));
            }
            for (name, called) in branch.called.iter().rev() {
                let mut names = names.clone();
                names.push(name);
                open.push((names, called));
            }
        }
        found
    }
}
