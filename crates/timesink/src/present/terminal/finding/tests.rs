//! Findings in full, on the cases of the rules and on hostile names, against pages kept beside this file.

use timesink_analysis::outlook::Outlook;
use timesink_findings::engine::Findings;
use timesink_findings::mutes::Day;
use timesink_findings::registry::RULES;
use timesink_recording::notation::{draft, Draft};
use timesink_recording::words::State;

use super::{findings, quoted};
use crate::present::names::is_hostile;
use crate::present::terminal::tests::{check, NARROW, PLAIN};
use crate::present::terminal::why::not_examined;
use crate::present::terminal::{render, saves, style, Style};
use crate::present::{samples, Report};
use crate::settings::Settings;

fn full<T>(drawn: &Draft, settings: &Settings, show: impl FnOnce(&Report) -> T) -> T {
    samples::present_with(&drawn.recording(), "case.timesink", settings, show)
}

fn page(drawn: &Draft, style: &Style) -> String {
    full(drawn, &Settings::default(), |report| {
        findings(report, None, false, style)
    })
}

/// A flush, whose thing, calls, waits and stack are known; a function that is busy; children; a lock.
#[test]
fn findings_in_full() {
    for rule in ["flush-per-record", "busy", "child-per-item", "hot-lock"] {
        let page = page(&samples::rule_case(&format!("{rule}.fires")), &PLAIN);
        check(&format!("why_{rule}"), &page);
    }
}

/// What a function waits for beside its work was shown as the stack of a finding about its work.
#[test]
fn a_finding_about_work_shows_stacks_on_a_cpu() {
    let mut text = String::from(
        "run wall 1s
         process 1 import
         thread 1.1 tid 1 import
         1.1: cpu 0..100ms",
    );
    for _ in 0..9 {
        text +=
            " | wait +20ms disk read rows call read stack \"main;crunch;load;read\" | cpu +80ms";
    }
    for n in 0..9 {
        text += &format!(
            "\nsample 1.1 {}ms weight 80ms stack \"main;crunch;sum\"",
            100 * n + 150
        );
    }
    let page = page(&draft(&text), &PLAIN);
    assert!(page.contains("busy on CPU in "), "{page}");
    assert!(page.contains("on CPU, most often:"), "{page}");
    assert!(!page.contains("the waiting thread"), "{page}");
}

/// For how long the path is on a CPU, or waits for one.
fn computes_ns(outlook: &Outlook) -> u64 {
    let computes = |state| matches!(state, State::Cpu | State::Ready);
    let causes = outlook.causes.iter().map(|on_path| &on_path.cause);
    let causes = causes.filter(|cause| computes(cause.key.state));
    causes.map(|cause| cause.ns).sum()
}

/// `why` told another figure than the screen, and both told more than the finding itself.
#[test]
fn what_would_be_saved_is_the_same_everywhere() {
    for rule in RULES {
        let drawn = samples::rule_case(&format!("{}.fires", rule.name));
        full(&drawn, &Settings::default(), |report| {
            let told = report.findings.iter().flat_map(|findings| &findings.told);
            for (rank, finding) in told.enumerate() {
                let saves = saves::of_finding(report, finding);
                let page = findings(report, Some(rank + 1), false, &PLAIN);
                let pages = [page, render(report, &PLAIN)];
                assert!(
                    pages.iter().all(|page| page.contains(&saves)),
                    "{saves}\n{pages:?}"
                );
                // Who computes less waits less for a CPU, too.
                let computes = report.outlook.map_or(0, computes_ns);
                let most = finding.on_path_ns.max(computes);
                let is_bound = finding.gain.hi_ns <= most as i64;
                assert!(is_bound || finding.rule.accuses(), "{}: {saves}", rule.name);
            }
        });
    }
}

/// Suspects beyond the number that is examined were dropped without a word.
#[test]
fn suspects_not_examined_are_told() {
    let mut findings = Findings::default();
    assert_eq!(not_examined(&findings), None);
    findings.not_examined = vec![&RULES[0], &RULES[0], &RULES[1]];
    let (first, second) = (RULES[0].name, RULES[1].name);
    assert_eq!(
        not_examined(&findings),
        Some(format!(
            "3 suspects not examined, too many in all: {first}, {second}"
        ))
    );
}

/// Every rule's finding has a page that fits a terminal, with its evidence and a mute that can be pasted.
#[test]
fn every_finding_has_its_page() {
    for rule in RULES {
        let page = page(
            &samples::rule_case(&format!("{}.fires", rule.name)),
            &NARROW,
        );
        for wanted in ["EVIDENCE", "PREDICTED GAIN", "HOW TO MUTE IT", rule.name] {
            assert!(page.contains(wanted), "{}: no {wanted}: {page}", rule.name);
        }
        for line in page.lines().filter(|line| !line.starts_with("    ")) {
            assert!(style::width(line) <= NARROW.width, "{line}");
        }
    }
}

/// What the page says to paste mutes the finding; it is counted, and told in full to who asks.
#[test]
fn a_mute_that_is_pasted_mutes() {
    let drawn = samples::rule_case("flush-per-record.fires");
    let whole = page(&drawn, &PLAIN);
    let pasted = whole.lines().skip_while(|line| line.trim() != "[[mute]]");
    let pasted: Vec<&str> = pasted.take(3).collect();
    let pasted = pasted.join("\n").replace("\"\"", "\"it has to\"") + "\nuntil = 2026-11-21\n";
    let mut settings = Settings::default();
    settings.add_mutes(&pasted, "/a/.timesink-ignore.toml");
    assert_eq!(settings.complaints, [""; 0]);
    let shown = |settings: &Settings| {
        full(&drawn, settings, |report| {
            (
                render(report, &PLAIN),
                findings(report, Some(1), true, &PLAIN),
            )
        })
    };
    settings.today = Day {
        year: 2026,
        month: 11,
        day: 21,
    };
    let (report, muted) = shown(&settings);
    assert!(
        report.contains("Muted: 1 (timesink why --muted)"),
        "{report}"
    );
    assert!(!report.contains("rows.db is flushed"), "{report}");
    assert!(
        muted.contains("rows.db is flushed to disk 50 times"),
        "{muted}"
    );
    assert!(
        muted.contains("Muted until 2026-11-21 in /a/.timesink-ignore.toml"),
        "{muted}"
    );
    assert!(muted.contains("because: it has to"), "{muted}");
    // A day later it mutes no more, and that is said.
    settings.today.day += 1;
    let (report, muted) = shown(&settings);
    assert!(
        report.contains("rows.db is flushed to disk 50 times"),
        "{report}"
    );
    assert!(
        report.contains("The mute expired on 2026-11-21: it has to"),
        "{report}"
    );
    assert_eq!(muted, "Nothing is muted.\n");
}

/// A rule that is switched off is not asked, and the report says so; a limit that is set holds.
#[test]
fn settings_hold_in_the_report() {
    let drawn = samples::rule_case("flush-per-record.fires");
    let report = |text: &str| {
        let mut settings = Settings::default();
        settings.add_limits(text, "/a/timesink.toml");
        full(&drawn, &settings, |report| render(report, &PLAIN))
    };
    assert!(report("").contains("rows.db is flushed to disk 50 times"));
    let off = report("rules.flush-per-record.disabled = true");
    assert!(!off.contains("rows.db is flushed"), "{off}");
    assert!(
        off.contains("Skipped: flush-per-record (disabled in /a/timesink.toml)"),
        "{off}"
    );
    let more = report("rules.flush-per-record.flushes = 51");
    assert!(!more.contains("rows.db is flushed"), "{more}");
}

const EVIL: &str = "\u{1b}[2J\r\n\u{9b}31m\u{202e}gpj.exe\u{7}\"' \u{e0041}$(x)";

/// Gives everything that others name a name that would like to act on a terminal.
fn make_hostile(drawn: &mut Draft) {
    let evil = format!("{EVIL}{}", "long".repeat(300));
    drawn.processes.iter_mut().for_each(|row| {
        row.executable = format!("/{}{evil}", row.executable);
        row.name = format!("{evil}{}", row.name);
    });
    drawn
        .threads
        .iter_mut()
        .for_each(|row| row.name.clone_from(&evil));
    drawn
        .outsiders
        .iter_mut()
        .for_each(|row| row.name.clone_from(&evil));
    drawn
        .lookups
        .iter_mut()
        .for_each(|row| row.path.clone_from(&evil));
    let mut errors = drawn.call_errors.clone();
    errors.iter_mut().for_each(|row| row.error.push_str(EVIL));
    drawn.call_errors.extend(errors);
    drawn.objects.iter_mut().for_each(|row| {
        row.label.clone_from(&evil);
        row.path = row.path.as_ref().map(|_| evil.clone());
    });
    drawn.frames.iter_mut().for_each(|row| {
        row.file.clone_from(&evil);
        // What functions of the system and of a database are called is not up to others, and rules go by it.
        let known = [
            "ksys_",
            "do_sys_",
            "ProcSleep",
            "XactLock",
            "LockTuple",
            "secure_read",
        ];
        if !known.iter().any(|name| row.function.starts_with(name)) {
            row.function.push_str(&evil);
        }
    });
}

/// Whatever the names of things, programs and functions hold, no page of a finding acts on a terminal.
#[test]
fn hostile_names_do_nothing() {
    let mut silent = Vec::new();
    for rule in RULES {
        let mut drawn = samples::rule_case(&format!("{}.fires", rule.name));
        make_hostile(&mut drawn);
        let mut settings = Settings::default();
        let mute =
            "[[mute]]\nsignature = \"*\"\nreason = \"\\u001b[2J\\u202e\"\nuntil = 1999-01-01\n";
        settings.add_mutes(mute, &format!("/{EVIL}"));
        settings.today = Day {
            year: 2026,
            month: 11,
            day: 21,
        };
        full(&drawn, &settings, |report| {
            let told = report.findings.map_or(0, |findings| findings.told.len());
            if told == 0 {
                silent.push(rule.name);
            }
            let pages = [
                render(report, &PLAIN),
                findings(report, None, false, &PLAIN),
                findings(report, None, false, &NARROW),
            ];
            for page in pages {
                let hostile = page.chars().find(|&c| c != '\n' && is_hostile(c));
                assert_eq!(hostile, None, "{}: {page:?}", rule.name);
            }
        });
        settings.today = Day::default();
        full(&drawn, &settings, |report| {
            let page = findings(report, None, true, &PLAIN);
            let told = page.contains("Muted until 1999-01-01 in") || silent.contains(&rule.name);
            assert!(told, "{page}");
            assert!(
                !page.chars().any(|c| c != '\n' && is_hostile(c)),
                "{page:?}"
            );
        });
    }
    // None of them was spared.
    assert_eq!(silent, [""; 0]);
}

/// A signature that is pasted is read back as it was, whatever is in it.
#[test]
fn signatures_are_quoted() {
    let text = format!("[[mute]]\nsignature = {}\nreason = 'r'\n", quoted(EVIL));
    assert!(!quoted(EVIL).chars().any(is_hostile));
    let mut settings = Settings::default();
    settings.add_mutes(&text, "m.toml");
    assert_eq!(settings.complaints, [""; 0]);
    assert_eq!(settings.mutes[0].signature, EVIL);
}

/// Waits of one kind have many stacks: it was that of the postmaster, which waits for clients, and not of who waits for a lock.
#[test]
fn the_stack_is_of_the_waits_that_the_fix_removes() {
    let drawn = samples::rule_case("database-lock.fires");
    full(&drawn, &Settings::default(), |report| {
        let page = findings(report, None, false, &PLAIN);
        let stacks = page.split("STACKS").nth(1).expect("stacks");
        assert!(stacks.contains("ProcSleep"), "{page}");
        assert!(!stacks.contains("ServerLoop"), "{page}");
    });
}
