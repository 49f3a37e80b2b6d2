//! The memtable in every order of its atomic operations, and with every value that the memory model
//! allows a load to return.

use crate::loomed::explore;
use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use terrane_table::entry::{Kind, Tag};
use terrane_table::memtable::Memtable;
use terrane_table::read::Cursor;
use terrane_table::table::key_hash;

/// The key of a number. Those within thirty have a prefix in common, which a node leaves out.
fn key(number: u64) -> [u8; 3] {
    [(number / 30) as u8, 7, (number % 30) as u8]
}

fn insert(table: &Memtable, number: u64) {
    table.insert(&key(number), Tag::new(number, Kind::Put), &number.to_le_bytes()).unwrap();
}

/// A thread that inserts these, one after the other.
fn inserting(table: &Arc<Memtable>, numbers: &'static [u64]) -> JoinHandle<()> {
    let table = table.clone();
    thread::spawn(move || numbers.iter().for_each(|&number| insert(&table, number)))
}

/// A memtable with the keys 10, 20 and 30, which fill its leaf: the next one splits it. Its filter is one
/// word.
fn three() -> Arc<Memtable> {
    let table = Arc::new(Memtable::new(64 * 8));
    [20, 10, 30].iter().for_each(|&number| insert(&table, number));
    table
}

/// The entry at the cursor, which must be whole.
fn number_at(cursor: &impl Cursor) -> u64 {
    let number = u64::from(cursor.key()[0]) * 30 + u64::from(cursor.key()[2]);
    assert_eq!(cursor.key(), key(number));
    assert_eq!(cursor.tag(), Tag::new(number, Kind::Put));
    assert_eq!(cursor.value(), number.to_le_bytes());
    number
}

/// All entries, in one direction.
fn walk(table: &Arc<Memtable>, forward: bool) -> Vec<u64> {
    let mut cursor = table.cursor();
    let mut seen = Vec::new();
    if forward { cursor.seek_first() } else { cursor.seek_last() }.unwrap();
    while cursor.valid() {
        seen.push(number_at(&cursor));
        if forward { cursor.next() } else { cursor.prev() }.unwrap();
    }
    seen
}

/// A reader that starts when `inserted` of `order` are known to be published sees those, in order, and
/// no entry that was not inserted.
fn sees(seen: &[u64], inserted: usize, order: &[u64]) {
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?} is out of order");
    assert!(order[..inserted].iter().all(|n| seen.contains(n)), "{seen:?} misses one");
    assert!(seen.iter().all(|n| order.contains(n)), "{seen:?} has one too many");
}

#[test]
fn a_forward_scan_sees_all_published_entries_in_order() {
    explore(2, || {
        let table = three();
        let writer = inserting(&table, &[15, 14]);
        let inserted = table.entries();
        sees(&walk(&table, true), inserted, &[20, 10, 30, 15, 14]);
        writer.join().unwrap();
        assert_eq!(walk(&table, true), [10, 14, 15, 20, 30]);
    });
}

#[test]
fn a_scan_finds_all_entries_of_a_leaf_split_under_another_node() {
    for forward in [true, false] {
        explore(2, move || {
            let table = three();
            // The leaf is split, and the second half is full again.
            [15, 25].iter().for_each(|&number| insert(&table, number));
            let writer = inserting(&table, &[22]);
            let inserted = table.entries();
            let mut seen = walk(&table, forward);
            if !forward {
                seen.reverse();
            }
            sees(&seen, inserted, &[20, 10, 30, 15, 25, 22]);
            let found = table.get(&key(30), 99).map(|(tag, _)| tag.seq());
            assert_eq!(found, Some(30));
            writer.join().unwrap();
            assert_eq!(walk(&table, true), [10, 15, 20, 22, 25, 30]);
        });
    }
}

#[test]
fn a_scan_continues_in_a_leaf_started_after_the_last_entry() {
    explore(2, || {
        let table = three();
        let writer = inserting(&table, &[40, 50]);
        let inserted = table.entries();
        sees(&walk(&table, true), inserted, &[20, 10, 30, 40, 50]);
        writer.join().unwrap();
        assert_eq!(walk(&table, true), [10, 20, 30, 40, 50]);
    });
}

#[test]
fn a_backward_scan_sees_all_published_entries_in_order() {
    explore(2, || {
        let table = three();
        let writer = inserting(&table, &[15]);
        let inserted = table.entries();
        let mut seen = walk(&table, false);
        seen.reverse();
        sees(&seen, inserted, &[20, 10, 30, 15]);
        writer.join().unwrap();
    });
}

#[test]
fn a_get_finds_every_published_entry_whole() {
    explore(3, || {
        let table = three();
        let writer = inserting(&table, &[15]);
        let published = table.entries() == 4;
        let found = table.get(&key(15), 99).filter(|_| table.may_contain(key_hash(&key(15))));
        assert!(found.is_some() || !published, "an entry that was published is not there");
        if let Some((tag, value)) = found {
            assert_eq!((tag, value), (Tag::new(15, Kind::Put), &15u64.to_le_bytes()[..]));
        }
        assert_eq!(table.get(&key(20), 99).map(|(tag, _)| tag.seq()), Some(20));
        writer.join().unwrap();
        assert_eq!((table.first_seq(), table.last_seq()), (Some(10), Some(30)));
    });
}

#[test]
fn a_get_finds_an_entry_during_an_insertion_right_before_it() {
    explore(3, || {
        let table = Arc::new(Memtable::default());
        [10, 20].iter().for_each(|&number| insert(&table, number));
        let writer = inserting(&table, &[15]);
        assert!(table.entries() >= 2);
        assert_eq!(table.get(&key(20), 99).map(|(tag, _)| tag.seq()), Some(20));
        writer.join().unwrap();
    });
}

#[test]
fn inserts_on_two_threads_lose_nothing() {
    explore(2, || {
        let table = three();
        let writers = [&[15], &[25]].map(|numbers| inserting(&table, numbers));
        let inserted = table.entries().min(3);
        sees(&walk(&table, true), inserted, &[20, 10, 30, 15, 25]);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(walk(&table, true), [10, 15, 20, 25, 30]);
        assert_eq!(table.entries(), 5);
    });
}
