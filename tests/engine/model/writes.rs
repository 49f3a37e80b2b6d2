//! Batches, plain and under conditions, written to the store and to its maps.

use super::{Map, NAMES, Pair, within};
use std::sync::atomic::Ordering;
use terrane::{Condition, Durability, KeyRange, Keyspace, Operand, Outcome, Snapshot, WriteBatch};
use terrane_tests::workload::Merge;

impl Pair {
    /// Draws a condition. Returns it for a keyspace and a snapshot, with whether it holds, if that is certain: it may
    /// not be noticed that keys which the snapshot lacks came and went with a range delete.
    fn condition<'s>(
        &mut self,
        keyspaces: &[Keyspace; 3],
        snapshots: &'s [(Snapshot, [Map; 3])],
    ) -> (Condition<'s>, Option<bool>) {
        let at = self.random.below(3) as usize;
        let (keyspace, key) = (&keyspaces[at], self.key());
        if let Some((snapshot, maps)) = snapshots.last()
            && self.random.one_in(3)
        {
            let range = self.range();
            let since = snapshot.sequence();
            let later = self.written.iter().rev().take_while(|(seq, ..)| *seq > since);
            let mut inside = later.filter(|(_, place, key)| *place == at && range.contains(key));
            let is_written = inside.next().is_some();
            let later = self.deleted.iter().rev().take_while(|(seq, ..)| *seq > since);
            let mut over =
                later.filter(|(_, place, deleted)| *place == at && overlap(deleted, &range));
            let certain = if over.next().is_none() {
                Some(!is_written)
            } else if self.expired_through >= since
                || within(&maps[at], &range) == within(&self.maps[at], &range)
            {
                None
            } else {
                Some(false)
            };
            return (snapshot.unchanged(keyspace, range), certain);
        }
        let value = self.maps[at].get(&key);
        let (condition, holds) = match self.random.below(4) {
            0 => (Condition::absent(keyspace, &key), value.is_none()),
            1 => (Condition::present(keyspace, &key), value.is_some()),
            2 => {
                let wanted = value.cloned().unwrap_or_default();
                (Condition::value(keyspace, &key, wanted), value.is_some())
            }
            _ => {
                let mut of_key =
                    self.written.iter().rev().filter(|(_, p, k)| *p == at && *k == key);
                let seq = of_key.next().map_or(0, |(seq, ..)| *seq);
                (Condition::version(keyspace, &key, seq), value.is_some())
            }
        };
        (condition, Some(holds))
    }

    /// Writes a batch under conditions.
    pub(super) fn write_if(&mut self) {
        let snapshots = std::mem::take(&mut self.snapshots);
        let keyspaces = NAMES.map(|name| self.db.create_keyspace(name).unwrap());
        let drawn: Vec<_> =
            (0..1 + self.random.below(3)).map(|_| self.condition(&keyspaces, &snapshots)).collect();
        let holding: Vec<Option<bool>> = drawn.iter().map(|(_, holds)| *holds).collect();
        let conditions = drawn.into_iter().map(|(condition, _)| condition);
        let before = (self.maps.clone(), self.written.len(), self.deleted.len());
        let times_before = self.times.clone();
        let batch = self.batch();
        let outcome = self.db.write_if(conditions, batch, Durability::Buffered).unwrap();
        match outcome {
            Outcome::Written(seq) => {
                assert_eq!(seq, self.last);
                assert!(!holding.contains(&Some(false)), "{holding:?}");
            }
            Outcome::Refused(refusals) => {
                let refused: Vec<usize> = refusals.iter().map(|r| r.condition).collect();
                assert!(!refused.is_empty());
                for (n, holds) in holding.iter().enumerate() {
                    assert!(
                        holds.is_none_or(|holds| holds != refused.contains(&n)),
                        "{n}: {holding:?}"
                    );
                }
                (self.maps, self.times, self.last) = (before.0, times_before, self.last - 1);
                self.written.truncate(before.1);
                self.deleted.truncate(before.2);
            }
        }
        self.snapshots = snapshots;
    }

    pub(super) fn write(&mut self) {
        let batch = self.batch();
        let sync = self.random.one_in(8);
        let durability = if sync { Durability::Sync } else { Durability::Buffered };
        assert_eq!(self.db.write(batch, durability).unwrap(), self.last);
    }

    /// Draws the next batch, and applies it to the maps.
    fn batch(&mut self) -> WriteBatch {
        let mut batch = WriteBatch::new();
        self.last += 1;
        let mut written: Option<(usize, Vec<u8>)> = None;
        for _ in 0..1 + self.random.below(8) {
            if self.random.one_in(16) {
                self.delete_range(&mut batch);
                continue;
            }
            // Sometimes the key just written: the last entry of a batch wins.
            let again = written.take().filter(|_| self.random.one_in(3));
            let (at, key) = again.unwrap_or_else(|| (self.random.below(3) as usize, self.key()));
            written = Some((at, key.clone()));
            self.written.push((self.last, at, key.clone()));
            let id = self.db.create_keyspace(NAMES[at]).unwrap().id();
            self.times[at].remove(&key);
            if self.random.one_in(4) {
                batch.delete(id, &key).unwrap();
                self.maps[at].remove(&key);
                continue;
            }
            let value = vec![self.random.word() as u8; self.random.below(60) as usize];
            if at > 0 && self.random.one_in(2) {
                let value = self.merge(&mut batch, at, &key);
                self.maps[at].insert(key, value);
                continue;
            }
            if at == 0 && self.random.one_in(3) {
                let now = self.clock.load(Ordering::Relaxed);
                let expires_at = now + self.random.below(300);
                batch.put_expiring_at(id, &key, &value, expires_at).unwrap();
                self.times[at].insert(key.clone(), expires_at);
                if expires_at <= now {
                    self.maps[at].remove(&key);
                    continue;
                }
            } else {
                batch.put(id, &key, &value).unwrap();
            }
            self.maps[at].insert(key, value);
        }
        batch
    }

    /// Adds a merge to a batch, and returns the value that it makes.
    fn merge(&mut self, batch: &mut WriteBatch, at: usize, key: &[u8]) -> Vec<u8> {
        let id = self.db.create_keyspace(NAMES[at]).unwrap().id();
        let before = self.maps[at].get(key);
        if at == 1 {
            let merge = Merge::draw(&mut self.random);
            batch.merge(id, key, merge.operand()).unwrap();
            return merge.apply(before);
        }
        let operand = vec![self.random.word() as u8; self.random.below(8) as usize];
        batch.merge(id, key, Operand::Custom(&operand)).unwrap();
        [before.cloned().unwrap_or_default(), operand].concat()
    }

    fn delete_range(&mut self, batch: &mut WriteBatch) {
        let range = match self.random.below(4) {
            0 => self.range(),
            1 => KeyRange::prefix(format!("k0{}", self.random.below(10))),
            _ => {
                let from = self.random.below(150);
                let to = from + self.random.below(30);
                KeyRange::from(format!("k{from:03}")..format!("k{to:03}"))
            }
        };
        let at = self.random.below(3) as usize;
        let id = self.db.create_keyspace(NAMES[at]).unwrap().id();
        batch.delete_range(id, &range).unwrap();
        if batch.is_empty() {
            // An empty range is no entry, and an empty batch has no number of its own.
            let key = self.key();
            batch.delete(id, &key).unwrap();
            self.maps[at].remove(&key);
            self.times[at].remove(&key);
            self.written.push((self.last, at, key));
        }
        self.maps[at].retain(|key, _| !range.contains(key));
        self.times[at].retain(|key, _| !range.contains(key));
        self.deleted.push((self.last, at, range));
    }
}

/// Whether two ranges share a key.
fn overlap(a: &KeyRange, b: &KeyRange) -> bool {
    let Some(((a, a_end), (b, b_end))) = a.half_open().zip(b.half_open()) else { return false };
    let from = a.max(b);
    [a_end, b_end].iter().all(|end| end.as_ref().is_none_or(|end| from < *end))
}
