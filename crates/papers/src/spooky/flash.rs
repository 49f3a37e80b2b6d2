//! With the garbage collection of flash beneath.
//!
//! The device is the paper's, counted in buffers: 960 GB of 64 MB each, erase units of a 960th of
//! it (1 GB), 7 % more flash than the host sees, pages of a 32nd of a buffer. The writer goes as
//! fast as the store lets it, with 16 workers; a log is written, too.

use super::{Store, simulate};
use crate::figure::{Figure, Plot, Source};
use crate::{PapersError, Scale};
use terrane_policy::PolicyOptions;
use terrane_sim::{Config, FlashOptions, Mix, Report, SimulationError, Workload};

/// What flushes and merges wrote for each byte of the user's.
pub const TREE: &str = "write amp of the tree";
/// What flash wrote for each byte that it was told to.
pub const COLLECTION: &str = "write amp of garbage collection";
/// Their product.
pub const TOTAL: &str = "total write amp";
/// The most space, over the data.
pub const PEAK: &str = "peak space, share of the device";

const PAGES_OF_BUFFER: u64 = 32;
const UNITS: u64 = 960;
const OVER_PROVISIONING: f64 = 0.07;

const SETTING: &str = "erase units of 1/960 of it, 7 % over-provisioning (1/32 of a buffer a page); \
    16 workers, a log, the writer as fast as it may. Loaded once, then twice as much is updated \
    uniformly; the numbers are those of the updates.";

/// A device of so many buffers.
#[derive(Clone, Copy)]
struct Drive {
    store: Store,
    buffers: u64,
}

impl Drive {
    fn config(self, policy: PolicyOptions, utilisation: f64) -> Config {
        let Drive { store, buffers } = self;
        let page_bytes = store.buffer() / PAGES_OF_BUFFER;
        let flash = FlashOptions {
            capacity_bytes: buffers * store.buffer(),
            over_provisioning: OVER_PROVISIONING,
            page_bytes,
            unit_pages: u32::try_from(buffers * PAGES_OF_BUFFER / UNITS).unwrap_or(u32::MAX).max(1),
        };
        let load = ((buffers * store.buffer_entries) as f64 * utilisation) as u64;
        let mix = Mix { update: 1.0, ..Mix::default() };
        let workload = Workload { load, operations: 2 * load, mix, ..Workload::default() };
        Config { flash: Some(flash), ..store.config(policy, workload) }
    }

    /// What came out; nothing if the data did not fit.
    fn run(
        self,
        case: &str,
        policy: PolicyOptions,
        utilisation: f64,
    ) -> Result<Option<Outcome>, PapersError> {
        match simulate(case, self.config(policy, utilisation)) {
            Ok(report) => Ok(Some(Outcome::new(&report, self.buffers * self.store.buffer()))),
            Err(PapersError::Simulation { why: SimulationError::FlashFull { .. }, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

struct Outcome {
    tree: f64,
    collection: f64,
    peak: f64,
}

impl Outcome {
    fn new(report: &Report, capacity: u64) -> Self {
        let updates = report.phases.iter().find(|phase| phase.name == "operations");
        let figures = updates.map_or(&report.whole, |phase| &phase.figures);
        Outcome {
            tree: figures.write_amp,
            collection: figures.gc_factor.unwrap_or(1.0),
            peak: report.whole.store_bytes_peak as f64 / capacity as f64,
        }
    }

    fn total(&self) -> f64 {
        self.tree * self.collection
    }
}

/// Figure 13 A-D: T = 5; 369 of 960 GB with full merges, 644 with partial ones and with Spooky.
///
/// # Errors
/// A simulation that failed.
pub fn over_time(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (buffer_entries, buffers) = if scale == Scale::Ci { (32, 1500) } else { (32, 15_000) };
    let store = Store { buffer_entries };
    let drive = Drive { store, buffers };
    let mut figure = Figure {
        id: "figure-13",
        title: "Figure 13 A-D: garbage collection",
        claim: "At 644 of 960 GB Spooky's collection is more than 2 times as cheap as that of \
                partial merges, its merges write 30 % less, and in all it writes 2.5 times less. \
                Full merges cause no collection at 369 GB, and could not hold 644.",
        setting: format!(
            "T = 5, a device of {buffers} buffers of {buffer_entries} entries, {SETTING}"
        ),
        rows: Vec::new(),
        plots: Vec::new(),
    };
    let (small, large) = (369.0 / 960.0, 644.0 / 960.0);
    let designs = [
        ("full, 369 GB", store.full(5), small),
        ("full, 644 GB", store.full(5), large),
        ("partial, 644 GB", store.partial(5), large),
        ("spooky, 644 GB", store.spooky(5, 2, 64), large),
    ];
    let mut outcomes = Vec::new();
    for (case, policy, utilisation) in designs {
        progress(&format!("figure 13, {case}"));
        let outcome = drive.run(case, policy, utilisation)?;
        figure.found(case, FITS, f64::from(u8::from(outcome.is_some())));
        let Some(outcome) = outcome else { continue };
        figure.found(case, TREE, outcome.tree);
        match case {
            "full, 369 GB" => {
                figure.beside(case, COLLECTION, outcome.collection, (Source::Measured, 1.0));
            }
            "partial, 644 GB" => {
                figure.beside(case, COLLECTION, outcome.collection, (Source::Measured, 3.0));
            }
            _ => figure.found(case, COLLECTION, outcome.collection),
        }
        figure.found(case, TOTAL, outcome.total());
        figure.found(case, PEAK, outcome.peak);
        outcomes.push((case, outcome));
    }
    let of = |name: &str| outcomes.iter().find(|(case, _)| case.starts_with(name)).map(|(_, o)| o);
    if let (Some(partial), Some(spooky)) = (of("partial"), of("spooky")) {
        let case = "partial over spooky, 644 GB";
        let extra = (partial.collection - 1.0) / (spooky.collection - 1.0).max(1e-3);
        figure.beside(case, EXTRA, extra, (Source::Measured, 2.0));
        figure.beside(case, TREE, partial.tree / spooky.tree, (Source::Measured, 1.0 / 0.7));
        figure.beside(case, TOTAL, partial.total() / spooky.total(), (Source::Measured, 2.5));
    }
    Ok(figure)
}

/// Whether the data fits: 1 if it does.
pub const FITS: &str = "fits";
/// What collection writes beyond what it was told to.
pub const EXTRA: &str = "extra writes of garbage collection";

/// Figure 1: T = 10; total write amplification over utilisation.
///
/// # Errors
/// A simulation that failed.
pub fn over_utilisation(
    scale: Scale,
    progress: &mut dyn FnMut(&str),
) -> Result<Figure, PapersError> {
    let (buffer_entries, buffers) = if scale == Scale::Ci { (32, 1500) } else { (32, 5000) };
    let percents: &[u64] = if scale == Scale::Ci { &[40, 70] } else { &[30, 40, 50, 60, 70, 80] };
    let store = Store { buffer_entries };
    let drive = Drive { store, buffers };
    let mut figure = Figure {
        id: "figure-1",
        title: "Figure 1: storage utilisation and total write amplification",
        claim: "Full merges cannot use more than half of the device. Partial ones reach 80 % at \
                exorbitant write amplification; Spooky reaches as much with 3 times less.",
        setting: format!(
            "T = 10, a device of {buffers} buffers of {buffer_entries} entries, {SETTING}"
        ),
        rows: Vec::new(),
        plots: vec![Plot { x: "data, share of the device (%)", y: TOTAL, curves: Vec::new() }],
    };
    for &percent in percents {
        let designs = [
            ("full", store.full(10)),
            ("partial", store.partial(10)),
            ("spooky", store.spooky(10, 2, 64)),
        ];
        for (name, policy) in designs {
            let case = format!("{percent} %, {name}");
            progress(&format!("figure 1, {case}"));
            let utilisation = percent as f64 / 100.0;
            let outcome = drive.run(&case, policy, utilisation)?;
            figure.found(&case, FITS, f64::from(u8::from(outcome.is_some())));
            let Some(outcome) = outcome else { continue };
            figure.found(&case, TREE, outcome.tree);
            figure.found(&case, COLLECTION, outcome.collection);
            figure.found(&case, TOTAL, outcome.total());
            for plot in &mut figure.plots {
                plot.point(name, (percent as f64, outcome.total()));
            }
        }
        let of = |name: &str| figure.number(&format!("{percent} %, {name}"), TOTAL);
        if let (Some(partial), Some(spooky)) = (of("partial"), of("spooky")) {
            let case = format!("{percent} %, partial over spooky");
            match percent {
                80 => figure.beside(&case, TOTAL, partial / spooky, (Source::Measured, 3.0)),
                _ => figure.found(&case, TOTAL, partial / spooky),
            }
        }
    }
    Ok(figure)
}
