//! A store written in Rust, on OPFS, as the comparison calls it from JavaScript.
//!
//! Each feature makes a module with one class `Store`. Where there are several keys or values they lie
//! side by side in one buffer, so that a call crosses the border once each way.

#[cfg(feature = "regolith")]
mod regolith;
#[cfg(feature = "trine-kv")]
mod trine_kv;

/// The bytes of a key.
const KEY: usize = 16;
/// The bytes of a key and its value.
const ENTRY: usize = KEY + 100;
/// The memtable of Terrane in a browser.
const MEMTABLE_BYTES: usize = 4 << 20;

/// The values side by side; an error if one is missing.
fn concatenated(values: Vec<Option<Vec<u8>>>) -> Result<Vec<u8>, wasm_bindgen::JsError> {
    let values: Option<Vec<Vec<u8>>> = values.into_iter().collect();
    values
        .map(|values| values.concat())
        .ok_or_else(|| wasm_bindgen::JsError::new("a key is missing"))
}
