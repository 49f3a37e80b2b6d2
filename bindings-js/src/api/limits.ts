// Generated from the declarations in Rust; see crates/wasm/tests/contract/main.rs.

/** The longest key, in bytes. */
export const MAX_KEY_BYTES = 65535;
/** The longest value, in bytes. */
export const MAX_VALUE_BYTES = 67108864;
