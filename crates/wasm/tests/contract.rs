//! Words that the engine and the npm package both declare: they must agree.

#![allow(clippy::unwrap_used, reason = "a failure is a panic in tests, also in their helpers")]

use std::fs;
use std::iter::successors;
use std::path::Path;
use terrane_types::Stall;

/// All reasons; the compiler reports one that is missing.
fn stalls() -> impl Iterator<Item = Stall> {
    successors(Some(Stall::Memtables), |reason| match reason {
        Stall::Memtables => Some(Stall::Memory),
        Stall::Memory => Some(Stall::Level0),
        Stall::Level0 => Some(Stall::Wal),
        Stall::Wal => Some(Stall::CompactionBytes),
        Stall::CompactionBytes => None,
    })
}

#[test]
fn typescript_declares_the_stall_reasons_of_the_engine() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings-js/src/api/events.ts");
    let declarations = fs::read_to_string(file).unwrap();
    let (_, rest) = declarations.split_once("export type StallReason =").unwrap();
    let (union, _) = rest.split_once(';').unwrap();
    let declared: Vec<_> = union.split('|').map(|word| word.trim().to_owned()).collect();
    let sent: Vec<_> = stalls().map(|reason| serde_json::to_string(&reason).unwrap()).collect();
    assert_eq!(declared, sent);
}
