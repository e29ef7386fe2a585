//! A tree of both sides as lines: what changed, the most first, down to where it changed. Parts in which little changed are
//! folded, and functions that pass all of it on share a line.

use std::cmp::Reverse;

use crate::Branch;

/// A line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchLine<'t> {
    /// How far in it stands.
    pub depth: usize,
    pub what: BranchStep<'t>,
    /// In it and in what it called.
    pub a_ns: u64,
    pub b_ns: u64,
    /// In it alone; of several functions in the innermost of them.
    pub own_a_ns: u64,
    pub own_b_ns: u64,
}

/// What a line is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStep<'t> {
    /// Functions of which each calls the next.
    Functions(Vec<&'t str>),
    /// So many in which little changed.
    Folded(usize),
}

/// A branch with what changed in it.
struct Weighed<'t> {
    name: &'t str,
    branch: &'t Branch,
    /// All that became more or less in it.
    moved: u64,
    /// What changed most first.
    called: Vec<Weighed<'t>>,
}

impl<'t> Weighed<'t> {
    /// No deeper than stacks are followed.
    fn of(name: &'t str, branch: &'t Branch) -> Weighed<'t> {
        let called = branch.called.iter();
        let mut called: Vec<Weighed> = called.map(|(name, one)| Weighed::of(name, one)).collect();
        called.sort_by_key(|one| (Reverse(one.moved), one.name));
        let all = called.iter().map(|one| one.moved);
        Weighed {
            name,
            branch,
            moved: all.fold(own_moved(branch), u64::saturating_add),
            called,
        }
    }

    fn lines(&self, depth: usize, least: u64, out: &mut Vec<BranchLine<'t>>) {
        let (mut names, mut node) = (vec![self.name], self);
        // What passes all of its change on shares a line with what it calls.
        while let [only, rest @ ..] = node.called.as_slice() {
            let is_way = only.moved >= least && rest.iter().all(|one| one.moved == 0);
            if !is_way || own_moved(node.branch) > 0 {
                break;
            }
            names.push(only.name);
            node = only;
        }
        out.push(BranchLine {
            depth,
            what: BranchStep::Functions(names),
            a_ns: node.branch.a_ns,
            b_ns: node.branch.b_ns,
            own_a_ns: node.branch.own_a_ns,
            own_b_ns: node.branch.own_b_ns,
        });
        node.inside(depth + 1, least, out);
    }

    /// The lines of what it calls.
    fn inside(&self, depth: usize, least: u64, out: &mut Vec<BranchLine<'t>>) {
        let told = self.called.partition_point(|one| one.moved >= least);
        let (told, folded) = self.called.split_at(told);
        for one in told {
            one.lines(depth, least, out);
        }
        let changed: Vec<&Weighed> = folded.iter().filter(|one| one.moved > 0).collect();
        if changed.is_empty() {
            return;
        }
        let sum = |ns: fn(&Branch) -> u64| {
            let all = changed.iter().map(|one| ns(one.branch));
            all.fold(0, u64::saturating_add)
        };
        out.push(BranchLine {
            depth,
            what: BranchStep::Folded(changed.len()),
            a_ns: sum(|branch| branch.a_ns),
            b_ns: sum(|branch| branch.b_ns),
            own_a_ns: 0,
            own_b_ns: 0,
        });
    }
}

fn own_moved(branch: &Branch) -> u64 {
    branch.own_a_ns.abs_diff(branch.own_b_ns)
}

impl Branch {
    /// The lines of a tree of both sides, from the outermost functions inwards. What has less than this share of all that changed
    /// is folded. None if nothing changed.
    pub fn lines(&self, least: f64) -> Vec<BranchLine<'_>> {
        let whole = Weighed::of("", self);
        let mut lines = Vec::new();
        if whole.moved > 0 {
            let least = (whole.moved as f64 * least).ceil() as u64;
            whole.inside(0, least.max(1), &mut lines);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(stacks: &[(&str, u64, u64)]) -> Branch {
        let (mut one, mut other) = (Branch::default(), Branch::default());
        for &(stack, a, b) in stacks {
            let names = || stack.split(';').map(str::to_owned);
            for (tree, ns) in [(&mut one, a), (&mut other, b)] {
                if ns > 0 {
                    tree.add(names(), ns);
                }
            }
        }
        one.join(other);
        one
    }

    fn told(tree: &Branch) -> Vec<String> {
        let lines = tree.lines(0.01);
        let line = |line: BranchLine| {
            let what = match line.what {
                BranchStep::Functions(names) => names.join(" > "),
                BranchStep::Folded(count) => format!("({count} more)"),
            };
            let indent = "  ".repeat(line.depth);
            let own = line.own_b_ns as i64 - line.own_a_ns as i64;
            format!("{indent}{what} {} {} {own}", line.a_ns, line.b_ns)
        };
        lines.into_iter().map(line).collect()
    }

    /// What changed most stands first, down to where it changed; what passes it on shares a line; what hardly changed is folded,
    /// and what did not is left out.
    #[test]
    fn a_tree_leads_to_what_changed() {
        let both = tree(&[
            ("job;main;load;parse", 1000, 100),
            ("job;main;load;scan", 0, 400),
            ("job;main;store", 300, 300),
            ("job;main;log", 10, 12),
            ("job;main;trace", 0, 3),
        ]);
        assert_eq!(
            told(&both),
            [
                "job > main 1310 815 0",
                "  load 1000 500 0",
                "    parse 1000 100 -900",
                "    scan 0 400 400",
                "  (2 more) 10 15 0",
            ]
        );
        assert_eq!(told(&tree(&[("job;main", 5, 5)])), [""; 0]);
        assert_eq!(told(&Branch::default()), [""; 0]);
    }

    /// A deep stack has one line, and does not end the program.
    #[test]
    fn a_deep_tree() {
        let deep = vec!["again"; 1024].join(";");
        let both = tree(&[(&deep, 10, 30)]);
        let lines = both.lines(0.01);
        let [only] = lines.as_slice() else {
            panic!("one line");
        };
        let BranchStep::Functions(names) = &only.what else {
            panic!("functions");
        };
        assert_eq!((names.len(), only.a_ns, only.b_ns), (1024, 10, 30));
    }
}
