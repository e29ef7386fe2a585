//! What settings files say, and how errors in them are reported.

use timesink_findings::mutes::Day;

use super::{Settings, To};

/// Limits and switches are applied; the file that is read last wins.
#[test]
fn limits_are_set() {
    let mut settings = Settings::default();
    let general =
        "[rules.flush-per-record]\nflushes = 50\nbytes = 1e3\n[rules.hot-lock]\ndisabled = true\n";
    settings.add_limits(general, "config.toml");
    settings.add_limits(
        "rules.flush-per-record.flushes = 0x10\nrules.busy.cpu = 0.25",
        "timesink.toml",
    );
    assert_eq!(settings.complaints, [""; 0]);
    assert!(settings.limits.is_off("hot-lock") && !settings.limits.is_off("busy"));
    let set = |rule: &str| {
        let of_it = settings.set.iter().filter(|set| set.rule == rule);
        of_it
            .map(|set| (set.to, set.file.as_str()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        set("flush-per-record"),
        [
            (To::Limit("bytes", 1000.0), "config.toml"),
            (To::Limit("flushes", 16.0), "timesink.toml")
        ]
    );
    assert_eq!(set("busy"), [(To::Limit("cpu", 0.25), "timesink.toml")]);
}

/// A limit may be written with a unit, which is converted to the limit's own; another kind of unit is refused.
#[test]
fn limits_have_units() {
    let mut settings = Settings::default();
    let text =
        "[rules.lock-convoy]\nheld = \"100 us\"\n[rules.flush-per-record]\nbytes = \"64KiB\"\n\
                [rules.copying]\ntime = \"2s\"\nshare = \"25%\"\n[rules.niced]\ntime = \"3kB\"\n";
    settings.add_limits(text, "t.toml");
    let mut set: Vec<To> = settings.set.iter().map(|set| set.to).collect();
    set.sort_by_key(|to| format!("{to:?}"));
    assert_eq!(
        set,
        [
            To::Limit("bytes", 65536.0),
            To::Limit("held", 100_000.0),
            To::Limit("share", 0.25),
            To::Limit("time", 2000.0),
        ]
    );
    let told = &settings.complaints;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with(
            "t.toml:9: time must be a number, 0 or more, or a string such as \"100ms\""
        ),
        "{told:?}"
    );
}

/// A limit that was renamed is still set by settings that were written before.
#[test]
fn settings_from_before_apply() {
    let mut settings = Settings::default();
    settings.add_limits("[rules.copying]\nms = \"2s\"\n", "t.toml");
    assert_eq!(settings.complaints, Vec::<String>::new());
    let set: Vec<To> = settings.set.iter().map(|set| set.to).collect();
    assert_eq!(set, [To::Limit("time", 2000.0)]);
}

/// An error is reported with its line and perhaps a suggestion, and the rest applies.
#[test]
fn wrong_limits_are_told() {
    let mut settings = Settings::default();
    let text = "[rules.flush-per-recrod]\nflushes = 50\n\n[rules.flush-per-record]\nflushs = 1\nbytes = -4\nflushes = 7\n\
                disabled = 1\n[colours]\nx = 1\n[rules.zzzzzz]\n[rules]\nbusy = 3\n";
    settings.add_limits(text, "t.toml");
    for wanted in [
        "t.toml:1: there is no rule called \"flush-per-recrod\": did you mean flush-per-record?",
        "t.toml:5: there is no limit of flush-per-record called \"flushs\": did you mean flushes?",
        "t.toml:6: bytes must be a number, 0 or more",
        "t.toml:8: disabled must be true or false",
        "t.toml:9: unknown key \"colours\": limits go in tables",
        "t.toml:11: there is no rule called \"zzzzzz\": timesink rules lists them all",
        "t.toml:13: limits go in tables",
    ] {
        let told = settings.complaints.iter();
        let mut told = told.filter(|told| told.starts_with(wanted));
        assert!(
            told.next().is_some(),
            "{wanted}: {:#?}",
            settings.complaints
        );
    }
    let right = settings.set.iter().map(|set| set.to);
    assert_eq!(right.collect::<Vec<_>>(), [To::Limit("flushes", 7.0)]);
}

/// Mutes have a signature and a reason, and perhaps a last day, with quotes or without.
#[test]
fn mutes_are_read() {
    let mut settings = Settings::default();
    let text = "[[mute]]\nsignature = \"busy in crunch\"\nreason = \"it computes\"\n\n[[mute]]\n\
                signature = 'hot-lock*'\nreason = 'known'\nuntil = 2026-12-31\n\
                [[mute]]\nsignature = 'x'\nreason = 'y'\nuntil = '2027-01-02'\n";
    settings.add_mutes(text, "m.toml");
    assert_eq!(settings.complaints, [""; 0]);
    let until = settings.mutes.iter().map(|mute| mute.until);
    let day = |year, month, day| Some(Day { year, month, day });
    assert_eq!(
        until.collect::<Vec<_>>(),
        [None, day(2026, 12, 31), day(2027, 1, 2)]
    );
}

/// A mute without a reason mutes nothing, and one whose end is not understood does not mute for good.
#[test]
fn wrong_mutes_are_told() {
    let mut settings = Settings::default();
    let text = "[[mute]]\nsignature = 'a'\n\n[[mute]]\nsignature = 'b'\nreason = 'r'\nuntil = 'soon'\n\
                [[mute]]\nsignature = 'c'\nreason = 'r'\nresaon = 'r'\n[[mutes]]\nsignature = 'd'\n";
    settings.add_mutes(text, "m.toml");
    for wanted in [
        "m.toml:1: mute ignored: it has no reason",
        "m.toml:7: mute ignored: until must be a date",
        "m.toml:11: unknown key \"resaon\" in a mute: did you mean reason?",
        "m.toml:12: unknown key \"mutes\": mutes are [[mute]] tables",
    ] {
        let told = settings.complaints.iter();
        let mut told = told.filter(|told| told.starts_with(wanted));
        assert!(
            told.next().is_some(),
            "{wanted}: {:#?}",
            settings.complaints
        );
    }
    let right = settings.mutes.iter().map(|mute| mute.signature.as_str());
    assert_eq!(right.collect::<Vec<_>>(), ["c"]);
}

/// A file that is not TOML is reported and does no harm, wherever it is cut and however it is nested.
#[test]
fn no_text_does_harm() {
    let whole = "[[mute]]\nsignature = \"a\"\nreason = \"r\"\n[rules.busy]\ncpu = 0.5\n";
    let nested = format!("a = {}", "[".repeat(20_000));
    let cuts = (0..whole.len()).map(|at| &whole[..at]);
    for text in cuts.chain([nested.as_str(), "\u{1b}[2J = \u{202e}", "=", "\0", "[[["]) {
        let mut settings = Settings::default();
        settings.add_limits(text, "t.toml");
        settings.add_mutes(text, "t.toml");
    }
    let mut settings = Settings::default();
    settings.add_mutes("[[mute]]\nsignature = \"a\nreason", "m.toml");
    let first = settings.complaints.first().expect("it is told");
    assert!(first.starts_with("m.toml:"), "{first}");
}

/// Of many errors the first are reported, each with its line, and then that there are more; names in them are cut.
#[test]
fn many_faults_are_told_a_few_times() {
    let mut settings = Settings::default();
    let lines = (0..30_000).map(|number| format!("x-{number} = 1\n"));
    settings.add_limits(&lines.collect::<String>(), "t.toml");
    assert_eq!(settings.complaints.len(), 21);
    let told = |line: usize| settings.complaints[line].as_str();
    assert!(told(20).contains("only the first 20 are"), "{}", told(20));
    // A table has its entries in the order of their names.
    for complaint in &settings.complaints[..20] {
        let (line, rest) = complaint["t.toml:".len()..]
            .split_once(':')
            .expect("a line");
        let line: usize = line.parse().expect("a number");
        assert!(rest.contains(&format!("\"x-{}\"", line - 1)), "{complaint}");
    }
    let mut settings = Settings::default();
    settings.add_mutes(&format!("{} = 1\n", "y".repeat(100_000)), "m.toml");
    assert!(settings.complaints[0].len() < 400);
}

/// A project's file, which may have come with a checkout, cannot let assistants run programs; the user's own can.
#[test]
fn only_the_users_own_settings_let_assistants_run_programs() {
    let text = "[assistants]\nmay_run = true\n[rules.busy]\ncpu = 0.25\n";
    let mut settings = Settings::default();
    settings.add_limits(text, "timesink.toml");
    assert!(!settings.assistants_may_run);
    assert_eq!(settings.complaints.len(), 1, "{:?}", settings.complaints);
    assert!(settings.complaints[0]
        .starts_with("timesink.toml:1: [assistants] counts in your own settings only"));
    let mut settings = Settings::default();
    settings.add_assistants(text, "config.toml");
    assert!(settings.assistants_may_run);
    // What is wrong changes nothing, and a file that is broken anywhere consents to nothing.
    settings.add_assistants(
        "[assistants]\nmay_run = 1\nmay_read = true\n",
        "config.toml",
    );
    assert!(settings.assistants_may_run);
    assert_eq!(settings.complaints.len(), 2, "{:?}", settings.complaints);
    for rest in [
        "[assistants]\nmay_run = false\n",
        "broken = [\n",
        "may_run = false\n",
    ] {
        let mut settings = Settings::default();
        settings.add_assistants(
            &format!("[assistants]\nmay_run = true\n{rest}"),
            "config.toml",
        );
        assert!(!settings.assistants_may_run, "{rest}");
    }
}
