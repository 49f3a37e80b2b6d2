//! Copies, fills and comparisons of bytes, under the names by which compiled code calls them.
//!
//! * The instructions for copies and fills leave the module for a function of the browser, which takes longer than
//!   most of them: keys, lengths, rows. So a release without threads does without these instructions, and calls
//!   `copies`.
//! * The standard library compares byte by byte, `compare` word by word.

mod compare;
#[cfg(not(target_feature = "bulk-memory"))]
mod copies;

/// Loads a value from any address.
///
/// # Safety
/// As many bytes can be read, and any are a value.
#[inline(always)]
unsafe fn load<T>(from: *const u8) -> T {
    // SAFETY: the caller's promise.
    unsafe { from.cast::<T>().read_unaligned() }
}
