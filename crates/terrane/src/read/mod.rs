//! Reading: gets, scans, and their traces.

mod lookup;
mod scan;
mod search;

pub use lookup::{Lookup, TryGet, Versioned};
pub(crate) use lookup::{
    cursor, get, get_many, get_versioned, lookup, trace_get, trace_seek, view,
};
pub use scan::{Cursor, Scan};
