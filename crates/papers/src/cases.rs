//! Configurations of a figure's simulations, recorded as they start, for `terrane simulate --config`.
//!
//! 1. A figure is simulated on one thread. While `record` runs it, `started` notes every configuration under the
//!    text of the progress that was reported last, which names the simulation. Further ones under the same name are
//!    numbered from 2.
//! 2. The file of a figure lists them, each on a line, without the fields that have their default.
//! 3. A *rehearsal* finds the configurations alone: it makes stores so small that a figure takes a moment, and its
//!    results mean nothing.
//! 4. [`on_all_cores`] rehearses a figure, runs the simulations that were found on all cores, and then the figure
//!    itself, which takes their results.

use crate::figure::Figure;
use crate::scaled::simulate;
use crate::{PapersError, Scale, Simulate};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use terrane_sim::Config;

/// A simulation's name, and its configuration.
pub type Case = (String, Config);

/// Simulations on this thread.
#[derive(Default)]
pub(crate) struct Recording {
    /// The progress that was reported last.
    name: String,
    pub(crate) cases: Vec<Case>,
    /// Simulations whose results are kept, so that figures that have them in common run them once.
    kept: Vec<Case>,
    /// Whether stores are made small.
    is_rehearsal: bool,
}

thread_local! {
    static RECORDING: RefCell<Recording> = RefCell::default();
}

/// Operations and keys of a store that is made small.
const SMALL: u64 = 50;

/// Runs `figure`, which reports its progress; returns the configurations of its simulations as well.
pub(crate) fn record<T>(
    is_rehearsal: bool,
    progress: &mut dyn FnMut(&str),
    figure: impl FnOnce(&mut dyn FnMut(&str)) -> T,
) -> (T, Recording) {
    RECORDING.with_borrow_mut(|all| *all = Recording { is_rehearsal, ..Recording::default() });
    let made = figure(&mut |what| {
        RECORDING.with_borrow_mut(|all| what.clone_into(&mut all.name));
        progress(what);
    });
    (made, RECORDING.take())
}

/// Notes a simulation that starts, and whether its result is kept; returns its configuration, made small in a
/// rehearsal.
pub(crate) fn started(mut config: Config, is_kept: bool) -> Config {
    RECORDING.with_borrow_mut(|all| {
        let mut name = all.name.clone();
        let has_name = |name: &String| all.cases.iter().any(|(other, _)| other == name);
        let numbered = |number: u64| format!("{} ({number})", all.name);
        if has_name(&name) {
            name = (2..).map(numbered).find(|name| !has_name(name)).unwrap_or_default();
        }
        if is_kept {
            all.kept.push((all.name.clone(), config.clone()));
        }
        all.cases.push((name, config.clone()));
        if all.is_rehearsal {
            let workload = &mut config.workload;
            workload.load = workload.load.min(SMALL);
            workload.phases.iter_mut().for_each(|phase| {
                phase.operations = phase.operations.min(SMALL);
            });
        }
    });
    config
}

/// Simulates a figure, several of its simulations at once.
///
/// # Errors
/// A simulation that failed.
pub fn on_all_cores(
    figure: Simulate,
    scale: Scale,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Figure, PapersError> {
    let (_, Recording { kept, .. }) = record(true, &mut |_| (), |quiet| figure(scale, quiet));
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((name, config)) = kept.get(next.fetch_add(1, Ordering::Relaxed)) {
            progress(name);
            // What fails does so again when the figure asks for it.
            drop(simulate(name, config.clone()));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let (made, Recording { cases, .. }) = record(false, &mut |_| (), |quiet| figure(scale, quiet));
    made.map(|made| Figure { cases, ..made })
}

/// Returns the text of the file of a figure's configurations.
#[must_use]
pub fn file(cases: &[Case]) -> String {
    let default = value(&Config::default());
    let line = |(name, config): &Case| {
        let config = differing(&value(config), &default, true);
        format!("  {}", json!({ "name": name, "config": config }))
    };
    let lines: Vec<_> = cases.iter().map(line).collect();
    format!("{{\"cases\": [\n{}\n]}}\n", lines.join(",\n"))
}

fn value(config: &Config) -> Value {
    serde_json::to_value(config).unwrap_or_default()
}

/// Returns a workload without shares, rates and numbers that are 0, which is their default, but for the load's.
fn without_zeros(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let other = fields
                .iter()
                .filter(|(name, field)| *name == "load" || field.as_f64() != Some(0.0));
            other.map(|(name, field)| (name.clone(), without_zeros(field))).collect()
        }
        Value::Array(items) => items.iter().map(without_zeros).collect(),
        _ => value.clone(),
    }
}

/// Returns the fields of an object that differ from the default's. Those of the device are compared one by one, since
/// each has a default.
fn differing(value: &Value, default: &Value, is_whole: bool) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let mut differ = Map::new();
    for (name, field) in fields {
        let usual = default.get(name).unwrap_or(&Value::Null);
        if field != usual {
            let field = match name.as_str() {
                "device" if is_whole => differing(field, usual, false),
                "workload" if is_whole => without_zeros(field),
                _ => field.clone(),
            };
            differ.insert(name.clone(), field);
        }
    }
    Value::Object(differ)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_sim::{Device, Workload};

    fn config(load: u64) -> Config {
        let workload = Workload { load, ..Workload::default() };
        Config {
            workers: 3,
            device: Device::preset("bucketlsm").unwrap(),
            workload,
            ..Config::default()
        }
    }

    #[test]
    fn simulations_have_the_names_of_their_progress_and_numbers() {
        let (made, all) = record(false, &mut |_| (), |progress| {
            progress("one");
            let same = started(config(1000), true) == config(1000);
            started(config(2000), true);
            progress("two");
            started(config(3000), false);
            same
        });
        assert!(made);
        let names: Vec<_> = all.cases.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["one", "one (2)", "two"]);
        assert_eq!(all.cases[1].1, config(2000));
        assert_eq!(all.kept.len(), 2);
    }

    #[test]
    fn a_rehearsal_makes_stores_small_and_notes_them_whole() {
        let (small, all) = record(true, &mut |_| (), |_| started(config(1000), true));
        assert_eq!((small.workload.load, all.cases[0].1.workload.load), (SMALL, 1000));
    }

    #[test]
    fn a_file_of_configurations_has_no_defaults() {
        let text = file(&[("a".to_owned(), config(7)), ("b".to_owned(), Config::default())]);
        let file: Value = serde_json::from_str(&text).unwrap();
        let found: Vec<Config> = (0..2)
            .map(|at| serde_json::from_value(file["cases"][at]["config"].clone()).unwrap())
            .collect();
        assert_eq!(found, [config(7), Config::default()]);
        assert_eq!(file["cases"][1]["config"], json!({}));
        assert!(file["cases"][0]["config"]["device"].get("write-micros").is_none());
    }
}
