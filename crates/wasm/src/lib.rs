//! Terrane's engine for the browser: what the npm package's worker calls. A shell around `terrane-session`.
//!
//! * `store` - the store: writes, reads, snapshots, and background jobs in slices.
//! * `clients` - what each client of a worker has of the store.
//! * `tree` - its keyspaces' trees: shape, policy, sizes, compaction.
//! * `scan` - scans, which return their entries in pages.
//! * `volume` - volumes on OPFS handles or in memory, and stores as files.
//! * `steps` - long calls, step by step.
//! * `threads` - a pool of workers for background jobs, in the build that has it.
//! * `memory` - copies and comparisons of bytes.
//! * `events`, `error` and `panic` - events, errors and panics as JavaScript gets them.

mod clients;
mod error;
mod events;
#[cfg(any(test, target_arch = "wasm32"))]
mod memory;
mod panic;
mod scan;
mod steps;
mod store;
#[cfg(feature = "threads")]
pub mod threads;
mod tree;
mod volume;

pub use panic::on_panic;
pub use scan::Scan;
pub use steps::Steps;
pub use store::Store;
pub use volume::import_file;

#[cfg(not(feature = "threads"))]
use std::sync::Arc;
use terrane::Result;
#[cfg(not(feature = "threads"))]
use terrane::executor::{Executor, SliceExecutor};
use terrane_types::json;
use wasm_bindgen::JsValue;

/// A result for JavaScript.
fn to_js<T>(result: Result<T>) -> Result<T, JsValue> {
    result.map_err(|error| error::to_js(&error))
}

/// A result for JavaScript, as JSON: a JavaScript string, which takes less glue code than one of
/// Rust's.
fn json(result: Result<impl serde::Serialize>) -> Result<JsValue, JsValue> {
    to_js(result.map(to_json))
}

fn to_json(value: impl serde::Serialize) -> JsValue {
    JsValue::from_str(&json::to_string(&value))
}

/// The executor of a store.
#[cfg(feature = "threads")]
use threads::executor;

/// The executor of a store.
#[cfg(not(feature = "threads"))]
fn executor() -> Arc<dyn Executor> {
    Arc::new(SliceExecutor::with_clock(events::clock))
}
