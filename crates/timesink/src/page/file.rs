//! The page as one file that needs nothing else: it opens from a ticket, offline, years later.

use std::collections::VecDeque;
use std::io::Write;

use flate2::write::GzEncoder;
use flate2::Compression;
use serde::Serialize;
use timesink_page::{deepest_level, LanesBy, Part, Request, Side, Tile};

use super::answers::{compare, read, Asked, Recorded, ReplayOnce, Told};
use super::html::{escaped, Html, Mode};
use super::sides::Sides;
use crate::present::terminal::{self, units, Style};

/// A file is to go into a ticket: beyond this, in bytes, detail is left out.
const BUDGET: usize = 14_000_000;
/// Pages of single things.
const THINGS: usize = 400;
/// Replays of all predictions together, in steps; and so many at least.
const STEPS: usize = 60_000_000;
const LEAST: usize = 5;

/// The answers that a file holds.
struct Kept {
    answers: Vec<(String, String)>,
    bytes: usize,
    budget: usize,
}

impl Kept {
    fn is_full(&self) -> bool {
        self.bytes >= self.budget
    }

    fn json(&mut self, request: &Request, answer: &[u8]) -> anyhow::Result<()> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(answer)?;
        let text = base64(&packed.finish()?);
        self.bytes += text.len() + 100;
        self.answers.push((request.to_string(), text));
        Ok(())
    }

    fn keep(&mut self, request: &Request, answer: &impl Serialize) -> anyhow::Result<()> {
        self.json(request, &serde_json::to_vec(answer)?)
    }
}

/// Writes the page of a recording, or of two sides.
pub fn write(sides: &Sides, asked: &Asked<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    read(&sides.a, asked, sides.b.is_some(), |a| {
        let replay = ReplayOnce::new();
        let a = Told::of(a, &replay)?;
        match &sides.b {
            None => write_told(&a, None, out),
            Some(b) => read(b, asked, false, |b| {
                let replay = ReplayOnce::new();
                let b = Told::of(b, &replay)?;
                write_told(&a, Some(&b), out)
            }),
        }
    })
}

fn write_told(a: &Told<'_>, b: Option<&Told<'_>>, out: &mut impl Write) -> anyhow::Result<()> {
    let against = b.map_or(String::new(), |b| {
        format!(" against {}", b.recorded().named.path())
    });
    let title = format!("{}{against} – timesink", a.recorded().named.path());
    let mut answers = Vec::new();
    if let Some(b) = b {
        let mut kept = of_side(Side::B, b, BUDGET / 2)?;
        let request = Request {
            side: Side::A,
            part: Part::Compare,
        };
        let compared = compare(a, b).map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
        kept.json(&request, &compared)?;
        answers = kept.answers;
    }
    let budget = match b {
        Some(_) => BUDGET / 2,
        None => BUDGET,
    };
    let mut kept = of_side(Side::A, a, budget)?;
    kept.answers.append(&mut answers);
    let plain = plain(a);
    let html = Html::of(Mode::File, &title, &plain)?;
    out.write_all(html.before.as_bytes())?;
    for (request, answer) in &kept.answers {
        // A request is of letters, digits and a few signs.
        writeln!(
            out,
            "<script type=\"application/octet-stream\" data-request=\"{}\">{answer}</script>",
            escaped(request)
        )?;
    }
    out.write_all(html.after.as_bytes())?;
    Ok(())
}

/// The answer as it is shown where scripts do not run.
pub fn plain(told: &Told<'_>) -> String {
    let text = terminal::answer(&told.report(), &Style::PLAIN);
    format!("<pre>{}</pre>", escaped(&text))
}

/// One recording's answers, the first to be asked first.
fn of_side(side: Side, told: &Told<'_>, budget: usize) -> anyhow::Result<Kept> {
    let recorded = told.recorded();
    let mut kept = Kept {
        answers: Vec::new(),
        bytes: 0,
        budget,
    };
    let request = |part| Request { side, part };
    for part in [
        Part::Answer,
        Part::Checks,
        Part::Bands,
        Part::Things,
        Part::Calls,
        Part::Code,
        Part::WhatIf,
    ] {
        let answer = told.answer(&part);
        let answer = answer.map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
        kept.json(&request(part), &answer)?;
    }
    predictions(side, told, &mut kept)?;
    let (left, bucket_ns) = tiles(side, recorded, &mut kept)?;
    let mut thinned = Vec::new();
    if left {
        thinned.push(format!(
            "To keep this file small, detail is left out: where much happens, what is shorter than {} is shown as sums.",
            units::time(bucket_ns)
        ));
    }
    thinned.extend(things(side, recorded, &mut kept)?);
    let overview = recorded.overview(thinned, false);
    let first = kept.answers.len();
    kept.keep(&request(Part::Overview), &overview)?;
    kept.answers.swap(0, first);
    Ok(kept)
}

fn predictions(side: Side, told: &Told<'_>, kept: &mut Kept) -> anyhow::Result<()> {
    let alone = told.changes.alone().into_iter();
    let mut asked: Vec<Vec<(u32, u32)>> = alone.map(|part| vec![part]).collect();
    let most = (STEPS / told.steps().max(1)).max(LEAST);
    asked.truncate(most);
    asked.extend(told.changes.together());
    for parts in asked {
        let request = Request {
            side,
            part: Part::Predict(parts.clone()),
        };
        if let Ok(answer) = told.predict(&parts) {
            kept.keep(&request, &answer)?;
        }
    }
    Ok(())
}

/// What there is by tiles of time.
#[derive(Clone, Copy)]
enum Tiled {
    Path,
    Lanes(LanesBy, u32),
    Flame,
}

impl Tiled {
    /// Further down, a file has none. Samples are moments: of them, and of who wanted a processor, there is always more to say, but
    /// little that matters.
    fn deepest(self, wall_ns: u64) -> u32 {
        match self {
            Tiled::Path | Tiled::Lanes(LanesBy::Thread, _) => deepest_level(wall_ns),
            Tiled::Lanes(LanesBy::Processor, _) => 6,
            Tiled::Flame => 5,
            // What is below is in their threads.
            Tiled::Lanes(LanesBy::Process, _) => 0,
        }
    }

    fn buckets(self) -> u32 {
        match self {
            Tiled::Path | Tiled::Lanes(..) => timesink_page::LANE_BUCKETS,
            Tiled::Flame => timesink_page::FLAME_BUCKETS,
        }
    }
}

/// Tiles from the whole time down, as deep as there is more to say and room to say it in; whether something was left out, and the shortest
/// time that is told everywhere.
fn tiles(side: Side, recorded: &Recorded<'_>, kept: &mut Kept) -> anyhow::Result<(bool, u64)> {
    let page = &recorded.page;
    let mut wanted: VecDeque<(Tiled, Tile)> = VecDeque::new();
    wanted.push_back((Tiled::Path, Tile::WHOLE));
    for by in [LanesBy::Process, LanesBy::Thread, LanesBy::Processor] {
        let chunks = 0..page.chunk_count(by);
        wanted.extend(chunks.map(|chunk| (Tiled::Lanes(by, chunk), Tile::WHOLE)));
    }
    if recorded.loaded.stacks.any() {
        wanted.push_back((Tiled::Flame, Tile::WHOLE));
    }
    while let Some((what, tile)) = wanted.pop_front() {
        // The whole time is always there; below it, whole levels as far as there is room.
        if tile.level > 0 && kept.is_full() {
            let buckets = u64::from(timesink_page::LANE_BUCKETS) << tile.level;
            return Ok((true, page.wall_ns() / buckets));
        }
        // Of what is summed up there is more to say further down.
        let summed: Vec<u32> = match what {
            Tiled::Path => {
                let answer = page.path(tile);
                let part = Part::Path(tile);
                kept.keep(&Request { side, part }, &answer)?;
                answer.sums.bucket
            }
            Tiled::Lanes(by, chunk) => {
                let Some(answer) = page.lanes(by, chunk, tile) else {
                    continue;
                };
                let part = Part::Lanes { by, chunk, tile };
                kept.keep(&Request { side, part }, &answer)?;
                let lanes = answer.lanes.into_iter();
                lanes.flat_map(|lane| lane.sums.bucket).collect()
            }
            Tiled::Flame => {
                let answer = page.flame(tile);
                let part = Part::Flame(tile);
                kept.keep(&Request { side, part }, &answer)?;
                answer.short.bucket
            }
        };
        if tile.level < what.deepest(page.wall_ns()) {
            let middle = what.buckets() / 2;
            let [first, second] = tile.halves();
            if summed.iter().any(|bucket| *bucket < middle) {
                wanted.push_back((what, first));
            }
            if summed.iter().any(|bucket| *bucket >= middle) {
                wanted.push_back((what, second));
            }
        }
    }
    Ok((false, 0))
}

/// Pages of the things with most time; what is said of the others.
fn things(side: Side, recorded: &Recorded<'_>, kept: &mut Kept) -> anyhow::Result<Option<String>> {
    let page = &recorded.page;
    let all = page.heaviest_things(usize::MAX);
    // Single things are small: they may take a tenth more than there is room for.
    let most = kept.budget + kept.budget / 10;
    let mut count = 0usize;
    for &id in all.iter().take(THINGS) {
        if kept.bytes >= most {
            break;
        }
        if let Some(thing) = page.thing(id) {
            let part = Part::Thing(id);
            kept.keep(&Request { side, part }, &thing)?;
        }
        count += 1;
    }
    Ok((count < all.len()).then(|| {
        format!(
            "Of {} the {} with most time can be opened.",
            units::plural(
                all.len() as u64,
                "file, socket or lock",
                "files, sockets and locks"
            ),
            units::count(count as u64)
        )
    }))
}

/// Bytes as text, as RFC 4648 has it.
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(match place <= three.len() {
                true => char::from(sign),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648.
    #[test]
    fn base64_is_that_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
