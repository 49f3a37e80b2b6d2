//! Gets, scans and cursors, compared with the maps.

use super::{Map, NAMES, Pair, within};
use terrane::{KeyRange, Scan};

impl Pair {
    /// Compares a scan of a range, from either end or both, with a map.
    fn compare(&mut self, mut scan: Scan, map: &Map, range: &KeyRange) {
        let mut expected = within(map, range).into_iter();
        let from_end = self.random.below(3);
        loop {
            let forward = from_end == 0 || (from_end == 1 && self.random.one_in(2));
            let shown = if forward { scan.next() } else { scan.next_back() }.transpose().unwrap();
            let wanted = if forward { expected.next() } else { expected.next_back() };
            assert_eq!(shown, wanted);
            if wanted.is_none() {
                assert!(scan.next().is_none() && scan.next_back().is_none());
                return;
            }
        }
    }

    /// Seeks keys of a range and steps once from each, in either direction.
    pub(super) fn seek(&mut self) {
        let at = self.random.below(3) as usize;
        let range = self.range();
        let expected = within(&self.maps[at], &range);
        let mut cursor = self.db.create_keyspace(NAMES[at]).unwrap().cursor(range).unwrap();
        for _ in 0..8 {
            let key = self.key();
            cursor.seek(&key);
            let forward = self.random.one_in(2);
            let wanted = if forward {
                expected.iter().find(|(k, _)| *k >= key)
            } else {
                expected.iter().rev().find(|(k, _)| *k <= key)
            };
            let shown = if forward { cursor.next() } else { cursor.prev() }.unwrap();
            assert_eq!(shown, wanted.map(|(k, v)| (k.as_slice(), v.as_slice())));
        }
    }

    /// Steps back and forth over a range.
    pub(super) fn zigzag(&mut self) {
        let at = self.random.below(3) as usize;
        let range = self.range();
        let expected = within(&self.maps[at], &range);
        let mut cursor = self.db.create_keyspace(NAMES[at]).unwrap().cursor(range).unwrap();
        let mut place = None;
        for _ in 0..20 {
            let forward = self.random.below(3) > 0;
            let next = match (place, forward) {
                (None, true) => 0,
                (None, false) => expected.len().wrapping_sub(1),
                (Some(at), true) => at + 1,
                (Some(at), false) => usize::wrapping_sub(at, 1),
            };
            let shown = if forward { cursor.next() } else { cursor.prev() }.unwrap();
            let wanted = expected.get(next).map(|(k, v)| (k.as_slice(), v.as_slice()));
            assert_eq!(shown, wanted);
            if wanted.is_none() {
                return;
            }
            place = Some(next);
        }
    }

    pub(super) fn look(&mut self) {
        let at = self.random.below(3) as usize;
        let keyspace = self.db.create_keyspace(NAMES[at]).unwrap();
        let key = self.key();
        let found = keyspace.get_versioned(&key).unwrap();
        assert_eq!(found.as_ref().map(|found| &found.value), self.maps[at].get(&key));
        if let Some(found) = found {
            assert_eq!(found.expires_at, self.times[at].get(&key).copied());
        }
        let range = self.range();
        let scan = keyspace.scan(&range).unwrap();
        let map = self.maps[at].clone();
        self.compare(scan, &map, &range);
        if self.snapshots.is_empty() {
            return;
        }
        let pick = self.random.below(self.snapshots.len() as u64) as usize;
        let (snapshot, maps) = self.snapshots.swap_remove(pick);
        let got = snapshot.get_many(&keyspace, &[key.as_slice(), b"k001"]).unwrap();
        let wanted = [maps[at].get(&key).cloned(), maps[at].get(b"k001".as_slice()).cloned()];
        assert_eq!(got, wanted);
        let scan = snapshot.scan(&keyspace, &range).unwrap();
        self.compare(scan, &maps[at], &range);
        self.snapshots.push((snapshot, maps));
    }

    /// Takes a few more steps of a scan that was opened long ago.
    pub(super) fn resume_scan(&mut self) {
        if self.scans.len() < 3 {
            let at = self.random.below(3) as usize;
            let scan = self.db.create_keyspace(NAMES[at]).unwrap().scan(..).unwrap();
            self.scans.push((scan, within(&self.maps[at], &KeyRange::default())));
        }
        let pick = self.random.below(self.scans.len() as u64) as usize;
        let (mut scan, mut left) = self.scans.swap_remove(pick);
        for _ in 0..7 {
            let wanted = (!left.is_empty()).then(|| left.remove(0));
            assert_eq!(scan.next().transpose().unwrap(), wanted);
            if wanted.is_none() {
                return;
            }
        }
        self.scans.push((scan, left));
    }
}
