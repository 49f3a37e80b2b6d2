//! The report that is written of figures.

use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use terrane_papers::cases::file as file_of;
use terrane_papers::{
    Bars, Curve, Figure, PAPERS, Paper, PapersError, Plot, Row, Scale, Source, write,
    write_configurations,
};
use terrane_sim::Config;

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
        cases: Vec::new(),
    })
}

#[test]
fn a_report_has_a_line_a_case_a_column_a_measure_and_pictures() {
    let paper = Paper {
        folder: "paper",
        title: "A paper",
        figures: &[("figure-1", figure), ("figure-2", figure)],
        left_out: &[("Figure 2", "it has no numbers.")],
    };
    let mut figures = paper.simulate(Scale::Ci, &|_| ()).unwrap();
    assert_eq!(figures.len(), 2);
    figures[0].cases = vec![("the first".to_owned(), Config { workers: 3, ..Config::default() })];
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
    let csv = read("figure-1.csv");
    let lines: Vec<_> = csv.lines().take(3).collect();
    assert_eq!(
        lines,
        [
            "case,measure,ours,paper,ratio,source",
            "\"small\",\"height\",1.5,3.0,0.5,\"derived\"",
            "\"small\",\"width\",2.0,,,\"none\"",
        ]
    );
    assert!(csv.contains("\"small\",\"width\"") && csv.lines().count() == 4);
    assert_eq!(
        read("figure-1.json"),
        "{\"cases\": [\n  {\"config\":{\"workers\":3},\"name\":\"the first\"}\n]}\n"
    );
    std::fs::remove_file(folder.join("figure-1.csv")).unwrap();
    write_configurations(&folder, &[]).unwrap();
    assert_eq!(read("figure-1.csv"), csv, "from the report that is there");
    // Of the two bars there is one: the legend has another rectangle, the page's own is the first.
    let bars = read("figure-1-2.svg");
    assert_eq!(bars.matches("<rect").count(), 3, "{bars}");
    assert!(read("figure-1-1.svg").contains("Figure 1: width"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_figure_that_is_written_again_leaves_the_others_as_they_are() {
    fn second(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
        Ok(Figure { id: "figure-2", title: "Figure 2: \"again\"", ..figure(scale, progress)? })
    }
    let paper = Paper {
        folder: "paper",
        title: "A paper",
        figures: &[("figure-1", figure), ("figure-2", second)],
        left_out: &[("Figure 3", "it has no numbers.")],
    };
    let figures = paper.simulate(Scale::Ci, &|_| ()).unwrap();
    let folder = std::env::temp_dir().join(format!("terrane-papers-again-{}", std::process::id()));
    let both = |figures: &[Figure], scale| {
        write(&folder, &paper, scale, figures).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        (read("README.md"), read("report.json"))
    };
    let whole = both(&figures, Scale::Ci);
    let json: Value = serde_json::from_str(&whole.1).unwrap();
    assert_eq!(json["figures"][1]["title"], "Figure 2: \"again\"");
    for figure in &figures {
        assert_eq!(both(std::slice::from_ref(figure), Scale::Ci), whole, "{}", figure.id);
    }
    let other_claim = Figure { claim: "It shrinks.", ..figures[0].clone() };
    let rewritten = both(&[other_claim], Scale::Ci);
    assert_eq!(rewritten.0, whole.0.replacen("It grows.", "It shrinks.", 1));
    assert_eq!(rewritten.1, whole.1.replacen("It grows.", "It shrinks.", 1));
    // Of another scale nothing stays.
    let (page, json) = both(&figures[1..], Scale::Full);
    assert!(!page.contains("## Figure 1") && !json.contains("figure-1\""), "{json}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_figure_is_chosen_by_number_or_name_and_others_are_refused() {
    let figures = &[("figure-1", figure as _), ("figure-7-changed", figure as _)];
    let paper = Paper { folder: "paper", title: "A paper", figures, left_out: &[] };
    let chosen = |asked| paper.with_figure(asked).map(|paper| paper.figures[0].0);
    assert_eq!(chosen("2").unwrap(), "figure-7-changed");
    assert_eq!(chosen("figure-1").unwrap(), "figure-1");
    for asked in ["0", "3", "figure-2", ""] {
        let expected = format!(
            "paper has no figure {asked}, expected 1 to 2 or one of figure-1, figure-7-changed"
        );
        assert_eq!(chosen(asked).unwrap_err().to_string(), expected);
    }
}

/// A published file of a paper, and what is in it; nothing if it is not there.
fn published(paper: &Paper, name: &str) -> (PathBuf, String) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers");
    let file = docs.join(paper.folder).join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    (file, text)
}

#[test]
fn figures_of_published_reports_have_their_names_and_order() {
    for paper in PAPERS {
        let (_, report) = published(paper, "report.json");
        let report: Value = serde_json::from_str(&report).unwrap();
        let figures = report["figures"].as_array().unwrap();
        let published: Vec<_> =
            figures.iter().map(|figure| figure["id"].as_str().unwrap()).collect();
        let named = paper.figures.iter().map(|(name, _)| *name);
        let named: Vec<_> = named.filter(|name| published.contains(name)).collect();
        assert_eq!(published, named, "{}", paper.folder);
    }
}

#[test]
fn published_configurations_are_those_that_figures_simulate() {
    for paper in PAPERS {
        for figure in paper.configurations(Scale::Full).unwrap() {
            let (file, published) = published(paper, &format!("{}.json", figure.id));
            let differs = published
                .lines()
                .zip(file_of(&figure.cases).lines())
                .find_map(|(published, now)| (published != now).then(|| now.to_owned()));
            let at =
                format!("{}: cargo xtask papers --scale full --configurations", file.display());
            assert_eq!(differs, None, "{at}");
            assert_eq!(published.lines().count(), figure.cases.len() + 2, "{at}");
        }
    }
}

#[test]
fn published_configurations_can_be_read() {
    for paper in PAPERS {
        for figure in paper.configurations(Scale::Full).unwrap() {
            let (file, published) = published(paper, &format!("{}.json", figure.id));
            let published: Value = serde_json::from_str(&published).unwrap();
            for (at, (name, config)) in figure.cases.iter().enumerate() {
                let read = Config::deserialize(&published["cases"][at]["config"]);
                let read = read.unwrap_or_else(|why| panic!("{}, {name}: {why}", file.display()));
                assert_eq!(read.workload.load, config.workload.load, "{}, {name}", file.display());
            }
        }
    }
}
