//! Results of trials as drawings (SVG) and as a page with them: commands held against each other, and the rounds of an optimisation.

pub mod bench;
pub mod html;
pub mod rounds;

use std::fmt::Write as _;
use std::io::{self, Write};

use timesink_trials::Summary;

use crate::present::history::xml;

const WIDTH: f64 = 800.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 780.0;
const ROW_HEIGHT: f64 = 26.0;
/// Above each drawing there is room for its title.
const TITLE: f64 = 34.0;
/// Colours that people who see few colours tell apart (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

fn colour(at: usize) -> &'static str {
    COLOURS[at % COLOURS.len()]
}

/// A straight way from values to places.
struct Axis {
    lo: f64,
    hi: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Over these values, with a little room beside them.
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (lo, hi) = values.fold(ends, |(lo, hi), value| (lo.min(value), hi.max(value)));
        let (lo, hi) = match lo <= hi {
            true => (lo, hi),
            false => (0.0, 1.0),
        };
        let room = ((hi - lo) * 0.05)
            .max(hi.abs() * 1e-3)
            .max(f64::MIN_POSITIVE);
        Axis {
            lo: lo - room,
            hi: hi + room,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + (value - self.lo) / (self.hi - self.lo) * (self.to - self.from)
    }
}

/// A drawing that grows downwards.
#[derive(Default)]
struct Drawing {
    body: String,
    height: f64,
}

impl Drawing {
    fn title(&mut self, text: &str) {
        self.text(10.0, self.height + 22.0, "start", "bold", text);
        self.height += TITLE;
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, weight: &str, text: &str) {
        let text = xml(text);
        self.add(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-weight="{weight}">{text}</text>"#
        ));
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        self.add(&format!(
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}" stroke-width="{width}"/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    fn dot(&mut self, x: f64, y: f64, radius: f64, colour: &str) {
        self.add(&format!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{colour}" fill-opacity="0.7"/>"#
        ));
    }

    /// A row with all values, the middle half of them, and the median.
    fn scatter(
        &mut self,
        label: &str,
        values: &[f64],
        summary: Option<Summary>,
        along: &Axis,
        colour: &str,
    ) {
        let middle = self.height + ROW_HEIGHT / 2.0;
        self.text(LEFT - 12.0, middle + 4.0, "end", "bold", label);
        for value in values {
            let x = along.at(*value);
            self.line((x, middle - 4.0), (x, middle + 4.0), colour, 0.6);
        }
        if let Some(all) = summary {
            let (first, third) = (along.at(all.quartiles.0), along.at(all.quartiles.1));
            self.line((first, middle), (third, middle), colour, 4.0);
            self.dot(along.at(all.median), middle, 5.0, colour);
        }
        self.height += ROW_HEIGHT;
    }

    /// The whole drawing.
    fn finish(&self, out: &mut impl Write) -> io::Result<()> {
        let height = self.height + 10.0;
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0}" viewBox="0 0 {WIDTH} {height:.0}" font-family="sans-serif" font-size="12">"#
        )?;
        writeln!(out, r#"  <rect width="100%" height="100%" fill="white"/>"#)?;
        write!(out, "{}", self.body)?;
        writeln!(out, "</svg>")
    }

    fn add(&mut self, element: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "  {element}");
    }
}

/// A text as far as there is room for it.
fn short(text: &str) -> String {
    const MOST: usize = 100;
    match text.chars().count() > MOST {
        true => text.chars().take(MOST - 1).chain(['\u{2026}']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_cannot_be_marks() {
        let text = xml("<script>\"&\u{1b}");
        assert_eq!(text, "&lt;script&gt;&quot;&amp;\\x1b");
    }
}
