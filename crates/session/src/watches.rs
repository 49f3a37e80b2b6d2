//! Watches: which keys of some ranges have changed.
//!
//! 1. A client starts a watch, and asks for its next change. Until it asks, the watch collects changes.
//! 2. The ranges of all watches are cut at their bounds into segments, each with the watches that cover it, once a
//!    batch needs them, since many watches often start together. A written key is in one segment: that of the key
//!    before, or one that a binary search finds among the heads of the segments of its keyspace, which are numbers, and
//!    then among the few segments whose first keys share a head. The segment is found while the batch is decoded, so
//!    that only watched keys are kept until the commit. If watches start or end on another thread before the commit,
//!    the batch changes every watch, without keys.
//! 3. A commit only notes which watches have changed, and queues the keys. They are sorted into the watches when a
//!    client takes its changes, or when they take [`QUEUE_BYTES`].
//! 4. A watch collects the keys of several batches (`changed.rs`). A range delete has no keys.
//! 5. A watch of every batch has a range of the keyspace [`EVERY`], in which each batch changes the first key.
//! 6. Once a turn, the client takes the changes of the watches that it has asked about. A client whose turns do not
//!    follow from the writes of others has a waker, which is called at the first change of a watch that it has asked
//!    about.

use crate::changed::Changed;
use crate::codec::EVERY;
use crate::segments::{Covered, Segments};
use crate::written::Written;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terrane::{KeyRange, KeyspaceId, Seq};

/// The bytes of queued keys, with their places, at which they are sorted into the watches.
const QUEUE_BYTES: usize = 256 << 10;

/// The watches of all clients of a store.
#[derive(Default)]
pub(crate) struct Watches {
    any: AtomicBool,
    table: Mutex<Table>,
}

/// A function that makes a client take its changes, called on any thread.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// A watch of a client: the client's number, and the number that it has assigned.
pub(crate) type WatchId = (u32, u32);

#[derive(Default)]
struct Table {
    watches: Vec<Watch>,
    /// `None` once a watch starts or ends, until they are needed.
    segments: Option<Arc<Segments>>,
    /// Batches since the keys were last sorted into the watches, and their size in bytes.
    queue: Vec<Written>,
    queued: usize,
    clients: u32,
    wakers: Vec<(u32, Waker)>,
}

struct Watch {
    id: WatchId,
    ranges: Vec<(KeyspaceId, Vec<u8>, Option<Vec<u8>>)>,
    /// Whether its client waits for a change.
    asked: bool,
    /// Whether its client wants the keys.
    with_keys: bool,
    /// The sequence number of the latest change.
    sequence: Option<Seq>,
    changed: Changed,
}

impl Table {
    /// Returns the segments into which the ranges of all watches are cut.
    fn segments(&mut self) -> &Arc<Segments> {
        let watches = &self.watches;
        self.segments.get_or_insert_with(|| {
            let mut ranges: Vec<Covered<'_>> = Vec::new();
            for (at, watch) in watches.iter().enumerate() {
                for (keyspace, from, to) in &watch.ranges {
                    ranges.push((at, *keyspace, from, to.as_deref()));
                }
            }
            Arc::new(Segments::new(&ranges))
        })
    }

    /// Sorts the queued keys into the watches that cover them.
    fn sort(&mut self) {
        self.queued = 0;
        for written in self.queue.drain(..) {
            for (watches, key) in written.keys() {
                for &watch in watches {
                    if let Some(watch) = self.watches.get_mut(watch) {
                        watch.changed.push(key);
                    }
                }
            }
        }
    }
}

impl Watch {
    /// Notes a sequence number. Threads report their batches in any order. Appends the client to `waiting` if it has
    /// yet to learn of a change that it has asked for.
    fn change(&mut self, sequence: Seq, waiting: &mut Vec<u32>) {
        if self.asked && self.sequence.is_none() {
            waiting.push(self.id.0);
        }
        self.sequence = self.sequence.max(Some(sequence));
    }
}

impl Watches {
    /// Returns `true` if there are watches; a write checks nothing else without them.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Returns the segments by which to find what a batch changes, if there are watches.
    pub(crate) fn segments(&self) -> Option<Arc<Segments>> {
        self.any().then(|| self.table().segments().clone())
    }

    /// Returns the number of another client.
    pub(crate) fn client(&self) -> u32 {
        let mut table = self.table();
        table.clients += 1;
        table.clients
    }

    /// Sets the waker of a client, or removes it.
    pub(crate) fn set_waker(&self, client: u32, waker: Option<Waker>) {
        let mut table = self.table();
        table.wakers.retain(|(of, _)| *of != client);
        table.wakers.extend(waker.map(|waker| (client, waker)));
    }

    /// Asks for the next change of a watch. Returns `false` if there is no such watch.
    pub(crate) fn ask(&self, id: WatchId) -> bool {
        let mut table = self.table();
        let found = table.watches.iter_mut().find(|watch| watch.id == id);
        found.map(|watch| watch.asked = true).is_some()
    }

    /// Starts a watch. With the sequence number `since` it has a change at once, without keys, and the client has asked
    /// for it.
    pub(crate) fn add(
        &self,
        id: WatchId,
        ranges: Vec<(KeyspaceId, KeyRange)>,
        with_keys: bool,
        since: Option<Seq>,
    ) {
        let halves = ranges.into_iter().filter_map(|(keyspace, range)| {
            range.half_open().map(|(from, to)| (keyspace, from, to))
        });
        let watch = Watch {
            id,
            ranges: halves.collect(),
            asked: since.is_some(),
            with_keys,
            sequence: since,
            changed: Changed::new(with_keys && since.is_none()),
        };
        let mut table = self.table();
        table.watches.push(watch);
        self.changed(&mut table);
    }

    /// Removes a watch, or all of a client.
    pub(crate) fn remove(&self, client: u32, number: Option<u32>) {
        let mut table = self.table();
        // The queue has the places of the watches.
        table.sort();
        table.watches.retain(|watch| {
            watch.id.0 != client || number.is_some_and(|number| watch.id.1 != number)
        });
        self.changed(&mut table);
    }

    /// Takes the changes that a client has asked for: for each watch its number (`u32`), the sequence number (a
    /// double), a byte, 1 if there are keys, and their list.
    pub(crate) fn take(&self, client: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let mut table = self.table();
        let has = |watch: &Watch| watch.id.0 == client && watch.asked && watch.sequence.is_some();
        if table.watches.iter().any(has) {
            table.sort();
        }
        for watch in table.watches.iter_mut().filter(|watch| has(watch)) {
            let Some(sequence) = watch.sequence.take() else { continue };
            watch.asked = false;
            out.extend_from_slice(&watch.id.1.to_le_bytes());
            out.extend_from_slice(&(sequence as f64).to_le_bytes());
            std::mem::replace(&mut watch.changed, Changed::new(watch.with_keys)).encode(&mut out);
        }
        out
    }

    /// Notes the changes of a batch, once it is committed under a sequence number: a client that reads before would not
    /// see it.
    pub(crate) fn wrote(&self, mut written: Written, sequence: Seq) {
        let mut table = self.table();
        let Table { watches, segments, .. } = &mut *table;
        let Some(segments) = segments.as_ref().filter(|segments| written.is_by(segments)) else {
            return change_all(table, sequence);
        };
        let mut waiting = Vec::new();
        let every = segments.of(EVERY).map(|segments| segments.watches(0));
        let covering = written.keys().map(|(watches, _)| watches);
        for &watch in covering.chain(every).flatten() {
            if let Some(watch) = watches.get_mut(watch) {
                watch.change(sequence, &mut waiting);
            }
        }
        // They are not queued: a watch has none of their keys.
        for (keyspace, from, to) in std::mem::take(&mut written.ranges) {
            let Some(segments) = segments.of(keyspace) else { continue };
            sum(watches, segments.touched(&from, to.as_deref()), sequence, &mut waiting);
        }
        let bytes = written.bytes();
        if bytes > 0 {
            table.queued += bytes;
            table.queue.push(written);
        }
        if table.queued > QUEUE_BYTES {
            table.sort();
        }
        wake(table, &waiting);
    }

    /// Notes that a keyspace was dropped.
    pub(crate) fn dropped(&self, keyspace: KeyspaceId, sequence: Seq) {
        let mut table = self.table();
        let segments = table.segments().clone();
        let watches = &mut table.watches;
        let mut waiting = Vec::new();
        for segments in [keyspace, EVERY].into_iter().filter_map(|id| segments.of(id)) {
            sum(watches, segments.touched(&[], None), sequence, &mut waiting);
        }
        wake(table, &waiting);
    }

    /// Notes a batch whose keys are not known, so that every watch may have changed.
    pub(crate) fn wrote_unknown(&self, sequence: Seq) {
        change_all(self.table(), sequence);
    }

    /// Notes that a watch has started or ended.
    fn changed(&self, table: &mut Table) {
        self.any.store(!table.watches.is_empty(), Ordering::Relaxed);
        table.segments = None;
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes clients, once the table is unlocked: a waker may take changes.
fn wake(table: MutexGuard<'_, Table>, waiting: &[u32]) {
    let wakers = table.wakers.iter().filter(|(client, _)| waiting.contains(client));
    let wakers: Vec<Waker> = wakers.map(|(_, waker)| waker.clone()).collect();
    drop(table);
    for waker in wakers {
        waker();
    }
}

/// Adds a change without keys to all watches.
fn change_all(mut table: MutexGuard<'_, Table>, sequence: Seq) {
    let all = 0..table.watches.len();
    let mut waiting = Vec::new();
    sum(&mut table.watches, all, sequence, &mut waiting);
    wake(table, &waiting);
}

/// Adds a change without keys to watches.
fn sum(
    watches: &mut [Watch],
    changed: impl Iterator<Item = usize>,
    sequence: Seq,
    waiting: &mut Vec<u32>,
) {
    for watch in changed {
        if let Some(watch) = watches.get_mut(watch) {
            watch.change(sequence, waiting);
            watch.changed.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::ByteList;
    use std::ops::Bound;
    use terrane::WriteBatch;

    const KEYSPACE: KeyspaceId = KeyspaceId(3);

    fn batch(keyspace: KeyspaceId, keys: &[&str]) -> WriteBatch {
        let mut batch = WriteBatch::new();
        for key in keys {
            batch.put(keyspace, key, "value").unwrap();
        }
        batch
    }

    fn wrote(watches: &Watches, batch: &WriteBatch, sequence: Seq) {
        watches.wrote(Written::by(batch, watches.segments().unwrap()), sequence);
    }

    fn watches(ranges: &[KeyRange]) -> Watches {
        let watches = Watches::default();
        for (number, range) in (0..).zip(ranges) {
            watches.add((1, number), vec![(KEYSPACE, range.clone())], true, None);
            assert!(watches.ask((1, number)));
        }
        watches
    }

    /// Returns the numbers of the watches that have changed; no encoded change here has more than 255 bytes.
    fn changed(watches: &Watches) -> Vec<u8> {
        let bytes = watches.take(1);
        let mut numbers = Vec::new();
        let mut at = 0;
        while let Some(number) = bytes.get(at) {
            numbers.push(*number);
            let count = usize::from(bytes[at + 13]);
            let lengths = (0..count).map(|n| usize::from(bytes[at + 17 + 4 * n]));
            at += 17 + 4 * count + lengths.sum::<usize>();
        }
        numbers
    }

    #[test]
    fn each_key_changes_the_watches_that_cover_it() {
        let bound = |key: &str| Bound::Included(key.as_bytes().to_vec());
        let ranges = [
            KeyRange { from: bound("b"), to: bound("d") },
            KeyRange { from: bound("c"), to: Bound::Unbounded },
            KeyRange { from: Bound::Unbounded, to: Bound::Excluded(b"b".to_vec()) },
            // Bounds that start alike.
            KeyRange { from: bound("cccccccc1"), to: bound("cccccccc2") },
            KeyRange { from: bound("cccccccc2"), to: Bound::Excluded(b"cccccccc4".to_vec()) },
        ];
        let alike = ["cccccccc", "cccccccc1", "cccccccc2", "cccccccc3", "cccccccc4", "cccccccd"];
        for key in ["", "a", "b", "bb", "c", "d", "d\0", "e"].into_iter().chain(alike) {
            let watches = watches(&ranges);
            wrote(&watches, &batch(KEYSPACE, &["z", "a", key]), 7);
            // The same, one by one.
            let covers = |range: &KeyRange| {
                let half_open = range.half_open();
                half_open.is_some_and(|(from, to)| {
                    ["z", "a", key].iter().any(|key| {
                        from.as_slice() <= key.as_bytes()
                            && to.as_ref().is_none_or(|to| key.as_bytes() < to.as_slice())
                    })
                })
            };
            let expected: Vec<u8> =
                (0..).zip(&ranges).filter(|(_, range)| covers(range)).map(|(n, _)| n).collect();
            assert_eq!(changed(&watches), expected, "{key:?}");
        }
    }

    #[test]
    fn a_batch_of_another_keyspace_changes_nothing() {
        let watches = watches(&[KeyRange::default()]);
        for other in [2, 4] {
            wrote(&watches, &batch(KeyspaceId(other), &["", "k"]), 1);
        }
        assert!(changed(&watches).is_empty());
        wrote(&watches, &batch(KEYSPACE, &["k"]), 2);
        assert_eq!(changed(&watches), [0]);
    }

    #[test]
    fn every_batch_and_drop_changes_a_watch_of_all() {
        let watches = Watches::default();
        watches.add((1, 0), vec![(EVERY, KeyRange::default())], false, None);
        let mut ranges = WriteBatch::new();
        ranges.delete_range(KeyspaceId(9), "a".."b").unwrap();
        let keys = [batch(KEYSPACE, &["k"]), batch(KeyspaceId(0), &["", "z"])];
        for batch in keys.into_iter().chain([ranges]) {
            assert!(watches.ask((1, 0)));
            wrote(&watches, &batch, 1);
            assert_eq!(changed(&watches), [0]);
        }
        assert!(watches.ask((1, 0)));
        watches.dropped(KEYSPACE, 2);
        assert_eq!(changed(&watches), [0]);
    }

    #[test]
    fn a_range_delete_changes_what_it_covers() {
        let prefix = |prefix: &str| KeyRange::prefix(prefix);
        for (from, to, expected) in
            [("a", "b", &[0][..]), ("a", "b0", &[0, 1]), ("c", "d", &[]), ("b9", "z", &[1])]
        {
            let watches = watches(&[prefix("a"), prefix("b")]);
            let mut batch = WriteBatch::new();
            batch.delete_range(KEYSPACE, from..to).unwrap();
            wrote(&watches, &batch, 1);
            assert_eq!(changed(&watches), expected, "{from} to {to}");
        }
    }

    #[test]
    fn a_batch_that_is_not_known_changes_every_watch() {
        let watches = watches(&[KeyRange::prefix("a"), KeyRange::prefix("b")]);
        wrote(&watches, &batch(KEYSPACE, &["a"]), 1);
        watches.wrote_unknown(2);
        let mut expected = Vec::new();
        for number in [0_u32, 1] {
            expected.extend_from_slice(&number.to_le_bytes());
            expected.extend_from_slice(&2_f64.to_le_bytes());
            // No keys, and an empty list.
            expected.extend_from_slice(&[0; 5]);
        }
        assert_eq!(watches.take(1), expected);
        // Another watch starts between the match and the commit.
        for watch in [0, 1] {
            assert!(watches.ask((1, watch)));
        }
        let early = Written::by(&batch(KEYSPACE, &["a"]), watches.segments().unwrap());
        watches.add((2, 0), vec![(KEYSPACE, KeyRange::prefix("a"))], true, None);
        watches.wrote(early, 2);
        assert_eq!(watches.take(1), expected);
        assert!(watches.ask((2, 0)));
        assert_eq!(watches.take(2).len(), expected.len() / 2);
    }

    #[test]
    fn keys_of_many_batches_are_returned_once() {
        let watches =
            watches(&[KeyRange::prefix("a"), KeyRange::prefix("a9"), KeyRange::prefix("b")]);
        let keys: Vec<String> = (0..10).map(|n| format!("a{n}").repeat(500)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        // Far more than are queued.
        for _ in 0..10 * QUEUE_BYTES / 10_000 {
            wrote(&watches, &batch(KEYSPACE, &keys), 1);
        }
        let mut expected = Vec::new();
        for (number, keys) in [(0_u32, &keys[..]), (1, &keys[9..])] {
            expected.extend_from_slice(&number.to_le_bytes());
            expected.extend_from_slice(&1_f64.to_le_bytes());
            expected.push(1);
            let mut list = ByteList::default();
            keys.iter().for_each(|key| list.push(key.as_bytes()));
            list.encode(&mut expected);
        }
        assert_eq!(watches.take(1), expected);
    }

    #[test]
    fn a_waker_is_called_once_for_a_requested_change() {
        let watches = Arc::new(watches(&[KeyRange::default()]));
        let taken = Arc::new(Mutex::new(Vec::new()));
        let (of, into) = (watches.clone(), taken.clone());
        watches.set_waker(1, Some(Arc::new(move || into.lock().unwrap().push(of.take(1).len()))));
        let other = Arc::new(|| panic!("another client has asked for nothing"));
        watches.set_waker(2, Some(other));
        wrote(&watches, &batch(KEYSPACE, &["k"]), 1);
        assert_eq!(taken.lock().unwrap().len(), 1);
        // Not asked for.
        wrote(&watches, &batch(KEYSPACE, &["k"]), 2);
        assert!(watches.ask((1, 0)));
        watches.set_waker(1, None);
        watches.dropped(KEYSPACE, 3);
        let taken = taken.lock().unwrap();
        assert!(taken.len() == 1 && taken[0] > 0, "{taken:?}");
    }

    #[test]
    fn a_change_waits_until_its_client_asks_for_it() {
        let watches = watches(&[KeyRange::default()]);
        wrote(&watches, &batch(KEYSPACE, &["k"]), 1);
        assert!(watches.take(2).is_empty(), "another client");
        assert_eq!(changed(&watches), [0]);
        wrote(&watches, &batch(KEYSPACE, &["k"]), 2);
        assert!(changed(&watches).is_empty());
        assert!(watches.ask((1, 0)));
        assert_eq!(changed(&watches), [0]);
        watches.remove(1, None);
        assert!(!watches.ask((1, 0)) && !watches.any());
    }
}
