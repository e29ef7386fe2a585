//! The page says what the terminal says, of each drawn sample.

use timesink_page::{Page, Part, Request};

use super::{answer, bands, checks, Changes, Words};
use crate::present::terminal::{self, Style};
use crate::present::{samples, Report};

fn shown(show: impl Fn(&Report, &Page<'_>)) {
    for drawn in samples::all() {
        samples::present(&drawn, "x.timesink", |report| {
            let words = Words(report.loaded);
            let page = Page::of(report.loaded, &words).expect("a drawn recording reads");
            show(report, &page);
        });
    }
}

#[test]
fn the_answer_is_that_of_the_terminal() {
    shown(|report, page| {
        let answer = answer(report, page);
        let text = terminal::answer(report, &Style::PLAIN);
        assert_eq!(answer.text, text);
        assert!(text.starts_with(&answer.head));
        assert!(text.contains(&answer.title));
        for card in answer.findings.iter().take(5) {
            assert!(text.contains(&card.title), "{}", card.title);
            assert!(text.contains(&card.saves), "{}", card.saves);
            let place = card.place.as_deref().unwrap_or("");
            assert!(text.contains(place), "{place}");
        }
        for note in &answer.notes {
            assert!(text.contains(note.as_str()), "{note}");
        }
        let Some(outlook) = report.outlook else {
            return;
        };
        let sum: u64 = answer.path.iter().map(|row| row.ns).sum();
        assert_eq!(sum, outlook.wall_ns);
        for row in answer.path.iter().filter(|row| row.share >= 0.05) {
            assert!(text.contains(&row.label) && text.contains(&row.time));
        }
        assert!(answer.markdown.contains("| state | time | share |"));
    });
}

/// What a card refers to is there: in the overview, in the code and among the things.
#[test]
fn what_answers_refer_to_is_there() {
    shown(|report, page| {
        let (code, things) = (page.code(), page.things());
        for card in answer(report, page).findings {
            let about = card.about;
            let threads = page.places.threads.len() as u32;
            assert!(about.threads.iter().all(|thread| *thread < threads));
            assert!(about.moments.iter().all(|at| at.thread < threads));
            let functions = code.functions.name.len() as u32;
            assert!(about.functions.iter().all(|one| *one < functions));
            let is_there = |id: &u32| things.things.iter().any(|thing| thing.id == *id);
            assert!(about.things.iter().all(is_there));
        }
        for band in bands(report, page).bands {
            assert_eq!(band.from_ns.len(), band.thread.len());
            assert_eq!(band.from_ns.len(), band.ns.len());
            assert!(!band.title.is_empty() && band.count > 0);
        }
        let checks = checks(report);
        assert!(terminal::answer(report, &Style::PLAIN).contains(&checks.lines[0]));
    });
}

/// Each tick can be asked alone and with all others, and says what the report says.
#[test]
fn what_can_be_ticked_can_be_asked() {
    shown(|report, page| {
        let changes = Changes::of(report, page);
        let whatif = changes.whatif(report);
        for (at, row) in whatif.changes.iter().enumerate() {
            assert_eq!(row.id as usize, at);
            assert!(changes.asked(&[(row.id, 0)]).is_some());
        }
        let findings = report.findings.map_or(0, |found| found.told.len());
        for at in 0..findings as u32 {
            let told = changes.told(&[(at, 0)]).expect("a finding has a gain");
            assert_eq!(
                Some(super::interval(&told)),
                whatif.changes[at as usize].gain
            );
        }
        if let Some(all) = &whatif.all {
            let request = Request::parse(all).expect("it is a request");
            assert!(matches!(request.part, Part::Predict(_)));
        }
        assert!(changes.asked(&[(4_000_000, 0)]).is_none());
    });
}

/// Half of a thing is half of it: what is left is between none and all.
#[test]
fn a_part_of_a_change_is_a_part() {
    shown(|report, page| {
        let changes = Changes::of(report, page);
        let rows = changes.whatif(report).changes;
        let Some(id) = rows.iter().find(|row| row.is_scalable).map(|row| row.id) else {
            return;
        };
        let factor = |left| {
            let (asked, _) = changes.asked(&[(id, left)]).expect("it is there");
            match asked[0].how {
                timesink_analysis::replay::How::Scale(factor) => factor,
                how => panic!("{how:?}"),
            }
        };
        assert_eq!([factor(0), factor(50), factor(200)], [0.0, 0.5, 2.0]);
    });
}
