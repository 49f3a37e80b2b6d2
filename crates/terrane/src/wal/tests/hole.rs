use super::*;
use crate::storage::vfs::{NativeVfs, Vfs};

/// A file too long to be read as a whole, with a few bytes at its start and end.
struct Sparse {
    front: Vec<u8>,
    end: Vec<u8>,
    len: u64,
    /// Whether `next_data` finds the bytes at the end.
    tells: bool,
    reads: Mutex<u64>,
}

impl File for Sparse {
    fn name(&self) -> &str {
        "sparse"
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        *self.reads.lock().unwrap() += 1;
        buf.fill(0);
        for (bytes, at) in [(&self.front, 0), (&self.end, self.len - self.end.len() as u64)] {
            for (n, byte) in (at..).zip(bytes) {
                if let Some(to) = n.checked_sub(offset).and_then(|i| buf.get_mut(i as usize)) {
                    *to = *byte;
                }
            }
        }
        Ok(buf.len())
    }

    fn write_at(&self, _: &[u8], _: u64) -> Result<usize> {
        unreachable!("it is read alone")
    }

    fn sync(&self) -> Result<()> {
        unreachable!("it is read alone")
    }

    fn set_len(&self, _: u64) -> Result<()> {
        unreachable!("it is read alone")
    }

    fn len(&self) -> Result<u64> {
        Ok(self.len)
    }

    fn next_data(&self, offset: u64) -> Result<u64> {
        let end = self.len - self.end.len() as u64;
        Ok(if self.tells && offset >= self.front.len() as u64 { end.max(offset) } else { offset })
    }
}

#[test]
fn a_hole_in_a_log_is_skipped_in_large_strides() {
    let mut world = World::new(1);
    world.append(&[1], 9);
    let front = world.images().remove(0);
    world.append(&[1], 9);
    world.sync();
    world.append(&[1], 9);
    let claiming = world.records.last().unwrap();
    let end = claiming.bytes.clone().into_iter().chain([0; 8]).collect::<Vec<_>>();
    let end = [end.clone(), vec![0; end.len().next_multiple_of(8) - end.len()]].concat();
    for (len, tells, most) in [(64 << 20, false, 100), (8 << 40, true, 10)] {
        for (end, is_lost) in [(end.clone(), true), (vec![0; 8], false)] {
            let reads = Mutex::new(0);
            let file = Arc::new(Sparse { front: front.clone(), end, len, tells, reads });
            let log: Arc<dyn File> = file.clone();
            let replayed = replay(&[(id(FIRST_LOG), log)], 1, 0, &mut |_, _| Ok(()));
            assert_eq!(replayed.is_err(), is_lost, "{replayed:?}");
            let reads = *file.reads.lock().unwrap();
            assert!(reads <= most, "{reads} reads of {len} bytes");
        }
    }
}

#[test]
fn a_hole_of_a_terabyte_in_a_native_log_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let file = NativeVfs::open(dir.path(), true).unwrap().create("log").unwrap();
    file.write_at(&[1; 5000], 0).unwrap();
    // Some file systems do not support files of this length, or finding holes.
    if file.set_len(1 << 40).is_err() || file.next_data(1 << 30).unwrap() == 1 << 30 {
        return;
    }
    file.write_at(&[1], 1 << 35).unwrap();
    let mut replay = Replay::new(1, 0);
    let log = replay.log(id(FIRST_LOG), &file, None, &mut |_, _| Ok(())).unwrap();
    assert_eq!(log.end, 0);
}
