//! Experiments that change one thing, to explain where our results differ from the paper's.

use super::drive::{COLLECTION, Drive, MACHINE, Machine, TOTAL, TREE, Updates};
use super::flash::{self, FULL, LARGE, PARTIAL, SMALL, SPOOKY};
use super::speed::{ALONE, SHARED};
use crate::figure::{Figure, Source};
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use terrane_sim::{Clients, Figures, Workload};

/// Whether removed files are discarded on the device, and the number of workers that share a merge.
const DEVICES: [(&str, bool, usize); 3] = [
    (NO_DISCARD, false, 16),
    ("no discard, 1 worker a merge", false, 1),
    ("discard, 1 worker a merge", true, 1),
];

/// The machine of figure 13, but without discards of removed files.
pub const NO_DISCARD: &str = "no discard";

/// Garbage collection with and without discard.
///
/// # Errors
/// A simulation that failed.
pub fn discard(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let drive = flash::drive(scale, Updates::Uniform);
    let store = drive.store;
    let mut figure = Figure::new(
        "figure-13c",
        "Figure 13 C again: what the device is told",
        "Spooky's garbage collection costs less than half of what that of partial merges does, whose \
         factor rises to about 3 at the end of a day. (The drive was reset before each run; whether files \
         that the store removed were discarded during it is not said. ext4 does so only if told to.)",
        format!(
            "As figure 13 ({}), but for what the case says. Without discard, what a removed file has left \
             is moved by garbage collection until the file system uses its addresses again, the lowest \
             first.",
            drive.setting(5)
        ),
    );
    let devices = if scale == Scale::Ci { &DEVICES[..1] } else { &DEVICES[..] };
    for &(device, discard, sharing) in devices {
        for (design, policy, utilisation) in [
            (FULL, store.full(5), SMALL),
            (PARTIAL, store.partial(5, 1), LARGE),
            (SPOOKY, store.spooky(5, 2, 64), LARGE),
        ] {
            let case = format!("{device}, {design}");
            progress(&format!("figure 13 C, {case}"));
            let machine = Machine { discard, sharing, ..MACHINE };
            drive.on(machine).measure(&mut figure, &case, policy, utilisation)?;
        }
        let of = |design: &str, what| figure.number(&format!("{device}, {design}"), what);
        if let (Some(partial), Some(spooky)) = (of(PARTIAL, TOTAL), of(SPOOKY, TOTAL)) {
            figure.found(&format!("{device}, spooky over partial"), TOTAL, spooky / partial);
        }
        figure.compare(&format!("{device}, spooky over partial"), TOTAL, (Source::Derived, 0.4));
    }
    Ok(figure)
}

/// Bytes that merges write into each level per byte of the user's.
pub const INTO: [&str; 6] = [
    "into level 0",
    "into level 1",
    "into level 2",
    "into level 3",
    "into level 4",
    "into level 5",
];

/// The utilisation of [`by_level`].
const UTILISATION: f64 = 0.4;

/// Figure 1 counted by level, written to as fast as may be and at rest.
///
/// # Errors
/// A simulation that failed.
pub fn by_level(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let drive = Drive::new(if scale == Scale::Ci { 1000 } else { 5000 }, Updates::Uniform);
    let store = drive.store;
    let mut figure = Figure::new(
        "figure-1-levels",
        "Figure 1 by level: where merges write",
        "(The paper does not count by level.)",
        format!(
            "Data of 40 % of the device. {} Then at rest: no device, and the store becomes idle after \
             each buffer.",
            drive.setting(10)
        ),
    );
    let designs = [("full", store.full(10)), ("spooky", store.spooky(10, 2, 64))];
    let machines = [(SHARED, MACHINE), (ALONE, Machine { sharing: 1, ..MACHINE })];
    for (design, policy) in designs {
        for (name, machine) in machines {
            let case = format!("{name}, {design}");
            progress(&format!("figure 1 by level, {case}"));
            let outcome = drive.on(machine).run(&mut figure, &case, policy.clone(), UTILISATION)?;
            if let Some(outcome) = outcome {
                add_levels(&mut figure, &case, &outcome.updates);
            }
        }
        if scale == Scale::Ci {
            continue;
        }
        let case = format!("at rest, {design}");
        progress(&format!("figure 1 by level, {case}"));
        let load = ((drive.buffers * store.buffer_entries) as f64 * UTILISATION) as u64;
        let workload = Workload::then(load, 2 * load, Clients::default());
        let report = simulate(&case, store.at_rest(policy, workload))?;
        let updates = report.phases.into_iter().find(|phase| phase.name == "operations");
        add_levels(&mut figure, &case, &updates.map_or(report.whole, |phase| phase.figures));
    }
    Ok(figure)
}

fn add_levels(figure: &mut Figure, case: &str, updates: &Figures) {
    figure.found(case, TREE, updates.write_amp.unwrap_or(0.0));
    figure.found(case, COLLECTION, updates.write_amp_device.unwrap_or(1.0));
    for (measure, level) in INTO.iter().zip(&updates.by_level) {
        figure.found(case, measure, level.written_bytes as f64 / updates.user_bytes as f64);
    }
}
