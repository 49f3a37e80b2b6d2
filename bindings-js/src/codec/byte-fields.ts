// Generated from the declarations in Rust; see crates/wasm/tests/contract/main.rs.

/** The fields that are bytes, and those that are lists of them, by their types in Rust. */
export const BYTES: ReadonlySet<string> = new Set(["key", "largest", "smallest"]);
export const LISTS_OF_BYTES: ReadonlySet<string> = new Set(["cuts", "quantiles"]);
