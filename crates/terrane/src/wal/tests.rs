mod chunks;
mod damage;
mod ends;
mod hole;
mod nested;
mod rewrite;
mod stale;
mod sync;
mod writer;

use super::record::HEADER_BYTES;
use super::*;
use crate::batch::WriteBatch;
use crate::entry::Seq;
use crate::error::{Corruption, Error, ErrorKind, Result};
use crate::keyspace::KeyspaceId;
use crate::storage::{File, MappedFile};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// The sector size: what a crash loses or keeps as a whole. Small, so that records are often torn.
const SECTOR: usize = 64;

/// A file that tracks which of its bytes are synced.
#[derive(Default)]
struct Disk {
    name: String,
    state: Mutex<State>,
}

#[derive(Clone, Default)]
struct State {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    /// Bytes that can be written before writes come up short.
    room: Option<usize>,
}

impl Disk {
    fn holding(name: &str, bytes: Vec<u8>) -> Arc<Self> {
        let state = State { synced: bytes.clone(), bytes, room: None };
        Arc::new(Disk { name: name.to_owned(), state: Mutex::new(state) })
    }

    fn state(&self) -> State {
        self.state.lock().unwrap().clone()
    }
}

impl File for Disk {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let state = self.state.lock().unwrap();
        let bytes = state.bytes.get(offset as usize..).unwrap_or_default();
        let n = buf.len().min(bytes.len());
        buf[..n].copy_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let mut state = self.state.lock().unwrap();
        let n = state.room.unwrap_or(usize::MAX).min(buf.len());
        let (from, to) = (offset as usize, offset as usize + n);
        let len = state.bytes.len().max(to);
        state.bytes.resize(len, 0);
        state.bytes[from..to].copy_from_slice(&buf[..n]);
        Ok(n)
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap();
        state.synced = state.bytes.clone();
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.state.lock().unwrap().bytes.resize(len as usize, 0);
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.state.lock().unwrap().bytes.len() as u64)
    }
}

/// A batch of `entries` entries that no other batch equals, with about `size` bytes of values.
fn batch(first: Seq, entries: usize, size: usize) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for i in 0..entries {
        let key = (first + i as u64).to_be_bytes();
        match i % 3 {
            2 => batch.delete(KeyspaceId(7), &key).unwrap(),
            _ => batch.put(KeyspaceId(i as u32), &key, &vec![first as u8; size / entries]).unwrap(),
        }
    }
    batch
}

/// A record that was written, as the reference.
struct Written {
    log: usize,
    offset: usize,
    first: Seq,
    /// The synced sequence it was written with.
    claim: Seq,
    /// Header and payload, without padding.
    bytes: Vec<u8>,
    batches: Vec<WriteBatch>,
}

/// Logs, with what was written to them and synced.
struct World {
    disks: Vec<Arc<Disk>>,
    writer: LogWriter,
    records: Vec<Written>,
    start: Seq,
    next: Seq,
    synced: Seq,
}

const CAPACITY: u64 = 64 << 20;
const FIRST_LOG: u64 = 5;

/// Log `number` of the store under test.
fn id(number: u64) -> LogId {
    LogId { number, salt: 0x5a17 }
}

/// Replays the logs, given in any order, from `start` on.
fn replay(
    logs: &[(LogId, Arc<dyn File>)],
    start: Seq,
    floor: Seq,
    apply: Apply<'_>,
) -> Result<Replayed> {
    let mut logs: Vec<_> = logs.iter().collect();
    logs.sort_by_key(|(id, _)| id.number);
    let mut replay = Replay::new(start, floor);
    for (id, file) in logs {
        replay.log(*id, file, None, apply)?;
    }
    replay.end()
}

/// Bytes of a payload of these batches.
fn payload(parts: &[&[u8]]) -> usize {
    payload_bytes(parts.iter().map(|part| part.len()))
}

impl World {
    fn new(start: Seq) -> Self {
        let disk = Disk::holding("0.log", Vec::new());
        let writer = LogWriter::begin(disk.clone(), id(FIRST_LOG), CAPACITY).unwrap();
        let (disks, records) = (vec![disk], Vec::new());
        World { disks, writer, records, start, next: start, synced: start - 1 }
    }

    /// Appends one record of batches with these numbers of entries.
    fn append(&mut self, groups: &[usize], size: usize) {
        let (first, mut batches) = (self.next, Vec::new());
        for &entries in groups {
            batches.push(batch(self.next, entries, size));
            self.next += 1;
        }
        self.append_batches(first, &batches);
    }

    /// Appends one record of these batches, whose first sequence is `first`.
    fn append_batches(&mut self, first: Seq, batches: &[WriteBatch]) {
        let parts: Vec<&[u8]> = batches.iter().map(WriteBatch::bytes).collect();
        let offset = self.writer.bytes() as usize;
        self.writer.append(first, self.synced, &parts).unwrap();
        let log = self.disks.len() - 1;
        let end = offset + HEADER_BYTES + payload(&parts);
        let bytes = self.disks[log].state().bytes[offset..end].to_vec();
        let batches = batches.to_vec();
        self.records.push(Written { log, offset, first, claim: self.synced, bytes, batches });
    }

    fn sync(&mut self) {
        self.disks.iter().for_each(|disk| disk.sync().unwrap());
        self.synced = self.next - 1;
    }

    /// Continues in a new log, in an empty file or in one recycled from the first log.
    fn roll(&mut self, recycle: bool) {
        let old = if recycle { self.disks[0].state().bytes } else { Vec::new() };
        let disk = Disk::holding(&format!("{}.log", self.disks.len()), old);
        let number = FIRST_LOG + self.disks.len() as u64;
        self.writer = LogWriter::begin(disk.clone(), id(number), CAPACITY).unwrap();
        self.disks.push(disk);
    }

    /// The files as they are.
    fn images(&self) -> Vec<Vec<u8>> {
        self.disks.iter().map(|disk| disk.state().bytes).collect()
    }

    /// The files after a crash: for each unsynced sector the old or the new content, as `keep` decides,
    /// and an unsynced end cut off.
    fn crash(&self, mut keep: impl FnMut() -> bool, cut: usize) -> Vec<Vec<u8>> {
        let mut images = Vec::new();
        for disk in &self.disks {
            let State { mut bytes, mut synced, .. } = disk.state();
            let least = synced.len();
            synced.resize(bytes.len(), 0);
            for (new, old) in bytes.chunks_mut(SECTOR).zip(synced.chunks(SECTOR)) {
                if !keep() {
                    new.copy_from_slice(old);
                }
            }
            bytes.truncate(bytes.len().saturating_sub(cut).max(least));
            images.push(bytes);
        }
        images
    }

    /// Replays the images and compares the result with the reference.
    fn check(&self, images: &[Vec<u8>], floor: Seq) -> Result<Replayed> {
        let intact = |record: &&Written| {
            let bytes = images[record.log].get(record.offset..).unwrap_or_default();
            bytes.starts_with(&record.bytes)
        };
        let lost = self.records.iter().find(|record| !intact(record));
        let next = lost.map_or(self.next, |record| record.first);
        let claims = self.records.iter().filter(intact).map(|record| record.claim);
        let claim = claims.max().unwrap_or(0).max(floor);

        let logs: Vec<(LogId, Arc<dyn File>)> = images
            .iter()
            .enumerate()
            .map(|(i, bytes)| {
                let disk = Disk::holding(&format!("{i}.log"), bytes.clone());
                (id(FIRST_LOG + i as u64), disk as Arc<dyn File>)
            })
            .rev()
            .collect();
        let mut written = (self.start..).zip(self.records.iter().flat_map(|r| &r.batches));
        let mut entries = 0;
        let replayed = replay(&logs, self.start, floor, &mut |seq, bytes| {
            let (expected, batch) = written.next().unwrap();
            assert_eq!((seq, bytes), (expected, batch.bytes()));
            entries += batch.len() as u64;
            Ok(())
        });
        match replayed.as_ref().map_err(Error::kind) {
            Ok(found) => {
                assert!(claim < next, "{claim} is synced, and {next} is missing");
                assert_eq!(found.next, next);
                assert_eq!((found.batches, found.entries), (next - self.start, entries));
                let whole = self.records.iter().filter(|record| record.first < next);
                assert_eq!(found.records, whole.count() as u64);
                let (least, most) = self.discarded(next, intact);
                let bytes = found.discarded_bytes;
                assert!((least..=most).contains(&bytes), "{least} <= {bytes} <= {most}");
            }
            Err(ErrorKind::Corrupt(damage)) => {
                let Corruption { file, offset, .. } = damage;
                let lost = lost.filter(|_| claim >= next).expect("nothing synced is missing");
                // It is not always known whether the record was the last of a log or the first of the
                // next, nor which of two is meant if the start of a later log is lost as well.
                let before = self.records.iter().rfind(|record| record.first < lost.first);
                let end = before.map(|r| (r.log, (r.offset + r.bytes.len()).next_multiple_of(8)));
                let fronts = self.records.iter().filter(|r| r.offset == 0 && !intact(r));
                let named = |(log, at)| *file == format!("{log}.log") && *offset == at as u64;
                assert!(
                    named((lost.log, lost.offset))
                        || named(end.unwrap_or((0, 0)))
                        || fronts.map(|r| (r.log, 0)).any(named),
                    "{file} {offset}"
                );
            }
            Err(other) => panic!("{other}"),
        }
        replayed
    }

    /// The bounds of the bytes reported as discarded: through the last intact record of each log, and
    /// through the last one written, or a header for a log without a valid end.
    fn discarded(&self, next: Seq, intact: impl Fn(&&Written) -> bool) -> (u64, u64) {
        let (mut least, mut most) = (0, 0);
        for log in 0..self.disks.len() {
            let all = || self.records.iter().filter(|r| r.log == log && r.first >= next);
            let from = all().next().map_or(0, |r| r.offset);
            let extent = |r: &Written| r.offset + r.bytes.len() - from;
            least += all().filter(&intact).map(extent).max().unwrap_or(0);
            most += all().map(extent).max().unwrap_or(0).max(HEADER_BYTES).next_multiple_of(8);
        }
        (least as u64, most as u64)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Append(Vec<usize>, usize),
    Sync,
    Roll(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let groups = prop::collection::vec(1usize..4, 1..3);
    let step = prop_oneof![
        6 => (groups, 0usize..300).prop_map(|(groups, size)| Step::Append(groups, size)),
        1 => Just(Step::Sync),
        1 => any::<bool>().prop_map(Step::Roll),
    ];
    prop::collection::vec(step, 1..40)
}

fn world(steps: &[Step]) -> World {
    let mut world = World::new(10);
    for step in steps {
        match step {
            Step::Append(groups, size) => world.append(groups, *size),
            Step::Sync => world.sync(),
            Step::Roll(recycle) => world.roll(*recycle),
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_crash_loses_only_a_suffix_and_no_synced_record(
        steps in steps(),
        kept in prop::collection::vec(prop::bool::weighted(0.8), 64),
        cut in prop_oneof![2 => Just(0usize), 1 => 0usize..600],
        floored in any::<bool>(),
    ) {
        let world = world(&steps);
        let mut kept = kept.iter().cycle();
        let images = world.crash(|| *kept.next().unwrap(), cut);
        let floor = if floored { world.synced } else { 0 };
        let replayed = world.check(&images, floor);
        prop_assert!(replayed.unwrap().next > world.synced);
    }

    #[test]
    fn damage_below_a_claim_is_corruption_whatever_else_survives(
        steps in steps(),
        kept in prop::collection::vec(prop::bool::weighted(0.9), 64),
        place in any::<prop::sample::Index>(),
        bit in 0u8..8,
        floored in any::<bool>(),
    ) {
        let world = world(&steps);
        let mut kept = kept.iter().cycle();
        let mut images = world.crash(|| *kept.next().unwrap(), 0);
        let total: usize = images.iter().map(Vec::len).sum();
        if let Some(byte) = images.iter_mut().flatten().nth(place.index(total.max(1))) {
            *byte ^= 1u8 << bit;
        }
        // `check` decides which outcome is right.
        let _ = world.check(&images, if floored { world.synced } else { 0 });
    }

    #[test]
    fn any_bytes_scan_and_replay_without_harm(
        mut bytes in prop::collection::vec(prop_oneof![3 => Just(0u8), 1 => any::<u8>()], 0..400),
        place in any::<prop::sample::Index>(),
    ) {
        let mut world = World::new(1);
        world.append(&[2], 50);
        let record = &world.records[0].bytes;
        let at = place.index(bytes.len() + 1);
        bytes.splice(at..at, record.iter().copied());
        let found = scan(&bytes, id(FIRST_LOG)).unwrap();
        let expected = if at % 8 == 0 { vec![at as u64] } else { Vec::new() };
        prop_assert_eq!(found.iter().map(|f| f.offset).collect::<Vec<_>>(), expected);

        let log = (id(FIRST_LOG), Disk::holding("any", bytes) as Arc<dyn File>);
        let replayed = replay(&[log], 1, 0, &mut |_, _| Ok(())).unwrap();
        prop_assert_eq!(replayed.entries, if at == 0 { 2 } else { 0 });
    }
}

/// Two records synced, two that claim them, over two logs.
fn small() -> World {
    let mut world = World::new(1);
    world.append(&[1], 9);
    world.append(&[2, 1], 30);
    world.sync();
    world.roll(true);
    world.append(&[1], 5);
    world.append(&[1], 5);
    world
}

#[test]
fn a_record_longer_than_one_read_is_recovered() {
    let mut world = World::new(1);
    world.append(&[1], 10);
    world.append(&[2], 3 << 20);
    world.append(&[1], 700 << 10);
    world.append(&[1], 700 << 10);
    let mut images = world.images();
    assert_eq!(world.check(&images, 0).unwrap().records, 4);

    // With its last byte damaged, the search continues after it.
    let long = &world.records[1];
    images[0][long.offset + long.bytes.len() - 1] ^= 1;
    assert_eq!(world.check(&images, 0).unwrap().records, 1);
    assert!(world.check(&images, long.first).is_err());
}

#[test]
fn a_malformed_payload_under_a_valid_checksum_is_corruption() {
    let disk = Disk::holding("log", Vec::new());
    LogWriter::begin(disk.clone(), id(1), CAPACITY)
        .unwrap()
        .append(1, 0, &[&[1, 0xff, 0xff]])
        .unwrap();
    let error = replay(&[(id(1), disk)], 1, 0, &mut |_, _| Ok(())).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Corrupt(damage) if damage.offset == 33), "{error}");
}

#[test]
fn a_later_kind_of_entry_is_refused_and_never_discarded() {
    for (kind, name) in [(5, "a separated value"), (7, "an entry of kind 7")] {
        let disk = Disk::holding("log", Vec::new());
        let mut log = LogWriter::begin(disk.clone(), id(1), CAPACITY).unwrap();
        let known = batch(1, 1, 10);
        let later = [known.bytes(), &[kind, 0, 1, b'k']].concat();
        log.append(1, 0, &[known.bytes()]).unwrap();
        log.append(2, 0, &[known.bytes(), &later]).unwrap();
        let mut applied = Vec::new();
        let read = replay(&[(id(1), disk)], 1, 0, &mut |seq, _| {
            applied.push(seq);
            Ok(())
        });
        let read = read.map_err(Error::into_kind);
        let Err(ErrorKind::NewerFormat(newer)) = read else { panic!("{read:?}") };
        assert_eq!((newer.file.as_str(), newer.found.as_str()), ("log", name));
        assert_eq!(applied, [1], "nothing of a record that is refused");
    }
}

#[test]
fn batches_come_back_whole_and_any_bytes_are_safe_to_split() {
    let long = vec![7; 300];
    let parts: [&[u8]; 4] = [&[1], &long, &long[..127], &long[..128]];
    let mut bytes = Vec::new();
    parts.iter().for_each(|part| record::push_batch(&mut bytes, part));
    assert_eq!(bytes.len(), payload(&parts));
    let read: Vec<_> = batches(&bytes).map(|found| found.unwrap().1).collect();
    assert_eq!(read, parts);
    for cut in 0..bytes.len() {
        let found: Vec<_> = batches(&bytes[..cut]).collect();
        let whole = found.iter().take_while(|found| found.is_ok()).count();
        assert!(found.len() - whole <= 1, "damage ends the iteration");
        assert!((found.iter().flatten().map(|(_, part)| part)).eq(&parts[..whole]));
    }
    assert!(batches(&[0]).all(|found| found.is_err()), "a batch has an entry at least");
}
