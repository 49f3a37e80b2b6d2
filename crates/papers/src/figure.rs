//! A figure of a paper, with our results.

use crate::cases::Case;
use serde::Serialize;

/// The source of the number that ours is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Measured by the authors, and stated in their text.
    Measured,
    /// Derived by us from what the authors state, such as the inverse of "2.5 times".
    Derived,
    /// One of the paper's equations.
    Equation,
    /// Neither: a number of ours alone.
    None,
}

/// One number of ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Simulated case.
    pub case: String,
    /// The quantity.
    pub measure: &'static str,
    /// The result.
    pub ours: f64,
    /// The paper's number.
    pub paper: Option<f64>,
    /// Ours over the paper's.
    pub ratio: Option<f64>,
    /// Kind of the paper's number.
    pub source: Source,
}

/// A line of a plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Its label.
    pub name: String,
    /// Whether its points are values of one of the paper's equations rather than our results.
    pub equation: bool,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
}

/// Several curves on one pair of axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    /// Meaning of x, with its unit.
    pub x: &'static str,
    /// Meaning of y, with its unit.
    pub y: &'static str,
    /// The lines.
    pub curves: Vec<Curve>,
}

/// Bars side by side, in groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bars {
    /// Measured quantity, with its unit.
    pub y: &'static str,
    /// The groups, each with a bar of each series, in their order.
    pub groups: Vec<String>,
    /// The series: a name, and a value for each group, if there is one.
    pub series: Vec<(String, Vec<Option<f64>>)>,
}

/// A figure of a paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its name, from which file names are made.
    pub id: &'static str,
    /// Its number in the paper, and what it shows.
    pub title: &'static str,
    /// The paper's claim.
    pub claim: &'static str,
    /// Simulation here, and its differences from the paper.
    pub setting: String,
    /// Our results.
    pub rows: Vec<Row>,
    /// Explanations of our results where they differ, and bounds on them.
    pub notes: Vec<String>,
    /// Its curves.
    pub plots: Vec<Plot>,
    /// Its bars.
    pub bars: Vec<Bars>,
    /// Its simulations.
    #[serde(skip)]
    pub cases: Vec<Case>,
}

impl Figure {
    /// A figure without results yet.
    pub(crate) fn new(
        id: &'static str,
        title: &'static str,
        claim: &'static str,
        setting: String,
    ) -> Self {
        Figure {
            id,
            title,
            claim,
            setting,
            rows: Vec::new(),
            notes: Vec::new(),
            plots: Vec::new(),
            bars: Vec::new(),
            cases: Vec::new(),
        }
    }

    /// Adds bars of a measure: a group for each of `groups` and a series for each of `series`, of cases
    /// that are named `group, series`.
    pub(crate) fn draw_bars(&mut self, y: &'static str, groups: &[&str], series: &[&str]) {
        let of = |name: &&str| {
            let value = |group: &&str| self.number(&format!("{group}, {name}"), y);
            ((*name).to_owned(), groups.iter().map(value).collect())
        };
        let series = series.iter().map(of).collect();
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        self.bars.push(Bars { y, groups, series });
    }

    /// Adds a number of ours alone.
    pub(crate) fn found(&mut self, case: &str, measure: &'static str, ours: f64) {
        let (paper, ratio, source) = (None, None, Source::None);
        self.rows.push(Row { case: case.to_owned(), measure, ours, paper, ratio, source });
    }

    /// Adds a number that the paper also states.
    pub(crate) fn beside(
        &mut self,
        case: &str,
        measure: &'static str,
        ours: f64,
        (source, paper): (Source, f64),
    ) {
        let (case, ratio) = (case.to_owned(), Some(ours / paper));
        self.rows.push(Row { case, measure, ours, paper: Some(paper), ratio, source });
    }

    /// Adds the paper's number to one of ours, if we have it.
    pub(crate) fn compare(&mut self, case: &str, measure: &str, (source, paper): (Source, f64)) {
        let row = self.rows.iter_mut().find(|row| row.case == case && row.measure == measure);
        if let Some(row) = row {
            (row.paper, row.ratio, row.source) = (Some(paper), Some(row.ours / paper), source);
        }
    }

    /// Our number for this case and quantity.
    #[must_use]
    pub fn number(&self, case: &str, measure: &str) -> Option<f64> {
        self.rows.iter().find(|r| r.case == case && r.measure == measure).map(|r| r.ours)
    }
}

impl Plot {
    /// Adds a point of ours to the curve of this name.
    pub(crate) fn point(&mut self, name: &str, at: (f64, f64)) {
        self.add(name, false, at);
    }

    /// Adds a point to the equation's curve of this name.
    pub(crate) fn equation(&mut self, name: &str, at: (f64, f64)) {
        self.add(name, true, at);
    }

    fn add(&mut self, name: &str, equation: bool, at: (f64, f64)) {
        let mut curves = self.curves.iter_mut();
        match curves.find(|curve| curve.name == name && curve.equation == equation) {
            Some(curve) => curve.points.push(at),
            None => {
                self.curves.push(Curve { name: name.to_owned(), equation, points: vec![at] });
            }
        }
    }
}
