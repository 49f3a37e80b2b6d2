//! Parses requests of Redis's protocol, whole and in pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| terrane_edge::fuzz_requests(data));
