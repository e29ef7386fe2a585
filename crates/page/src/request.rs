//! What the page asks: a name with parameters, written one way only, so that the same question is the same text.

use std::fmt;

use crate::tile::Tile;

/// Which of two recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    A,
    B,
}

/// What lanes are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LanesBy {
    Process,
    Thread,
    Processor,
}

/// What of a recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Overview,
    Answer,
    Checks,
    Path(Tile),
    Lanes {
        by: LanesBy,
        chunk: u32,
        tile: Tile,
    },
    Bands,
    Code,
    Flame(Tile),
    Things,
    Thing(u32),
    Calls,
    WhatIf,
    /// So much is left of each change, in percent.
    Predict(Vec<(u32, u32)>),
    Compare,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    pub side: Side,
    pub part: Part,
}

impl Request {
    /// What a text asks; `None` if that is no request.
    pub fn parse(text: &str) -> Option<Request> {
        let (side, rest) = match text.strip_prefix("b/") {
            Some(rest) => (Side::B, rest),
            None => (Side::A, text),
        };
        let (name, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let part = Part::parse(name, &Parameters(parameters))?;
        let request = Request { side, part };
        // One way to write it: what is asked twice is found again.
        (request.to_string() == text && (side == Side::A || request.part != Part::Compare))
            .then_some(request)
    }
}

/// Changes that one prediction may be about.
const MOST_CHANGES: usize = 200;

struct Parameters<'a>(&'a str);

impl<'a> Parameters<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .into_iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    fn tile(&self) -> Option<Tile> {
        Tile::new(self.number("level")?, self.number("tile")?)
    }
}

impl Part {
    fn parse(name: &str, parameters: &Parameters<'_>) -> Option<Part> {
        Some(match name {
            "overview" => Part::Overview,
            "answer" => Part::Answer,
            "checks" => Part::Checks,
            "path" => Part::Path(parameters.tile()?),
            "lanes" => Part::Lanes {
                by: match parameters.text("by")? {
                    "process" => LanesBy::Process,
                    "thread" => LanesBy::Thread,
                    "processor" => LanesBy::Processor,
                    _ => return None,
                },
                chunk: parameters.number("chunk")?,
                tile: parameters.tile()?,
            },
            "bands" => Part::Bands,
            "code" => Part::Code,
            "flame" => Part::Flame(parameters.tile()?),
            "things" => Part::Things,
            "thing" => Part::Thing(parameters.number("id")?),
            "calls" => Part::Calls,
            "whatif" => Part::WhatIf,
            "predict" => Part::Predict(changes(parameters.text("changes")?)?),
            "compare" => Part::Compare,
            _ => return None,
        })
    }
}

/// `3:0,7:50`: ascending, no more than there may be.
fn changes(text: &str) -> Option<Vec<(u32, u32)>> {
    let change = |text: &str| {
        let (id, percent) = text.split_once(':')?;
        Some((id.parse().ok()?, percent.parse().ok()?))
    };
    let changes: Option<Vec<(u32, u32)>> = text.split(',').map(change).collect();
    changes.filter(|changes| {
        let ascend = changes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        ascend && changes.len() <= MOST_CHANGES && changes.iter().all(|(_, left)| *left <= 1000)
    })
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.side == Side::B {
            f.write_str("b/")?;
        }
        let tile = |tile: &Tile| format!("level={}&tile={}", tile.level, tile.tile);
        match &self.part {
            Part::Overview => f.write_str("overview"),
            Part::Answer => f.write_str("answer"),
            Part::Checks => f.write_str("checks"),
            Part::Path(at) => write!(f, "path?{}", tile(at)),
            Part::Lanes {
                by,
                chunk,
                tile: at,
            } => {
                let by = match by {
                    LanesBy::Process => "process",
                    LanesBy::Thread => "thread",
                    LanesBy::Processor => "processor",
                };
                write!(f, "lanes?by={by}&chunk={chunk}&{}", tile(at))
            }
            Part::Bands => f.write_str("bands"),
            Part::Code => f.write_str("code"),
            Part::Flame(at) => write!(f, "flame?{}", tile(at)),
            Part::Things => f.write_str("things"),
            Part::Thing(id) => write!(f, "thing?id={id}"),
            Part::Calls => f.write_str("calls"),
            Part::WhatIf => f.write_str("whatif"),
            Part::Predict(changes) => {
                let changes = changes.iter().map(|(id, left)| format!("{id}:{left}"));
                let changes: Vec<String> = changes.collect();
                write!(f, "predict?changes={}", changes.join(","))
            }
            Part::Compare => f.write_str("compare"),
        }
    }
}
