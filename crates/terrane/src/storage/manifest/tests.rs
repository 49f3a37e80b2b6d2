mod reads;
mod writes;

use super::region::*;
use super::*;
use crate::error::ErrorKind;
use crate::storage::StoreId;
use crate::storage::vfs::{MemoryVfs, Vfs};

const GENERATION: u64 = 7;
const STORE: StoreId = StoreId::new([3; StoreId::BYTES]);
const ID: ManifestId = ManifestId { store: STORE, generation: GENERATION };

/// Five commits were made before, by a release that knew an optional feature.
const FIFTH: Inherited =
    Inherited { format: Format { optional: 8, ..Format::CURRENT }, commits: 5, synced: 3 };

fn other(generation: u64) -> ManifestId {
    ManifestId { generation, ..ID }
}

fn edit(n: u64) -> Vec<u8> {
    vec![n as u8 + 1; if n.is_multiple_of(2) { 40 } else { 1300 }]
}

fn record(bytes: &[u8]) -> Record<'_> {
    Record { edit: Some(bytes), ..Record::default() }
}

/// A manifest of a snapshot and `n` edits on `vfs`.
fn manifest(vfs: &dyn Vfs, n: u64) -> Manifest {
    let file = vfs.create("manifest").unwrap();
    vfs.sync_names().unwrap();
    let first = edit(0);
    let mut manifest =
        Manifest::create(file, (0, MIN_CAPACITY), ID, FIFTH, &record(&first)).unwrap();
    for i in 1..=n {
        assert!(manifest.append(&record(&edit(i))).unwrap());
    }
    manifest
}

fn region(vfs: &MemoryVfs) -> Vec<u8> {
    read_region(&*vfs.open("manifest").unwrap(), 0, u64::MAX).unwrap().bytes
}

fn edits<'a>(scan: &Scan<'a>) -> Vec<Vec<u8>> {
    replay("manifest", &scan.records).unwrap().edits
}

/// The bytes of each frame, by mirror.
fn frame_ranges(scan: &Scan<'_>) -> Vec<std::ops::Range<usize>> {
    let len = |n: usize, payload: &[u8]| {
        FRAME_HEADER_BYTES + if n == 0 { REGION_HEADER_BYTES } else { 0 } + payload.len()
    };
    let places = scan.records.iter().enumerate();
    let first = places.map(|(n, (at, payload))| *at as usize..*at as usize + len(n, payload));
    let half = scan.capacity as usize / 2;
    first.flat_map(|r| [r.clone(), r.start + half..r.end + half]).collect()
}

#[test]
fn a_maximal_count_of_commits_does_not_overflow() {
    let vfs = MemoryVfs::new();
    let file = vfs.create("manifest").unwrap();
    let last = Inherited { commits: u64::MAX, ..FIFTH };
    let region = (0, MIN_CAPACITY);
    let mut manifest = Manifest::create(file.clone(), region, ID, last, &record(&edit(0))).unwrap();
    assert!(manifest.append(&record(&edit(1))).unwrap());
    let opened = Manifest::open(file.clone(), 0, MIN_CAPACITY, ID).unwrap();
    assert_eq!(opened.manifest.commits(), u64::MAX);
    assert_eq!(salvage(&*file, 0, MIN_CAPACITY, GENERATION).unwrap().commits, u64::MAX);
}

#[test]
fn a_region_far_longer_than_its_file_is_refused() {
    for capacity in [1 << 40, 1 << 62, u64::MAX - u64::MAX % (2 * FRAME_ALIGN)] {
        let mut payload = Vec::new();
        FIFTH.format.encode(&mut payload);
        payload.extend_from_slice(&STORE.bytes());
        payload.extend_from_slice(&5u64.to_le_bytes());
        payload.extend_from_slice(&capacity.to_le_bytes());
        payload.extend_from_slice(&record(&edit(0)).encode());
        let frame = encode_frame(&payload, ID, 0).unwrap();
        let file = MemoryVfs::new().create("manifest").unwrap();
        file.write_at(&frame, 0).unwrap();
        let len = file.len().unwrap();
        let opened = Manifest::open(file.clone(), 0, len, ID);
        assert!(
            matches!(opened.map(drop).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))),
            "{capacity}"
        );
        let read = salvage(&*file, 0, len, GENERATION);
        assert!(
            matches!(read.map(drop).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))),
            "{capacity}"
        );
    }
}

#[test]
fn every_flipped_byte_of_a_record_is_repaired_and_reported() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 4);
    let sound = region(&vfs);
    let expected: Vec<_> = (0..=4).map(edit).collect();
    let clean = scan(&sound, ID, "manifest", 0).unwrap();
    assert_eq!((edits(&clean), clean.repaired.len()), (expected.clone(), 0));
    let mut bytes = sound.clone();
    for at in frame_ranges(&clean).into_iter().flatten().step_by(7) {
        bytes[at] ^= 0x10;
        let found = scan(&bytes, ID, "manifest", 0).unwrap();
        assert_eq!((edits(&found), found.repaired.len()), (expected.clone(), 1), "byte {at}");
        bytes[at] ^= 0x10;
    }
}

#[test]
fn any_one_lost_sector_of_any_size_costs_no_record() {
    let vfs = MemoryVfs::new();
    let end = manifest(&vfs, 4).end;
    let sound = region(&vfs);
    let expected: Vec<_> = (0..=4).map(edit).collect();
    for size in [512, 4096, 16384] {
        let mut repaired = 0;
        for sector in (0..sound.len()).step_by(size) {
            let mut bytes = sound.clone();
            bytes[sector..sector + size].fill(0xee);
            let found = scan(&bytes, ID, "manifest", 0).unwrap();
            assert_eq!((edits(&found), found.end), (expected.clone(), end), "{size} at {sector}");
            assert!(found.repaired.len() <= 1);
            repaired += found.repaired.len();
        }
        let sectors = |r: std::ops::Range<usize>| r.end.div_ceil(size) - r.start / size;
        let clean = scan(&sound, ID, "manifest", 0).unwrap();
        let in_frames = frame_ranges(&clean).into_iter().map(sectors).sum::<usize>();
        // After the records, except where a commit may have been torn.
        let half = sound.len() / 2;
        let unused = half - end as usize - 2 * FRAME_ALIGN as usize;
        assert_eq!(repaired, in_frames + 2 * unused / size);
    }
}

#[test]
fn a_torn_append_is_whole_or_absent_whatever_its_sectors_hold() {
    const LEN: usize = 20_000;
    for size in [512, 4096, 16384] {
        let vfs = MemoryVfs::new();
        let mut manifest = manifest(&vfs, 2);
        let before = region(&vfs);
        assert!(manifest.append(&record(&[9; LEN])).unwrap());
        let after = region(&vfs);
        let changed = |n: &usize| {
            let sector = n * size..(n + 1) * size;
            before[sector.clone()] != after[sector]
        };
        // The witness is written when the record is durable.
        let sectors = (after.len() - FRAME_ALIGN as usize) / size;
        let touched: Vec<_> = (0..sectors).filter(changed).collect();
        assert!(touched.len() >= 4);
        // Each sector of the append has its old content, its new content, or garbage.
        for seed in 0..200 {
            let mut random = crate::storage::vfs::fault::Random(seed);
            let mut bytes = before.clone();
            for n in &touched {
                let sector = n * size..(n + 1) * size;
                match random.below(4) {
                    0 => {}
                    1 => bytes[sector].fill(0xee),
                    _ => bytes[sector.clone()].copy_from_slice(&after[sector]),
                }
            }
            let found = scan(&bytes, ID, "manifest", 0).unwrap();
            let expected = [edit(0), edit(1), edit(2), vec![9; LEN]];
            assert!([&expected[..3], &expected].contains(&&edits(&found)[..]), "{size}, {seed}");
            let records = ..bytes.len() - FRAME_ALIGN as usize;
            let torn = bytes[records] != before[records] && bytes[records] != after[records];
            assert!(!torn || found.discarded_bytes > 0 || !found.repaired.is_empty());
        }
    }
}

#[test]
fn stray_bytes_are_repairable_damage_and_no_torn_commit() {
    let vfs = MemoryVfs::new();
    let manifest = manifest(&vfs, 2);
    let (sound, end, half) = (region(&vfs), manifest.end as usize, MIN_CAPACITY as usize / 2);
    for at in [
        end + FRAME_ALIGN as usize,
        half - 1 - FRAME_ALIGN as usize,
        half + end + 5 * FRAME_ALIGN as usize,
    ] {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        let found = scan(&bytes, ID, "manifest", 4096).unwrap();
        assert_eq!((found.discarded_bytes, found.repaired.len()), (0, 1), "{at}");
        assert_eq!(found.repaired[0].offset, 4096 + at as u64);
    }
    // A torn commit, and a stray byte after it.
    let begun = encode_frame(&[9; 20_000], ID, 3).unwrap();
    let mut bytes = sound.clone();
    bytes[end..end + 512].copy_from_slice(&begun[..512]);
    bytes[half + end + 16_384..half + end + 16_896].fill(9);
    bytes[end + 3 * FRAME_ALIGN as usize] = 1;
    let found = scan(&bytes, ID, "manifest", 0).unwrap();
    assert_eq!((found.discarded_bytes, found.repaired.len()), (16_896, 1));
    assert_eq!(found.repaired[0].offset, (end + 3 * FRAME_ALIGN as usize) as u64);
}

#[test]
fn a_record_lost_before_a_later_one_is_damage() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 3);
    let mut bytes = region(&vfs);
    bytes[FRAME_ALIGN as usize] ^= 1;
    bytes[(FRAME_ALIGN + MIN_CAPACITY / 2) as usize] ^= 1;
    match scan(&bytes, ID, "manifest", 4096).map_err(Error::into_kind) {
        Err(ErrorKind::Corrupt(c)) => assert_eq!(c.offset, 4096 + FRAME_ALIGN),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_truncated_region_is_repaired_or_reported_as_damage() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 3);
    let bytes = region(&vfs);
    let half = bytes.len() / 2;
    for cut in [half, half + 1, half + FRAME_ALIGN as usize, bytes.len() - 1] {
        let found = scan(&bytes[..cut], ID, "manifest", 0).unwrap();
        assert_eq!(edits(&found), (0..=3).map(edit).collect::<Vec<_>>());
        assert!(!found.repaired.is_empty());
    }
    for cut in [0, 100, FRAME_ALIGN as usize, half - 1] {
        let found = scan(&bytes[..cut], ID, "manifest", 0);
        assert!(matches!(found.map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))), "{cut}");
    }
}

#[test]
fn a_copy_elsewhere_is_the_same_manifest_of_another_generation() {
    let vfs = MemoryVfs::new();
    let first = manifest(&vfs, 3);
    let mut copy = first.copy(vfs.create("copy").unwrap(), FRAME_ALIGN, 8).unwrap();
    assert!(copy.append(&record(&edit(4))).unwrap());
    let bytes = read_region(&*copy.file, FRAME_ALIGN, u64::MAX).unwrap().bytes;
    let found = scan(&bytes, other(8), "copy", FRAME_ALIGN).unwrap();
    assert_eq!(edits(&found), (0..=4).map(edit).collect::<Vec<_>>());
    assert!(found.repaired.is_empty() && copy.check().unwrap().is_empty());
    assert_eq!(found.inherited, FIFTH, "features that this release does not know are kept");
    // A manifest that has lost a record is not copied.
    let file = vfs.open("manifest").unwrap();
    for mirror in [0, MIN_CAPACITY / 2] {
        file.write_at(&[0xff], 3 * FRAME_ALIGN + mirror).unwrap();
    }
    assert!(first.copy(vfs.create("copy").unwrap(), 0, 9).is_err());
}

#[test]
fn frames_of_another_generation_are_refused() {
    let vfs = MemoryVfs::new();
    let manifest = manifest(&vfs, 3);
    let bytes = region(&vfs);
    assert!(matches!(
        scan(&bytes, other(GENERATION - 1), "manifest", 0).map_err(Error::into_kind),
        Err(ErrorKind::Corrupt(_))
    ));
    // Stale frames after a valid end are not read as its continuation.
    let (mut mixed, end) = encode_region(
        [&bytes[FRAME_HEADER_BYTES + REGION_HEADER_BYTES..][..40]],
        1 << 20,
        other(8),
        FIFTH,
        "",
    )
    .unwrap();
    mixed[end as usize..].copy_from_slice(&bytes[end as usize..]);
    let stale = scan(&mixed, other(8), "manifest", 0).unwrap();
    assert_eq!((stale.records.len(), stale.end), (1, end));
    assert!(stale.discarded_bytes > 0 && manifest.end > end);
}

#[test]
fn a_later_format_is_refused_by_name() {
    let formats = [(2, 0, ""), (3, 0, "format version 3"), (2, 0x20, "required feature bit 5")];
    for (version, required, name) in formats {
        let mut payload = Vec::new();
        Format { version, required, optional: 5 }.encode(&mut payload);
        payload.extend_from_slice(&STORE.bytes());
        payload.extend_from_slice(&0u64.to_le_bytes());
        payload.extend_from_slice(&(2 * FRAME_ALIGN).to_le_bytes());
        let mut bytes = encode_frame(&payload, other(1), 0).unwrap();
        bytes.resize(2 * FRAME_ALIGN as usize, 0);
        match scan(&bytes, other(1), "manifest", 0).map_err(Error::into_kind) {
            Ok(_) => assert_eq!(name, ""),
            Err(ErrorKind::NewerFormat(newer)) => assert_eq!(newer.found, name),
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn a_full_region_refuses_records_and_check_finds_a_lost_one() {
    let vfs = MemoryVfs::new();
    let mut manifest = manifest(&vfs, 1);
    while manifest.append(&record(&edit(1))).unwrap() {}
    assert!(manifest.check().unwrap().is_empty());
    let last = manifest.end - FRAME_ALIGN;
    let file = vfs.open("manifest").unwrap();
    for mirror in [0, MIN_CAPACITY / 2] {
        file.write_at(&[0xff], mirror + last).unwrap();
    }
    assert_eq!(manifest.check().unwrap().len(), 1);
}

#[test]
fn scanning_noise_never_panics() {
    use proptest::prelude::*;
    proptest!(|(
        noise in prop::collection::vec(any::<u8>(), 0..3000),
        flips in prop::collection::vec((0usize..4096, any::<u8>()), 0..9),
    )| {
        let (mut bytes, at) = encode_region([&[0; 60][..]], 4 * FRAME_ALIGN, ID, FIFTH, "noise").unwrap();
        bytes[at as usize..][..noise.len()].copy_from_slice(&noise);
        for (at, to) in flips {
            if let Some(b) = bytes.get_mut(at) { *b = to; }
        }
        let _ = scan(&bytes, ID, "noise", 0);
    });
}

#[test]
fn records_lost_at_the_end_are_missed_by_the_witness() {
    let vfs = MemoryVfs::new();
    let mut manifest = manifest(&vfs, 3);
    let sound = region(&vfs);
    for kept in 1..4 {
        let mut bytes = sound.clone();
        let half = bytes.len() / 2;
        let from = kept * FRAME_ALIGN as usize;
        bytes[from..half].fill(0);
        bytes[half + from..2 * half - FRAME_ALIGN as usize].fill(0);
        let lost = scan(&bytes, ID, "manifest", 0);
        let lost = lost.map_err(Error::into_kind);
        let Err(ErrorKind::Corrupt(damage)) = lost else { panic!("{kept} of 4 records: {lost:?}") };
        assert_eq!(damage.offset, from as u64);
        assert!(damage.expected.starts_with("4 records"), "{damage}");
    }
    // A torn commit is not a lost one, and neither is a commit whose witness is lost.
    assert!(manifest.append(&record(&edit(4))).unwrap());
    let after = region(&vfs);
    let witness = after.len() - FRAME_ALIGN as usize;
    for (records, count) in [(&sound, &sound), (&after, &sound), (&after, &after)] {
        let bytes = [&records[..witness], &count[witness..]].concat();
        assert!(scan(&bytes, ID, "manifest", 0).is_ok());
    }
    let mut unwitnessed = after;
    unwitnessed[witness] ^= 1;
    assert_eq!(scan(&unwitnessed, ID, "manifest", 0).unwrap().witness, 0);
    assert_eq!((manifest.commits(), manifest.inherited.commits), (10, 5));
}

#[test]
fn a_manifest_of_another_store_is_refused() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 3);
    let bytes = region(&vfs);
    let foreign = ManifestId { store: StoreId::new([4; StoreId::BYTES]), ..ID };
    assert!(matches!(
        scan(&bytes, foreign, "manifest", 0).map_err(Error::into_kind),
        Err(ErrorKind::Corrupt(_))
    ));
}
