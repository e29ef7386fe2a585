//! The tools: what each is for, what it takes, and which command it asks. What a tool says of itself is read by an assistant.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::handler::server::tool::ToolCallContext;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock};
use rmcp::schemars::JsonSchema;
use rmcp::service::RequestContext;
use rmcp::{tool, tool_handler, tool_router, ErrorData, RoleServer, ServerHandler};
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::child::{cut, Asked, Question, Said};
use crate::commands::recording::choose;
use crate::commands::{as_caller, last};
use crate::present::names;
use crate::project::lines;
use crate::settings::Settings;

/// What a question may take, and what an answer may be long.
const PATIENCE: Duration = Duration::from_secs(120);
const MOST: usize = 16_000;
/// Runs of a program, by an assistant.
const RUNS: Duration = Duration::from_secs(600);
/// Seconds of a recording, unless more are asked.
const SECONDS: u64 = 60;
const MOST_SECONDS: u64 = 600;

/// So many questions are answered at once; others wait.
const AT_ONCE: usize = 3;
/// Characters of what a recorded program printed.
const PRINTED: usize = 2_000;

/// What an assistant can ask, of the folder that it works in, which is the one that the server was started in.
#[derive(Clone)]
pub struct Tools {
    /// What is being answered.
    pub asked: Asked,
    gate: Arc<Semaphore>,
}

/// The folder that it works in, by no name that could come to mean another one.
fn here() -> &'static Path {
    Path::new(".")
}

/// Whether programs may be run: the user has to say so, and may take it back.
fn may_run() -> bool {
    Settings::told().assistants_may_run
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct OneRecording {
    /// The recording: a path. Without it, the one made last in this folder.
    recording: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Record {
    /// The program and its arguments, one by one. No shell is involved.
    command: Vec<String>,
    /// The most seconds that it may run (60 if not said, at most 600); it is stopped then.
    seconds: Option<u64>,
    /// What the recording is to be called, ending in .timesink; must not exist.
    output: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Why {
    /// The recording: a path. Without it, the one made last in this folder.
    recording: Option<String>,
    /// The number of the finding in the answer, from 1.
    finding: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct WhatIf {
    /// The recording: a path. Without it, the one made last in this folder.
    recording: Option<String>,
    /// What is to take no time: a state (cpu, ready), a kind of wait ("flush", "network receive"), a name (rows.db), both ("flush
    /// rows.db"), func=NAME, tag=PATH or process=NAME. Empty for a table of all causes.
    #[serde(default)]
    cut: Vec<String>,
    /// What is to take so many times as long, such as {"what": "func=crc32", "factor": 0.3}.
    #[serde(default)]
    scale: Vec<Scale>,
    /// The number of processors.
    cpus: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Scale {
    /// As in cut.
    what: String,
    factor: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Pair {
    /// The recording before, or the slow one: a path.
    a: String,
    /// The recording after, or the fast one: a path.
    b: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Environment {
    /// A recording: a path.
    a: String,
    /// Another one: what differs between the two is told.
    b: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Bench {
    /// The commands, each as one line as for `timesink bench` (no shell): the first is what the others are compared with.
    commands: Vec<String>,
    /// How often each is run (10 if not said, at most 100).
    rounds: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Functions {
    /// The recording: a path. Without it, the one made last in this folder.
    recording: Option<String>,
    /// So many functions (20 if not said).
    limit: Option<usize>,
    /// Only this thread, by its id or its name.
    thread: Option<String>,
    /// Only processes of this name.
    process: Option<String>,
    /// Only this time, such as 1.5s..2s.
    between: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct CallTree {
    /// The recording: a path. Without it, the one made last in this folder.
    recording: Option<String>,
    /// From the innermost functions to their callers; else from the outermost in.
    #[serde(default)]
    callers: bool,
    /// Only this thread, by its id or its name.
    thread: Option<String>,
    /// Only processes of this name.
    process: Option<String>,
    /// Only this time, such as 1.5s..2s.
    between: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Lines {
    /// The recording: a path. Without it, the one made last in this folder.
    recording: Option<String>,
    /// A function, by its name as the answer has it.
    function: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Source {
    /// A file of this project, as a path from its folder.
    file: String,
    line: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Rule {
    /// The name of a rule, such as flush-per-record. Empty for a list of all.
    #[serde(default)]
    rule: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
struct Nothing {}

/// Words of a command line.
struct Words(Vec<OsString>);

impl Words {
    fn of(words: &[&str]) -> Words {
        Words(words.iter().map(OsString::from).collect())
    }

    fn option(mut self, name: &str, value: Option<impl ToString>) -> Words {
        if let Some(value) = value {
            // In one word: a value cannot be taken for another option.
            self.0.push(format!("{name}={}", value.to_string()).into());
        }
        self
    }

    /// What is no option, whatever it looks like.
    fn then<'a>(mut self, words: impl IntoIterator<Item = &'a String>) -> Words {
        self.0.push("--".into());
        self.0.extend(words.into_iter().map(OsString::from));
        self
    }
}

fn told(said: Said, next: &str) -> CallToolResult {
    let mut text = said.text;
    if said.is_truncated {
        text += "\n[truncated: ask for a part of it, or for fewer rows]\n";
    }
    if said.is_refused {
        text += &format!("\n{next}\n");
        return CallToolResult::error(vec![ContentBlock::text(text)]);
    }
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// What came of a question, also if it could not be asked.
fn answered(said: anyhow::Result<Said>, next: &str) -> CallToolResult {
    match said {
        Ok(said) => told(said, next),
        Err(fault) => refused(&format!("{fault:#}")),
    }
}

fn refused(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text.to_owned())])
}

const TRY_RECORDINGS: &str = "Next: `recordings` lists what can be asked about.";
const CONSENT: &str = "This user has not allowed assistants to run programs. Ask them to run it themselves (sudo timesink run -- CMD) and to name the \
     recording, or to put this into ~/.config/timesink/config.toml:\n\n[assistants]\nmay_run = true\n";

impl Tools {
    pub fn new(asked: Asked) -> Tools {
        Tools {
            asked,
            gate: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    async fn said(&self, words: Words, patience: Duration, as_root: bool) -> anyhow::Result<Said> {
        let turn = self.gate.clone().acquire_owned().await?;
        let question = Question {
            words: words.0,
            patience,
            most: MOST,
            as_root,
        };
        // Who takes the question back drops this.
        let (until, _waiting) = self.asked.begin()?;
        // In a thread of its own: others may be asked meanwhile.
        let answer = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            question.ask(&until)
        });
        answer.await?
    }

    /// Asks timesink with the rights of the user.
    async fn ask(&self, words: Words, patience: Duration, next: &'static str) -> CallToolResult {
        answered(self.said(words, patience, false).await, next)
    }

    async fn read(&self, words: Words, recording: Option<String>) -> CallToolResult {
        let words = words.then(recording.iter());
        self.ask(words, PATIENCE, TRY_RECORDINGS).await
    }

    /// Records a program, and says of the recording what there is to say: the program's own output is no part of that.
    async fn recorded(&self, asked: Record) -> anyhow::Result<CallToolResult> {
        let seconds = asked.seconds.unwrap_or(SECONDS).clamp(1, MOST_SECONDS);
        let output = asked.output.map(PathBuf::from);
        let file = choose(&output, asked.command.first().map_or("", String::as_str));
        if !file.to_string_lossy().ends_with(".timesink") {
            return Ok(refused("Choose an output that ends in .timesink."));
        }
        let name = file.to_string_lossy().into_owned();
        let words = Words::of(&["run", "--quiet"]).option("--output", Some(&name));
        let patience = Duration::from_secs(seconds);
        let run = self
            .said(words.then(&asked.command), patience, true)
            .await?;
        let report = Words::of(&["report"]).then([&name]);
        let mut report = self.said(report, PATIENCE, false).await?;
        let printed: Vec<_> = run.text.lines().map(names::harmless).collect();
        let printed = cut(&printed.join("\n"), PRINTED, false).text;
        if report.is_refused {
            return Ok(refused(&format!(
                "{printed}\nNext: recording needs root (start the server with `sudo timesink mcp`), and a program that can be started."
            )));
        }
        report.text += &format!("\nRecording: {}\n", names::harmless(&name));
        if !printed.trim().is_empty() {
            report.text +=
                &format!("\nThe program printed, or timesink said while it ran:\n{printed}\n");
        }
        Ok(told(report, ""))
    }
}

#[tool_router]
impl Tools {
    #[tool(
        description = "Record a program with timesink: runs it and says why it took as long as it did, with the causes on its critical path, what fixing each \
                       would save, and where in the code. Needs root and the user's consent in their settings."
    )]
    async fn record(&self, Parameters(asked): Parameters<Record>) -> CallToolResult {
        if !may_run() {
            return refused(CONSENT);
        }
        if asked.command.is_empty() {
            return refused(
                "The command is empty: pass the program and its arguments as separate strings.",
            );
        }
        let answer = self.recorded(asked).await;
        answer.unwrap_or_else(|fault| refused(&format!("{fault:#}")))
    }

    #[tool(description = "List the recordings in this directory, latest first.")]
    async fn recordings(&self, Parameters(Nothing {}): Parameters<Nothing>) -> CallToolResult {
        let found = as_caller(|| Ok(last::all(here()))).unwrap_or_default();
        let found: Vec<_> = found.iter().map(|name| names::harmless(name)).collect();
        match found.is_empty() {
            true => refused(
                "There is no recording in this folder. Next: `record`, or ask the user to run: sudo timesink run -- CMD",
            ),
            false => told(cut(&found.join("\n"), MOST, false), ""),
        }
    }

    #[tool(
        description = "Why a recorded program took as long as it did: findings with what fixing each would save (with an interval), where in the code, what to \
                       do; the critical path by state; whether the figures can be trusted. Ask this first."
    )]
    async fn answer(&self, Parameters(asked): Parameters<OneRecording>) -> CallToolResult {
        self.read(Words::of(&["report"]), asked.recording).await
    }

    #[tool(
        description = "One finding in full: evidence, the limits it was checked against, system calls, waits, stacks, and when the advice would be wrong."
    )]
    async fn why(&self, Parameters(asked): Parameters<Why>) -> CallToolResult {
        let number = asked.finding.to_string();
        let words = asked.recording.iter().chain([&number]);
        let words = Words::of(&["why"]).then(words);
        self.ask(
            words,
            PATIENCE,
            "Next: `answer` has the numbers of the findings.",
        )
        .await
    }

    #[tool(
        description = "Predict the wall time if something took less time, by replaying the recording: a wait, a function, a file, a process, another number of \
                       processors. Changes can be combined."
    )]
    async fn whatif(&self, Parameters(asked): Parameters<WhatIf>) -> CallToolResult {
        let recording = match asked
            .recording
            .map(PathBuf::from)
            .or_else(|| as_caller(|| Ok(last::last(here()))).ok().flatten())
        {
            Some(path) => path.to_string_lossy().into_owned(),
            None => return refused(TRY_RECORDINGS),
        };
        let mut words = Words::of(&["whatif"]).option("--cpus", asked.cpus);
        for what in &asked.cut {
            words = words.option("--cut", Some(what));
        }
        for Scale { what, factor } in &asked.scale {
            let pair = ["--scale".to_owned(), what.clone(), factor.to_string()];
            words.0.extend(pair.iter().map(OsString::from));
        }
        let next = "Next: `whatif` without cut lists what can be asked; `answer` has the names.";
        self.ask(words.then([&recording]), PATIENCE, next).await
    }

    #[tool(
        description = "What differs between two recordings of the same work, and how much of the difference each part explains: counts, times, findings, environment."
    )]
    async fn diff(&self, Parameters(asked): Parameters<Pair>) -> CallToolResult {
        // `--` has a meaning of its own there.
        for path in [&asked.a, &asked.b] {
            if path.starts_with('-') {
                return refused("A recording's path cannot begin with a dash: write ./ before it.");
            }
        }
        let words = Words::of(&["diff", &asked.a, &asked.b]);
        self.ask(words, PATIENCE, TRY_RECORDINGS).await
    }

    #[tool(
        description = "Where a recording was made (machine, kernel, limits, variables, files); of two, what differs."
    )]
    async fn env(&self, Parameters(asked): Parameters<Environment>) -> CallToolResult {
        let words = Words::of(&["env"]).then([&asked.a].into_iter().chain(&asked.b));
        self.ask(words, PATIENCE, TRY_RECORDINGS).await
    }

    #[tool(
        description = "Run commands in turn and say which is faster, by how much, and how certain that is. Requires the user's consent in their settings."
    )]
    async fn bench(&self, Parameters(asked): Parameters<Bench>) -> CallToolResult {
        if !may_run() {
            return refused(CONSENT);
        }
        if asked.commands.is_empty() {
            return refused("There is no command: pass each command as one string.");
        }
        let rounds = asked.rounds.unwrap_or(10).clamp(2, 100);
        let words = Words::of(&["bench"]).option("--rounds", Some(rounds));
        let next = "Next: run each command in a shell; all of them must succeed.";
        answered(
            self.said(words.then(&asked.commands), RUNS, true).await,
            next,
        )
    }

    #[tool(
        description = "Functions by time on CPU and time blocked, longest first; optionally of one thread, one process or one time range."
    )]
    async fn functions(&self, Parameters(asked): Parameters<Functions>) -> CallToolResult {
        let words = Words::of(&["report"])
            .option("--top", Some(asked.limit.unwrap_or(20)))
            .option("--thread", asked.thread)
            .option("--process", asked.process)
            .option("--between", asked.between);
        self.read(words, asked.recording).await
    }

    #[tool(
        description = "Who called whom, with the time on CPU and blocked; from the outermost functions in, or from the innermost to their callers."
    )]
    async fn call_tree(&self, Parameters(asked): Parameters<CallTree>) -> CallToolResult {
        let direction = if asked.callers { "callers" } else { "callees" };
        let words = Words::of(&["report"])
            .option("--tree", Some(direction))
            .option("--thread", asked.thread)
            .option("--process", asked.process)
            .option("--between", asked.between);
        self.read(words, asked.recording).await
    }

    #[tool(description = "The lines of a function, slowest first.")]
    async fn lines(&self, Parameters(asked): Parameters<Lines>) -> CallToolResult {
        let words = Words::of(&["report"]).option("--line", Some(asked.function));
        let words = words.then(asked.recording.iter());
        self.ask(words, PATIENCE, "Next: `functions` has the names.")
            .await
    }

    #[tool(
        description = "The source around a line of a file of this project, such as a finding's place."
    )]
    async fn source(&self, Parameters(asked): Parameters<Source>) -> CallToolResult {
        match as_caller(|| lines::around(here(), &asked.file, asked.line)) {
            Ok(text) => told(cut(&text, MOST, false), ""),
            Err(fault) => refused(&format!(
                "{}. Next: give the path from this project's folder, as your own tools know it.",
                cut(&names::harmless(&format!("{fault:#}")), PRINTED, true).text
            )),
        }
    }

    #[tool(
        description = "What a rule looks for, why that is slow, what to do, and its limits; without a name, all rules."
    )]
    async fn rules(&self, Parameters(asked): Parameters<Rule>) -> CallToolResult {
        let named = Some(&asked.rule).filter(|rule| !rule.is_empty());
        let words = Words::of(&["rules"]).then(named);
        self.ask(words, PATIENCE, "Next: `rules` without a name lists all.")
            .await
    }
}

#[tool_handler]
impl ServerHandler for Tools {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let taken_back = context.ct.clone();
        let router = Self::tool_router();
        tokio::select! {
            answer = router.call(ToolCallContext::new(self, request, context)) => answer,
            () = taken_back.cancelled() => Err(ErrorData::internal_error("the question was taken back", None)),
        }
    }
}
