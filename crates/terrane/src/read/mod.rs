//! Reading: gets, scans, and their traces.

mod lookup;
mod scan;

pub use lookup::Lookup;
pub use scan::{Cursor, Scan};
