//! Numbers of a figure, as simulated now at the small scale or as they stand in the published report.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use terrane_papers::{Scale, Simulate, on_all_cores};

/// Numbers by case and measure.
pub struct Numbers {
    /// Which.
    pub scale: &'static str,
    rows: BTreeMap<(String, String), f64>,
}

impl Numbers {
    fn simulated(make: Simulate) -> (String, Self) {
        let figure = on_all_cores(make, Scale::Ci, &|_| ()).unwrap();
        let rows =
            figure.rows.into_iter().map(|row| ((row.case, row.measure.to_owned()), row.ours));
        (figure.id.to_owned(), Numbers { scale: "ci", rows: rows.collect() })
    }

    /// Those of a published report, if it has the figure.
    pub fn published(paper: &str, id: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers").join(paper);
        let report = std::fs::read_to_string(folder.join("report.json")).ok()?;
        let report: Value = serde_json::from_str(&report).unwrap();
        let mut figures = report["figures"].as_array().unwrap().iter();
        let figure = figures.find(|figure| figure["id"] == id)?;
        let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        let rows = figure["rows"].as_array().unwrap().iter();
        let rows = rows
            .map(|row| ((text(row, "case"), text(row, "measure")), row["ours"].as_f64().unwrap()));
        Some(Numbers { scale: "published", rows: rows.collect() })
    }

    /// Both, of a figure of a paper; the first alone before it is in a report.
    pub fn both(paper: &str, make: Simulate) -> Vec<Self> {
        let (id, simulated) = Self::simulated(make);
        [simulated].into_iter().chain(Self::published(paper, &id)).collect()
    }

    /// The number of a case.
    pub fn of(&self, case: &str, measure: &str) -> f64 {
        let row = self.rows.get(&(case.to_owned(), measure.to_owned()));
        *row.unwrap_or_else(|| panic!("{}: no {measure} of {case}", self.scale))
    }

    /// The cases that start like this.
    pub fn cases(&self, beginning: &str) -> Vec<&str> {
        let mut cases: Vec<_> = self.rows.keys().map(|(case, _)| case.as_str()).collect();
        cases.retain(|case| case.starts_with(beginning));
        cases.dedup();
        cases
    }
}
