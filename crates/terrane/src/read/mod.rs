//! Reading: gets, scans, and their traces.

mod lookup;
mod scan;
mod search;

pub use lookup::{Lookup, TryGet, Versioned};
pub use scan::{Cursor, Scan};
