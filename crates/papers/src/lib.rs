//! The papers' experiments, simulated with the policies of this project.
//!
//! 1. A paper's module ([`spooky`]) simulates each of its figures at a [`Scale`] and returns
//!    [`Figure`]s: our numbers beside the paper's, where it states one, or the value of its equation.
//! 2. [`write()`] turns them into a page (Markdown), JSON, and a plot (SVG) for each figure with curves.
//!
//! Nothing is fitted: machine, geometry and scale are chosen in advance and documented in each figure's
//! setting. The same scale gives the same report, byte for byte.

mod figure;
mod page;
mod plot;
pub mod spooky;

pub use figure::{Curve, Figure, Plot, Row, Source};
pub use page::write;

use terrane_sim::SimulationError;

/// The scale of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Runs for seconds: tests assert orders and inequalities at this scale.
    Ci,
    /// Runs for minutes: the published reports.
    Full,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum PapersError {
    /// A simulation could not start or continue.
    #[error("{case}: {why}")]
    Simulation {
        /// What was simulated.
        case: String,
        /// Why it failed.
        why: SimulationError,
    },
    /// A plot could not be drawn.
    #[error("{figure}: {why}")]
    Plot {
        /// Which figure.
        figure: &'static str,
        /// The plotter's error.
        why: String,
    },
    /// A part of the report could not be written.
    #[error("write {file}: {why}")]
    Write {
        /// Where.
        file: String,
        /// The error of the file system.
        why: std::io::Error,
    },
}
