//! A drawing and its report as one HTML file that needs nothing else: no script, nothing loaded from elsewhere.

use crate::present::history::xml;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:24px auto;max-width:840px;padding:0 16px;background:#fff;color:#16181d}\
svg{max-width:100%;height:auto}pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,'DejaVu Sans Mono',monospace}\
@media(prefers-color-scheme:dark){body{background:#14161a;color:#e7e9ee}svg{border-radius:6px}}";

/// The page. `chart` is a whole drawing, `text` what the terminal says.
pub fn page(title: &str, chart: &[u8], text: &str) -> String {
    let (title, text) = (xml(title), lines(text));
    let chart = String::from_utf8_lossy(chart);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{title}</title><style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n\
         <figure role=\"img\" aria-label=\"{title}; as text below\" style=\"margin:0\">\n{chart}</figure>\n\
         <pre>{text}</pre>\n</body></html>\n"
    )
}

/// Text with its line feeds, harmless in HTML.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(xml).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a command or a round is called is text, in the title as in the report.
    #[test]
    fn names_are_text() {
        let evil = "</pre><script>alert(1)</script>\"";
        let made = page(evil, b"<svg></svg>", &format!("{evil}\nsecond"));
        assert!(!made.contains("<script"), "{made}");
        assert!(made.contains("&lt;script&gt;") && made.contains("\nsecond</pre>"));
    }
}
