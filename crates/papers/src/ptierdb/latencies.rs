//! Causes of the latencies of figure 7: one thing changed at a time.

use super::ycsb::{FIRST, SECOND, first_run, micros, second_run};
use super::{Design, comparable, setting};
use crate::figure::Figure;
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use terrane_sim::Config;

/// A change of a store.
type Change = fn(&mut Config);

/// Nothing changed.
pub const UNCHANGED: &str = "as it is";
/// Updates rather than inserts in D and E, and scans of 100 entries rather than up to 100, as the paper states.
pub const STATED: &str = "updates in D and E, scans of 100";
/// A lower ratio of compression: the paper's store of ptier has 8.1 GB of 11.6.
pub const COMPRESSED: &str = "values 1.43:1";

/// The changes, by name.
const CHANGES: [(&str, Change); 7] = [
    (UNCHANGED, |_| ()),
    (STATED, |config| {
        for clients in config.workload.phases.iter_mut().flat_map(|phase| &mut phase.clients) {
            clients.mix.update += std::mem::take(&mut clients.mix.insert);
            clients.scan_entries_least = clients.scan_entries;
        }
    }),
    (COMPRESSED, |config| config.value_compression = 1.43),
    ("no filters", |config| config.filter_bits_per_key = 0.0),
    ("storage x1/4", slower),
    ("64 clients", many),
    ("64 clients, storage x1/4", |config| {
        slower(config);
        many(config);
    }),
];

const NOTE: &str = "With one client ptier is never the fastest, on storage a quarter as fast either: merges take \
                    next to nothing from reads under any design. Without filters each run over a key costs a \
                    block, and ptier takes up to 1.8 times as long as leveled. Where merges compete with many \
                    clients that write, it gains. With 64 of them it is the fastest in A, 10 % ahead of leveled, \
                    and 4 % ahead of it in F; with storage a quarter as fast as well it is the fastest in both, \
                    7 % and 6 % ahead of leveled. In B, C and D, where few or none of the operations write, \
                    leveled stays ahead by up to 2 %, and in E by more. Under none of these changes does ptier \
                    have the paper's lead of 1.2 to 2.5 times in all workloads.";

fn slower(config: &mut Config) {
    config.device.read_speed /= 4.0;
    config.device.write_speed /= 4.0;
}

fn many(config: &mut Config) {
    for clients in config.workload.phases.iter_mut().flat_map(|phase| &mut phase.clients) {
        clients.count = 64;
    }
}

/// The designs under each change.
pub const DESIGNS: [Design; 4] =
    [Design::Leveled, Design::LazyLeveled, Design::Silk, Design::PTier];

/// The name of a case.
#[must_use]
pub fn case(change: &str, design: Design) -> String {
    format!("{change}, {}", design.name())
}

/// Latencies under each change.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = comparable(scale, 116);
    let mut figure = Figure::new(
        "latencies",
        "What the latencies of figure 7 depend on: one thing changed at a time",
        "(The paper changes nothing of these.)",
        format!("{} Microseconds an operation, by workload.", setting(scale, store)),
    );
    for (name, change) in CHANGES {
        for design in DESIGNS {
            let case = case(name, design);
            progress(&format!("latencies, {case}"));
            for workload in [first_run(store), second_run(store)] {
                let mut config = design.config(scale, store, workload);
                change(&mut config);
                let report = simulate(&case, config)?;
                for workload in FIRST.into_iter().chain(SECOND) {
                    let mut phases = report.phases.iter();
                    if let Some(phase) = phases.find(|phase| phase.name == workload) {
                        figure.found(&case, workload, micros(phase, store));
                    }
                }
            }
        }
    }
    figure.notes.push(NOTE.to_owned());
    Ok(figure)
}
