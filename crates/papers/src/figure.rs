//! A figure of a paper, with our results.

use serde::Serialize;

/// The source of the number that ours is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Measured by the authors, and stated in their text.
    Measured,
    /// One of the paper's equations.
    Equation,
    /// Neither: a number of ours alone.
    None,
}

/// One number of ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What was simulated.
    pub case: String,
    /// The quantity.
    pub measure: &'static str,
    /// The result.
    pub ours: f64,
    /// The paper's number.
    pub paper: Option<f64>,
    /// Ours over the paper's.
    pub ratio: Option<f64>,
    /// What kind of number the paper's is.
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
    /// What x is, with its unit.
    pub x: &'static str,
    /// What y is, with its unit.
    pub y: &'static str,
    /// The lines.
    pub curves: Vec<Curve>,
}

/// A figure of a paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its name, from which file names are made.
    pub id: &'static str,
    /// Its number in the paper, and what it shows.
    pub title: &'static str,
    /// What the paper says.
    pub claim: &'static str,
    /// What is simulated here, and how that differs from what the paper did.
    pub setting: String,
    /// Our results.
    pub rows: Vec<Row>,
    /// Its curves.
    pub plots: Vec<Plot>,
}

impl Figure {
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

    /// Adds the authors' measurement to a number of ours, if we have it.
    pub(crate) fn measured(&mut self, case: &str, measure: &str, paper: f64) {
        let row = self.rows.iter_mut().find(|row| row.case == case && row.measure == measure);
        if let Some(row) = row {
            (row.paper, row.ratio, row.source) =
                (Some(paper), Some(row.ours / paper), Source::Measured);
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
