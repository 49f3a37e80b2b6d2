//! Writes and syncs of a manifest, and the places of damage.

use super::*;
use crate::error::ErrorKind;
use std::collections::BTreeSet;
use std::sync::Mutex;

const HALF: u64 = MIN_CAPACITY / 2;
const WITNESS: u64 = MIN_CAPACITY - FRAME_ALIGN;

/// A file that notes where it is written, and its syncs as `None`.
struct Noting(Arc<dyn File>, Mutex<Vec<Option<u64>>>);

impl File for Noting {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.1.lock().unwrap().push(Some(offset));
        self.0.write_at(buf, offset)
    }
    fn sync(&self) -> Result<()> {
        self.1.lock().unwrap().push(None);
        self.0.sync()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }
    fn len(&self) -> Result<u64> {
        self.0.len()
    }
}

/// A file with a manifest of a snapshot and `n` edits, and what happens to it from now on.
fn noting(n: u64) -> (Arc<Noting>, impl Fn() -> Vec<Option<u64>>) {
    let vfs = MemoryVfs::new();
    manifest(&vfs, n);
    let file = Arc::new(Noting(vfs.open("manifest").unwrap(), Mutex::default()));
    let noted = file.clone();
    (file, move || std::mem::take(&mut *noted.1.lock().unwrap()))
}

fn opened(file: &Arc<Noting>) -> Manifest {
    Manifest::open(file.clone(), 0, MIN_CAPACITY, ID).unwrap().manifest
}

#[test]
fn an_append_is_synced_and_its_witness_by_what_follows() {
    let (file, noted) = noting(0);
    let mut manifest = opened(&file);
    assert!(manifest.append(&record(&edit(1))).unwrap());
    let mirrors = [Some(FRAME_ALIGN), Some(HALF + FRAME_ALIGN)];
    assert_eq!(noted(), [&mirrors[..], &[None, Some(WITNESS)]].concat());
    manifest.close(0);
    assert_eq!(noted(), [Some(WITNESS), None]);
    manifest.close(0);
    assert_eq!(noted(), [], "it is durable");
    assert!(manifest.append(&record(&edit(2))).unwrap());
    manifest.in_doubt = true;
    noted();
    manifest.close(0);
    assert_eq!(noted(), [], "what is stored is unknown");
}

#[test]
fn an_opened_manifest_confirms_its_last_record_copy_by_copy() {
    let (file, noted) = noting(2);
    let mut manifest = opened(&file);
    assert_eq!(noted(), [], "opening writes nothing");
    manifest.confirm().unwrap();
    let last = 2 * FRAME_ALIGN;
    let expected = [None, Some(last), None, Some(HALF + last), None, Some(WITNESS)];
    assert_eq!(noted(), expected);
    manifest.confirm().unwrap();
    assert_eq!(noted(), [None, Some(WITNESS)]);

    let (file, noted) = noting(0);
    opened(&file).confirm().unwrap();
    assert_eq!(noted(), [None, Some(WITNESS)], "a snapshot was synced before it was named");
}

#[test]
fn a_manifest_that_lost_its_witness_writes_it_at_close() {
    let (file, noted) = noting(2);
    opened(&file).close(0);
    assert_eq!(noted(), [], "it is there");
    file.write_at(&[0; FRAME_ALIGN as usize], WITNESS).unwrap();
    noted();
    opened(&file).close(0);
    assert_eq!(noted(), [Some(WITNESS), None]);
}

#[test]
fn a_closing_claim_is_written_once_and_outlives_the_generation() {
    let (file, noted) = noting(1);
    let mut manifest = opened(&file);
    // The fixture inherits a claim of 3.
    for (synced, written) in [(3, false), (8, true), (8, false), (5, false)] {
        manifest.close(synced);
        assert_eq!(!noted().is_empty(), written, "{synced}");
        assert_eq!(opened(&file).synced(), if written { synced } else { manifest.synced() });
    }
    let next = manifest.for_next_generation();
    let (region, first) = ((0, MIN_CAPACITY), edit(0));
    let vfs = MemoryVfs::new();
    let other = vfs.create("manifest").unwrap();
    Manifest::create(other.clone(), region, ID, next, &record(&first)).unwrap();
    assert_eq!(Manifest::open(other, 0, MIN_CAPACITY, ID).unwrap().manifest.synced(), 8);
}

#[test]
fn a_damaged_closing_claim_does_not_affect_the_witness() {
    let (file, _) = noting(1);
    opened(&file).close(8);
    file.write_at(&[1], WITNESS + 16).unwrap();
    let opened = Manifest::open(file, 0, MIN_CAPACITY, ID).unwrap();
    assert_eq!((opened.manifest.synced(), opened.witnessed), (0, true));
}

#[test]
fn appended_bytes_are_those_of_both_copies() {
    let mut manifest = manifest(&MemoryVfs::new(), 0);
    let mut expected = 0;
    for n in [1, 2, 3] {
        assert!(manifest.append(&record(&edit(n))).unwrap());
        expected += 2 * frame_size(record(&edit(n)).encode().len()) as u64;
        assert_eq!(manifest.appended_bytes(), expected);
    }
}

#[test]
fn a_region_is_filled_but_for_the_place_of_the_witness() {
    let vfs = MemoryVfs::new();
    // A snapshot, edits and the witness, 16 KiB each.
    let edits = HALF / FRAME_ALIGN - 2;
    let mut manifest = manifest(&vfs, edits);
    assert!(!manifest.append(&record(&edit(1))).unwrap());
    let found = region(&vfs);
    let found = scan(&found, ID, "manifest", 0).unwrap();
    assert_eq!((found.records.len() as u64, found.witness), (edits + 1, edits + 1));
}

#[test]
fn a_region_has_room_for_some_copies_of_a_large_snapshot() {
    let snapshot = vec![7; 200_000];
    let capacity = Manifest::capacity_for(&record(&snapshot), None);
    assert!((8 * 200_000..10 * 200_000).contains(&capacity), "{capacity}");
    let mut capacities = vec![Manifest::capacity_for(&record(&edit(0)), None)];
    for _ in 0..4 {
        let region = (0, *capacities.last().unwrap());
        let file = MemoryVfs::new().create("manifest").unwrap();
        let previous = Manifest::create(file, region, ID, FIFTH, &record(&edit(0))).unwrap();
        capacities.push(Manifest::capacity_for(&record(&edit(0)), Some(&previous)));
    }
    assert_eq!(capacities, [512, 1024, 1024, 1024, 1024].map(|kib| kib << 10));
}

#[test]
fn what_was_in_the_region_before_is_overwritten() {
    let file = MemoryVfs::new().create("manifest").unwrap();
    file.write_at(&vec![0xff; MIN_CAPACITY as usize], 0).unwrap();
    Manifest::create(file.clone(), (0, MIN_CAPACITY), ID, FIFTH, &record(&edit(0))).unwrap();
    let bytes = read_region(&*file, 0, MIN_CAPACITY).unwrap().bytes;
    let found = scan(&bytes, ID, "manifest", 0).unwrap();
    let irregular = (found.repaired.len(), found.discarded_bytes);
    assert_eq!((edits(&found), irregular), (vec![edit(0)], (0, 0)));
}

#[test]
fn no_two_records_of_any_manifests_share_a_seed() {
    let mut seeds = BTreeSet::new();
    for store in [STORE, StoreId::new([4; StoreId::BYTES])] {
        for generation in [0, 1, 2, 7] {
            for index in [0, 1, 2, 3, 7, u64::MAX] {
                let id = ManifestId { store, generation };
                assert!(seeds.insert(id.seed(index)), "{generation} {index}");
            }
        }
    }
}

#[test]
fn a_check_finds_that_the_last_record_is_gone() {
    let (file, _) = noting(2);
    let manifest = opened(&file);
    assert_eq!(manifest.check().unwrap(), []);
    for lost in [2 * FRAME_ALIGN, HALF + 2 * FRAME_ALIGN, WITNESS] {
        file.write_at(&vec![0; FRAME_ALIGN as usize], lost).unwrap();
    }
    let found = manifest.check().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].offset, &*found[0].expected), (2 * FRAME_ALIGN, "3 records"));
}

#[test]
fn damage_is_reported_where_it_is_in_the_file() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 3);
    let sound = region(&vfs);
    let base = 1 << 20;
    let repaired = |bytes: &[u8]| {
        let found = scan(bytes, ID, "manifest", base).unwrap();
        found.repaired.iter().map(|damage| damage.offset - base).collect::<Vec<_>>()
    };
    assert!(repaired(&sound).is_empty());
    for copy in [FRAME_ALIGN, 3 * FRAME_ALIGN, HALF, HALF + 2 * FRAME_ALIGN] {
        let mut bytes = sound.clone();
        bytes[copy as usize + 40] ^= 1;
        assert_eq!(repaired(&bytes), [copy]);
    }
    // Without the end of the second mirror its copies are missing.
    let cut = (HALF + 2 * FRAME_ALIGN) as usize;
    let expected = [cut as u64, HALF + 2 * FRAME_ALIGN, HALF + 3 * FRAME_ALIGN];
    assert_eq!(repaired(&sound[..cut]), expected);

    let mut bytes = sound.clone();
    for copy in [FRAME_ALIGN, HALF + FRAME_ALIGN] {
        bytes[copy as usize + 40] ^= 1;
    }
    let Err(ErrorKind::Corrupt(lost)) =
        scan(&bytes, ID, "manifest", base).map_err(Error::into_kind)
    else {
        panic!("not seen")
    };
    assert_eq!(lost.offset, base + FRAME_ALIGN);
    assert!(
        lost.found.ends_with(&format!("record 2 at byte {}", base + 2 * FRAME_ALIGN)),
        "{lost}"
    );
}

#[test]
fn a_frame_with_a_reserved_field_is_no_record() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 1);
    let mut bytes = region(&vfs);
    for copy in [FRAME_ALIGN as usize, (HALF + FRAME_ALIGN) as usize] {
        let len = record(&edit(1)).encode().len();
        let frame = &mut bytes[copy..copy + FRAME_HEADER_BYTES + len];
        frame[12] = 1;
        let sum = crate::coding::checksum(&frame[8..], ID.seed(1));
        frame[..8].copy_from_slice(&sum.to_le_bytes());
    }
    assert!(
        matches!(
            scan(&bytes, ID, "manifest", 0).map_err(Error::into_kind),
            Err(ErrorKind::Corrupt(_))
        ),
        "one is witnessed"
    );
}

#[test]
fn a_failed_append_is_no_damage_and_hides_none() {
    use crate::storage::vfs::FaultVfs;
    use crate::storage::vfs::fault::Fault;
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let file = vfs.create("volume").unwrap();
    let base = 3 * FRAME_ALIGN;
    file.set_len(base).unwrap();
    let first = edit(0);
    let mut manifest =
        Manifest::create(file.clone(), (base, MIN_CAPACITY), ID, FIFTH, &record(&first)).unwrap();
    for n in [1, 2] {
        assert!(manifest.append(&record(&edit(n))).unwrap());
    }
    // Only the first copy is written.
    vfs.fail_at(vfs.operations() + 1, Fault::Io);
    assert!(manifest.append(&record(&edit(3))).is_err());
    assert_eq!(manifest.check().unwrap(), []);
    let damaged = [base + FRAME_ALIGN, base + HALF + 2 * FRAME_ALIGN];
    for copy in damaged {
        file.write_at(&[0xff], copy + 40).unwrap();
    }
    let found: Vec<_> = manifest.check().unwrap().iter().map(|damage| damage.offset).collect();
    assert_eq!(found, damaged);
}
