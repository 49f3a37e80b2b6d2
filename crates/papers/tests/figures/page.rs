//! The report that is written of figures.

use terrane_papers::{Bars, Curve, Figure, Paper, PapersError, Plot, Row, Scale, Source, write};

fn figure(_: Scale, _: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let row = |case: &str, measure, ours, paper: Option<f64>| Row {
        case: case.to_owned(),
        measure,
        ours,
        paper,
        ratio: paper.map(|paper| ours / paper),
        source: if paper.is_some() { Source::Derived } else { Source::None },
    };
    Ok(Figure {
        id: "figure-1",
        title: "Figure 1",
        claim: "It grows.",
        setting: "Two sizes.".to_owned(),
        rows: vec![
            row("small", "height", 1.5, Some(3.0)),
            row("small", "width", 2.0, None),
            row("large", "width", 4.0, None),
        ],
        notes: vec!["It is half as high.".to_owned()],
        plots: vec![Plot {
            x: "size",
            y: "width",
            curves: vec![Curve {
                name: "ours".to_owned(),
                equation: false,
                points: vec![(1.0, 2.0), (2.0, 4.0)],
            }],
        }],
        bars: vec![Bars {
            y: "width",
            groups: vec!["small".to_owned(), "large".to_owned()],
            series: vec![("ours".to_owned(), vec![Some(2.0), None])],
        }],
    })
}

#[test]
fn a_report_has_a_line_a_case_a_column_a_measure_and_pictures() {
    let paper = Paper {
        folder: "paper",
        title: "A paper",
        figures: &[figure, figure],
        left_out: &[("Figure 2", "it has no numbers.")],
    };
    let figures = paper.simulate(Scale::Ci, &|_| ()).unwrap();
    assert_eq!(figures.len(), 2);
    let folder = std::env::temp_dir().join(format!("terrane-papers-{}", std::process::id()));
    write(&folder, &paper, Scale::Ci, &figures[..1]).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let page = read("README.md");
    for line in [
        "| case | height | *paper: derived* | width |",
        "| small | 1.50 | 3.00 | 2 |",
        "| large |  |  | 4 |",
        "It is half as high.",
        "![width over size](figure-1-1.svg)",
        "![width](figure-1-2.svg)",
        "* **Figure 2:** it has no numbers.",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} in {page}");
    }
    assert!(read("report.json").contains("\"ratio\": 0.5"));
    // Of the two bars there is one: the legend has another rectangle, the page's own is the first.
    let bars = read("figure-1-2.svg");
    assert_eq!(bars.matches("<rect").count(), 3, "{bars}");
    assert!(read("figure-1-1.svg").contains("Figure 1: width"));
    std::fs::remove_dir_all(folder).unwrap();
}
