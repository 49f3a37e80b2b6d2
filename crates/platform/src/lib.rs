//! The platform of a Terrane store: what differs between operating systems and the browser, so that the engine need
//! not.
//!
//! * [`vfs`] - raw files under names: the interface [`Vfs`](vfs::Vfs), and directories of the operating system, with
//!   their locks and mappings. In a browser each call returns an error: its files are those of `terrane-opfs`.
//! * [`threads`] - a pool of threads, and timed waits.
//! * [`OwnerProcess`] - distinguishes a process from the children that it forks.
//! * [`StoreId`] - an id that the system draws at random.
//! * [`WriteMapping`] - a file that is written through memory.
//! * [`THREADS`] and [`BROWSER`] - by which the engine leaves out code that a browser has no use for.

#[cfg_attr(target_arch = "wasm32", path = "only_process.rs")]
mod owner_process;
mod store_id;
#[cfg_attr(shuttle, path = "threads/shuttled.rs")]
#[cfg_attr(target_arch = "wasm32", path = "threads/none.rs")]
pub mod threads;
pub mod vfs;
#[cfg_attr(target_arch = "wasm32", path = "no_write_mapping.rs")]
mod write_mapping;

pub use owner_process::OwnerProcess;
pub use store_id::StoreId;
pub use write_mapping::WriteMapping;

/// Whether a store may be used by more than one thread.
pub const THREADS: bool = cfg!(any(not(target_arch = "wasm32"), target_feature = "atomics"));

/// Whether this is a module for a browser, whose size counts.
pub const BROWSER: bool = cfg!(target_arch = "wasm32");
