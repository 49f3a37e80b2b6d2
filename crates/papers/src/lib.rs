//! What the papers measured, simulated again with the policies of this project.
//!
//! 1. A paper's module ([`spooky`]) simulates each of its figures at a [`Scale`] and answers
//!    [`Figure`]s: our numbers, and beside them the paper's where it states one, or the value of its
//!    equation.
//! 2. [`write()`] makes of them a page (Markdown), JSON, and a plot (SVG) for each figure with curves.
//!
//! Nothing is fitted: machine, geometry and scale are chosen before, and stand in each figure's
//! setting. The same scale gives the same report, byte for byte.

mod figure;
mod page;
mod plot;
pub mod spooky;

pub use figure::{Curve, Figure, Plot, Row, Source};
pub use page::write;

use terrane_sim::SimulationError;

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Seconds: what tests assert orders and inequalities on.
    Ci,
    /// Minutes: what is published.
    Full,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum PapersError {
    /// A simulation could not begin, or go on.
    #[error("{case}: {why}")]
    Simulation {
        /// What was simulated.
        case: String,
        /// Why it ended.
        why: SimulationError,
    },
    /// A plot could not be drawn.
    #[error("{figure}: {why}")]
    Plot {
        /// Which figure.
        figure: &'static str,
        /// What the plotter says.
        why: String,
    },
    /// A part of the report could not be written.
    #[error("write {file}: {why}")]
    Write {
        /// Where.
        file: String,
        /// What the file system says.
        why: std::io::Error,
    },
}
