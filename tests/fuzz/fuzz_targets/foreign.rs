//! The MANIFEST of another engine's store.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| terrane_foreign::fuzz(data));
