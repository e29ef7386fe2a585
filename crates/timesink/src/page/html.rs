//! The page's own HTML. It is made from `web/` before timesink is built, and is kept compressed in the binary.

use std::io::Read;

use flate2::read::GzDecoder;

const PAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.html.gz"));

/// What is put in, each mark once; see web/index.html.
const MODE: &str = "TIMESINK_MODE";
const TITLE: &str = "TIMESINK_TITLE";
const PLAIN: &str = "<!--TIMESINK_PLAIN-->";
const DATA: &str = "<!--TIMESINK_DATA-->";

/// The page around its data.
pub struct Html {
    /// All before the data, and all after them.
    pub before: String,
    pub after: String,
}

/// How the page comes by its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Served,
    File,
}

impl Html {
    /// With a title, and what is shown where scripts do not run, which is HTML already.
    pub fn of(mode: Mode, title: &str, plain: &str) -> anyhow::Result<Html> {
        let mut page = String::new();
        GzDecoder::new(PAGE).read_to_string(&mut page)?;
        let (head, rest) = split(&page, MODE)?;
        let (until_title, rest) = split(rest, TITLE)?;
        let (until_plain, rest) = split(rest, PLAIN)?;
        let (until_data, after) = split(rest, DATA)?;
        let mode = match mode {
            Mode::Served => "served",
            Mode::File => "file",
        };
        let title = escaped(title);
        Ok(Html {
            before: [
                head,
                mode,
                until_title,
                &title,
                until_plain,
                plain,
                until_data,
            ]
            .concat(),
            after: after.to_owned(),
        })
    }
}

fn split<'a>(text: &'a str, mark: &str) -> anyhow::Result<(&'a str, &'a str)> {
    let parts = text.split_once(mark);
    parts.ok_or_else(|| anyhow::anyhow!("the page in this binary has no place for {mark}"))
}

/// A text as HTML shows it.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each mark is there once, in this order, so that what is put in at one cannot be taken for another.
    #[test]
    fn the_page_has_a_place_for_all_that_is_put_in() {
        let html = Html::of(Mode::File, "a <b>", "<pre>plain</pre>").expect("a page");
        assert!(html.before.contains("<title>a &lt;b&gt;"));
        assert!(html.before.contains("<pre>plain</pre>"));
        for mark in [MODE, TITLE, PLAIN, DATA] {
            assert!(
                !html.before.contains(mark) && !html.after.contains(mark),
                "{mark}"
            );
        }
        assert!(html.after.contains("<script"));
    }
}
