//! The story itself, and what it is asked for.

use timesink_analysis::anatomy::{anatomies, Anatomy};
use timesink_analysis::joined::joined;
use timesink_analysis::loops::{loops, Loop};
use timesink_analysis::operations::{Kind, Set, Told, Wanted};
use timesink_analysis::outlook::{Outlook, Patience};
use timesink_analysis::path::Path;
use timesink_analysis::replay::Gains;
use timesink_analysis::tags::Tags;
use timesink_analysis::tasks::Tasks;
use timesink_analysis::timeline::Timeline;
use timesink_findings::engine::Findings;
use timesink_findings::inquiry::Inquiry;
use timesink_findings::mutes::{Day, Mute};
use timesink_findings::rule::Limits;

use crate::responses_given;
use crate::{AllTouched, Loaded};

/// What a story is to say.
pub struct Question<'q> {
    /// How much work gains may be.
    pub patience: Patience,
    /// What somebody set otherwise than the rules have it.
    pub limits: &'q Limits,
    pub mutes: &'q [Mute],
    pub today: Day,
    pub operations: Wanted,
    /// Each operation in detail, and the spans that each fix is about.
    pub closely: bool,
    /// Whose work threads did.
    pub tasks: bool,
    /// What threads were at work for by their tags.
    pub tags: bool,
}

/// All that one recording says.
pub struct Story<'a> {
    pub loaded: &'a Loaded<'a>,
    /// `None` if there is no main thread.
    pub outlook: Option<Outlook>,
    /// What rules made of it; `None` if there is no main thread.
    pub findings: Option<Findings>,
    /// Empty if it was not asked for closely.
    pub touched: AllTouched,
    /// Operations of servers, or those that were asked for.
    pub operations: Vec<Told>,
    /// Loops of threads that have no such operations.
    pub loops: Vec<Loop>,
    /// What is done again and again, and what one of it consists of.
    pub anatomies: Vec<Anatomy>,
    /// Whose work threads did; `None` where no runtime divides them among tasks, or nobody asked.
    pub tasks: Option<Tasks>,
    /// What threads were at work for by their tags; `None` where there are none, or nobody asked.
    pub tags: Option<Tags>,
}

/// What happened again and again.
pub struct Repeated {
    pub operations: Vec<Told>,
    pub loops: Vec<Loop>,
}

impl<'a> Story<'a> {
    pub fn of(
        loaded: &'a Loaded<'a>,
        question: &Question<'_>,
    ) -> timesink_recording::Result<Story<'a>> {
        let (look, repeated) = std::thread::scope(|scope| {
            let repeated = scope.spawn(|| Repeated::of(loaded, question));
            let look = Look::of(loaded, question);
            (look, joined(repeated))
        });
        let (outlook, findings, touched) = match look? {
            Some(look) => (Some(look.outlook), Some(look.findings), look.touched),
            None => (None, None, AllTouched::default()),
        };
        let anatomies = outlook.as_ref().map_or(Vec::new(), |outlook| {
            anatomies(&loaded.recorded(), &loaded.stacks, outlook)
        });
        let main = || {
            let main = loaded.facts.ledger.main?;
            let main = loaded.facts.ledger.threads.get(main)?;
            let slot = loaded.timeline.slot(main.row.thread)?;
            Some(Path::of_thread(&loaded.timeline, slot))
        };
        let tasks = match question.tasks {
            true => Tasks::of(loaded.recording, &loaded.timeline, &loaded.stacks, main)?,
            false => None,
        };
        let tags = match question.tags {
            true => Tags::of(loaded.recording, &loaded.timeline, &loaded.stacks)?,
            false => None,
        };
        Ok(Story {
            anatomies,
            tags,
            tasks,
            loaded,
            outlook,
            findings,
            touched,
            operations: repeated.operations,
            loops: repeated.loops,
        })
    }
}

/// The path, and what the rules make of it.
struct Look {
    outlook: Outlook,
    findings: Findings,
    touched: AllTouched,
}

impl Look {
    /// `None` if there is no main thread.
    fn of(
        loaded: &Loaded<'_>,
        question: &Question<'_>,
    ) -> timesink_recording::Result<Option<Look>> {
        let Some(first) = Look::at(loaded, &loaded.timeline, question, |findings| findings)? else {
            return Ok(None);
        };
        let Some(given) = responses_given::timeline(loaded, &first.findings) else {
            return Ok(Some(first));
        };
        let with_sleeps = |second| responses_given::with_sleeps(second, &first.findings);
        let second = Look::at(loaded, &given, question, with_sleeps)?;
        let second =
            second.filter(|second| responses_given::tells_more(&second.findings, &first.findings));
        Ok(Some(second.unwrap_or(first)))
    }

    fn at(
        loaded: &Loaded<'_>,
        timeline: &Timeline,
        question: &Question<'_>,
        and: impl FnOnce(Findings) -> Findings,
    ) -> timesink_recording::Result<Option<Look>> {
        let ask = |outlook: &Outlook, gains: &Gains<'_>| {
            let mut findings = and(findings(loaded, timeline, outlook, gains, question));
            findings.mute(question.mutes, question.today);
            let touched = match question.closely {
                true => AllTouched::of(&findings, loaded, gains),
                false => AllTouched::default(),
            };
            (findings, touched)
        };
        let look = Outlook::and(
            loaded.recording,
            timeline,
            &loaded.facts,
            &loaded.stacks,
            &loaded.waited().calls_of,
            question.patience,
            ask,
        )?;
        Ok(look.map(|(outlook, (findings, touched))| Look {
            outlook,
            findings,
            touched,
        }))
    }
}

impl Repeated {
    pub fn of(loaded: &Loaded<'_>, question: &Question<'_>) -> Repeated {
        let recorded = loaded.recorded();
        let sets = recorded.operations(&question.operations);
        let told = |set: Set| Told {
            detail: question
                .closely
                .then(|| recorded.detail(&set, &loaded.stacks)),
            set,
        };
        let operations: Vec<Told> = sets.into_iter().map(told).collect();
        // What goes round and round in a server is told as its operations.
        let served = operations
            .iter()
            .map(|told| &told.set)
            .filter(|set| set.kind != Kind::Asked);
        let serving = served.flat_map(|set| &set.operations);
        let serving = serving.map(|operation| operation.slot).collect();
        let loops = loops(&recorded, &loaded.stacks, &serving);
        Repeated { operations, loops }
    }
}

/// What the rules make of it.
fn findings(
    loaded: &Loaded<'_>,
    timeline: &Timeline,
    outlook: &Outlook,
    gains: &Gains<'_>,
    question: &Question<'_>,
) -> Findings {
    let about = loaded.recording.about();
    let inquiry = Inquiry {
        facts: &loaded.facts,
        stacks: &loaded.stacks,
        timeline,
        outlook,
        programs: &loaded.programs,
        waited: loaded.waited(),
        limits: question.limits,
        directory: &about.directory,
        floors: about.floors(),
    };
    Findings::of(&inquiry, gains)
}
