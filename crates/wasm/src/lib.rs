//! Wasm.
