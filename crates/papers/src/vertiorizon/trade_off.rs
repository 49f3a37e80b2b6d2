//! Figure 10 a: what designs read and write over their settings.

use super::designs::Data;
use super::mixes::{BALANCED, ENTRIES, LOAD, mix};
use super::setting::{BLOCKS, Measured, Operations, Setting, WRITES};
use crate::figure::{Figure, Plot};
use crate::{PapersError, Scale};
use terrane_policy::PolicyOptions;
use terrane_sim::Choice;

/// A scheme: its name, its settings, and its leveled and tiered policies.
type Scheme = (&'static str, &'static str, fn(Data, u64) -> PolicyOptions);

/// Whether operations wait for merges: of the two plots the first and the second.
pub const CONDITIONS: [(&str, bool); 2] = [("at rest", true), ("under load", false)];

/// Horizontal growth.
pub const HORIZONTAL: &str = "horizontal";
/// Vertical growth with partial merges.
pub const PARTIAL: &str = "vertical, partial";
/// Vertical growth with full merges.
pub const FULL: &str = "vertical, full";

/// The schemes, each under leveling and tiering.
const SCHEMES: [[Scheme; 2]; 3] = [
    [
        (HORIZONTAL, "leveling", Data::horizontal_leveling),
        (HORIZONTAL, "tiering", Data::horizontal_tiering),
    ],
    [(PARTIAL, "leveling", Data::leveling_partial), (PARTIAL, "tiering", Data::tiering_partial)],
    [(FULL, "leveling", Data::leveling_full), (FULL, "tiering", Data::tiering_full)],
];

/// Numbers of levels, or size ratios.
fn settings(scheme: &str, scale: Scale) -> &'static [u64] {
    match scheme {
        HORIZONTAL => &[2, 3, 4, 5, 6],
        _ if scale == Scale::Ci => &[4, 6, 10],
        _ => &[3, 4, 6, 8, 10],
    }
}

/// Figure 10 a.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let operations = if scale == Scale::Ci { 4_000_000 } else { 20_000_000 };
    let setting = Setting::new(ENTRIES, LOAD).with_operations(operations);
    let mut figure = Figure::new(
        "figure-10a",
        "Figure 10 a: the trade-off of reading and writing",
        "Over ten settings each, horizontal growth encloses vertical growth with partial and with full \
         merges: its curve is nearer to the origin.",
        format!(
            "Half updates, half lookups, {}. A load of {LOAD} buffers. The paper's settings are not known: \
             here T is 3 to 10, and horizontal growth has 2 to 6 levels, leveled and tiered. The paper \
             draws latencies; one client waits for its reads and hardly ever for merges, so that its \
             updates take as long under most designs: in their place is what they cost the device, bytes \
             written per byte. *At rest* operations wait until nothing is left to merge, as the paper's \
             analysis has it; *under load* one thread merges while they go on.",
            setting.description()
        ),
    );
    let operations = Operations { mix: mix(BALANCED), choice: Choice::Uniform };
    for (condition, at_rest) in CONDITIONS {
        let setting = Setting { at_rest, ..setting };
        let mut plot = Plot { x: BLOCKS, y: WRITES, curves: Vec::new() };
        for (scheme, merge, policy) in SCHEMES.into_iter().flatten() {
            for &at in settings(scheme, scale) {
                let parameter = if scheme == HORIZONTAL { "l" } else { "T" };
                let case = format!("{condition}, {scheme} {merge}, {parameter} = {at}");
                progress(&format!("figure 10 a, {case}"));
                let policy = policy(setting.data(0.5), at);
                let measured: Measured = setting.run(&case, policy, &operations)?;
                plot.point(scheme, (measured.of(BLOCKS), measured.of(WRITES)));
                measured.add(&mut figure, &case);
            }
        }
        for curve in &mut plot.curves {
            curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        figure.plots.push(plot);
    }
    Ok(figure)
}
