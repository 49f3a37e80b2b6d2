//! Parses what the head of a request of HTTP says: its target, and its preconditions.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| terrane_edge::fuzz_heads(data));
