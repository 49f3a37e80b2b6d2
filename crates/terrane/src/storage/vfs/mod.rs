//! File systems: the interface and the native one of [`terrane_platform::vfs`], files in memory, and a wrapper that
//! injects faults.

#[cfg(any(test, feature = "testing"))]
pub mod fault;
mod memory;
#[cfg(test)]
pub(in crate::storage) mod tests;

#[cfg(any(test, feature = "testing"))]
pub use fault::FaultVfs;
pub use memory::MemoryVfs;
#[doc(inline)]
pub use terrane_platform::vfs::{
    LOCK, Listed, NativeVfs, StoreLock, Vfs, open_locked, open_shared,
};
