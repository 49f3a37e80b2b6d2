//! Runs the target of `terrane_tests::fuzz::TARGETS` whose name this binary has.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| terrane_tests::fuzz::run(env!("CARGO_BIN_NAME"), data));
