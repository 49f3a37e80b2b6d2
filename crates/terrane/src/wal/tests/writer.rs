use super::*;
use crate::error::ErrorKind;

#[test]
fn a_short_write_is_an_error_and_closes_the_log() {
    let disk = Disk::holding("log", Vec::new());
    let mut log = LogWriter::begin(disk.clone(), id(1), CAPACITY).unwrap();
    let one = batch(1, 1, 10);
    log.append(1, 0, &[one.bytes()]).unwrap();
    disk.state.lock().unwrap().room = Some(20);
    assert!(matches!(
        log.append(2, 0, &[one.bytes()]).map_err(Error::into_kind),
        Err(ErrorKind::Short(_))
    ));
    disk.state.lock().unwrap().room = None;
    assert!(matches!(
        log.append(2, 0, &[one.bytes()]).map_err(Error::into_kind),
        Err(ErrorKind::Poisoned(_))
    ));
    assert!(matches!(log.claim(2, 1).map_err(Error::into_kind), Err(ErrorKind::Poisoned(_))));
}

#[test]
fn a_record_that_does_not_fit_leaves_the_log_writable() {
    let one = batch(1, 1, 10);
    let size = record_bytes(payload(&[one.bytes()]));
    let disk = Disk::holding("log", Vec::new());
    let capacity = 2 * size + HEADER_BYTES as u64 + 8;
    let mut log = LogWriter::begin(disk.clone(), id(1), capacity).unwrap();
    log.append(1, 0, &[one.bytes()]).unwrap();
    assert!(log.append(2, 0, &[&one.bytes().repeat(3)]).is_err());
    assert!(log.append(2, 0, &[]).is_err());
    assert!(log.append(2, 0, &[&[]]).is_err());
    log.append(2, 0, &[one.bytes()]).unwrap();
    assert!(!log.fits(payload(&[one.bytes()])));
    assert_eq!((log.bytes(), disk.len().unwrap()), (2 * size, 2 * size + 8));
    log.claim(3, 2).unwrap();
    log.claim(3, 2).unwrap();
    assert_eq!(
        disk.len().unwrap(),
        capacity,
        "there is room for one claim, and no more is written"
    );
}

#[test]
fn the_claim_that_all_is_synced_finds_room_at_the_end_of_a_log() {
    let one = batch(1, 1, 10);
    let size = record_bytes(payload(&[one.bytes()]));
    let disk = Disk::holding("log", Vec::new());
    let mut log = LogWriter::begin(disk.clone(), id(1), 2 * size + HEADER_BYTES as u64).unwrap();
    log.append(1, 0, &[one.bytes()]).unwrap();
    log.append(2, 0, &[one.bytes()]).unwrap();
    // A sync that started before the second record and ends after it, then one that covers both.
    log.claim(3, 1).unwrap();
    log.claim(3, 2).unwrap();
    let replayed = replay(&[(id(1), disk)], 1, 0, &mut |_, _| Ok(())).unwrap();
    assert_eq!((replayed.next, replayed.claim), (3, 2));
}

/// A file whose mapping takes a number of writes, and their offsets.
struct MappedDisk {
    disk: Arc<Disk>,
    offsets: Arc<Mutex<Vec<u64>>>,
    takes: usize,
    /// Held by each of its mappings.
    held: Arc<()>,
}

struct Mapping {
    disk: Arc<Disk>,
    offsets: Arc<Mutex<Vec<u64>>>,
    left: usize,
    _held: Arc<()>,
}

impl MappedFile for Mapping {
    fn append(&mut self, head: &[u8], rest: &[u8], offset: u64) -> bool {
        let mut write = |bytes: &[u8], at: u64| {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            self.offsets.lock().unwrap().push(at);
            self.disk.write_at(bytes, at).unwrap() == bytes.len()
        };
        write(rest, offset + head.len() as u64) && write(head, offset)
    }
}

impl File for MappedDisk {
    fn name(&self) -> &str {
        self.disk.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.disk.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.disk.write_at(buf, offset)
    }
    fn sync(&self) -> Result<()> {
        self.disk.sync()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.disk.set_len(len)
    }
    fn len(&self) -> Result<u64> {
        self.disk.len()
    }
    fn map(&self, _: u64, _: u64) -> Option<Box<dyn MappedFile>> {
        let (disk, offsets) = (self.disk.clone(), self.offsets.clone());
        Some(Box::new(Mapping { disk, offsets, left: self.takes, _held: self.held.clone() }))
    }
}

/// A file whose mapping takes `takes` writes, its content, and their offsets.
fn mapped_disk(takes: usize) -> (MappedDisk, Arc<Disk>, Arc<Mutex<Vec<u64>>>) {
    let (disk, offsets) = (Disk::holding("log", Vec::new()), Arc::<Mutex<Vec<u64>>>::default());
    let file =
        MappedDisk { disk: disk.clone(), offsets: offsets.clone(), takes, held: Arc::default() };
    (file, disk, offsets)
}

#[test]
fn a_mapped_log_equals_an_unmapped_one() {
    let write = |file: Arc<dyn File>| {
        let mut log = LogWriter::begin(file, id(1), CAPACITY).unwrap();
        for n in 1..=6 {
            log.append(n, 0, &[batch(n, 2, 30).bytes()]).unwrap();
        }
        log.claim(7, 6).unwrap();
    };
    let plain = Disk::holding("log", Vec::new());
    write(plain.clone());
    // The claim follows a sync, and is written by a call.
    for takes in 0..=12 {
        let (file, disk, offsets) = mapped_disk(takes);
        write(Arc::new(file));
        assert_eq!(disk.state().bytes, plain.state().bytes, "{takes} writes through memory");
        let offsets = offsets.lock().unwrap();
        assert_eq!(offsets.len(), takes);
        let pairs = offsets.as_chunks::<2>().0;
        let in_memory = |[rest, head]: &[u64; 2]| *rest == head + HEADER_BYTES as u64;
        assert!(pairs.iter().all(in_memory), "{offsets:?}");
    }
}

#[test]
fn a_record_for_a_sync_is_written_by_a_call() {
    let (file, disk, offsets) = mapped_disk(100);
    let mut log = LogWriter::begin(Arc::new(file), id(1), CAPACITY).unwrap();
    log.append_to_sync(1, 0, &[batch(1, 2, 30).bytes()]).unwrap();
    assert!(offsets.lock().unwrap().is_empty());
    let end = log.bytes();
    log.append(2, 1, &[batch(2, 2, 30).bytes()]).unwrap();
    assert_eq!(*offsets.lock().unwrap(), [end + HEADER_BYTES as u64, end]);
    let replayed = replay(&[(id(1), disk)], 1, 0, &mut |_, _| Ok(())).unwrap();
    assert_eq!(replayed.next, 3);
}

#[test]
fn a_log_is_mapped_from_its_first_buffered_record_to_its_end() {
    let (file, ..) = mapped_disk(100);
    let held = file.held.clone();
    let mappings = || Arc::strong_count(&held) - 2;
    let mut log = LogWriter::begin(Arc::new(file), id(1), CAPACITY).unwrap();
    log.append_to_sync(1, 0, &[batch(1, 2, 30).bytes()]).unwrap();
    log.claim(2, 1).unwrap();
    assert_eq!(mappings(), 0);
    log.append(2, 1, &[batch(2, 2, 30).bytes()]).unwrap();
    log.append(3, 1, &[batch(3, 2, 30).bytes()]).unwrap();
    assert_eq!(mappings(), 1);
    drop(log);
    assert_eq!(Arc::strong_count(&held), 1);
}
