//! Logs and batches ("Logs" and "Batches" of FORMAT.md).

use super::bytes::{Reader, checksum, u32_at, u64_at};
use super::{Change, Entry, Operand, Store, expiring};
use std::collections::BTreeSet;

/// The kind of a log's file in the manifest.
pub const KIND: u8 = 0;

const HEADER: usize = 32;

/// The entries of the log with this salt and number, from sequence `next` on; through sequence `through`
/// if the log was ended there.
pub fn read(
    store: &mut Store,
    bytes: &[u8],
    [salt, number]: [u64; 2],
    through: Option<u64>,
    next: &mut u64,
) -> Vec<Entry> {
    let seed = |number: u64| salt ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(header) = header(bytes, at, seed(number)) {
        if through.is_some_and(|through| *next > through) {
            return entries;
        }
        if u32_at(header, 4) == 0 {
            let sum = checksum(&[], seed(number));
            assert_eq!((u64_at(header, 8), u64_at(header, 24)), (*next, sum));
            assert!(u64_at(header, 16) < *next, "a claim is of what came before");
            store.claims += 1;
            at += HEADER;
            continue;
        }
        let payload = bytes.get(at + HEADER..at + HEADER + u32_at(header, 4) as usize);
        let payload = payload.expect("a record lies in its file");
        let [first, synced, sum] = [8, 16, 24].map(|at| u64_at(header, at));
        if checksum(payload, seed(number)) != sum {
            store.torn += 1;
            break;
        }
        assert_eq!(first, *next, "sequences leave no gap");
        assert!(synced < first);
        let before = entries.len();
        let mut payload = Reader(payload);
        while !payload.is_empty() {
            let batch = payload.bytes();
            assert!(!batch.is_empty(), "a batch has an entry");
            entries.extend(self::entries(batch, *next));
            let ranges = |entry: &&Entry| {
                entry.sequence == *next && matches!(entry.change, Change::DeleteRange(_))
            };
            store.range_deletes += entries.iter().filter(ranges).count();
            let expiring = |entry: &&Entry| {
                entry.sequence == *next && matches!(entry.change, Change::PutExpiring(..))
            };
            let merges = |entry: &&Entry| {
                entry.sequence == *next && matches!(entry.change, Change::Merge(..))
            };
            store.operands_in_logs += entries.iter().filter(merges).count();
            store.expiring_in_logs += entries.iter().filter(expiring).count();
            *next += 1;
        }
        let keyspaces: BTreeSet<_> = entries[before..].iter().map(|e| e.keyspace).collect();
        store.records += 1;
        store.shared_records += usize::from(keyspaces.len() > 1);
        let end = at + HEADER + u32_at(header, 4) as usize;
        at = end.next_multiple_of(8);
        assert!(bytes[end..at].iter().all(|byte| *byte == 0), "a record is filled up with zeros");
    }
    // Zeros, unless the log ends in a torn record.
    let ends = header(bytes, at, seed(number)).is_some();
    assert!(ends || bytes[at..].iter().take(8).all(|byte| *byte == 0), "the end of a log");
    let older = |at: &usize| (1..number).any(|older| header(bytes, *at, seed(older)).is_some());
    store.recycled += usize::from((at..bytes.len()).step_by(8).any(|at| older(&at)));
    entries
}

/// The header of a record of the log with this seed, if there is one.
fn header(bytes: &[u8], at: usize, seed: u64) -> Option<&[u8]> {
    let header = bytes.get(at..at + HEADER)?;
    let sum = checksum(&header[4..], seed) as u32;
    (sum == u32_at(header, 0)).then_some(header)
}

/// The entries of a batch, which share its sequence.
fn entries(batch: &[u8], sequence: u64) -> Vec<Entry> {
    let mut from = Reader(batch);
    let mut entries = Vec::new();
    while !from.is_empty() {
        let (kind, keyspace, key) = (from.u8(), from.varint(), from.bytes().to_vec());
        let change = match kind {
            0 => Change::Delete,
            1 => Change::Put(from.bytes().to_vec()),
            2 => Change::DeleteRange(from.end()),
            3 => {
                let mut operand = Reader(from.bytes());
                let read = Operand::read(&mut operand);
                assert!(operand.is_empty());
                // Of whatever came before, of its batch as well.
                Change::Merge(u64::MAX, read)
            }
            4 => expiring(from.bytes()),
            6 => Change::DropKeyspace,
            other => panic!("{other} is no kind of entry"),
        };
        entries.push(Entry { keyspace, key, sequence, change });
    }
    entries
}
