//! Terrane's engine as an addon of Node, by N-API 8: Deno, Bun and Electron load it as it is. A shell around
//! `terrane-session`.
//!
//! * `store` - an opening of a store: writes, reads, snapshots.
//! * `gets` - gets of it.
//! * `tree` - its keyspaces' trees: shape, policy, sizes, compaction.
//! * `watches` - watches of ranges.
//! * `apart` - calls of it in Node's pool of threads.
//! * `scan` - scans, which return their entries in pages.
//! * `steps` - long calls, step by step.
//! * `place` - the places of stores: directories, files, memory; copies and removals.
//! * `engines` - the stores that are open in this process, each once.
//! * `listeners` - the engine's events, for every opening of a store.
//! * `work` - calls in Node's pool of threads, and their promises.
//! * `guard` - errors and panics as JavaScript gets them.

#![allow(missing_docs, reason = "the macro writes items without docs")]
#![cfg_attr(test, allow(dead_code, reason = "a build for tests exports nothing to JavaScript"))]

mod apart;
mod engines;
mod gets;
mod guard;
mod listeners;
mod place;
mod scan;
mod steps;
mod store;
mod tree;
mod watches;
mod work;

use napi_derive::napi;

/// Returns the release of this addon, which must be that of its JavaScript.
#[napi]
#[must_use]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
