//! Figure 7 again: slower merges, with the page cache and compactions by seeks.

use super::seeks::{add_latency_ratios, add_writes, switched};
use super::ycsb::first_run;
use super::{Design, comparable, setting};
use crate::figure::Figure;
use crate::scaled::simulate;
use crate::{PapersError, Scale};

/// Speeds of merges, with the factor by which they are slower.
pub const SPEEDS: [(&str, f64); 4] =
    [("merges x1", 1.0), ("merges x1/2", 2.0), ("merges x1/4", 4.0), ("merges x1/8", 8.0)];

/// Leveled and ptier under the first run of YCSB by the speed of merges.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = comparable(scale, 116);
    let mut figure = Figure::new(
        "slower-merges",
        "Figure 7 again: slower merges",
        "Leveled's mean latency is 1.2 to 2.5 times PTierDB's in all workloads.",
        format!(
            "{} The first run of table I, with LevelDB's compactions by seeks under leveled and a page cache of 64 GB \
             under both. The thread that merges does so at 200 MB a second of what is stored (the first row), which is \
             assumed, or at a part of it. Entries are of 116 bytes, so that 50 MB a second are 0.7 million entries.",
            setting(scale, store)
        ),
    );
    let speeds = if scale == Scale::Ci { &SPEEDS[..1] } else { &SPEEDS[..] };
    for &(name, slower) in speeds {
        let mut run = |design: Design, seeks: bool| {
            progress(&format!("slower merges, {name}, {}", design.name()));
            let mut config = design.config(scale, store, first_run(store));
            config.device.merge_nanos_per_byte *= slower;
            simulate(name, switched(store, config, (true, seeks)))
        };
        let (leveled, ptier) = (run(Design::Leveled, true)?, run(Design::PTier, false)?);
        add_writes(&mut figure, name, [&leveled, &ptier]);
        add_latency_ratios(&mut figure, name, [&leveled, &ptier], store);
    }
    if scale == Scale::Full {
        figure.notes.push(
            "At a quarter of the speed merges that updates and seeks of A have caused still run under B, and those of \
             F under D, so that updates of B and D wait for level 0 under leveled; ptier has none left. At half of the \
             speed leveled has caught up by then."
                .to_owned(),
        );
    }
    Ok(figure)
}
