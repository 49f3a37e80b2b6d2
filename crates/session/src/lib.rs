//! An open store as JavaScript calls it, whatever runs the JavaScript: the module of the browser and the addon of Node
//! are shells around this crate, which knows neither.
//!
//! * `session` - an opening of a store: its tables of keyspaces and snapshots, writes and reads.
//! * `apart` - its calls that run on another thread.
//! * `tree` - the trees of its keyspaces: shape, policy, sizes, compaction.
//! * `opening` - the options of an opening.
//! * `scan` - scans, which return their entries in pages.
//! * `clear` - clearing of ranges, which counts what it deletes.
//! * `watches`, `segments`, `writer`, `written`, `changed` - which keys have changed, of what all openings write.
//! * `feed` - pages of the change feed.
//! * `steps` - long calls, step by step.
//! * `copy` - copies of a store into another storage or into memory.
//! * `codec` - keys, values, ranges and batches as they are exchanged with JavaScript.
//! * `failure` - errors as JavaScript gets them.
//! * `trace` - events as lines of JSON.

mod apart;
mod changed;
mod clear;
mod codec;
mod copy;
mod failure;
mod feed;
mod opening;
mod scan;
mod segments;
mod session;
mod steps;
mod trace;
mod tree;
mod watches;
mod writer;
mod written;

pub use apart::{Reads, Write};
pub use copy::{copy, copy_to_bytes, memory_file, volume_over};
pub use failure::{NOT_FOUND, code, message, no_keyspace};
pub use opening::Opening;
pub use scan::{ROWS_BYTES, Scan, Wanted};
pub use session::Session;
pub use steps::{End, Steps};
pub use trace::line;
pub use watches::Waker;
