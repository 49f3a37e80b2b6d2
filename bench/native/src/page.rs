//! The report as a page: a chart for each case, with a group of bars for each workload. A bar is the median,
//! its mark the range; widths are in proportion to the fastest engine of the workload.

use crate::table::Spread;
use std::fmt::Write;

const COLOURS: [&str; 6] = ["#1b6ac9", "#d1495b", "#3a9d5d", "#e0a030", "#8558b0", "#6b7280"];
const BAR: f64 = 14.0;
const GAP: f64 = 14.0;
const LABELS: f64 = 190.0;
const PLOT: f64 = 520.0;
const WIDTH: f64 = LABELS + PLOT + 200.0;

/// Workloads with a figure for each engine, if there is one.
pub type Rows = [(String, Vec<Option<Spread>>)];

/// A page of charts, with the text of a report below them.
pub fn page(charts: &str, text: &str) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Terrane beside other stores</title>\
         <style>body {{ font: 14px sans-serif; margin: 2em }} svg text {{ font: 11px sans-serif }}\
         </style><h1>Terrane beside other stores</h1>\n{charts}<pre>{}</pre>\n",
        escape(text)
    )
}

/// A chart of figures of which more is better.
pub fn chart(title: &str, engines: &[&str], rows: &Rows) -> String {
    let group = engines.len() as f64 * BAR + GAP;
    let height = rows.len() as f64 * group + GAP;
    let mut svg = format!("<h2>{}</h2><p>", escape(title));
    for (engine, colour) in engines.iter().zip(COLOURS.iter().cycle()) {
        // A String takes whatever is written, here and below.
        let _ = write!(svg, "<span style=\"color:{colour}\">&#9632;</span> {engine} ");
    }
    let _ = write!(svg, "</p><svg width=\"{WIDTH}\" height=\"{height}\">");
    for (row, (name, figures)) in rows.iter().enumerate() {
        let top = row as f64 * group + GAP;
        let most = figures.iter().flatten().map(|spread| spread.most).fold(0.0, f64::max);
        let middle = top + group / 2.0 - GAP / 2.0;
        let _ = write!(svg, "<text x=\"0\" y=\"{middle:.1}\">{}</text>", escape(name));
        for (at, (figure, colour)) in figures.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let Some(spread) = figure.filter(|_| most > 0.0) else { continue };
            let y = top + at as f64 * BAR;
            let x = |figure: f64| LABELS + PLOT * figure / most;
            let _ = write!(
                svg,
                "<rect x=\"{LABELS}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>\
                 <path d=\"M{:.1} {line:.1}H{:.1}\" stroke=\"#000\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x(spread.median) - LABELS,
                BAR - 3.0,
                x(spread.least),
                x(spread.most),
                x(spread.most) + 5.0,
                y + BAR - 4.0,
                spread.text(),
                line = y + BAR / 2.0 - 1.5,
            );
        }
    }
    svg + "</svg>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{LABELS, PLOT, chart};
    use crate::table::Spread;

    #[test]
    fn the_fastest_engine_has_the_longest_bar_and_the_absent_none() {
        let spread = |figure: f64| Spread::of(std::iter::once(figure));
        let rows = [("a<b".to_owned(), vec![spread(50.0), spread(100.0), None])];
        let svg = chart("case", &["one", "two", "three"], &rows);
        for width in [PLOT / 2.0, PLOT] {
            assert!(svg.contains(&format!("width=\"{width:.1}\" height=\"11.0\"")), "{svg}");
        }
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(svg.contains(&format!("x=\"{LABELS}\"")) && svg.contains("a&lt;b"));
    }
}
