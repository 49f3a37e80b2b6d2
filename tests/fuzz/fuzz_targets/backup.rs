//! The objects of a backup.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| terrane_backup::format::fuzz(data));
