#![cfg_attr(target_feature = "atomics", feature(stdarch_wasm_atomic_wait))]
//! Terrane's backing files on the browser's origin private file system (OPFS).
//!
//! A dedicated worker opens synchronous access handles and passes them here, one for each
//! [`OpfsFile`]; a `Volume` of `terrane` over a few of them holds a whole store.

mod file;
mod io_result;
#[cfg(target_feature = "atomics")]
pub mod owner;

pub use file::OpfsFile;
