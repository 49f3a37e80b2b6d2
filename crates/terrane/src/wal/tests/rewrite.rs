//! Records rewritten after a replay, losses of each log, and owners of log files.

use super::*;

/// A file that notes the ranges written, and counts syncs.
#[derive(Default)]
struct Noting {
    disk: Disk,
    writes: Mutex<Vec<(u64, u64)>>,
    syncs: Mutex<u32>,
}

impl File for Noting {
    fn name(&self) -> &str {
        "log"
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.disk.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.writes.lock().unwrap().push((offset, offset + buf.len() as u64));
        self.disk.write_at(buf, offset)
    }
    fn sync(&self) -> Result<()> {
        *self.syncs.lock().unwrap() += 1;
        Ok(())
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.disk.set_len(len)
    }
    fn len(&self) -> Result<u64> {
        self.disk.len()
    }
}

/// The ranges that are written again of the one log of `world`, if batches through `claim` are
/// durable; adjacent ones joined.
fn rewritten(world: &World, claim: Seq) -> Option<(u64, u64)> {
    let image = world.images().remove(0);
    let (end, last) = (world.writer.bytes(), world.next - 1);
    let file = Noting::default();
    file.disk.write_at(&image, 0).unwrap();
    let found = ReplayedLog { end, discarded_bytes: 0, last };
    write_again(id(FIRST_LOG), &file, found, claim).unwrap();
    assert_eq!(file.disk.state().bytes, image, "the same bytes");
    let writes = file.writes.lock().unwrap().clone();
    assert!(writes.is_sorted_by(|a, b| a.1 == b.0), "{writes:?}");
    assert!(writes.iter().all(|(from, to)| (1..=256 << 10).contains(&(to - from))), "{writes:?}");
    assert_eq!(*file.syncs.lock().unwrap(), u32::from(!writes.is_empty()));
    Some((writes.first()?.0, writes.last()?.1))
}

#[test]
fn records_with_a_batch_after_the_claim_are_written_again() {
    let mut world = World::new(1);
    for (groups, size) in [(&[1][..], 10), (&[1, 1], 300 << 10), (&[1], 700 << 10), (&[1, 1], 10)] {
        world.append(groups, size);
    }
    let at = |n: usize| world.records[n].offset as u64;
    let end = world.writer.bytes();
    // The records start with sequence numbers 1, 2, 4 and 5.
    let from = [at(0), at(1), at(1), at(2), at(3), at(3)];
    for (claim, from) in (0..).zip(from) {
        assert_eq!(rewritten(&world, claim), Some((from, end)), "claim {claim}");
    }
    assert_eq!(rewritten(&world, 6), None);
    assert_eq!(rewritten(&world, 9), None);
}

#[test]
fn a_claim_after_the_last_durable_record_is_written_again() {
    let mut world = World::new(1);
    world.append(&[1], 10);
    world.sync();
    let from = world.writer.bytes();
    world.writer.claim(2, 1).unwrap();
    assert_eq!(rewritten(&world, 1), Some((from, world.writer.bytes())));
    world.append(&[1], 10);
    assert_eq!(rewritten(&world, 1), Some((from, world.writer.bytes())));
    assert_eq!(rewritten(&World::new(1), 0), None);
}

#[test]
fn each_log_says_what_it_lost() {
    let mut world = World::new(1);
    world.append(&[1], 20);
    world.append(&[1], 100);
    world.roll(false);
    world.append(&[1], 400);
    let mut images = world.images();
    for lost in &world.records[1..] {
        images[lost.log][lost.offset + HEADER_BYTES] ^= 1;
    }
    let mut replay = Replay::new(1, 0);
    let mut lost = Vec::new();
    for (number, image) in (FIRST_LOG..).zip(images) {
        let file: Arc<dyn File> = Disk::holding("log", image);
        let log = replay.log(id(number), &file, None, &mut |_, _| Ok(())).unwrap();
        assert_eq!(log.last, 1);
        lost.push(log.discarded_bytes);
    }
    let written = |n: usize| world.records[n].bytes.len().next_multiple_of(8) as u64;
    assert_eq!(lost, [written(1), written(2)]);
    assert_eq!(replay.end().unwrap().discarded_bytes, written(1) + written(2));
}

#[test]
fn a_log_is_known_by_its_first_record() {
    let mut world = World::new(1);
    let bytes = |world: &World| world.images().remove(0);
    let of = |bytes: &[u8], salt| {
        let file = Disk::holding("log", bytes.to_vec());
        (record::log_of(bytes, salt, 1..=9), record::log_in(&*file, salt, 1..=9).unwrap())
    };
    let empty = bytes(&world);
    assert_eq!(of(&empty, 0x5a17), (None, None));
    world.append(&[1], 20);
    let whole = bytes(&world);
    let own = Some(id(FIRST_LOG));
    assert_eq!(of(&whole, 0x5a17), (own, own));
    assert_eq!(record::log_of(&whole, 0x5a17, FIRST_LOG..=FIRST_LOG), own);
    assert_eq!(record::log_of(&whole, 0x5a17, 1..=FIRST_LOG - 1), None);
    assert_eq!(of(&whole, 0x5a18), (None, None));
    let mut torn = whole.clone();
    torn[HEADER_BYTES] ^= 1;
    assert_eq!(of(&torn, 0x5a17), (own, None));
    assert_eq!(of(&whole[..HEADER_BYTES - 1], 0x5a17), (None, None));
}
