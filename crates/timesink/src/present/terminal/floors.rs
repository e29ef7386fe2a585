//! What a machine does at best, as a table.

use timesink_recording::floors::{Figure, Floors, ForBytes};

use super::rows::title;
use super::style::{pad, pad_left, width, wrap, Ink, Style};
use super::units;
use crate::present::names::harmless;

/// Half of all that was measured lies further apart than this: the figure is not sure.
const WIDE_PCT: f64 = 20.0;

/// A line of a table: what it is about, its figures, and what follows from them.
type Row = (String, Vec<Option<Figure>>, String);

/// The page, ending in a line feed.
pub fn page(floors: &Floors, style: &Style) -> String {
    let machine = &floors.machine;
    let about = format!(
        "{} · {} · {} · kernel {} · measured in {}",
        harmless(&machine.hostname),
        harmless(&machine.processor),
        units::plural(u64::from(machine.processors), "CPU", "CPUs"),
        harmless(&machine.kernel),
        units::time(floors.took_ns)
    );
    let mut lines = vec![title("FLOORS", &about, style)];
    disks(floors, style, &mut lines);
    let heads = ["TCP connect", "TCP round trip", "ICMP echo"];
    let peers = floors.peers.iter().map(|peer| {
        let figures = vec![peer.connect, peer.round_trip, peer.echo];
        (harmless(&peer.name).into_owned(), figures, String::new())
    });
    section(
        "NETWORK",
        &heads,
        &peers.collect::<Vec<_>>(),
        style,
        &mut lines,
    );
    let heads = ["fork", "vfork", "posix_spawn"];
    let starts = floors.starts.iter().map(|start| {
        let figures = vec![start.fork, start.vfork, start.posix_spawn];
        let parent = units::bytes(start.resident_bytes);
        (
            format!("parent with {parent} resident"),
            figures,
            String::new(),
        )
    });
    let name = "STARTING A PROCESS";
    section(name, &heads, &starts.collect::<Vec<_>>(), style, &mut lines);
    let one = |label: &str, figure| (label.to_owned(), vec![figure], String::new());
    let threads = [
        one("switch to a woken thread, same CPU", floors.switch),
        one(
            "hand a lock to a sleeping thread, other CPU",
            floors.hand_over,
        ),
    ];
    section("THREADS", &[""], &threads, style, &mut lines);
    let copies = floors.copies.iter();
    let copies = copies.map(|copy| rate("copy", Some(copy)));
    let others = [
        rate("first touch of a page,", floors.zeroing.as_ref()),
        rate("CRC-32 of", floors.crc32.as_ref()),
        rate("hash (SipHash) of", floors.hash.as_ref()),
    ];
    let memory: Vec<Row> = copies.chain(others).collect();
    section("MEMORY", &[""], &memory, style, &mut lines);
    lines.push(String::new());
    foot(floors, style, &mut lines);
    let mut page = String::new();
    for line in lines {
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page
}

fn disks(floors: &Floors, style: &Style, lines: &mut Vec<String>) {
    for disk in &floors.disks {
        let rows = disk.sizes.iter().map(|of| {
            let figures = vec![Some(of.write), Some(of.flush), Some(of.flush_longer)];
            (size(of.bytes), figures, String::new())
        });
        let name = format!(
            "DISK, {} ({})",
            harmless(&disk.mounted_on),
            harmless(&disk.filesystem)
        );
        let heads = ["write", "flush", "flush, file extended"];
        section(&name, &heads, &rows.collect::<Vec<_>>(), style, lines);
    }
}

/// A size that is round in powers of two, as programs have them.
fn size(bytes: u64) -> String {
    match bytes {
        0 => units::bytes(0),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", units::count(bytes >> 20)),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", units::count(bytes >> 10)),
        _ => units::bytes(bytes),
    }
}

fn rate(what: &str, sized: Option<&ForBytes>) -> Row {
    let Some(ForBytes { bytes, takes }) = sized else {
        return (what.to_owned(), Vec::new(), String::new());
    };
    let a_second = *bytes as f64 / takes.ns * 1e9;
    let rate = format!("{}/s", units::bytes(a_second as u64));
    (format!("{what} {}", size(*bytes)), vec![Some(*takes)], rate)
}

/// A title, heads of columns and rows; nothing where no row has a figure.
fn section(name: &str, heads: &[&str], rows: &[Row], style: &Style, lines: &mut Vec<String>) {
    let has_figures = |row: &&Row| row.1.iter().any(Option::is_some);
    let rows: Vec<&Row> = rows.iter().filter(has_figures).collect();
    if rows.is_empty() {
        return;
    }
    lines.push(String::new());
    let labels = rows.iter().map(|row| width(&row.0));
    let first = labels.max().unwrap_or(0).max(width(name).saturating_sub(2));
    let cell = |row: &Row, column: usize| row.1.get(column).copied().flatten();
    let mut head = style.paint(Ink::Title, &pad(name, first + 2));
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| {
            let cells = rows.iter().map(|row| width(&figure(cell(row, column))));
            cells.max().unwrap_or(0).max(width(heads[column]))
        })
        .collect();
    for (text, width) in heads.iter().zip(&widths) {
        head += &style.paint(Ink::Faint, &format!("  {}", pad_left(text, *width)));
    }
    lines.push(head);
    for row in rows {
        let mut line = format!("  {}", pad(&row.0, first));
        for (column, width) in widths.iter().enumerate() {
            let figure_of = cell(row, column);
            let wide = figure_of.is_some_and(|figure| figure.spread_pct() > WIDE_PCT);
            let ink = if wide { Ink::Warning } else { Ink::Plain };
            line += &style.paint(ink, &format!("  {}", pad_left(&figure(figure_of), *width)));
        }
        lines.push(format!("{line}  {}", row.2));
    }
}

/// `35.1 us ±4 %`.
fn figure(figure: Option<Figure>) -> String {
    let Some(figure) = figure else {
        return "-".to_owned();
    };
    let spread = figure.spread_pct().round() as u64;
    let time = units::time(figure.ns.round() as u64);
    format!("{time} ±{}", pad_left(&format!("{spread} %"), 4))
}

fn foot(floors: &Floors, style: &Style, lines: &mut Vec<String>) {
    let ink = if floors.was_idle() {
        Ink::Plain
    } else {
        Ink::Warning
    };
    lines.extend(wrap(&how_idle(floors), "", ink, style));
    let figures = floors.figures();
    let wide = figures
        .iter()
        .filter(|figure| figure.spread_pct() > WIDE_PCT);
    let wide = wide.count() as u64;
    if wide > 0 {
        let text = format!(
            "{} of {} vary by more than ±{WIDE_PCT} % and are unreliable.",
            units::count(wide),
            units::plural(figures.len() as u64, "figure", "figures")
        );
        lines.extend(wrap(&text, "", Ink::Plain, style));
    }
    for left_out in &floors.left_out {
        let text = format!("Not measured: {}", harmless(left_out));
        lines.extend(wrap(&text, "", Ink::Faint, style));
    }
}

/// Whether the machine was idle, in a sentence with the reasons.
pub fn how_idle(floors: &Floors) -> String {
    let load = &floors.load;
    let others = units::percent(load.others_pct);
    if floors.was_idle() {
        return format!("The machine was idle: other processes used {others} of CPU time.");
    }
    let mut text = format!("The machine was busy: other processes used {others} of CPU time");
    if load.stolen_pct > 0.0 {
        text += &format!(", steal was {}", units::percent(load.stolen_pct));
    }
    if let Some(short) = load.short_pct {
        let short = units::percent(short);
        text += &format!(", and threads were waiting for a CPU {short} of the time");
    }
    text + ". The figures may be too high; measure again when it is idle."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::samples;
    use crate::present::terminal::tests::check;

    /// A stranger reads what takes how long, how sure that is and what is missing; nothing in it acts on a terminal.
    #[test]
    fn the_page() {
        let text = page(&samples::floors(), &Style::PLAIN);
        check("floors_plain", &text);
    }

    /// Whoever measures on a busy machine is told by whom it was busy.
    #[test]
    fn a_busy_machine_is_said_to_be_busy() {
        let mut floors = samples::floors();
        assert_eq!(
            how_idle(&floors),
            "The machine was idle: other processes used 0.8 % of CPU time."
        );
        floors.load.others_pct = 23.4;
        floors.load.stolen_pct = 3.0;
        assert_eq!(
            how_idle(&floors),
            "The machine was busy: other processes used 23.4 % of CPU time, steal was 3.0 %, and threads were waiting \
             for a CPU 1.5 % of the time. The figures may be too high; measure again when it is idle."
        );
    }
}
