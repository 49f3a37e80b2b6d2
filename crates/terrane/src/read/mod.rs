//! Reading: gets, scans, their traces, and the snapshots that merges must respect.

mod lookup;
mod scan;

pub use lookup::Lookup;
pub use scan::{Cursor, Scan};
