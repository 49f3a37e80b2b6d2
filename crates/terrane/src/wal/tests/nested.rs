//! Logs that are stored as values in a log: their records claim nothing there and hide none.

use super::*;

/// A record of log [`FIRST_LOG`] that claims everything before `first`, with `size` bytes of values.
fn foreign(first: Seq, size: usize) -> Vec<u8> {
    let disk = Disk::holding("foreign", Vec::new());
    let mut log = LogWriter::begin(disk.clone(), id(FIRST_LOG), CAPACITY).unwrap();
    log.append(first, first - 1, &[batch(first, 1, size).bytes()]).unwrap();
    let mut bytes = disk.state().bytes;
    bytes.truncate(log.bytes() as usize);
    bytes
}

/// A batch with a value that holds `bytes` where a record may start.
fn holding(bytes: &[u8]) -> WriteBatch {
    let padded = |pad| {
        let mut batch = WriteBatch::new();
        batch.put(KeyspaceId(0), b"k", &[&vec![1; pad], bytes].concat()).unwrap();
        batch
    };
    let aligned = |batch: &WriteBatch| {
        let at = batch.bytes().windows(bytes.len()).position(|part| part == bytes).unwrap();
        (HEADER_BYTES + payload(&[batch.bytes()]) - batch.bytes().len() + at).is_multiple_of(8)
    };
    (0..8).map(padded).find(aligned).unwrap()
}

impl World {
    fn append_holding(&mut self, bytes: &[u8]) {
        self.next += 1;
        self.append_batches(self.next - 1, &[holding(bytes)]);
    }
}

#[test]
fn a_log_stored_as_a_torn_value_claims_nothing() {
    let mut world = World::new(1);
    world.append(&[1], 10);
    world.sync();
    world.append_holding(&[foreign(1000, 20), vec![7; 100]].concat());
    world.append(&[1], 10);
    let mut images = world.images();
    let torn = &world.records[1];
    images[0][torn.offset + torn.bytes.len() - 1] ^= 1;
    let found = world.check(&images, 0).unwrap();
    assert_eq!((found.next, found.records), (torn.first, 1));

    // The same at the end of a file that ends within the value.
    images[0].truncate(torn.offset + torn.bytes.len() - 50);
    assert_eq!(world.check(&images, 0).unwrap().next, torn.first);
}

#[test]
fn a_log_stored_as_a_damaged_value_hides_no_record() {
    for whole in [0, 2] {
        let mut world = World::new(1);
        // The part ends in a record that would reach over all that follows.
        let part = [foreign(1, 20).repeat(whole), foreign(1, 300)[..40].to_vec()].concat();
        world.append_holding(&part);
        world.sync();
        world.append(&[1], 10);
        let mut images = world.images();
        images[0].resize(1000, 0);
        images[0][world.records[0].offset] ^= 1;
        let Err(ErrorKind::Corrupt(damage)) = world.check(&images, 0).map_err(Error::into_kind)
        else {
            panic!("not seen")
        };
        assert_eq!(damage.offset, 0);
    }
}
