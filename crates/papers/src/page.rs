//! The report of a paper: a page, JSON and CSV, plots, and the configurations of its simulations.

use crate::cases;
use crate::earlier::Earlier;
use crate::figure::{Figure, Row, Source};
use crate::plot;
use crate::spooky::flash::FITS;
use crate::{Paper, PapersError, Scale};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// Page of measurements on stores, beside the report; not written here.
const ENGINE: &str = "engine.md";

/// Writes the report of a paper into a folder: `README.md`, `report.json`, and for each figure its numbers as CSV, its
/// simulations' configurations as JSON, and an SVG for each plot. A report of the same scale that is there keeps its
/// other figures.
///
/// # Errors
/// A plot that could not be drawn, a file that could not be written.
pub fn write(
    folder: &Path,
    paper: &Paper,
    scale: Scale,
    figures: &[Figure],
) -> Result<(), PapersError> {
    let scale = match scale {
        Scale::Ci => "ci",
        Scale::Full => "full",
    };
    let save = |name: &str, text: &str| save(folder, name, text);
    let Paper { title, left_out, .. } = paper;
    let earlier = Earlier::read(folder, scale);
    let mut items = Vec::new();
    let mut page = format!(
        "# {title}\n\nMade by `cargo xtask papers --scale {scale}`. The numbers are ours, simulated. A \
         column in italics has the paper's number for the column before it: *measured* is what its authors \
         measured and state in the text, *derived* is computed from what they state, and *equation* is the \
         value of one of its equations; curves that the paper only draws are not read off. Write \
         amplification is without flushes where an equation stands beside it, as the equations count.\n"
    );
    for (name, _) in paper.figures {
        let Some(figure) = figures.iter().find(|figure| figure.id == *name) else {
            let kept = earlier.figure(name);
            page.extend(kept.map(|figure| figure.section.as_str()));
            items.extend(kept.map(|figure| figure.item.clone()));
            continue;
        };
        let item = item(figure);
        save(&format!("{}.csv", figure.id), &csv(&item))?;
        items.push(item);
        section(&mut page, figure);
        let heading = |y: &str| format!("{}: {y}", figure.title);
        let curves = figure
            .plots
            .iter()
            .map(|p| (format!("{} over {}", p.y, p.x), plot::draw(&heading(p.y), p)));
        let bars = figure.bars.iter().map(|b| (b.y.to_owned(), plot::draw_bars(&heading(b.y), b)));
        for (index, (caption, svg)) in curves.chain(bars).enumerate() {
            let name = format!("{}-{}.svg", figure.id, index + 1);
            let svg = svg.map_err(|why| PapersError::Plot { figure: figure.id, why })?;
            let _ = writeln!(page, "\n![{caption}]({name})");
            save(&name, &svg)?;
        }
    }
    if !left_out.is_empty() {
        page += "\n## Not reproduced\n\n";
        for (figure, why) in *left_out {
            let _ = writeln!(page, "* **{figure}:** {why}");
        }
    }
    if folder.join(ENGINE).exists() {
        let _ = write!(
            page,
            "\n## On the engine\n\nWhat stores do, beside the simulator: [{ENGINE}]({ENGINE}).\n"
        );
    }
    let title = serde_json::to_string(title).unwrap_or_default();
    let json = format!(
        "{{\n  \"paper\": {title},\n  \"scale\": \"{scale}\",\n  \"figures\": [\n{}\n  ]\n}}\n",
        items.join(",\n")
    );
    save("report.json", &json)?;
    save("README.md", &page)?;
    write_configurations(folder, figures)
}

/// Writes the configurations of figures' simulations into a folder, and their numbers as CSV from the report that is
/// there.
///
/// # Errors
/// A file that could not be written.
pub fn write_configurations(folder: &Path, figures: &[Figure]) -> Result<(), PapersError> {
    for Figure { id, cases, .. } in figures {
        save(folder, &format!("{id}.json"), &cases::file(cases))?;
    }
    for kept in ["ci", "full"].iter().flat_map(|scale| Earlier::read(folder, scale).0) {
        save(folder, &format!("{}.csv", kept.name), &csv(&kept.item))?;
    }
    Ok(())
}

fn save(folder: &Path, name: &str, text: &str) -> Result<(), PapersError> {
    let file = folder.join(name);
    let failed = |why| PapersError::Write { file: file.display().to_string(), why };
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, text)).map_err(failed)
}

/// Returns the rows of a figure's item in the report as CSV, a line for each number.
fn csv(item: &str) -> String {
    let item: Value = serde_json::from_str(item).unwrap_or_default();
    let fields = ["case", "measure", "ours", "paper", "ratio", "source"];
    let mut csv = format!("{}\n", fields.join(","));
    for row in item.get("rows").and_then(Value::as_array).into_iter().flatten() {
        let cell = |field: &&str| match row.get(*field).unwrap_or(&Value::Null) {
            Value::Null => String::new(),
            Value::String(text) => format!("\"{}\"", text.replace('"', "\"\"")),
            number => number.to_string(),
        };
        csv += &fields.iter().map(cell).collect::<Vec<_>>().join(",");
        csv.push('\n');
    }
    csv
}

/// A figure as an item of the list in the report.
fn item(figure: &Figure) -> String {
    let json = serde_json::to_string_pretty(figure).unwrap_or_default();
    json.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// A figure: what the paper says, what is simulated, a line for each case and a column for each measure.
fn section(page: &mut String, figure: &Figure) {
    let Figure { title, claim, setting, rows, notes, .. } = figure;
    let _ = write!(page, "\n## {title}\n\n**The paper:** {claim}\n\n**Here:** {setting}\n\n");
    let measures = distinct(rows.iter().map(|row| row.measure));
    let compared = |measure: &str| {
        rows.iter().find(|r| r.measure == measure && r.paper.is_some()).map(|row| row.source)
    };
    // Counts have no decimals. Ratios that are all 1 are no counts.
    let is_count = |measure: &str| {
        let of_it = rows.iter().filter(|row| row.measure == measure);
        let numbers: Vec<_> = of_it.flat_map(|row| [Some(row.ours), row.paper]).flatten().collect();
        numbers.iter().all(|v| v.fract() == 0.0) && numbers.iter().any(|v| *v > 1.0)
    };
    let counts: Vec<_> = measures.iter().filter(|measure| is_count(measure)).collect();
    let shown = |measure: &&str, value: f64| match *measure {
        FITS => if value > 0.0 { "yes" } else { "no" }.to_owned(),
        _ if counts.contains(&measure) => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    };
    let (mut head, mut rule) = ("| case |".to_owned(), "|---|".to_owned());
    for measure in &measures {
        let _ = write!(head, " {measure} |");
        rule += "--:|";
        if let Some(source) = compared(measure) {
            let _ = write!(head, " *paper: {}* |", word(source));
            rule += "--:|";
        }
    }
    let _ = writeln!(page, "{head}\n{rule}");
    for case in distinct(rows.iter().map(|row| row.case.as_str())) {
        let _ = write!(page, "| {case} |");
        for measure in &measures {
            let row = rows.iter().find(|r| r.case == case && r.measure == *measure);
            let cell = |value: Option<f64>| value.map_or(String::new(), |v| shown(measure, v));
            let _ = write!(page, " {} |", cell(row.map(|row| row.ours)));
            if compared(measure).is_some() {
                let _ = write!(page, " {} |", cell(row.and_then(|row: &Row| row.paper)));
            }
        }
        page.push('\n');
    }
    for note in notes {
        let _ = write!(page, "\n{note}\n");
    }
}

fn word(source: Source) -> &'static str {
    match source {
        Source::Measured => "measured",
        Source::Derived => "derived",
        Source::Equation => "equation",
        Source::None => "",
    }
}

/// Each once, in the order of their first places.
fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}
