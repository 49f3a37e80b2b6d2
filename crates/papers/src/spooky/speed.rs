//! Figure 13 E: the throughput of updates, and what bounds it.
//!
//! The same stores on machines that differ from the paper's in one thing each.

use super::drive::{Drive, MACHINE, Machine, TOTAL, Updates};
use super::flash::{self, FULL, LARGE, PARTIAL, SMALL, SPOOKY};
use crate::figure::{Figure, Plot, Source};
use crate::{PapersError, Scale};

/// Thousands of updates a second, of entries of the paper's size.
pub const THROUGHPUT: &str = "thousand updates a second";
/// The same in the slowest sliding window.
pub const WORST: &str = "in the slowest 50 buffers";
const DEVICE: &str = "device busy";
const CORES: &str = "cores busy";
const MEMTABLES: &str = "stalled by memtables";
const LEVEL_0: &str = "stalled by level 0";

/// The paper's machine.
pub const SHARED: &str = "as in the paper";
/// No merge is shared.
pub const ALONE: &str = "1 worker a merge";

/// The machines: each is the paper's but for one thing.
const MACHINES: [(&str, Machine); 6] = [
    (SHARED, MACHINE),
    (ALONE, Machine { sharing: 1, ..MACHINE }),
    ("partial shared", Machine { partial_sharing: 16, ..MACHINE }),
    ("no collection", Machine { collects: false, ..MACHINE }),
    ("device x4", Machine { device: 4.0, ..MACHINE }),
    ("processor x4", Machine { processor: 4.0, ..MACHINE }),
];

/// The designs.
pub const DESIGNS: [&str; 3] = [FULL, PARTIAL, SPOOKY];

/// The case of a machine and a design.
#[must_use]
pub fn case(machine: &str, design: &str) -> String {
    format!("{machine}, {design}")
}

/// Figure 13 E, its first column.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let drive = flash::drive(scale, Updates::Uniform);
    let mut figure = Figure::new(
        "figure-13e",
        "Figure 13 E: the throughput of updates",
        "Spooky improves update throughput relative to partial merges by about the factor by which it \
         improves total write-amp, 2.5. Full merges are the fastest, with less data.",
        format!("{} Each machine differs from the first in one thing.", drive.setting(5)),
    );
    let machines = if scale == Scale::Ci { &MACHINES[..2] } else { &MACHINES[..] };
    for (name, machine) in machines {
        for design in DESIGNS {
            progress(&format!("figure 13 E, {name}, {design}"));
            measure(&mut figure, drive.on(*machine), name, design)?;
        }
        let of = |design| figure.number(&case(name, design), THROUGHPUT);
        if let (Some(partial), Some(spooky)) = (of(PARTIAL), of(SPOOKY)) {
            let over = case(name, "spooky over partial");
            figure.found(&over, THROUGHPUT, spooky / partial);
        }
    }
    figure.compare(&case(SHARED, "spooky over partial"), THROUGHPUT, (Source::Derived, 2.5));
    figure.draw_bars(THROUGHPUT, &machines.iter().map(|m| m.0).collect::<Vec<_>>(), &DESIGNS);
    if scale == Scale::Full {
        let mut plot = Plot { x: "workers that share a merge", y: THROUGHPUT, curves: Vec::new() };
        for sharing in [1, 2, 4, 8, 16] {
            for design in [FULL, SPOOKY] {
                let known = match sharing {
                    1 => figure.number(&case(ALONE, design), THROUGHPUT),
                    16 => figure.number(&case(SHARED, design), THROUGHPUT),
                    _ => None,
                };
                let found = match known {
                    Some(known) => Some(known),
                    None => {
                        let name = format!("{sharing} workers a merge");
                        progress(&format!("figure 13 E, {name}, {design}"));
                        measure(
                            &mut figure,
                            drive.on(Machine { sharing, ..MACHINE }),
                            &name,
                            design,
                        )?
                    }
                };
                plot.point(design, (sharing as f64, found.unwrap_or(0.0)));
            }
        }
        figure.plots.push(plot);
    }
    Ok(figure)
}

/// Adds a design's results on a machine; returns its throughput.
fn measure(
    figure: &mut Figure,
    drive: Drive,
    machine: &str,
    design: &str,
) -> Result<Option<f64>, PapersError> {
    let (case, store) = (case(machine, design), drive.store);
    let (policy, utilisation) = match design {
        FULL => (store.full(5), SMALL),
        PARTIAL => (store.partial(5, 1), LARGE),
        _ => (store.spooky(5, 2, 64), LARGE),
    };
    let Some(outcome) = drive.run(figure, &case, policy, utilisation)? else { return Ok(None) };
    let updates = &outcome.updates;
    let thousands = |rate: f64| rate * store.factor() / 1000.0;
    figure.found(&case, THROUGHPUT, thousands(updates.throughput_mean));
    figure.found(&case, WORST, thousands(updates.throughput_worst_window));
    figure.found(&case, TOTAL, outcome.total());
    figure.found(&case, DEVICE, updates.device_utilisation);
    figure.found(&case, CORES, updates.cores_busy_mean);
    figure.found(&case, MEMTABLES, updates.stall_seconds.memtables / updates.seconds);
    figure.found(&case, LEVEL_0, updates.stall_seconds.level0 / updates.seconds);
    Ok(Some(thousands(updates.throughput_mean)))
}
