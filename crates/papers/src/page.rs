//! The report of a paper: a page, JSON, and plots.

use crate::figure::{Figure, Source};
use crate::plot;
use crate::{PapersError, Scale};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Serialize)]
struct Json<'a> {
    paper: &'a str,
    scale: &'a str,
    figures: &'a [Figure],
}

/// Writes the report of a paper into a folder: `README.md`, `report.json`, an SVG for each plot.
///
/// # Errors
/// A plot that could not be drawn, a file that could not be written.
pub fn write(
    folder: &Path,
    paper: &str,
    scale: Scale,
    figures: &[Figure],
) -> Result<(), PapersError> {
    let scale = match scale {
        Scale::Ci => "ci",
        Scale::Full => "full",
    };
    let save = |name: &str, text: &str| {
        let file = folder.join(name);
        let failed = |why| PapersError::Write { file: file.display().to_string(), why };
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, text)).map_err(failed)
    };
    let mut page = format!(
        "# {paper}\n\nMade by `cargo xtask papers --scale {scale}`. *Measured* is a number that the \
         paper's text states, *equation* the value of one of its equations; curves that it only draws \
         are not read off. Write amplification is without flushes where an equation stands beside it, \
         as the equations count.\n"
    );
    for figure in figures {
        section(&mut page, figure);
        for (index, drawn) in figure.plots.iter().enumerate() {
            let name = format!("{}-{}.svg", figure.id, index + 1);
            let _ = writeln!(page, "\n![{} over {}]({name})", drawn.y, drawn.x);
            let title = format!("{}: {}", figure.title, drawn.y);
            let svg = plot::draw(&title, drawn)
                .map_err(|why| PapersError::Plot { figure: figure.id, why })?;
            save(&name, &svg)?;
        }
    }
    let json = serde_json::to_string_pretty(&Json { paper, scale, figures }).unwrap_or_default();
    save("report.json", &(json + "\n"))?;
    save("README.md", &page)
}

fn section(page: &mut String, figure: &Figure) {
    let Figure { title, claim, setting, rows, .. } = figure;
    let _ = write!(
        page,
        "\n## {title}\n\n**The paper:** {claim}\n\n**Here:** {setting}\n\n\
         | case | measure | ours | paper | ratio | source |\n|---|---|--:|--:|--:|---|\n"
    );
    let number = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
    for row in rows {
        let source = match row.source {
            Source::Measured => "measured",
            Source::Equation => "equation",
            Source::None => "",
        };
        let (paper, ratio) = (number(row.paper), number(row.ratio));
        let (case, measure, ours) = (&row.case, row.measure, row.ours);
        let _ = writeln!(page, "| {case} | {measure} | {ours:.2} | {paper} | {ratio} | {source} |");
    }
}
