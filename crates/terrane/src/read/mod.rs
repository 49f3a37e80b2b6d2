//! Reading: gets, scans, and their traces.

mod get;
#[cfg(not(target_arch = "wasm32"))]
mod get_shown;
mod lookup;
mod scan;
mod search;

pub(crate) use get::Get;
pub use lookup::{Lookup, TryGet, Versioned};
pub(crate) use lookup::{cursor, get_many, lookup, trace_get, trace_seek, view};
pub use scan::{Cursor, Scan};
