//! Why the kernel refused a probe. libbpf says it in messages, in which the verifier's log stands whole; what decides is
//! in its last lines.

use std::sync::Mutex;

use libbpf_rs::PrintLevel;

/// So much of the verifier's log is kept.
const LAST_LINES: usize = 30;
/// So many messages are kept until somebody asks.
const MOST_MESSAGES: usize = 200;

/// Why a probe is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// In one line.
    pub reason: String,
    /// The end of what the verifier said.
    pub log: Vec<String>,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal {
            reason,
            log: Vec::new(),
        }
    }
}

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From now on what libbpf says is kept, and nothing of it printed.
pub fn listen() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, keep)));
    take_messages();
}

fn keep(level: PrintLevel, message: String) {
    let mut said = SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if level != PrintLevel::Debug && said.len() < MOST_MESSAGES {
        said.push(message);
    }
}

fn take_messages() -> Vec<String> {
    std::mem::take(&mut *SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Why what was just tried failed.
pub fn why(error: &libbpf_rs::Error) -> Refusal {
    understood(&take_messages(), &error.to_string())
}

fn understood(messages: &[String], fallback: &str) -> Refusal {
    let lines = messages.iter().flat_map(|message| message.lines());
    let lines: Vec<&str> = lines
        .map(|line| line.trim_end().trim_start_matches("libbpf: "))
        .collect();
    let failed = lines
        .iter()
        .find(|line| line.contains("failed") || line.contains("not found"));
    let log = verifier_log(&lines);
    let reason = match (failed, verdict(&log)) {
        (Some(failed), Some(verdict)) => format!("{verdict} ({failed})"),
        (None, Some(verdict)) => verdict.to_string(),
        (Some(failed), None) => (*failed).to_string(),
        (None, None) => fallback.to_string(),
    };
    let from = log.len().saturating_sub(LAST_LINES);
    Refusal {
        reason,
        log: log[from..].iter().map(|line| line.to_string()).collect(),
    }
}

/// What stands between libbpf's marks.
fn verifier_log<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let begin = lines
        .iter()
        .rposition(|line| line.contains("-- BEGIN PROG LOAD LOG --"));
    let from = begin.map_or(lines.len(), |begin| begin + 1);
    let log = lines[from..].iter().copied();
    log.take_while(|line| !line.contains("-- END PROG LOAD LOG --"))
        .collect()
}

/// The line in which the verifier says what is wrong: the last one before its statistics.
fn verdict<'a>(log: &[&'a str]) -> Option<&'a str> {
    const STATISTICS: [&str; 4] = [
        "processed ",
        "verification time",
        "stack depth",
        "max_states",
    ];
    log.iter()
        .rev()
        .copied()
        .find(|line| !line.is_empty() && !STATISTICS.iter().any(|start| line.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verifier's verdict is the reason, not libbpf's remark that something failed: on 6.1 this line was hidden.
    #[test]
    fn the_verdict_is_told() {
        let messages = [
            "libbpf: prog 'on_switch': BPF program load failed: Permission denied\n".to_string(),
            "libbpf: prog 'on_switch': -- BEGIN PROG LOAD LOG --\n0: R1=ctx()\n; now = bpf_ktime_get_ns();\n\
             combined stack size of 7 calls is 576. Too large\nverification time 5 usec\nstack depth 160+64\n\
             processed 7 insns (limit 1000000) max_states_per_insn 0\n-- END PROG LOAD LOG --\n"
                .to_string(),
            "libbpf: failed to load object 'timesink'\n".to_string(),
        ];
        let refusal = understood(&messages, "?");
        assert_eq!(
            refusal.reason,
            "combined stack size of 7 calls is 576. Too large \
             (prog 'on_switch': BPF program load failed: Permission denied)"
        );
        assert_eq!(refusal.log.len(), 6);
    }

    /// Without a log what failed is told, and without any message the error itself.
    #[test]
    fn without_a_log() {
        let messages = ["libbpf: failed to find BTF ID of 'x'\n".to_string()];
        assert_eq!(
            understood(&messages, "?").reason,
            "failed to find BTF ID of 'x'"
        );
        assert_eq!(
            understood(&[], "Invalid argument").reason,
            "Invalid argument"
        );
    }
}
