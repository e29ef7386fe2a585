//! `whatif`: what can be ticked; `predict`: what several of them come to together.

use timesink_analysis::path::Cause;
use timesink_analysis::replay::{Change, Gain, How, Processors, What};
use timesink_findings::engine::Finding;
use timesink_findings::rule::Fix;
use timesink_page::model::{ChangeKind, ChangeRow, PathRow, Predicted, WhatIf};
use timesink_page::{Page, Part, Request, Side};
use timesink_recording::words::{Detail, State};

use super::{interval, path};
use crate::present::{names, sentences, terminal, Report};

/// All that can be ticked: fixes first, then what the path consists of, then functions on it. The place of one is its id.
pub struct Changes {
    all: Vec<Tick>,
}

struct Tick {
    changes: Vec<Change>,
    /// As if there were these.
    processors: Option<Processors>,
    row: ChangeRow,
    /// What the report says of it.
    gain: Option<Gain>,
}

/// Functions that can be ticked.
const FUNCTIONS: usize = 12;
/// A smaller share of the path is not worth a tick.
const LEAST: f64 = 0.005;
/// Findings further down are not part of `all`.
const TOGETHER: usize = 12;

impl Changes {
    /// Of a recording whose story was told.
    pub fn of(report: &Report, page: &Page<'_>) -> Changes {
        let findings = report.findings.map_or(&[][..], |found| &found.told);
        let fixes = findings.iter().enumerate();
        let mut all: Vec<Tick> = fixes.map(|(at, one)| fix(report, at, one)).collect();
        let least = |ns: u64, wall: u64| ns as f64 >= wall as f64 * LEAST;
        if let Some(outlook) = report.outlook {
            let causes = outlook.causes.iter();
            let causes = causes.filter(|one| least(one.cause.ns, outlook.wall_ns));
            all.extend(causes.filter_map(|one| state(report, page, one)));
            let functions = outlook.functions.iter().take(FUNCTIONS);
            let functions = functions.filter(|one| least(one.ns, outlook.wall_ns));
            for one in functions {
                let name = &report.stacks.code.function(one.function).name;
                if !name.is_empty() {
                    let change = scaled(What::Function(name.clone()));
                    let label = names::call(&report.stacks.code, one.function);
                    let row = row(ChangeKind::Function, label, one.ns, one.gain.as_ref());
                    all.push(Tick {
                        changes: vec![change],
                        processors: None,
                        row,
                        gain: one.gain,
                    });
                }
            }
        }
        for (id, tick) in all.iter_mut().enumerate() {
            tick.row.id = id as u32;
        }
        Changes { all }
    }

    /// What can be ticked.
    pub fn whatif(&self, report: &Report) -> WhatIf {
        let outlook = report.outlook;
        let together = self.together();
        let request = |changes| Request {
            side: Side::A,
            part: Part::Predict(changes),
        };
        WhatIf {
            wall_ns: outlook.map_or(0, |outlook| outlook.wall_ns),
            replay_error_pct: outlook.map_or(0.0, |outlook| outlook.replay_error_pct),
            is_useless: terminal::is_useless(report),
            processors: outlook
                .map(|outlook| outlook.processors)
                .filter(|&count| count < u32::from(u16::MAX)),
            changes: self.all.iter().map(|tick| tick.row.clone()).collect(),
            all: together.map(|together| request(together).to_string()),
            why_not: match outlook {
                Some(_) => None,
                None => Some("This recording has no thread to ask about.".to_owned()),
            },
        }
    }

    /// The changes of a request, so much of each being left in percent, and the processors; `None` where there is no such tick.
    pub fn asked(&self, parts: &[(u32, u32)]) -> Option<(Vec<Change>, Option<Processors>)> {
        let (mut asked, mut processors) = (Vec::new(), None);
        for &(id, left) in parts {
            let tick = self.all.get(id as usize)?;
            let scaled = tick.changes.iter().cloned().map(|change| match change.how {
                How::Scale(factor) if tick.row.is_scalable => Change {
                    how: How::Scale(factor + (1.0 - factor) * f64::from(left) / 100.0),
                    ..change
                },
                _ => change,
            });
            if left == 0 || tick.row.is_scalable {
                asked.extend(scaled);
                processors = processors.or(tick.processors);
            }
        }
        Some((asked, processors))
    }

    /// What the report says a single change would buy, if that is what is asked: the page says nothing else than the terminal.
    pub fn told(&self, parts: &[(u32, u32)]) -> Option<Gain> {
        match parts {
            [(id, 0)] => self.all.get(*id as usize)?.gain,
            _ => None,
        }
    }

    /// Each alone, as a file has them.
    pub fn alone(&self) -> Vec<(u32, u32)> {
        let asked = self.all.iter().filter(|tick| tick.is_asked());
        asked.map(|tick| (tick.row.id, 0)).collect()
    }

    /// All fixes at once; `None` if there is none.
    pub fn together(&self) -> Option<Vec<(u32, u32)>> {
        let fixes = self
            .all
            .iter()
            .filter(|tick| tick.row.kind == ChangeKind::Finding);
        let asked = fixes.filter(|tick| tick.is_asked()).take(TOGETHER);
        let asked: Vec<(u32, u32)> = asked.map(|tick| (tick.row.id, 0)).collect();
        (!asked.is_empty()).then_some(asked)
    }

    fn words(&self, parts: &[(u32, u32)]) -> String {
        let told = parts.iter().filter_map(|&(id, left)| {
            let label = &self.all.get(id as usize)?.row.label;
            Some(match left {
                0 => format!("without {label}"),
                left => format!("{label} at {left} %"),
            })
        });
        told.collect::<Vec<_>>().join("; ")
    }
}

impl Tick {
    fn is_asked(&self) -> bool {
        !self.changes.is_empty() || self.processors.is_some()
    }
}

fn scaled(what: What) -> Change {
    Change {
        what,
        processes: None,
        how: How::Scale(0.0),
    }
}

fn row(kind: ChangeKind, label: String, on_path_ns: u64, gain: Option<&Gain>) -> ChangeRow {
    ChangeRow {
        id: 0,
        kind,
        label,
        finding: None,
        on_path_ns,
        is_scalable: true,
        saves: match gain {
            Some(gain) => terminal::cause_saves(gain).unwrap_or_else(|| "saves nothing".to_owned()),
            None => String::new(),
        },
        gain: gain.map(interval),
        group: None,
    }
}

fn fix(report: &Report, at: usize, finding: &Finding) -> Tick {
    let title = sentences::text(report, &finding.suspect.title);
    let fix = &finding.suspect.fix;
    let processors = match fix {
        Fix::Processors => Some(Processors::Any(u32::MAX)),
        Fix::AllProcessors(_) => report
            .outlook
            .map(|outlook| Processors::Any(outlook.processors)),
        _ => None,
    };
    let row = row(
        ChangeKind::Finding,
        title,
        finding.on_path_ns,
        Some(&finding.gain),
    );
    Tick {
        changes: fix.changes(),
        processors,
        row: ChangeRow {
            finding: Some(at as u32 + 1),
            saves: terminal::saves(report, finding),
            is_scalable: false,
            ..row
        },
        gain: Some(finding.gain),
    }
}

fn state(
    report: &Report,
    page: &Page<'_>,
    on_path: &timesink_analysis::outlook::OnPath,
) -> Option<Tick> {
    let key = on_path.cause.key;
    if key.unknown.is_some() || key.state == State::Lost {
        return None;
    }
    let mut label = terminal::cause_label(&key);
    if let Some(object) = key.object {
        label += &format!(", {}", names::object_in(report, object));
    }
    let main = report.main().map(|main| main.row.process);
    if Some(key.process) != main {
        label += &format!(" in {}", names::process_name(report.facts, key.process));
    }
    let change = Change {
        what: What::Cause {
            state: key.state,
            detail: key.detail,
            object: key.object,
        },
        processes: Some(report.loaded.programs.alike(key.process)),
        how: How::Scale(0.0),
    };
    let number = page
        .states
        .of(key.state, key.detail.unwrap_or(Detail::Running));
    let row = row(
        ChangeKind::State,
        label,
        on_path.cause.ns,
        on_path.gain.as_ref(),
    );
    // Nobody waits for a processor where there is one for each.
    let plenty = key.state == State::Ready && key.detail.is_none();
    Some(Tick {
        changes: vec![change],
        processors: plenty.then_some(Processors::Any(u32::MAX)),
        row: ChangeRow {
            group: Some(page.states.kinds[number as usize].group),
            ..row
        },
        gain: on_path.gain,
    })
}

/// What several changes come to: the gain, and the path that is left.
pub fn predicted(
    report: &Report,
    page: &Page<'_>,
    changes: &Changes,
    parts: &[(u32, u32)],
    gain: &Gain,
    left: &[Cause],
) -> Predicted {
    let path: Vec<PathRow> = path::left(report, left, gain.wall_ns, &page.states);
    let request = Request {
        side: Side::A,
        part: Part::Predict(parts.to_vec()),
    };
    Predicted {
        request: request.to_string(),
        gain: interval(gain),
        path,
        words: changes.words(parts),
    }
}
