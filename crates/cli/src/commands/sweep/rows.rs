//! The results of a sweep as a table, as CSV or as JSON, a row for each point.

use super::grid::Point;
use super::{Outcome, SweepArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use serde_json::{Map, Value, json};
use terrane_sim::{Report, Simulation};

/// The figures that are shown unless others are named. Those of reads are shown where there are reads.
const USUAL: [&str; 7] = [
    "write_amp",
    "space_amp_peak",
    "runs_mean",
    "files_max",
    "read_ios_per_get",
    "throughput_mean",
    "throughput_worst_window",
];

/// Format of the rows.
enum Format {
    Table,
    Csv,
    Json,
}

/// Choice of what a row has.
pub struct Rows {
    format: Format,
    measures: Vec<String>,
    phase: Option<String>,
}

impl Rows {
    /// Checks the names of figures and of the phase.
    pub fn new(args: &SweepArgs, points: &[Point]) -> Result<Self, Failure> {
        let usage = |sentence: String| Err(Failure::new(Exit::Usage, sentence));
        let config = points.first().map(|point| point.config.clone()).unwrap_or_default();
        let report = Simulation::new(config)?.report();
        let fields = serde_json::to_value(&report.whole).unwrap_or_default();
        let names = || fields.as_object().into_iter().flat_map(Map::keys);
        for measure in &args.measure {
            let first = measure.split('.').next().unwrap_or_default();
            if !names().any(|name| name == first) {
                let names = names().map(String::as_str).collect::<Vec<_>>().join(", ");
                return usage(format!("expected a figure of {names}; found {measure}"));
            }
        }
        if let Some(phase) = &args.phase {
            let of = |point: &Point| {
                let phases = point.config.workload.phases.clone();
                phases.into_iter().map(|phase| phase.name).collect::<Vec<_>>()
            };
            let known = |point: &Point| of(point).contains(phase);
            if !["load", "wait-until-idle"].contains(&phase.as_str()) && !points.iter().any(known) {
                let names = points.first().map(of).unwrap_or_default().join(", ");
                return usage(format!(
                    "expected a phase of load, wait-until-idle, {names}; found {phase}"
                ));
            }
        }
        let format = match (args.csv, args.json) {
            (true, _) => Format::Csv,
            (_, true) => Format::Json,
            _ => Format::Table,
        };
        let has_gets = points.iter().any(|point| point.config.workload.has_gets());
        let usual = USUAL.iter().filter(|name| has_gets || !name.starts_with("read_"));
        let measures = match args.measure.is_empty() {
            true => usual.map(|name| (*name).to_owned()).collect(),
            false => args.measure.clone(),
        };
        Ok(Rows { format, measures, phase: args.phase.clone() })
    }

    /// Writes the rows.
    pub fn write(
        &self,
        points: &[Point],
        outcomes: &[Outcome],
        out: &mut Output,
    ) -> Result<(), Failure> {
        let rows = points.iter().zip(outcomes);
        match self.format {
            Format::Json => out.json(&rows.map(|(p, o)| self.object(p, o)).collect::<Vec<_>>()),
            Format::Csv => {
                let lines = self.lines(points, outcomes, &raw);
                lines.iter().try_for_each(|line| {
                    let cells: Vec<_> = line.iter().map(|cell| quoted(cell)).collect();
                    out.line(&cells.join(","))
                })
            }
            Format::Table => out.lines(&self.table(points, outcomes)),
        }
    }

    fn object(&self, point: &Point, outcome: &Outcome) -> Value {
        let value = |text: &str| {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        };
        let parameters: Map<_, _> =
            point.parameters.iter().map(|(name, text)| (name.clone(), value(text))).collect();
        let mut object = json!({ "parameters": parameters });
        if let Some(fields) = object.as_object_mut() {
            if let Some(case) = &point.case {
                fields.insert("case".to_owned(), json!(case));
            }
            match outcome {
                Ok(report) => fields.insert("report".to_owned(), self.figures(report)),
                Err(why) => fields.insert("error".to_owned(), json!(why.to_string())),
            };
        }
        object
    }

    /// The report, or the figures of the phase that was asked for.
    fn figures(&self, report: &Report) -> Value {
        let phase = |name: &String| report.phases.iter().find(|phase| phase.name == *name);
        let value = match &self.phase {
            None => serde_json::to_value(report),
            Some(name) => serde_json::to_value(phase(name)),
        };
        value.unwrap_or_default()
    }

    /// The line of names, and one for each point.
    fn lines(
        &self,
        points: &[Point],
        outcomes: &[Outcome],
        shown: &dyn Fn(&Value) -> String,
    ) -> Vec<Vec<String>> {
        let has_cases = points.iter().any(|point| point.case.is_some());
        let has_errors = outcomes.iter().any(Result::is_err);
        let names = points.first().into_iter().flat_map(|point| &point.parameters);
        let mut head: Vec<_> = has_cases.then(|| "case".to_owned()).into_iter().collect();
        head.extend(names.map(|(name, _)| name.clone()));
        head.extend(self.measures.clone());
        head.extend(has_errors.then(|| "error".to_owned()));
        let mut lines = vec![head];
        for (point, outcome) in points.iter().zip(outcomes) {
            let mut line: Vec<_> =
                has_cases.then(|| point.case.clone().unwrap_or_default()).into_iter().collect();
            line.extend(point.parameters.iter().map(|(_, text)| text.clone()));
            let figures = outcome.as_ref().map(|report| self.figures(report)).unwrap_or_default();
            line.extend(self.measures.iter().map(|measure| shown(found(&figures, measure))));
            let error = || outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
            line.extend(has_errors.then(error));
            lines.push(line);
        }
        lines
    }

    fn table(&self, points: &[Point], outcomes: &[Outcome]) -> Vec<String> {
        let lines = self.lines(points, outcomes, &rounded);
        let named = points.first().map_or(0, |point| point.parameters.len());
        let named = named + usize::from(points.iter().any(|point| point.case.is_some()));
        let columns = lines.first().map_or(0, Vec::len);
        let width = |at: usize| {
            let cells = lines.iter().filter_map(|line| line.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        let is_figure = |at: usize| at >= named && at < named + self.measures.len();
        let line = |cells: &Vec<String>| {
            let padded = cells.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
                match is_figure(at) {
                    true => format!("{cell:>width$}"),
                    false => format!("{cell:<width$}"),
                }
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        lines.iter().map(line).collect()
    }
}

/// The figure at a name with dots; null if there is none.
fn found<'a>(figures: &'a Value, name: &str) -> &'a Value {
    let part = |value: &'a Value, part: &str| match value {
        Value::Array(items) => part.parse::<usize>().ok().and_then(|at| items.get(at)),
        _ => value.get(part),
    };
    name.split('.').try_fold(figures, part).unwrap_or(&Value::Null)
}

fn raw(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        _ => value.to_string(),
    }
}

fn rounded(value: &Value) -> String {
    match value.as_f64() {
        None if value.is_null() => "-".to_owned(),
        None => raw(value),
        Some(_) if value.is_u64() => raw(value),
        Some(number) if number.abs() >= 1000.0 => format!("{number:.0}"),
        Some(number) if number == 0.0 || number.abs() >= 0.1 => format!("{number:.2}"),
        Some(number) => format!("{number:.3e}"),
    }
}

/// A cell of CSV.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_dots_finds_figures_within_lists_and_objects() {
        let figures = json!({"latencies": {"read": {"p99": 2.5}}, "by_level": [{"lookups": 3}]});
        assert_eq!(found(&figures, "latencies.read.p99"), &json!(2.5));
        assert_eq!(found(&figures, "by_level.0.lookups"), &json!(3));
        assert_eq!(found(&figures, "by_level.1.lookups"), &Value::Null);
    }

    #[test]
    fn csv_quotes_what_would_end_a_cell() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted(r#"{"a":1,"b":2}"#), r#""{""a"":1,""b"":2}""#);
    }
}
