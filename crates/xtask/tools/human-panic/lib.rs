//! wasm-pack needs this for a program of its own, which is not built here.
