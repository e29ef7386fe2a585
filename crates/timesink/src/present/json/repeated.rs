//! The part of the JSON report that is about what is done again and again.

use serde::Serialize;
use timesink_analysis::anatomy::{Component, Does};

use crate::present::{names, Report};

#[derive(Serialize)]
pub(super) struct RepeatedPage<'a> {
    process: u32,
    count: u64,
    estimated: bool,
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    ns: u64,
    at_once: u64,
    components: Vec<ComponentPage<'a>>,
}

#[derive(Serialize)]
struct ComponentPage<'a> {
    does: &'static str,
    calls: &'a [String],
    times: Option<f64>,
    object: Option<String>,
    objects: Option<u64>,
    function: Option<&'a str>,
    ns: u64,
}

pub(super) fn repeated<'a>(report: &Report<'a>) -> Vec<RepeatedPage<'a>> {
    let code = &report.stacks.code;
    let all = report.anatomies.iter();
    all.map(|one| {
        let frame = one.place.and_then(|spot| code.frame(spot));
        RepeatedPage {
            process: one.process.0,
            count: one.count,
            estimated: one.estimated,
            function: one
                .place
                .map(|spot| code.function(spot.function).name.as_str()),
            file: frame.map(|frame| frame.file.as_str()),
            line: frame.and_then(|frame| frame.line),
            ns: one.ns,
            at_once: one.at_once.many,
            components: one
                .components
                .iter()
                .map(|of| component(report, of))
                .collect(),
        }
    })
    .collect()
}

fn component<'a>(report: &Report<'a>, component: &'a Component) -> ComponentPage<'a> {
    let page = |does| ComponentPage {
        does,
        calls: &[],
        times: None,
        object: None,
        objects: None,
        function: None,
        ns: component.ns,
    };
    match &component.does {
        Does::Calls {
            names: calls,
            times,
            object,
            objects,
        } => ComponentPage {
            calls,
            times: Some(*times),
            object: object.map(|object| names::object(report.facts, object)),
            objects: Some(*objects),
            ..page("calls")
        },
        Does::Function(function) => ComponentPage {
            function: Some(report.stacks.code.function(*function).name.as_str()),
            ..page("function")
        },
        Does::Itself => page("itself"),
        Does::Runtime => page("runtime"),
        Does::Ready => page("ready"),
    }
}
