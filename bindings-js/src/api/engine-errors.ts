// Generated from the declarations in Rust; see crates/wasm/tests/contract/main.rs.

/** The codes of the engine's errors. */
export type EngineErrorCode =
  | "busy"
  | "closed"
  | "corrupt"
  | "invalid-argument"
  | "io"
  | "newer-format"
  | "not-found"
  | "policy-left-out"
  | "quota";
