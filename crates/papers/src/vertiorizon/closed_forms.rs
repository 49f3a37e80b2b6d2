//! Closed forms of what designs write and leave to read, beside simulated stores at rest.
//!
//! 1. **Vertical growth.** A level that merges each run that arrives writes an entry `T/2` times, one that keeps up to
//!    T - 1 runs once: the sum over L levels, the least number with `T^L >= N/B` (Dayan and Idreos, "Dostoevsky",
//!    SIGMOD 2018). Merges of one file at a time write `(T+1)/2` a level (Spooky's equation 5).
//! 2. **Horizontal growth.** After N = `C(k+l-1, l)` buffers an entry was written `(l k + 1) / (l + 1)` times under
//!    leveling, moves included, and `l (k - 1) / k + 1 / N` times under tiering, whose runs are `l (k - 1) / (l + 1)`
//!    on average (Mathieu et al., "Bigtable Merge Compaction", and lemma 4.1 with its optimality).
//! 3. **Binomial** with K components grows in rounds (`policies/binomial.rs`). The x-th has `C(x+h, h)` buffers, with
//!    h = min(x, K) - 1: the first is merged with all that is there, and the round writes `h C(x+h, h+1)` buffers more.
//!    Summed over the first d rounds and divided by their buffers, that is an entry's writes.

use super::designs::{Data, SIZE_RATIO};
use super::setting::store;
use crate::figure::{Figure, Plot, Source};
use crate::scaled::{Scaled, simulate};
use crate::{PapersError, Scale};
use terrane_policy::{Filters, Leveled, LeveledFull, PolicyOptions};
use terrane_sim::Workload;

/// Bytes written or moved by merges per byte of the user's.
pub const WRITTEN: &str = "write amp, with moves";
/// Runs, on average over the load.
pub const RUNS: &str = "runs, mean";

/// l of horizontal growth.
pub const LEVELS: u64 = 4;

/// The designs whose loads end with a round of horizontal growth.
pub const DESIGNS: [&str; 7] = [
    HORIZONTAL_LEVELING,
    HORIZONTAL_TIERING,
    MIN_LATENCY,
    VERTICAL_FULL,
    VERTICAL_PARTIAL,
    VERTICAL_TIERING,
    LAZY,
];
/// Horizontal growth with leveling.
pub const HORIZONTAL_LEVELING: &str = "horizontal leveling";
/// Horizontal growth with tiering.
pub const HORIZONTAL_TIERING: &str = "horizontal tiering";
/// MinLatency, which makes the same stacks as horizontal leveling.
pub const MIN_LATENCY: &str = "MinLatency";
/// Vertical growth with leveling and full merges.
pub const VERTICAL_FULL: &str = "vertical leveling, full";
/// Vertical growth with leveling and partial merges.
pub const VERTICAL_PARTIAL: &str = "vertical leveling, partial";
/// Vertical growth with tiering and full merges.
pub const VERTICAL_TIERING: &str = "vertical tiering, full";
/// Lazy leveling.
pub const LAZY: &str = "lazy leveling";
/// Binomial, whose rounds end with other numbers of buffers.
pub const BINOMIAL: &str = "Binomial";

/// Values of k: the last counter of horizontal growth at the end of a load.
#[must_use]
pub fn counts(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[5, 8] } else { &[4, 6, 8, 10, 12] }
}

/// The buffers after which the last counter of l levels is k: `C(k+l-1, l)`.
#[must_use]
pub fn buffers(k: u64) -> u64 {
    choose(k + LEVELS - 1, LEVELS)
}

/// `C(n, k)`.
pub(super) fn choose(n: u64, k: u64) -> u64 {
    (1..=k).fold(1, |chosen, at| chosen * (n - k + at) / at)
}

/// Numbers of rounds of Binomial that a load has.
#[must_use]
pub fn rounds(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[4, 6] } else { &[4, 6, 7, 9, 11] }
}

/// Buffers of the first rounds of Binomial with as many components as others have levels, and what it writes of them.
fn binomial(rounds: u64) -> (u64, u64) {
    (1..=rounds).fold((0, 0), |(buffers, written), round| {
        let h = round.min(LEVELS) - 1;
        (buffers + choose(round + h, h), written + buffers + 1 + h * choose(round + h, h + 1))
    })
}

/// The case of a design.
#[must_use]
pub fn case(k: u64, design: &str) -> String {
    case_of_buffers(buffers(k), design)
}

/// The case of Binomial after this many rounds.
#[must_use]
pub fn case_of_rounds(rounds: u64) -> String {
    case_of_buffers(binomial(rounds).0, BINOMIAL)
}

fn case_of_buffers(buffers: u64, design: &str) -> String {
    format!("N/B = {buffers}, {design}")
}

/// Writes of a design, by its closed form.
fn writes(design: &str, k: u64, levels: f64) -> f64 {
    let (ratio, buffers) = (SIZE_RATIO as f64, buffers(k) as f64);
    let (k, l) = (k as f64, LEVELS as f64);
    match design {
        HORIZONTAL_LEVELING | MIN_LATENCY => (l * k + 1.0) / (l + 1.0),
        HORIZONTAL_TIERING => l * (k - 1.0) / k + 1.0 / buffers,
        VERTICAL_PARTIAL => (ratio + 1.0) / 2.0 * levels,
        VERTICAL_TIERING => levels,
        LAZY => levels - 1.0 + ratio / 2.0,
        _ => ratio / 2.0 * levels,
    }
}

/// The runs that a design leaves, on average; `None` where there is no closed form of them.
fn runs(design: &str, k: u64) -> Option<f64> {
    let (k, l) = (k as f64, LEVELS as f64);
    (design == HORIZONTAL_TIERING).then_some(l * (k - 1.0) / (l + 1.0))
}

/// A design whose level 0 goes down with every buffer, as the forms have it.
fn policy(design: &str, data: Data) -> PolicyOptions {
    match policy_of(design, data) {
        PolicyOptions::LeveledFull(full) => {
            PolicyOptions::LeveledFull(LeveledFull { l0_compaction_trigger: 1, ..full })
        }
        PolicyOptions::Leveled(partial) => {
            PolicyOptions::Leveled(Leveled { l0_compaction_trigger: 1, ..partial })
        }
        other => other,
    }
}

/// A load of this many buffers.
fn data(store: Scaled, buffers: u64) -> Data {
    // Of B, which is below a buffer.
    Data { store, buffers, written: buffers * store.base() / store.buffer(), window: 1 << 10 }
}

fn policy_of(design: &str, data: Data) -> PolicyOptions {
    match design {
        HORIZONTAL_LEVELING => data.horizontal_leveling(LEVELS),
        HORIZONTAL_TIERING => data.horizontal_tiering(LEVELS),
        MIN_LATENCY => data.min_latency(LEVELS),
        BINOMIAL => data.binomial(LEVELS),
        VERTICAL_PARTIAL => data.leveling_partial(SIZE_RATIO),
        VERTICAL_TIERING => data.tiering_full(SIZE_RATIO),
        LAZY => data.lazy_leveling(SIZE_RATIO, Filters::Uniform),
        _ => data.leveling_full(SIZE_RATIO),
    }
}

/// Writes and runs of each design, beside their closed forms.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = store(if scale == Scale::Ci { 32 } else { 64 });
    let mut figure = Figure::new(
        "closed-forms",
        "Closed forms of the growth schemes",
        "(Section 4 derives the horizontal scheme's optimum; the forms of vertical schemes are those of the works that \
         it cites.)",
        format!(
            "A load of C(k + l - 1, l) buffers of {} entries with l = {LEVELS} and k up to {}, so that a horizontal \
             round ends with the load; T = {SIZE_RATIO} of the vertical schemes. Loads of Binomial, with {LEVELS} \
             components, end with its rounds. The store becomes idle after each buffer, which goes down at once. \
             Merges alone are counted, with the tables that they move, as the forms have it.",
            store.buffer_entries,
            counts(scale).last().unwrap_or(&0),
        ),
    );
    let mut plots = [WRITTEN, RUNS].map(|y| Plot { x: "N/B", y, curves: Vec::new() });
    let mut add = |design: &'static str, buffers: u64, form: f64, mean_runs: Option<f64>| {
        let case = case_of_buffers(buffers, design);
        progress(&format!("closed forms, {case}"));
        let data = data(store, buffers);
        let load = buffers * store.buffer_entries;
        let workload = Workload { load, ..Workload::default() };
        let whole = simulate(&case, store.at_rest(policy(design, data), workload))?.whole;
        let bytes = whole.merge_written_bytes + whole.moved_bytes;
        let ours = bytes as f64 / whole.user_bytes as f64;
        figure.beside(&case, WRITTEN, ours, (Source::Equation, form));
        let [writes_plot, runs_plot] = &mut plots;
        writes_plot.point(design, (buffers as f64, ours));
        writes_plot.equation(design, (buffers as f64, form));
        match mean_runs {
            Some(form) => {
                figure.beside(&case, RUNS, whole.runs_mean, (Source::Equation, form));
                runs_plot.point(design, (buffers as f64, whole.runs_mean));
                runs_plot.equation(design, (buffers as f64, form));
            }
            None => figure.found(&case, RUNS, whole.runs_mean),
        }
        Ok::<_, PapersError>(())
    };
    for &k in counts(scale) {
        for design in DESIGNS {
            let levels = data(store, buffers(k)).levels() as f64;
            add(design, buffers(k), writes(design, k, levels), runs(design, k))?;
        }
    }
    for &rounds in rounds(scale) {
        let (buffers, written) = binomial(rounds);
        add(BINOMIAL, buffers, written as f64 / buffers as f64, None)?;
    }
    figure.plots = plots.into();
    Ok(figure)
}
