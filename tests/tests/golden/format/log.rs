//! Logs and batches ("Logs" and "Batches" of FORMAT.md).

use super::bytes::{Reader, checksum, u32_at, u64_at};
use super::{Entry, Store};
use std::collections::BTreeSet;

/// The kind of a log's file in the journal.
pub const KIND: u8 = 0;

const HEADER: usize = 32;

/// The entries of log `number`, which goes on at sequence `next`.
pub fn read(store: &mut Store, bytes: &[u8], number: u64, next: &mut u64) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(header) = header(bytes, at, number) {
        let payload = bytes.get(at + HEADER..at + HEADER + u32_at(header, 4) as usize);
        let payload = payload.expect("a record lies in its file");
        let [first, synced, sum] = [8, 16, 24].map(|at| u64_at(header, at));
        if checksum(payload, number) != sum {
            store.torn += 1;
            break;
        }
        assert_eq!(first, *next, "sequences leave no gap");
        assert!(synced < first);
        let before = entries.len();
        entries.extend(batches(payload, next));
        let keyspaces: BTreeSet<_> = entries[before..].iter().map(|e| e.keyspace).collect();
        store.records += 1;
        store.shared_records += usize::from(keyspaces.len() > 1);
        let end = at + HEADER + payload.len();
        at = end.next_multiple_of(8);
        assert!(bytes[end..at].iter().all(|byte| *byte == 0), "a record is filled up with zeros");
    }
    // Zeros, where the end is not a record that was cut short.
    let ends = header(bytes, at, number).is_some();
    assert!(ends || bytes[at..].iter().take(8).all(|byte| *byte == 0), "the end of a log");
    let older = |at: &usize| (1..number).any(|older| header(bytes, *at, older).is_some());
    store.recycled += usize::from((at..bytes.len()).step_by(8).any(|at| older(&at)));
    entries
}

/// The header of a record of log `number`, if there is one.
fn header(bytes: &[u8], at: usize, number: u64) -> Option<&[u8]> {
    let header = bytes.get(at..at + HEADER)?;
    let sum = checksum(&header[4..], number) as u32;
    (sum == u32_at(header, 0) && u32_at(header, 4) > 0).then_some(header)
}

fn batches(payload: &[u8], next: &mut u64) -> Vec<Entry> {
    let mut from = Reader(payload);
    let mut entries = Vec::new();
    while !from.is_empty() {
        let (kind, keyspace, key) = (from.u8(), from.varint(), from.bytes().to_vec());
        let value = match kind {
            0 => None,
            1 => Some(from.bytes().to_vec()),
            other => panic!("{other} is no kind of entry"),
        };
        entries.push(Entry { keyspace, key, sequence: *next, value });
        *next += 1;
    }
    entries
}
