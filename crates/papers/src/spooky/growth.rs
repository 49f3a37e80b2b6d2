//! Write and space amplification as the data or T grows.
//!
//! A number of buffers of unique random keys is loaded, followed by uniform updates; the tree becomes
//! idle after each buffer, and one partitioned group is in flight at a time.

use super::{equations, store};
use crate::figure::{Figure, Plot, Source};
use crate::scaled::{Scaled, simulate};
use crate::{PapersError, Scale};
use terrane_policy::PolicyOptions;
use terrane_sim::{Clients, Workload};

/// A load, followed by uniform updates.
pub const PHASES: [&str; 2] = ["load", "updates"];
/// Bytes written by merges per byte of the user's.
pub const WRITES: &str = "write amp";
/// The peak size of all tables over the data.
pub const PEAK: &str = "peak space amp";
/// The peak number of files.
pub const FILES: &str = "files";
/// The write amplification of Spooky minus that of full merges.
pub const DIFFERENCE: &str = "write amp, less that of full";

const SETTING: &str = "the machine is given all the time it needs between buffers; level 0 goes \
    down after each; write amplification is that of merges alone. L of the equations is \
    ceil(log_T(N/B)). The equations have a file of X that comes alone to an empty level rewritten \
    there; *spooky, moves* is the policy as it is unless told so, which saves 1/T of the 1.";

/// The number of keys loaded, however many buffers that is: with fewer, the files of X hold only a few
/// keys for each file of L, and merges leave many of those, which would flatter Spooky.
fn keys(scale: Scale) -> u64 {
    if scale == Scale::Ci { 40_000 } else { 200_000 }
}

/// The numbers of buffers of figure 6 A.
#[must_use]
pub fn sizes(scale: Scale) -> &'static [u64] {
    match scale {
        Scale::Ci => &[500, 1000],
        Scale::Full => &[500, 1000, 1500, 2000, 2500, 3000, 3500, 5000],
    }
}

/// The size ratios of figure 6 B.
#[must_use]
pub fn ratios(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[3, 6] } else { &[2, 3, 4, 5, 6, 7, 8, 9, 10] }
}

/// The number of buffers of figure 6 B.
#[must_use]
pub fn size_of_ratios(scale: Scale) -> u64 {
    if scale == Scale::Ci { 1000 } else { 3500 }
}

/// A merge granularity, with its equations.
struct Design {
    name: &'static str,
    policy: fn(Scaled, u64) -> PolicyOptions,
    writes: fn(f64, u64) -> f64,
    space: fn(u64) -> f64,
    shown: Shown,
}

/// Plots that show a design.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// All, with its equations.
    Everywhere,
    /// Those of writes, without an equation: moves change nothing else.
    Writes,
    /// That of space, with its equation: X hardly affects writes.
    Space,
}

const FULL: Design = Design {
    name: "full",
    policy: |store, ratio| store.full(ratio),
    writes: equations::full_writes,
    space: equations::full_space,
    shown: Shown::Everywhere,
};
const PARTIAL: Design = Design {
    name: "partial",
    policy: |store, ratio| store.partial(ratio, 1),
    writes: equations::partial_writes,
    space: equations::partial_space,
    shown: Shown::Everywhere,
};
const SPOOKY: Design = Design {
    name: "spooky",
    policy: |store, ratio| store.spooky(ratio, 2, 64),
    writes: equations::spooky_writes,
    space: |ratio| equations::spooky_space(ratio, 2),
    shown: Shown::Everywhere,
};
/// Spooky with its default options.
const MOVES: Design = Design {
    name: "spooky, moves",
    policy: |store, ratio| store.spooky_that_moves(ratio),
    shown: Shown::Writes,
    ..SPOOKY
};
const SPOOKY_1: Design = Design {
    name: "spooky X=L-1",
    policy: |store, ratio| store.spooky(ratio, 1, 64),
    space: |ratio| equations::spooky_space(ratio, 1),
    shown: Shown::Space,
    ..SPOOKY
};
const SPOOKY_3: Design = Design {
    name: "spooky X=L-3",
    policy: |store, ratio| store.spooky(ratio, 3, 64),
    space: |ratio| equations::spooky_space(ratio, 3),
    shown: Shown::Space,
    ..SPOOKY
};

/// Updates as a multiple of the load. A merge into the largest level writes about as much as the whole
/// data: with a multiple of one, a merge more or less would dominate the result.
pub(super) fn rounds(scale: Scale) -> u64 {
    if scale == Scale::Ci { 1 } else { 4 }
}

/// A load of this many buffers, then uniform updates of a multiple of it.
pub(super) fn uniform(store: Scaled, buffers: u64, rounds: u64) -> Workload {
    let load = buffers * store.buffer_entries;
    Workload::then(load, rounds * load, Clients::default())
}

/// The case of a figure's row.
#[must_use]
pub fn case(x: &str, at: u64, design: &str) -> String {
    format!("{x} = {at}, {design}")
}

/// Adds the results of a design at one point of the x axis.
fn measure(
    figure: &mut Figure,
    scale: Scale,
    design: &Design,
    (x, at): (&str, u64),
    (buffers, ratio): (u64, u64),
) -> Result<(), PapersError> {
    let case = case(x, at, design.name);
    let store = store(keys(scale) / buffers);
    let workload = uniform(store, buffers, rounds(scale));
    let config = store.at_rest((design.policy)(store, ratio), workload);
    let report = simulate(&case, config)?;
    let levels = equations::levels(buffers, ratio);
    let (writes, space) = ((design.writes)(levels, ratio), (design.space)(ratio));
    let [load_plot, updates_plot, peaks] = figure.plots.as_mut_slice() else { return Ok(()) };
    let x = at as f64;
    if design.shown != Shown::Space {
        for (phase, plot) in report.phases.iter().zip([load_plot, updates_plot]) {
            plot.point(design.name, (x, phase.figures.write_amp_compaction.unwrap_or(0.0)));
            if design.shown == Shown::Everywhere {
                plot.equation(design.name, (x, writes));
            }
        }
    }
    if design.shown != Shown::Writes
        && let Some(updates) = report.phases.get(1)
    {
        peaks.point(design.name, (x, updates.figures.space_amp_peak));
        peaks.equation(design.name, (x, space));
    }
    for (name, phase) in PHASES.iter().zip(&report.phases) {
        let ours = phase.figures.write_amp_compaction.unwrap_or(0.0);
        let phase_case = format!("{case}, {name}");
        figure.beside(&phase_case, WRITES, ours, (Source::Equation, writes));
        let peak = phase.figures.space_amp_peak;
        figure.beside(&phase_case, PEAK, peak, (Source::Equation, space));
    }
    figure.found(&case, FILES, report.whole.files_max as f64);
    Ok(())
}

/// Adds the difference between Spooky and full merges at one point.
fn subtract(figure: &mut Figure, x: &str, at: u64) {
    for (design, phase) in [SPOOKY, MOVES].iter().flat_map(|d| PHASES.map(|phase| (d, phase))) {
        let case = |design: &Design| format!("{}, {phase}", case(x, at, design.name));
        let of = |design| figure.number(&case(design), WRITES);
        if let (Some(spooky), Some(full)) = (of(design), of(&FULL)) {
            let more = (Source::Equation, 1.0);
            figure.beside(&case(design), DIFFERENCE, spooky - full, more);
        }
    }
}

fn setting(fixed: &str, scale: Scale) -> String {
    let updates = match rounds(scale) {
        1 => "as many uniform updates".to_owned(),
        rounds => format!("{rounds} times as many uniform updates"),
    };
    format!("{fixed}, {} keys loaded, then {updates}; {SETTING}", keys(scale))
}

fn plots(x: &'static str) -> Vec<Plot> {
    let y = ["write amp of the load", "write amp of the updates", "peak space amp of the updates"];
    y.map(|y| Plot { x, y, curves: Vec::new() }).into()
}

/// Figure 6 A, with Spooky added, and 14 D: T = 5, with a growing number of buffers.
///
/// # Errors
/// A simulation that failed.
pub fn over_data(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let mut figure = Figure::new(
        "figure-6a",
        "Figure 6 A and 14 D: amplification as the data grows",
        "Full merges write less than partial ones at every size; Spooky writes one more than \
                full merges. With X from L-1 to L-3 less space is needed and more files are open.",
        setting("T = 5", scale),
    );
    figure.plots = plots("N/B");
    let all = [&FULL, &PARTIAL, &SPOOKY, &MOVES, &SPOOKY_1, &SPOOKY_3];
    // The last needs more keys than a test can afford.
    let designs = if scale == Scale::Ci { &all[..5] } else { &all[..] };
    for &buffers in sizes(scale) {
        for design in designs {
            progress(&format!("figure 6 A, N/B = {buffers}, {}", design.name));
            measure(&mut figure, scale, design, ("N/B", buffers), (buffers, 5))?;
        }
        subtract(&mut figure, "N/B", buffers);
    }
    Ok(figure)
}

/// Figure 6 B, with Spooky added: a fixed number of buffers, with growing T.
///
/// # Errors
/// A simulation that failed.
pub fn over_ratio(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let buffers = size_of_ratios(scale);
    let mut figure = Figure::new(
        "figure-6b",
        "Figure 6 B: amplification over size ratios",
        "Full merges write in proportion to T; partial ones have a least write-amp, since \
                with smaller T more of each merge is superfluous.",
        setting(&format!("N/B = {buffers}"), scale),
    );
    figure.plots = plots("T");
    for &ratio in ratios(scale) {
        for design in [&FULL, &PARTIAL, &SPOOKY, &MOVES] {
            progress(&format!("figure 6 B, T = {ratio}, {}", design.name));
            measure(&mut figure, scale, design, ("T", ratio), (buffers, ratio))?;
        }
        subtract(&mut figure, "T", ratio);
    }
    Ok(figure)
}
