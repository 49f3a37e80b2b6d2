//! Terrane's engine for the browser: what the npm package's worker calls.
//!
//! * `store` - the store: one volume on OPFS handles, jobs run in slices.
//! * `scan` - walks, page by page.
//! * `packed` - how keys, values and batches cross.
//! * `fault` and `panic` - how errors and panics cross.

mod fault;
mod packed;
mod panic;
mod scan;
mod store;

pub use panic::on_panic;
pub use scan::Scan;
pub use store::Store;
