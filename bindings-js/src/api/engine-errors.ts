// Generated from the declarations in Rust; see crates/wasm/tests/contract/main.rs.

/** The codes of the engine's errors. */
export type EngineErrorCode =
  | "busy"
  | "closed"
  | "corrupt"
  | "cursor-gone"
  | "invalid-argument"
  | "io"
  | "left-out"
  | "newer-format"
  | "not-found"
  | "quota"
  | "read-only";
