//! Hints to the processor that memory is read soon. Reads of several places take as long as one if all are asked for
//! first.

/// Bytes of a line of the processor's cache, on most processors.
const LINE_BYTES: usize = 64;

/// Asks for `bytes` bytes from an address on, which need not be valid.
#[inline(always)]
pub fn prefetch<T>(address: *const T, bytes: usize) {
    for line in 0..bytes.div_ceil(LINE_BYTES) {
        hint(address.cast::<u8>().wrapping_add(line * LINE_BYTES));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint reads nothing, and any address will do.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint(_: *const u8) {}
