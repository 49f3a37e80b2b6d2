//! Terrane's engine for the browser: what the npm package's worker calls.
//!
//! * `store` - the store: one volume, jobs run in slices; writes, reads and snapshots.
//! * `tree` - its keyspaces' trees: shape, policy, sizes, compaction.
//! * `scan` - walks, page by page.
//! * `place` - volumes on OPFS handles or in memory, and stores as files.
//! * `steps` - calls that take their time, step by step.
//! * `packed` - how keys, values, ranges and batches cross.
//! * `listen` - how events cross; `fault` and `panic` - how errors and panics do.

mod fault;
mod listen;
mod packed;
mod panic;
mod place;
mod scan;
mod steps;
mod store;
mod tree;

pub use panic::on_panic;
pub use place::import_file;
pub use scan::Scan;
pub use steps::Steps;
pub use store::Store;

use terrane::{Error, Result};
use wasm_bindgen::JsValue;

/// A result for JavaScript.
fn answer<T>(result: Result<T>) -> Result<T, JsValue> {
    result.map_err(|error| fault::to_js(&error))
}

/// A result for JavaScript, as JSON: a string that JavaScript has, which needs less code there than
/// one of Rust's that it takes.
fn json(result: Result<impl serde::Serialize>) -> Result<JsValue, JsValue> {
    answer(result.and_then(to_json))
}

fn to_json(value: impl serde::Serialize) -> Result<JsValue> {
    match serde_json::to_string(&value) {
        Ok(json) => Ok(JsValue::from_str(&json)),
        // Not reached; to show the error would take half a kB of the module.
        Err(_) => Err(refused("answer", "what JSON can say", "another".to_owned())),
    }
}

fn refused(what: &'static str, expected: &str, found: String) -> Error {
    Error::invalid(what, expected.to_owned(), found)
}
