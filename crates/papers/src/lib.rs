//! The papers' experiments, simulated with the policies of this project.
//!
//! 1. A paper's module ([`spooky`], [`vertiorizon`]) simulates each of its figures at a [`Scale`] and returns
//!    [`Figure`]s: our numbers beside the paper's, where it states one, or the value of its equation.
//! 2. [`write()`] turns them into a page (Markdown), JSON, and for each figure its numbers (CSV), the configurations of
//!    its simulations (JSON, [`cases`]), and plots (SVG) of curves and bars.
//!
//! Another paper is a folder like `spooky` and a line in [`PAPERS`]. What they share is beside it: the
//! shape of figures (`figure`), stores made small (`scaled`), pages and plots.
//!
//! Machine, geometry and scale are chosen in advance and documented in each figure's setting. Three numbers
//! that no paper states were chosen knowing the result, each with other values beside it in its report: the
//! prefixes of PTierDB's keys, the speed of BucketLSM's flushes over that of merges, and the time of a put
//! in the load that coordinated partitioning measures. The same scale gives the same report, byte for byte.

pub mod bucketlsm;
pub mod cases;
mod earlier;
pub mod ecotune;
mod figure;
pub mod fluid;
mod page;
pub mod partitioning;
mod plot;
pub mod ptierdb;
mod scaled;
pub mod spooky;
pub mod vertiorizon;

pub use cases::on_all_cores;
pub use figure::{Bars, Curve, Figure, Plot, Row, Source};
pub use page::{write, write_configurations};

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use terrane_sim::SimulationError;

/// A paper whose figures are simulated.
#[derive(Clone, Copy)]
pub struct Paper {
    /// The folder of its report.
    pub folder: &'static str,
    /// The title of its report.
    pub title: &'static str,
    /// Its figures, in their order, by their names in the report.
    pub figures: &'static [(&'static str, Simulate)],
    /// Figures with measurements that are not reproduced, each with the reason.
    pub left_out: &'static [(&'static str, &'static str)],
}

/// Simulates a figure; the closure is called with each simulation's name.
pub type Simulate = fn(Scale, &mut dyn FnMut(&str)) -> Result<Figure, PapersError>;

impl Paper {
    /// Returns the paper with one of its figures, by its name or by its number in the report's order from 1 on.
    ///
    /// # Errors
    /// There is no such figure.
    pub fn with_figure(self, asked: &str) -> Result<Paper, PapersError> {
        let number = asked.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = || self.figures.iter().position(|(name, _)| *name == asked);
        let found = named().or(number).and_then(|at| self.figures.get(at..=at));
        let figures = found.ok_or_else(|| PapersError::Figure {
            asked: asked.to_owned(),
            paper: self.folder,
            most: self.figures.len(),
            names: self.figures.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        })?;
        Ok(Paper { figures, ..self })
    }

    /// Simulates the figures, as many at once as there are cores.
    ///
    /// # Errors
    /// A simulation that failed.
    pub fn simulate(
        &self,
        scale: Scale,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Figure>, PapersError> {
        self.make(scale, false, progress)
    }

    /// Returns the figures without results, but with the [configurations](Figure::cases) of their simulations.
    ///
    /// # Errors
    /// A simulation that failed.
    pub fn configurations(&self, scale: Scale) -> Result<Vec<Figure>, PapersError> {
        let mut figures = self.make(scale, true, &|_| ())?;
        for figure in &mut figures {
            figure.rows.clear();
            figure.plots.clear();
            figure.bars.clear();
        }
        Ok(figures)
    }

    fn make(
        &self,
        scale: Scale,
        is_rehearsal: bool,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Figure>, PapersError> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some((_, figure)) = self.figures.get(number) else { return done };
                if self.figures.len() == 1 && !is_rehearsal {
                    done.push((number, on_all_cores(*figure, scale, progress)));
                    continue;
                }
                let make = |progress: &mut dyn FnMut(&str)| figure(scale, progress);
                let (figure, recording) =
                    cases::record(is_rehearsal, &mut |what| progress(what), make);
                let cases = recording.cases;
                done.push((number, figure.map(|figure| Figure { cases, ..figure })));
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut done = std::thread::scope(|scope| {
            let running: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for thread in running {
                done.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            done
        });
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, figure)| figure).collect()
    }
}

/// The papers.
pub const PAPERS: &[Paper] = &[
    spooky::PAPER,
    vertiorizon::PAPER,
    partitioning::PAPER,
    ptierdb::PAPER,
    bucketlsm::PAPER,
    fluid::PAPER,
    ecotune::PAPER,
];

/// The scale of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Runs for seconds: tests assert orders and inequalities at this scale.
    Ci,
    /// Runs for minutes: the published reports.
    Full,
}

/// Reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum PapersError {
    /// A figure that the paper does not have.
    #[error("{paper} has no figure {asked}, expected 1 to {most} or one of {names}")]
    Figure {
        /// The figure.
        asked: String,
        /// The folder of the paper.
        paper: &'static str,
        /// The number of its figures.
        most: usize,
        /// Their names.
        names: String,
    },
    /// A simulation could not start or continue.
    #[error("{case}: {why}")]
    Simulation {
        /// Simulated case.
        case: String,
        /// Reason of the failure.
        why: SimulationError,
    },
    /// A plot could not be drawn.
    #[error("{figure}: {why}")]
    Plot {
        /// Name of the figure.
        figure: &'static str,
        /// The plotter's error.
        why: String,
    },
    /// A part of the report could not be written.
    #[error("write {file}: {why}")]
    Write {
        /// Path of the file.
        file: String,
        /// The error of the file system.
        why: std::io::Error,
    },
}
