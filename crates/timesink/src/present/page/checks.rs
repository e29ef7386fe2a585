//! `checks`: whether the figures hold.

use timesink_analysis::ledger::Balance;
use timesink_page::model::{CheckedTime, Checks, LossRow, ProbeRow};

use crate::present::terminal::{self, Style};
use crate::present::{names, trust, words, Report};

pub fn checks(report: &Report) -> Checks {
    let (about, facts) = (report.about, report.facts);
    let books = &facts.ledger.books;
    let name = |text: &str| names::harmless(text).into_owned();
    let losses = facts.losses.iter().map(|loss| LossRow {
        words: words::loss(loss.kind, loss.count),
        note: name(&loss.note),
    });
    let probes = facts.probes.iter().map(|probe| ProbeRow {
        probe: name(&probe.probe),
        attached: probe.attached,
        reason: name(&probe.reason),
        without: name(&probe.without),
    });
    Checks {
        lines: terminal::checks(report, &Style::PLAIN),
        warnings: trust::doubt(report).into_iter().collect(),
        cpu: checked(&books.cpu),
        runnable: checked(&books.ready),
        life: checked(&books.life),
        unaccounted_ns: books.unaccounted_ns,
        unaccounted_pct: books.unaccounted_pct(),
        cost_pct: report.cost_pct(),
        recorder_cpu_ns: about.cost.recorder_cpu_ns,
        calls_timed_share: about.call_timing_share,
        threshold_ns: about.threshold_ns,
        losses: losses.collect(),
        probes: probes.collect(),
        mended: about.mended.as_deref().map(name),
    }
}

fn checked(balance: &Balance) -> CheckedTime {
    CheckedTime {
        ours_ns: balance.ours_ns,
        kernel_ns: balance.kernel_ns,
        difference_pct: balance.difference_pct(),
    }
}
